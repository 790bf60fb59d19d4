package views

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// minus is the sign itself, not a hyphen.
const minus = "−"

// Digits writes a whole number with a comma between thousands.
func Digits(n int64) string {
	sign := ""
	text := strconv.FormatInt(n, 10)
	if n < 0 {
		sign, text = minus, text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

// dollarParts splits an amount for display: under a dollar, it has four decimals; from a dollar on, two, and the
// next two in small type.
func dollarParts(a credit.Amount) (front, back string) {
	n := int64(a)
	sign := ""
	if n < 0 {
		n = -n
		sign = minus
	}

	whole := n / 1_000_000
	rest := n % 1_000_000 / 100
	if whole == 0 {
		return fmt.Sprintf("%s$0.%04d", sign, rest), ""
	}
	return fmt.Sprintf("%s$%s.%02d", sign, Digits(whole), rest/100), fmt.Sprintf("%02d", rest%100)
}

// Dollars writes an amount with two decimals from a dollar on, else four.
func Dollars(a credit.Amount) string {
	front, _ := dollarParts(a)
	return front
}

func microdollars(a credit.Amount) string { return Digits(int64(a)) + " microdollars" }

// exactly writes a time to the second, with its zone.
func exactly(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// clockTime writes a time of the day to the second, with its date if that differs from the date of the time shown
// with it.
func clockTime(at, beside time.Time) string {
	at = at.UTC()
	if at.Format(time.DateOnly) != beside.UTC().Format(time.DateOnly) {
		return at.Format("Jan 2, 15:04:05")
	}
	return at.Format("15:04:05")
}

func machineTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// relative writes how long ago, or in how long, up to a day; then the date.
func relative(at, now time.Time) string {
	d := now.Sub(at)
	if d < 0 {
		return upcoming(at, now)
	}

	switch day := now.UTC().Truncate(24 * time.Hour); {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 12*time.Hour, !at.Before(day):
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case !at.Before(day.AddDate(0, 0, -1)):
		return "yesterday"
	}

	return date(at, now)
}

func upcoming(at, now time.Time) string {
	d := at.Sub(now)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("in %d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("in %d min", int(d.Minutes()))
	case d < 12*time.Hour:
		return fmt.Sprintf("in %d h", int(d.Hours()))
	case at.Before(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)):
		return "tomorrow " + at.UTC().Format("15:04")
	}
	return date(at, now)
}

func date(at, now time.Time) string {
	if at.UTC().Year() == now.UTC().Year() {
		return at.UTC().Format("Jan 2")
	}
	return at.UTC().Format("Jan 2, 2006")
}

// Duration writes how long something took, to three figures.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// roughly writes an estimate, in whole seconds, minutes or hours.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}

// Bytes writes a size, in units of 1,000.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}

// shortID cuts a long id behind its prefix.
func shortID(id string) string {
	const keep = 14
	if len(id) <= keep+1 {
		return id
	}
	return id[:keep] + "…"
}

// percent formats a share with two decimals, or none if it is a whole number.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	text := strconv.FormatFloat(float64(part)*100/float64(whole), 'f', 2, 64)
	return strings.TrimSuffix(text, ".00") + "%"
}

// Plural writes a number and its noun.
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Digits(int64(n)) + " " + many
}

// answerOf describes how a call is answered: the words for the field response of its request.
func answerOf(mode string) string {
	switch mode {
	case "binary":
		return "file in the response"
	case "url":
		return "link"
	case "async":
		return "asynchronous job"
	}
	return mode
}
