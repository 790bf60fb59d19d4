package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// UptimeDays is the number of days for which the uptime of components is stored, today included.
const UptimeDays = 90

// MeasuredMinute is a minute with the components that a process measured in it, and whether each worked.
type MeasuredMinute struct {
	At time.Time
	Up map[string]bool
}

// Uptime is the number of minutes of a UTC day in which a component was measured, and in which it worked.
type Uptime struct {
	Component   string
	Day         time.Time // its first instant
	Minutes, Up int64
}

// RecordUptime adds minutes, in their order, to the days of the components. A minute counts once, whichever processes
// record it: as up if one of them found the component working. Minutes before the last one that is recorded are left
// out. It also deletes days that are older than UptimeDays.
func (s *Store) RecordUptime(ctx context.Context, minutes ...MeasuredMinute) error {
	return s.update(ctx, "record uptime", func(ctx context.Context, tx txn) error {
		for _, m := range minutes {
			minute := m.At.Unix() / 60
			// In one order, so that two processes never wait for each other.
			names := slices.Sorted(maps.Keys(m.Up))
			args := make([]any, 0, 5*len(names))

			for _, name := range names {
				up := 0
				if m.Up[name] {
					up = 1
				}
				args = append(args, name, dayOf(m.At), up, minute, up)
			}

			if len(names) == 0 {
				continue
			}
			_, err := tx.NewRaw(`INSERT INTO uptime_days AS u (component, day, minutes, up, last_minute, last_up)
				VALUES `+
				strings.TrimSuffix(strings.Repeat("(?, ?, 1, ?, ?, ?), ", len(names)), ", ")+
				` ON CONFLICT (component, day) DO UPDATE SET
					minutes = u.minutes + CASE WHEN u.last_minute < EXCLUDED.last_minute THEN 1 ELSE 0 END,
					up = u.up + EXCLUDED.up, last_minute = EXCLUDED.last_minute, last_up = EXCLUDED.last_up
				WHERE u.last_minute < EXCLUDED.last_minute OR u.last_minute = EXCLUDED.last_minute
				AND u.last_up < EXCLUDED.last_up`,
				args...).Exec(ctx)
			if err != nil {
				return err
			}
		}

		_, err := tx.NewRaw("DELETE FROM uptime_days WHERE day <= ?", dayOf(s.now())-UptimeDays).Exec(ctx)
		return err
	})
}

// Uptime returns the measured days of the last UptimeDays, by component and day.
func (s *Store) Uptime(ctx context.Context) ([]Uptime, error) {
	var rows []struct {
		Component        string
		Day, Minutes, Up int64
	}
	err := s.read.NewSelect().TableExpr("uptime_days").Column("component", "day", "minutes", "up").
		Where("day > ?", dayOf(s.now())-UptimeDays).Order("component", "day").Scan(ctx, &rows)

	days := make([]Uptime, len(rows))
	for i, r := range rows {
		days[i] = Uptime{r.Component, dayStart(r.Day), r.Minutes, r.Up}
	}
	return days, wrapped("read uptime", err)
}
