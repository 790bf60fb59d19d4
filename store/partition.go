package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// On PostgreSQL, each table that grows with every call is partitioned by month on its IDs, which begin with their
// time. So a row is found in one partition and old months are not touched. A row whose month has no partition goes
// into the table's default partition, and moves when the month gets its own.

// partitionedTables lists those tables, with the kinds of their IDs.
var partitionedTables = []struct{ table, kind string }{
	{"calls", "call"}, {"journal", "jrn"}, {"files", "file"}, {"events", "evt"}, {"deliveries", "dlv"},
}

// monthsAhead is the number of future months that already have partitions.
const monthsAhead = 3

// month counts months from the year 0.
type month int64

func monthOf(at time.Time) month {
	at = at.UTC()
	return month(at.Year()*12 + int(at.Month()) - 1)
}

// start is the month's first instant.
func (m month) start() time.Time {
	return time.Date(int(m/12), time.Month(m%12+1), 1, 0, 0, 0, 0, time.UTC)
}

func (m month) String() string { return m.start().Format("2006-01") }

// firstID is below all ids of the kind and the month, and above those before it.
func (m month) firstID(kind string) string { return kind + "_" + idTime(m.start()) }

// partition is one month of a table.
type partition struct {
	table, kind string
	month       month
}

func (p partition) name() string {
	return p.table + "_" + strings.ReplaceAll(p.month.String(), "-", "_")
}

// create makes the partition as a separate table, moves the rows from the default partition, and attaches it, while
// readers and writers of the table continue.
func (p partition) create() string {
	return fmt.Sprintf(`CREATE TABLE %[1]s (LIKE %[2]s INCLUDING ALL);
		WITH moved AS (DELETE FROM %[2]s_default WHERE id >= '%[3]s' AND id < '%[4]s' RETURNING *)
		INSERT INTO %[1]s SELECT * FROM moved;
		ALTER TABLE %[2]s ATTACH PARTITION %[1]s FOR VALUES FROM ('%[3]s') TO ('%[4]s');`,
		p.name(), p.table, p.month.firstID(p.kind), (p.month + 1).firstID(p.kind))
}

// makePartitions makes the partitions of this month and of the next ones that
// are missing, and of earlier ones that have rows. It does nothing on SQLite.
func makePartitions(ctx context.Context, db *bun.DB, dialect string, now time.Time) error {
	if dialect != Postgres {
		return nil
	}
	return transactOnce(ctx, poolTx(db), func(ctx context.Context, tx txn) error {
		// A statement that waits for a lock blocks others behind it.
		lock := fmt.Sprintf("%s; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(%d)",
			boundLocks, int64(partitionLock))
		if _, err := tx.direct.ExecContext(ctx, lock); err != nil {
			return err
		}

		missing, err := missingPartitions(ctx, tx, now)
		if err != nil || len(missing) == 0 {
			return err
		}

		var statements strings.Builder
		for _, t := range partitionedTables {
			fmt.Fprintf(&statements, "CREATE TABLE IF NOT EXISTS %[1]s_default PARTITION OF %[1]s DEFAULT;", t.table)
		}
		for _, p := range missing {
			statements.WriteString(p.create())
		}

		_, err = tx.direct.ExecContext(ctx, statements.String())
		return err
	})
}

// partitionLock is the PostgreSQL advisory lock under which partitions are made
// ("relaypar" in ASCII).
const partitionLock = 0x72656c6179706172

func missingPartitions(ctx context.Context, tx txn, now time.Time) ([]partition, error) {
	var names []string
	err := tx.NewRaw("SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid").
		Scan(ctx, &names)
	if err != nil {
		return nil, err
	}

	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}

	var missing []partition
	for _, t := range partitionedTables {
		if there[t.table+"_default"] {
			waiting, err := monthsWithRows(ctx, tx, t.table+"_default", t.kind, monthOf(now))
			if err != nil {
				return nil, err
			}
			for _, m := range waiting {
				missing = append(missing, partition{t.table, t.kind, m})
			}
		}

		for ahead := range month(monthsAhead + 1) {
			p := partition{t.table, t.kind, monthOf(now) + ahead}
			if !there[p.name()] {
				missing = append(missing, p)
			}
		}
	}

	return missing, nil
}

// monthsWithRows returns the months before the given one for which a table has rows. Rows of months without a
// partition are in the default partition.
func monthsWithRows(ctx context.Context, db bun.IDB, table, kind string, before month) (months []month, err error) {
	for from := ""; ; {
		var id sql.NullString
		if err := db.NewRaw("SELECT MIN(id) FROM "+table+" WHERE id >= ?", from).Scan(ctx, &id); err != nil {
			return nil, err
		}
		at, ok := timeOf(id.String)
		m := monthOf(at)
		if !ok || m >= before {
			return months, nil
		}
		months = append(months, m)
		from = (m + 1).firstID(kind)
	}
}

// MakePartitions creates the partitions of the next months, and of earlier months with rows in the default
// partition.
func (s *Store) MakePartitions(ctx context.Context) error {
	err := untilUnlocked(ctx, s.log, func() error { return makePartitions(ctx, s.write, s.dialect, s.now()) })
	return wrapped("make partitions", err)
}
