package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// addedIndex is an index that a partitioned table got after it had been made. No
// migration makes it: PostgreSQL would keep writers out for as long as it takes.
type addedIndex struct{ table, name, on string }

var addedIndexes = []addedIndex{
	// What lists without calls are read by.
	{"journal", "shown", "(account_id, id) WHERE " + outsideCalls},
	// What failed is listed by, and counted by day without reading rows.
	{"calls", "failed", "(account_id, id, day) WHERE status = 'failed'"},
}

func (x addedIndex) fullName() string { return x.table + "_" + x.name }

// addIndexes makes the indexes that are missing.
func addIndexes(ctx context.Context, db *bun.DB, dialect string) error {
	for _, x := range addedIndexes {
		var err error
		if dialect == Postgres {
			err = x.add(ctx, db)
		} else {
			_, err = db.ExecContext(ctx, fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s %s", x.fullName(), x.table, x.on))
		}
		if err != nil {
			return fmt.Errorf("make index %s: %w", x.fullName(), err)
		}
	}
	return nil
}

// add makes an index on PostgreSQL. That of the table comes into force when each
// partition has its own, which are made while rows are written.
func (x addedIndex) add(ctx context.Context, db *bun.DB) error {
	var valid bool
	err := db.NewRaw("SELECT COALESCE((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(?)), FALSE)", x.fullName()).Scan(ctx, &valid)
	if err != nil || valid {
		return err
	}
	if _, err := db.ExecContext(ctx, fmt.Sprintf("%s; CREATE INDEX IF NOT EXISTS %s ON ONLY %s %s", boundLocks, x.fullName(), x.table, x.on)); err != nil {
		return err
	}
	var partitions []string
	err = db.NewRaw(`SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(?0)
		AND NOT EXISTS (SELECT 1 FROM pg_inherits AS h JOIN pg_index AS x ON x.indexrelid = h.inhrelid WHERE h.inhparent = to_regclass(?1) AND x.indrelid = c.oid)`,
		x.table, x.fullName()).Scan(ctx, &partitions)
	if err != nil {
		return err
	}
	for _, partition := range partitions {
		if err := x.addTo(ctx, db, partition); err != nil {
			return err
		}
	}
	return nil
}

// addTo makes the index of a partition. It waits for old transactions, and nobody
// waits for it. One that was not finished is made again.
func (x addedIndex) addTo(ctx context.Context, db *bun.DB, partition string) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	own := partition + "_" + x.name
	for _, statement := range []string{
		"SET lock_timeout = 0",
		"DROP INDEX CONCURRENTLY IF EXISTS " + own,
		fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s %s", own, partition, x.on),
		"RESET lock_timeout",
		fmt.Sprintf("%s; ALTER INDEX %s ATTACH PARTITION %s", boundLocks, x.fullName(), own),
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
