package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// If a retention is set, whole months of older calls, deliveries and events leave the database: PostgreSQL drops
// their partitions, SQLite deletes their rows. The journal, payments, closings, usage and templates stay. Balances
// and ledger checks read no deleted rows. See docs/adr/0032-a-retention-by-month.md.

// RetentionNotice is on how many days a month must have been found old before it is
// removed. A clock that jumps ahead counts as one of them.
const RetentionNotice = 7

const (
	// retentionEvery is the interval of the search for old months.
	retentionEvery = time.Hour
	// removeWait bounds how long readers and writers of a table wait behind a month
	// that is about to leave it. The next round tries again.
	removeWait = 500 * time.Millisecond
	// removeBatch is the number of rows that one transaction deletes on SQLite.
	removeBatch = 500
)

// retentionTables are the tables that a retention is for, in the order in which a month
// leaves them, with the condition of rows that must not leave.
var retentionTables = []struct{ table, kind, open string }{
	{"deliveries", "dlv", "status = 'pending'"}, {"events", "evt", "FALSE"}, {"calls", "call", "status = 'running'"},
}

// openCounts count the unfinished rows of a month. ?0 and ?1 bound IDs of the kind, ?2 is the first ID of the next
// month's deliveries, ?3 is now.
var openCounts = []struct{ kind, text, query string }{
	{"call", "%d calls are running", `SELECT COUNT(*) FROM calls WHERE status = 'running' AND id >= ?0 AND id < ?1`},
	{"call", "%d jobs have not ended", `SELECT COUNT(*) FROM jobs WHERE state <> 'ended' AND call_id >= ?0 AND call_id < ?1`},
	{"call", "%d idempotency keys are in use", `SELECT COUNT(*) FROM idempotency WHERE call_id >= ?0 AND call_id < ?1`},
	{"file", "%d results can be downloaded", `SELECT COUNT(*) FROM files WHERE call_id IS NOT NULL AND deleted_at IS NULL AND expires_at > ?3 AND id >= ?0 AND id < ?1`},
	{"dlv", "%d deliveries are pending", `SELECT COUNT(*) FROM deliveries WHERE status = 'pending' AND id >= ?0 AND id < ?1`},
	{"evt", "%d later deliveries have its events", `SELECT COUNT(*) FROM deliveries WHERE event_id >= ?0 AND event_id < ?1 AND id >= ?2`},
}

// OldMonth is a month that is older than the retention, and not removed yet.
type OldMonth struct {
	Month string // such as 2026-08
	// Notice is on how many more days the month must be found old. At 0 the next round
	// removes it.
	Notice int
	// Open is the unfinished business that keeps the month; empty if there is none.
	Open string
}

// RetentionMonths returns the number of whole months before this one that are retained; 0 means all.
func (s *Store) RetentionMonths() int { return s.retention }

// Removed reports whether the retention has removed calls, deliveries and events as old
// as the ID.
func (s *Store) Removed(id string) bool {
	at, ok := timeOf(id)
	return ok && s.retention > 0 && monthOf(at) < s.firstRetained()
}

// firstRetained is the first month that stays. A job can be read for JobRetention, which
// may be longer than a month.
func (s *Store) firstRetained() month {
	now := s.now()
	return min(monthOf(now)-month(s.retention), monthOf(now.Add(-JobRetention)))
}

// OldMonths lists the months that are older than the retention, the oldest first.
func (s *Store) OldMonths(ctx context.Context) ([]OldMonth, error) {
	old, err := s.oldMonths(ctx)
	if err != nil {
		return nil, wrapped("list old months", err)
	}

	days, err := noticeDays(ctx, s.read)
	if err != nil {
		return nil, wrapped("list old months", err)
	}

	list := make([]OldMonth, len(old))
	for i, m := range old {
		open, err := s.openReasons(ctx, m)
		if err != nil {
			return nil, wrapped("list old months", err)
		}
		list[i] = OldMonth{Month: m.String(), Notice: max(0, RetentionNotice-days[m]), Open: open}
	}
	return list, nil
}

