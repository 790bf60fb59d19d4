package store

import (
	"context"
	"database/sql"
)

// Statements of the paid path have parameters $1, $2, …, which both databases accept, instead of bun's, whose values
// become part of the text. Each connection compiles their texts once, unless the URL of the database disables that.

// compiled are statements ready to run on a pool, by their text.
type compiled map[string]*sql.Stmt

// preparer is a pool or a single connection.
type preparer interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// compile prepares statements, and returns those that it could. They are closed with
// a pool, but not with a connection.
func compile(ctx context.Context, db preparer, texts ...string) (compiled, error) {
	ready := make(compiled, len(texts))
	for _, text := range texts {
		stmt, err := db.PrepareContext(ctx, text) //nolint:sqlclosecheck // See above.
		if err != nil {
			return ready, err
		}
		ready[text] = stmt
	}
	return ready, nil
}

// sqliteTexts and postgresTexts are the writing statements of paid calls.
var (
	sqliteTexts = append([]string{
		claimSQLite, claimedSelect, claimInsert, holdUpdate, spendUpdate, callInsert, callbackInsert, journalInsert,
		usageUpsert, endUpdate,
		claimUpdate, fundsUpdate, unspentUpdate, fileInsert, jobInsert, inputInsert, recipientSelect, callbackSelect,
	}, jobEnd...)
	postgresTexts = []string{claimPostgres, beginFunction, settleFunction, releaseFunction, chunkFunction}
)

// compilePaidPath prepares the statements of every paid call.
func (s *Store) compilePaidPath(ctx context.Context) (err error) {
	if s.dialect == Postgres {
		s.writing, err = compile(ctx, s.write.DB, postgresTexts...)
	} else {
		err = s.writer.connect(ctx)
	}
	if err != nil {
		return err
	}

	s.reading, err = compile(ctx, s.read.DB, authenticate, accessQuery, externalQuery, versionByID, versionBySlug,
		versionPinned)
	return err
}

// statement is a statement of the paid path as it runs in tx; nil if it is not prepared.
func (tx txn) statement(ctx context.Context, of compiled, text string) *sql.Stmt {
	if stmt := tx.ready[text]; stmt != nil {
		return stmt
	}
	if stmt := of[text]; stmt != nil {
		if pool, ok := tx.direct.(*sql.Tx); ok {
			return pool.StmtContext(ctx, stmt) // closed with tx
		}
	}
	return nil
}

// exec runs a statement of the paid path in tx.
func (s *Store) exec(ctx context.Context, tx txn, text string, args ...any) (sql.Result, error) {
	stmt := tx.statement(ctx, s.writing, text) //nolint:sqlclosecheck // closed with tx, or with the line
	if stmt != nil {
		return stmt.ExecContext(ctx, args...)
	}
	return tx.direct.ExecContext(ctx, text, args...)
}

// queryRow runs a statement of the paid path that returns a row, or none.
func (s *Store) queryRow(ctx context.Context, tx txn, text string, args ...any) *sql.Row {
	stmt := tx.statement(ctx, s.writing, text) //nolint:sqlclosecheck // closed with tx, or with the line
	if stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return tx.direct.QueryRowContext(ctx, text, args...)
}

// queryAlone runs a statement of the paid path that is a transaction by itself
// and returns a row, or none.
func (s *Store) queryAlone(ctx context.Context, text string, args ...any) *sql.Row {
	if stmt := s.writing[text]; stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return s.write.DB.QueryRowContext(ctx, text, args...)
}

// queryAll runs a statement of the paid path that returns any number of rows.
func (s *Store) queryAll(ctx context.Context, tx txn, text string, args ...any) (*sql.Rows, error) {
	stmt := tx.statement(ctx, s.writing, text) //nolint:sqlclosecheck // closed with tx, or with the line
	if stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return tx.direct.QueryContext(ctx, text, args...)
}

// readRow runs a reading statement of the paid path, and scans its row into places. On SQLite it ends before anyone
// could cancel it: a watched context costs two goroutines there, as much as the reading.
func (s *Store) readRow(ctx context.Context, places []any, text string, args ...any) error {
	if s.dialect == Postgres || s.reading == nil {
		deadline, cancel := bounded(ctx)
		defer cancel()
		ctx = deadline
	} else if ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx)
	}

	if stmt := s.reading[text]; stmt != nil {
		return stmt.QueryRowContext(ctx, args...).Scan(places...)
	}
	return s.read.DB.QueryRowContext(ctx, text, args...).Scan(places...)
}
