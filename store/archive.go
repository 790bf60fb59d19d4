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

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

// Months that nobody asks for any more leave PostgreSQL as files. A month of a
// table is written while everybody works with it, read back, taken out of its
// table, compared with its file once more now that nobody can change it, and
// dropped. A process may die anywhere in between: whoever comes next goes on from
// what it finds, and does again what was done in part.

// ArchiveOrder says what is to be archived.
type ArchiveOrder struct {
	// Keep is how many whole months before this one stay, at least 1.
	Keep int
	// DryRun only tells what would be done.
	DryRun bool
}

// Archived is what became of a month of a table.
type Archived struct {
	Month  string `json:"month"` // such as 2026-08
	Table  string `json:"table"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`          // of the file, packed
	SHA256 string `json:"sha256"`         // of the file's text, unpacked, in hexadecimal
	Key    string `json:"key"`            // of the file among the blobs; empty where there was no row, and of a dry run
	Kept   string `json:"kept,omitempty"` // why it stays; empty where it has left, or would
}

// MinKeep is the least of ArchiveOrder.Keep: what is about the last month waits
// for it, deliveries above all.
const MinKeep = 1

var (
	// ErrOnlyPostgres means that the database is SQLite, whose tables are in one piece.
	ErrOnlyPostgres = errors.New("only PostgreSQL keeps its history by month, so that months can be archived and dropped; SQLite keeps it in one piece for as long as the database lives")
	// ErrArchiving means that another process is archiving.
	ErrArchiving = errors.New("another process is archiving; what it leaves undone, the next one does")
)

const (
	// archiveLock is the PostgreSQL advisory lock under which months are archived
	// ("relayarc" in ASCII).
	archiveLock = 0x72656c6179617263
	// archiveTerm is how long the periodic work may take.
	archiveTerm = 6 * time.Hour
	// Who wants to take a month out of its table has everybody else wait behind it,
	// and so gives up soon, and tries again.
	detachWait  = "500ms"
	detachTries = 60
	detachPause = time.Second
)

// archiveOrder is in which order the tables of a month leave, and what of their
// rows must not be open then.
var archiveOrder = []struct{ table, open string }{
	{"deliveries", "status = 'pending'"}, {"events", ""}, {"files", ""}, {"calls", "status = 'running'"}, {journalTable, ""},
}

const journalTable = "journal"

// openCounts count what of a month is not over. ?0 and ?1 bound ids of the kind, ?2
// is where those of deliveries go on in the next month.
var openCounts = []struct{ kind, text, query string }{
	{"call", "%d calls are running", `SELECT COUNT(*) FROM calls WHERE status = 'running' AND id >= ?0 AND id < ?1`},
	{"call", "%d jobs have not ended", `SELECT COUNT(*) FROM jobs WHERE state <> 'ended' AND call_id >= ?0 AND call_id < ?1`},
	{"call", "%d idempotency keys are kept", `SELECT COUNT(*) FROM idempotency WHERE call_id >= ?0 AND call_id < ?1`},
	{"call", "%d inputs of calls are kept", `SELECT COUNT(*) FROM kept_inputs WHERE call_id >= ?0 AND call_id < ?1`},
	{"file", "%d files are kept", `SELECT COUNT(*) FROM files WHERE id >= ?0 AND id < ?1`},
	{"dlv", "%d deliveries are pending", `SELECT COUNT(*) FROM deliveries WHERE status = 'pending' AND id >= ?0 AND id < ?1`},
	{"evt", "%d later deliveries tell of its events", `SELECT COUNT(*) FROM deliveries WHERE event_id >= ?0 AND event_id < ?1 AND id >= ?2`},
}

// Archive writes whole months of calls, the journal, deliveries, their attempts and
// events to files, and drops them when those are read back; tell hears of each. A
// month stays while something of it is not over, and the journal of a month while
// that is not what its closing says, or an earlier one stays. It returns
// ErrOnlyPostgres for SQLite, and ErrArchiving while another process does the same.
func (s *Store) Archive(ctx context.Context, o ArchiveOrder, tell func(Archived)) error {
	if s.dialect != Postgres {
		return ErrOnlyPostgres
	}
	if o.Keep < MinKeep {
		return fmt.Errorf("archive: %d months cannot be kept; it is %d at least", o.Keep, MinKeep)
	}
	mine, err := tryAdvisoryLock(ctx, s.write, archiveLock, func() error { return s.archiveMonths(ctx, o, tell) })
	if err == nil && !mine {
		return ErrArchiving
	}
	return wrapped("archive", err)
}

