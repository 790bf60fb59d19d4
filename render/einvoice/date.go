package einvoice

import (
	"strings"
	"time"
)

// Date is a day as YYYY-MM-DD. A document's date that is none stays as it was written.
type Date string

// time returns the day, if the text is one.
func (d Date) time() (time.Time, bool) {
	day, err := time.Parse(time.DateOnly, string(d))
	return day, err == nil
}

// compact is the form of a Cross Industry Invoice: YYYYMMDD.
func (d Date) compact() string {
	if _, ok := d.time(); !ok {
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
