package einvoice

import (
	"strings"
	"time"
)

// Date is a day as YYYY-MM-DD. A document's date that is none stays as it was written.
type Date string

// valid reports whether the text is a day.
func (d Date) valid() bool {
	_, err := time.Parse(time.DateOnly, string(d))
	return err == nil
}

// compact is the form of a Cross Industry Invoice: YYYYMMDD.
func (d Date) compact() string {
	if !d.valid() {
		return string(d)
	}
	return strings.ReplaceAll(string(d), "-", "")
}

// dateOf reads the form of a Cross Industry Invoice.
func dateOf(compact string) Date {
	day, err := time.Parse("20060102", compact)
	if err != nil {
		return Date(compact)
	}
	return Date(day.Format(time.DateOnly))
}