// archiveOld is the periodic work.
func (s *Store) archiveOld(ctx context.Context) error {
	err := s.Archive(ctx, ArchiveOrder{Keep: s.retention}, func(a Archived) {
		what := []slog.Attr{slog.String("month", a.Month), slog.String("table", a.Table), slog.Int64("rows", a.Rows)}
		if a.Kept != "" {
			s.log.LogAttrs(ctx, slog.LevelWarn, "month is not archived", append(what, slog.String("kept", a.Kept))...)
			return
		}
		s.log.LogAttrs(ctx, slog.LevelInfo, "month is archived", append(what, slog.String("key", a.Key))...)
	})
	if errors.Is(err, ErrArchiving) {
		return nil
	}
	return err
}

// oldPart is a partition as it is found: part of its table, or taken out by a
// process that did not get to dropping it.
type oldPart struct {
	partition
	oid      uint32
	attached bool
	open     string // which of its rows must not be there; empty: any may
}

func (s *Store) archiveMonths(ctx context.Context, o ArchiveOrder, tell func(Archived)) error {
	parts, err := s.oldParts(ctx, monthOf(s.now())-month(o.Keep))
	if err != nil {
		return err
	}
	ledgerStays := ""
	for _, m := range slices.Sorted(maps.Keys(parts)) {
		why, err := s.monthStays(ctx, m)
		if err != nil {
			return err
		}
		for _, p := range parts[m] {
			stays := why
			if p.table == journalTable && p.attached {
				if stays, err = s.ledgerOf(ctx, m, why, ledgerStays); err != nil {
					return err
				}
				ledgerStays = stays
			}
			if err := s.archiveOrKeep(ctx, p, stays, o.DryRun, tell); err != nil {
				return err
			}
		}
	}
	return nil
}

// archiveOrKeep archives a part, unless there is a reason that it stays. One that
// is not part of its table any more had none.
func (s *Store) archiveOrKeep(ctx context.Context, p oldPart, stays string, dryRun bool, tell func(Archived)) error {
	if stays == "" || !p.attached {
		if !dryRun {
			return s.archivePart(ctx, p, tell)
		}
		stays = ""
	}
	a := Archived{Month: p.month.String(), Table: p.table, Kept: stays}
	if err := s.reports.NewRaw("SELECT COUNT(*) FROM "+p.name()).Scan(ctx, &a.Rows); err != nil {
		return err
	}
	tell(a)
	return nil
}

// oldParts returns what there is of the months before the given one, each month's
// in the order in which they leave.
func (s *Store) oldParts(ctx context.Context, before month) (map[month][]oldPart, error) {
	var found []struct {
		Name     string
		Oid      uint32
		Attached bool
	}
	err := s.read.NewRaw(`SELECT c.relname AS name, c.oid, EXISTS (SELECT 1 FROM pg_inherits AS i WHERE i.inhrelid = c.oid) AS attached
		FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`).Scan(ctx, &found)
	if err != nil {
		return nil, err
	}
	parts := map[month][]oldPart{}
	for _, o := range archiveOrder {
		for _, f := range found {
			at, err := time.Parse("2006_01", strings.TrimPrefix(f.Name, o.table+"_"))
			if m := monthOf(at); err == nil && m < before {
				parts[m] = append(parts[m], oldPart{partition{o.table, kindOf(o.table), m}, f.Oid, f.Attached, o.open})
			}
		}
	}
	return parts, nil
}

// kindOf returns the kind of the ids of a table that is partitioned.
func kindOf(table string) string {
	for _, t := range partitionedTables {
		if t.table == table {
			return t.kind
		}
	}
	panic("no partitions of " + table)
}

// monthStays says why a month stays; empty where all of it is over.
func (s *Store) monthStays(ctx context.Context, m month) (string, error) {
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
		if err := s.reports.NewRaw(c.query, m.firstID(c.kind), (m+1).firstID(c.kind), (m+1).firstID("dlv")).Scan(ctx, &n); err != nil {
			return "", err
		}
		if n > 0 {
			open = append(open, fmt.Sprintf(c.text, n))
		}
	}
	return strings.Join(open, ", "), nil
}

// ledgerOf says why the journal of a month stays: because the month does, because
// an earlier journal does, or because its postings are not those of its closing.
func (s *Store) ledgerOf(ctx context.Context, m month, month, earlier string) (string, error) {
	if month != "" {
		return month, nil
	}
	if earlier != "" {
		return "the journal of an earlier month stays", nil
	}
	problems, err := s.CheckMonth(ctx, m.start())
	return strings.Join(problems, ", "), err
}

