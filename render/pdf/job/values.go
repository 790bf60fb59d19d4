package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// NumbersOf are operands that are numbers.
func NumbersOf(operands []any) (all []float64) {
	for _, v := range operands {
		if n, ok := v.(pdffile.Number); ok {
			value, _ := strconv.ParseFloat(string(n), 64) // readers treat an invalid number as 0
			all = append(all, value)
		}
	}
	return all
}

// Floats returns the members of a list as numbers; a member that is none is 0.
func Floats(v any) (all []float64) {
	list, _ := v.([]any)
	for _, item := range list {
		n, _ := item.(float64)
		all = append(all, n)
	}
	return all
}

// FormatNumber writes a number as PDF takes it, with five decimals.
func FormatNumber(n float64) string { return fmt.Sprintf("%.5f", n) }

// ContentParts returns the streams of a page's content.
func ContentParts(v, target any) []any {
	if list, ok := target.([]any); ok {
		return list
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

// Filters are the names of an image's filters, in their order; "" is none.
func Filters(entries pdffile.Dict) []string {
	list, isList := entries["/Filter"].([]any)
	if !isList {
		list = []any{entries["/Filter"]}
	}
	names := []string{""}
	for i, v := range list {
		if name, ok := v.(string); ok {
			names = append(names[:i], name)
		}
	}
	return names
}

// Unique returns numbers sorted and without repeats.
func Unique(numbers []int) []int {
	numbers = slices.Sorted(slices.Values(numbers))
	return slices.Compact(numbers)
}

// ShortList writes names for a sentence.
func ShortList(names []string) string {
	const maxListed = 20
	more := ""
	if len(names) > maxListed {
		more = fmt.Sprintf(" and %d more", len(names)-maxListed)
		names = names[:maxListed]
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%.100q", name)
	}
	return strings.Join(quoted, ", ") + more
}

// RangeText writes page numbers the way qpdf takes them, with runs of pages
// that follow one another as ranges.
func RangeText(numbers []int) string {
	var parts []string
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[n-1]+1 {
			n++
		}

		part := strconv.Itoa(numbers[0])
		if n > 1 {
			part += "-" + strconv.Itoa(numbers[n-1])
		}
		parts, numbers = append(parts, part), slices.Clip(numbers[n:])
	}
	return strings.Join(parts, ",")
}

// FileContains reports whether a file has a text in it.
func FileContains(path, text string) (_ bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("input: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	mark := []byte(text)
	buffer := make([]byte, 256<<10)
	for kept := 0; ; {
		n, err := f.Read(buffer[kept:])
		end := kept + n
		if bytes.Contains(buffer[:end], mark) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("input: %w", err)
		}

		// The text may go on in the next part.
		kept = copy(buffer, buffer[max(0, end-len(mark)):end])
	}
}

var datePattern = regexp.MustCompile(
	`^(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:([+-])(\d{2})'?(\d{2})?'?|Z.*)?$`,
)

// ParseDate reads a PDF date; nil means that it is invalid.
func ParseDate(s string) *time.Time {
	part := datePattern.FindStringSubmatch(strings.TrimSpace(s))
	if part == nil {
		return nil
	}

	number := func(i, otherwise int) int {
		n, err := strconv.Atoi(part[i])
		if err != nil {
			return otherwise
		}
		return n
	}

	zone := time.UTC
	if offset := number(8, 0)*60 + number(9, 0); offset != 0 {
		if part[7] == "-" {
			offset = -offset
		}
		zone = time.FixedZone("", offset*60)
	}

	month := time.Month(number(2, 1))
	day := number(3, 1)
	hour := number(4, 0)
	t := time.Date(number(1, 0), month, day, hour, number(5, 0), number(6, 0), 0, zone)
	if t.Year() < 1 || t.Month() != month || t.Day() != day || t.Hour() != hour {
		return nil // such as the thirtieth of February
	}
	return &t
}
