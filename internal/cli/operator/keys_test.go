package operator

import (
	"testing"
	"time"
)

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"720h": now.Add(720 * time.Hour), "30d": now.AddDate(0, 0, 30), "2027-01-31": time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
		"2027-01-31T10:00:00+01:00": time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC),
		"2026-11-20":                {}, "-1h": {}, "0d": {}, "soon": {}, "": {}, "99999999d": {},
	} {
		got, err := parseExpiry(text, now)
		if (err != nil) != want.IsZero() || (err == nil && !got.Equal(want)) {
			t.Errorf("%q: got %v and %v, want %v", text, got, err, want)
		}
	}
}