// oldMonths returns the months before the retention that have a partition or, on SQLite, a row.
func (s *Store) oldMonths(ctx context.Context) ([]month, error) {
	if s.retention == 0 {
		return nil, nil
	}

	before := s.firstRetained()
	old := map[month]bool{}

	for _, t := range retentionTables {
		months, err := s.monthsOf(ctx, t.table, t.kind, before)
		if err != nil {
			return nil, err
		}
		for _, m := range months {
			old[m] = true
		}
	}

	return slices.Sorted(maps.Keys(old)), nil
}

func (s *Store) monthsOf(ctx context.Context, table, kind string, before month) (months []month, err error) {
	if s.dialect != Postgres {
		return monthsWithRows(ctx, s.read, table, kind, before)
	}

	var names []string
	err = s.read.NewRaw(`SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass(?)`,
		table).Scan(ctx, &names)

	for _, name := range names {
		at, noMonth := time.Parse("2006_01", strings.TrimPrefix(name, table+"_"))
		if m := monthOf(at); noMonth == nil && m < before {
			months = append(months, m)
		}
	}
	return months, err
}

// noticeDays returns on how many days months were found old.
func noticeDays(ctx context.Context, db bun.IDB) (map[month]int, error) {
	var rows []struct {
		Month month
		Days  int
	}
	err := db.NewRaw("SELECT month, days FROM old_months").Scan(ctx, &rows)

	days := make(map[month]int, len(rows))
	for _, r := range rows {
		days[r.Month] = r.Days
	}
	return days, err
}

// countNotice counts a day for each of the old months, once a day, and forgets the others: a
// clock that was ahead may be right again. It returns the months that it has counted a
// day for, and all counts. A count of long ago, or of the future, begins again.
func (s *Store) countNotice(ctx context.Context, old []month) (today map[month]bool, days map[month]int, err error) {
	day := dayOf(s.now())
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		today = map[month]bool{}
		if err := forgetMonths(ctx, tx, old); err != nil {
			return err
		}

		for _, m := range old {
			today[m], err = changed(tx.NewRaw(`INSERT INTO old_months AS o (month, days, last_day) VALUES (?0, 1, ?1)
				ON CONFLICT (month) DO UPDATE SET days = CASE WHEN o.last_day BETWEEN ?1 - ?2 AND ?1
					THEN o.days + 1 ELSE 1 END, last_day = ?1
				WHERE o.last_day <> ?1`, int64(m), day, RetentionNotice).Exec(ctx))
			if err != nil {
				return err
			}
		}

		days, err = noticeDays(ctx, tx)
		return err
	})
	return today, days, err
}

// forgetMonths forgets that months other than the given were found old.
func forgetMonths(ctx context.Context, tx txn, old []month) error {
	gone := tx.NewDelete().Table("old_months").Where("TRUE")
	if len(old) > 0 {
		gone.Where("month NOT IN (?)", bun.List(old))
	}
	_, err := gone.Exec(ctx)
	return err
}

// removeOldMonths removes the months that have been old for RetentionNotice days, oldest first, except those with
// unfinished business. Any number of processes may do so at once, and the next continues after one has died.
func (s *Store) removeOldMonths(ctx context.Context) error {
	old, err := s.oldMonths(ctx)
	if err != nil {
		return wrapped("remove old months", err)
	}
	today, days, err := s.countNotice(ctx, old)
	if err != nil {
		return wrapped("remove old months", err)
	}

	for _, m := range old {
		if err := s.removeIfDue(ctx, m, days[m], today[m]); err != nil {
			return wrapped("remove old months", err)
		}
	}
	return nil
}

// removeIfDue removes a month that has been found old on a number of days. Once a day it logs why a month is still
// there.
func (s *Store) removeIfDue(ctx context.Context, m month, days int, today bool) error {
	log := s.log.With(slog.String("month", m.String()))

	if days <= RetentionNotice {
		if today {
			log.LogAttrs(ctx, slog.LevelWarn, "month will be removed",
				slog.Int("days", RetentionNotice-days+1), slog.Int("retentionMonths", s.retention))
		}
		return nil
	}

	open, err := s.openReasons(ctx, m)
	if err != nil {
		return err
	}
	if open != "" {
		if today {
			log.LogAttrs(ctx, slog.LevelWarn, "month is not removed", slog.String("open", open))
		}
		return nil
	}

	err = s.removeMonth(ctx, m)
	if locked(err) {
		log.LogAttrs(ctx, slog.LevelInfo, "month is in use; the next round removes it", slog.Any("error", err))
		return nil
	}
	if err == nil {
		log.LogAttrs(ctx, slog.LevelInfo, "month removed", slog.Int("retentionMonths", s.retention))
	}

	return err
}