// archivePart brings a part into its files and drops it.
func (s *Store) archivePart(ctx context.Context, p oldPart, tell func(Archived)) error {
	var first []Archived
	if p.attached {
		var err error
		if first, err = s.exportAll(ctx, p); err != nil {
			return err
		}
		if err := s.detach(ctx, p); err != nil {
			return err
		}
	}
	done, err := s.exportAll(ctx, p)
	if err != nil {
		return err
	}
	if err := s.drop(ctx, p, done); err != nil {
		return err
	}
	for i, a := range first {
		// It has changed while it was written.
		if a.Key != "" && a.Key != done[i].Key {
			err = errors.Join(err, s.forgetExport(ctx, a))
		}
	}
	for _, a := range done {
		tell(a)
	}
	return err
}

// alone are the first statements of a transaction that changes what partitions
// there are.
var alone = fmt.Sprintf("SET LOCAL lock_timeout = '%s'; SELECT pg_advisory_xact_lock(%d)", detachWait, int64(partitionLock))

// asFound reports an error unless the part is as it was found, or as it must be
// now: somebody else may have archived it.
func asFound(ctx context.Context, tx txn, p oldPart, attached bool) error {
	var same bool
	err := tx.NewRaw(`SELECT EXISTS (SELECT 1 FROM pg_class AS c WHERE c.oid = ?0 AND c.oid = to_regclass(?1)
		AND ?2 = EXISTS (SELECT 1 FROM pg_inherits AS i WHERE i.inhrelid = c.oid))`, int64(p.oid), p.name(), attached).Scan(ctx, &same)
	if err == nil && !same {
		err = ErrArchiving
	}
	return err
}

// detach takes a part out of its table, so that nobody finds or changes it. What
// has become open since it was looked at keeps it there.
func (s *Store) detach(ctx context.Context, p oldPart) error {
	return s.inStrictTx(ctx, func(ctx context.Context, tx txn) error {
		if err := asFound(ctx, tx, p, true); err != nil {
			return err
		}
		if _, err := tx.direct.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", p.table, p.name())); err != nil {
			return err
		}
		if p.open == "" {
			return nil
		}
		var open bool
		err := tx.NewRaw("SELECT EXISTS (SELECT 1 FROM "+p.name()+" WHERE "+p.open+")").Scan(ctx, &open)
		if err == nil && open {
			err = fmt.Errorf("of %s some are open again; the next time may find them ended", p.name())
		}
		return err
	})
}

// drop drops a part that is in its files, and notes where they are.
func (s *Store) drop(ctx context.Context, p oldPart, files []Archived) error {
	return s.inStrictTx(ctx, func(ctx context.Context, tx txn) error {
		if err := asFound(ctx, tx, p, false); err != nil {
			return err
		}
		if _, err := tx.direct.ExecContext(ctx, "DROP TABLE "+p.name()); err != nil {
			return err
		}
		for i, of := range p.exports() {
			if of.remove == "" {
				continue
			}
			if res, err := tx.direct.ExecContext(ctx, of.remove); err != nil {
				return err
			} else if n, err := res.RowsAffected(); err != nil || n != files[i].Rows {
				return errors.Join(fmt.Errorf("%d rows of %s are in the file, and %d in the table", files[i].Rows, of.name, n), err)
			}
		}
		for _, f := range files {
			_, err := tx.NewRaw("INSERT INTO archives (month, name, row_count, size, sha256, blob_key, region, archived_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				int64(p.month), f.Table, f.Rows, f.Bytes, f.SHA256, f.Key, s.region, toMicros(s.now())).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// inStrictTx runs fn alone among those that change partitions. Who has to wait for
// a lock lets everybody else pass, and tries again.
func (s *Store) inStrictTx(ctx context.Context, fn transaction) (err error) {
	for range detachTries {
		err = transactOnce(ctx, poolTx(s.write), func(ctx context.Context, tx txn) error {
			if _, err := tx.direct.ExecContext(ctx, alone); err != nil {
				return err
			}
			return fn(ctx, tx)
		})
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55P03" && !retryable(err) {
			return err
		}
		pause(ctx, detachPause)
	}
	return fmt.Errorf("somebody has been reading or writing the tables all the time: %w", err)
}

// ledgerBegins returns the first month whose journal is in the database; 0 where
// none has left it.
func ledgerBegins(ctx context.Context, db bun.IDB) (month, error) {
	var begins int64
	err := db.NewRaw("SELECT COALESCE(MAX(month) + 1, 0) FROM archives WHERE name = ?", journalTable).Scan(ctx, &begins)
	return month(begins), err
}
