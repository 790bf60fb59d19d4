package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // an engine's process sees no files of the system's zones

	"github.com/cockroachdb/apd/v3"
	"github.com/dop251/goja"
)

// scaled moves the point of a number to the right.
func scaled(d *apd.Decimal, by int32) *apd.Decimal {
	moved := new(apd.Decimal).Set(d)
	moved.Exponent += by
	return moved
}

// layouts are the ways in which data writes a moment, after RFC 3339.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", time.RFC1123Z, time.RFC1123,
}

// moment reads a date of the data: ISO 8601, or milliseconds since 1970. A date
// without a time, and a time without a zone, are taken as they are written.
func (f formatter) moment(v goja.Value) (time.Time, error) {
	switch n := v.Export().(type) {
	case numeral:
		if ms, err := strconv.ParseFloat(string(n), 64); err == nil && math.Abs(ms) < 8.64e15 {
			return time.UnixMilli(int64(ms)).In(f.zone), nil
		}
	case int64:
		return time.UnixMilli(n).In(f.zone), nil
	case float64:
		if math.Abs(n) < 8.64e15 {
			return time.UnixMilli(int64(n)).In(f.zone), nil
		}
	case string:
		s := strings.TrimSpace(n)
		if s == "now" || s == "today" {
			return time.Now().In(f.zone), nil
		}

		for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
			if t, err := time.ParseInLocation(layout, s, f.zone); err == nil {
				return t, nil
			}
		}
		for _, layout := range layouts {
			if t, err := time.ParseInLocation(layout, s, f.zone); err == nil {
				return t.In(f.zone), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a date. "+
		"Use ISO 8601, such as 2026-11-21 or 2026-11-21T14:30:00Z, or milliseconds since 1970", describe(v))
}

func (f formatter) date(v goja.Value, rest []goja.Value, hash map[string]goja.Value) (string, error) {
	t, err := f.moment(v)
	if err != nil {
		return "", err
	}

	pattern := "long"
	for _, given := range []goja.Value{hash["format"], at(rest, 0)} {
		if !missing(given) {
			pattern = given.String()
		}
	}
	if len(pattern) > 200 {
		return "", fmt.Errorf("the pattern must have at most 200 characters")
	}

	l := f.locale
	switch pattern {
	case "short":
		return l.FmtDateShort(t), nil
	case "medium":
		return l.FmtDateMedium(t), nil
	case "long":
		return l.FmtDateLong(t), nil
	case "full":
		return l.FmtDateFull(t), nil
	case "time":
		return l.FmtTimeShort(t), nil
	case "datetime":
		return l.FmtDateMedium(t) + ", " + l.FmtTimeShort(t), nil
	case "iso":
		return t.Format(time.RFC3339), nil
	}
	return f.pattern(t, pattern), nil
}

// pattern formats a moment with the letters of Unicode and of moment.js: both yyyy-MM-dd and YYYY-MM-DD work.
// Literal text is in quotes or in brackets.
func (f formatter) pattern(t time.Time, pattern string) string {
	var out strings.Builder
	letters := []rune(pattern)

	for i := 0; i < len(letters); {
		c := letters[i]
		if end := literal(letters[i:]); end > 0 {
			text := string(letters[i+1 : i+end-1])
			if text == "" {
				text = string(c)
			}
			out.WriteString(text)
			i += end
			continue
		}

		n := 1
		for i+n < len(letters) && letters[i+n] == c {
			n++
		}
		f.field(&out, t, c, n)
		i += n
	}
	return out.String()
}

// literal returns the length of the quoted text that letters begin with, or 0.
func literal(letters []rune) int {
	closing := letters[0]
	switch closing {
	case '[':
		closing = ']'
	case '\'':
	default:
		return 0
	}

	for i := 1; i < len(letters); i++ {
		if letters[i] == closing {
			return i + 1
		}
	}
	return 0
}

// field writes one field of a pattern.
func (f formatter) field(out *strings.Builder, t time.Time, c rune, n int) {
	number := func(v, width int) {
		s := strconv.Itoa(v)
		out.WriteString(strings.Repeat("0", max(0, width-len(s))) + s)
	}

	switch c {
	case 'y', 'Y', 'u':
		if n == 2 {
			number(t.Year()%100, 2)
		} else {
			number(t.Year(), n)
		}
	case 'M', 'L':
		f.month(out, t, n, number)
	case 'd', 'D':
		f.day(out, t, c, n, number)
	case 'E', 'e', 'c':
		if n >= 4 {
			out.WriteString(f.locale.WeekdayWide(t.Weekday()))
		} else {
			out.WriteString(f.locale.WeekdayAbbreviated(t.Weekday()))
		}
	case 'Q':
		number((int(t.Month())+2)/3, n)
	case 'w', 'W':
		_, week := t.ISOWeek()
		number(week, n)
	default:
		f.clock(out, t, c, n, number)
	}
}

// clock writes a field of the time of day.
func (f formatter) clock(out *strings.Builder, t time.Time, c rune, n int, number func(v, width int)) {
	switch c {
	case 'H', 'k':
		number(t.Hour(), n)
	case 'h', 'K':
		number((t.Hour()+11)%12+1, n)
	case 'm':
		number(t.Minute(), n)
	case 's':
		number(t.Second(), n)
	case 'S':
		out.WriteString((fmt.Sprintf("%09d", t.Nanosecond()) + strings.Repeat("0", n))[:n])
	case 'a', 'A':
		half := "AM"
		if t.Hour() >= 12 {
			half = "PM"
		}
		if c == 'a' && n == 1 && !strings.HasPrefix(f.locale.tag, "en") {
			half = strings.ToLower(half)
		}
		out.WriteString(half)
	case 'z':
		out.WriteString(t.Format("MST"))
	case 'Z', 'X', 'x':
		if n == 1 || c != 'Z' {
			out.WriteString(t.Format("-07:00"))
		} else {
			out.WriteString(t.Format("-0700"))
		}
	default:
		out.WriteString(strings.Repeat(string(c), n))
	}
}

func (f formatter) month(out *strings.Builder, t time.Time, n int, number func(v, width int)) {
	switch {
	case n >= 4:
		out.WriteString(f.locale.MonthWide(t.Month()))
	case n == 3:
		out.WriteString(f.locale.MonthAbbreviated(t.Month()))
	default:
		number(int(t.Month()), n)
	}
}

// day writes the day of the month, or for three and more letters of moment.js the day of the week.
func (f formatter) day(out *strings.Builder, t time.Time, c rune, n int, number func(v, width int)) {
	switch {
	case c == 'd' && n >= 4:
		out.WriteString(f.locale.WeekdayWide(t.Weekday()))
	case c == 'd' && n == 3:
		out.WriteString(f.locale.WeekdayAbbreviated(t.Weekday()))
	case c == 'D' && n >= 3:
		number(t.YearDay(), n)
	default:
		number(t.Day(), n)
	}
}