// openReasons describes the unfinished rows of a month; empty if there are none.
func (s *Store) openReasons(ctx context.Context, m month) (string, error) {
	closed, err := lastClosed(ctx, s.read, m)
	if err != nil {
		return "", err
	}

	var open []string
	if closed != m {
		open = append(open, "its books are not closed")
	}

	for _, c := range openCounts {
		var n int
		err := s.reports.NewRaw(c.query, m.firstID(c.kind), (m+1).firstID(c.kind), (m+1).firstID("dlv"),
			toMicros(s.now())).Scan(ctx, &n)
		if err != nil {
			return "", err
		}
		if n > 0 {
			open = append(open, fmt.Sprintf(c.text, n))
		}
	}

	return strings.Join(open, ", "), nil
}

func (s *Store) removeMonth(ctx context.Context, m month) error {
	for _, t := range retentionTables {
		p := partition{t.table, t.kind, m}
		remove := s.deleteMonth
		if s.dialect == Postgres {
			remove = s.dropPartition
		}

		if err := remove(ctx, p, t.open); err != nil {
			return fmt.Errorf("%s of %s: %w", t.table, m, err)
		}
	}
	return nil
}

// dropPartition detaches a partition from its table and drops it, unless it is gone or some of its rows are
// unfinished. PostgreSQL detaches concurrently only without a default partition. So readers wait here, for
// removeWait at most, for the change of the catalogue.
func (s *Store) dropPartition(ctx context.Context, p partition, open string) error {
	return transactOnce(ctx, poolTx(s.write), func(ctx context.Context, tx txn) error {
		lockStatement := fmt.Sprintf("SET LOCAL lock_timeout = %d; SELECT pg_advisory_xact_lock(%d)",
			removeWait.Milliseconds(), int64(partitionLock))
		if _, err := tx.direct.ExecContext(ctx, lockStatement); err != nil {
			return err
		}

		var attached, rowsOpen bool
		err := tx.NewRaw(`SELECT EXISTS (SELECT 1 FROM pg_inherits
			WHERE inhrelid = to_regclass(?) AND inhparent = to_regclass(?))`,
			p.name(), p.table).Scan(ctx, &attached)
		if err != nil || !attached {
			return err
		}

		_, err = tx.direct.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", p.table, p.name()))
		if err != nil {
			return err
		}

		err = tx.NewRaw("SELECT EXISTS (SELECT 1 FROM "+p.name()+" WHERE "+open+")").Scan(ctx, &rowsOpen)
		if err != nil {
			return err
		}
		if rowsOpen {
			return errOpenAgain
		}

		_, err = tx.direct.ExecContext(ctx, "DROP TABLE "+p.name())
		return err
	})
}

// errOpenAgain means that rows were opened after openIn had counted none.
var errOpenAgain = errors.New("some were opened again; the next round looks at them")

// deleteMonth deletes the rows of a month but for those that are open, in batches.
func (s *Store) deleteMonth(ctx context.Context, p partition, open string) error {
	query := fmt.Sprintf(`DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s
		WHERE id >= ? AND id < ? AND NOT (%[2]s) LIMIT ?)`,
		p.table, open)

	return rounds(ctx, removeBatch, func(ctx context.Context, limit int) (deleted int, err error) {
		err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
			res, err := tx.NewRaw(query, p.month.firstID(p.kind), (p.month + 1).firstID(p.kind), limit).Exec(ctx)
			if err != nil {
				return err
			}

			n, err := res.RowsAffected()
			deleted = int(n)
			return err
		})
		return deleted, err
	})
}
