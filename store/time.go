package store

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Times are stored as integer microseconds in UTC, which both databases keep,
// compare and index exactly.

func toMicros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func toMicrosPtr(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	us := toMicros(*t)
	return &us
}

func fromMicrosPtr(us *int64) *time.Time {
	if us == nil {
		return nil
	}
	t := fromMicros(*us)
	return &t
}

const secondsPerDay = 24 * 60 * 60

// dayOf returns the UTC day of t, counted from 1970-01-01.
func dayOf(t time.Time) int64 {
	s := t.Unix()
	if s < 0 {
		s -= secondsPerDay - 1
	}
	return s / secondsPerDay
}

// dayStart returns the first instant of a day counted from 1970-01-01.
func dayStart(day int64) time.Time {
	return time.Unix(day*secondsPerDay, 0).UTC()
}

// storable reports whether both databases can hold, and so find, the text.
func storable(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// clean makes text that came from outside storable in both databases, which
// take neither NUL nor (PostgreSQL) invalid UTF-8, and bounds it to limit bytes.
func clean(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}
