package store

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"
)

// Statements of the paid path have parameters $1, $2, …, which both databases
// take, instead of bun's, whose values become part of the text. Each connection
// compiles their texts once, unless the URL of the database tells otherwise.

// compiled are statements ready to run on a pool, by their text.
type compiled map[string]*sql.Stmt

// compile prepares statements. They are closed with the pool.
func compile(ctx context.Context, db *bun.DB, texts ...string) (compiled, error) {
	ready := make(compiled, len(texts))
	for _, text := range texts {
		stmt, err := db.DB.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed with the pool
		if err != nil {
			return nil, err
		}
		ready[text] = stmt
	}
	return ready, nil
}

// compilePaidPath prepares what every paid call runs.
func (s *core) compilePaidPath(ctx context.Context) (err error) {
	texts := []string{
		claimInsert, holdUpdate, spendUpdate, callInsert, journalInsert, usageUpsert, endUpdate, claimUpdate, fundsUpdate, fileInsert,
		jobInsert, inputInsert, jobEnd, inputDelete, unpinDelete, recipientSelect, callbackSelect,
	}
	if s.dialect == Postgres {
		texts = append(texts, claimPostgres, beginFunction, jobFunction, settleFunction)
	} else {
		texts = append(texts, claimSQLite, claimedSelect)
	}
	s.writing, err = compile(ctx, s.write, texts...)
	if err != nil {
		return err
	}
	s.reading, err = compile(ctx, s.read, authenticate, accessQuery, outsideQuery, versionByID, versionBySlug, versionPinned)
	return err
}

// exec runs a statement of the paid path in tx.
func (s *core) exec(ctx context.Context, tx bun.Tx, text string, args ...any) (sql.Result, error) {
	if stmt := s.writing[text]; stmt != nil {
		return tx.Tx.StmtContext(ctx, stmt).ExecContext(ctx, args...) //nolint:sqlclosecheck // closed with tx
	}
	return tx.Tx.ExecContext(ctx, text, args...)
}

// queryRow runs a statement of the paid path that returns a row, or none.
func (s *core) queryRow(ctx context.Context, tx bun.Tx, text string, args ...any) *sql.Row {
	if stmt := s.writing[text]; stmt != nil {
		return tx.Tx.StmtContext(ctx, stmt).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // closed with tx
	}
	return tx.Tx.QueryRowContext(ctx, text, args...)
}

// queryAlone runs a statement of the paid path that is a transaction by itself
// and returns a row, or none.
func (s *core) queryAlone(ctx context.Context, text string, args ...any) *sql.Row {
	if stmt := s.writing[text]; stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return s.write.DB.QueryRowContext(ctx, text, args...)
}

// queryAll runs a statement of the paid path that returns any number of rows.
func (s *core) queryAll(ctx context.Context, tx bun.Tx, text string, args ...any) (*sql.Rows, error) {
	if stmt := s.writing[text]; stmt != nil {
		return tx.Tx.StmtContext(ctx, stmt).QueryContext(ctx, args...) //nolint:sqlclosecheck // closed with tx
	}
	return tx.Tx.QueryContext(ctx, text, args...)
}

// queryRead runs a reading statement of the paid path that returns a row, or none.
func (s *core) queryRead(ctx context.Context, text string, args ...any) *sql.Row {
	if stmt := s.reading[text]; stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return s.read.DB.QueryRowContext(ctx, text, args...)
}
