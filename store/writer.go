package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/uptrace/bun"
)

// maxBatch bounds the transactions that share a commit, so that the first of
// them does not wait long for the last.
const maxBatch = 64

// transaction is the body of a writing transaction. It may be run again, so it
// must have no effect outside of the transaction that a repetition does not
// replace.
type transaction func(context.Context, txn) error

// groupCommitter runs the transactions of a process on SQLite's single writing connection. Transactions that wait while
// another is written run together, each within its savepoint, and share a commit: the sync to disk is the most
// expensive part of a short transaction. A caller gets success only after the commit, and a failed transaction undoes
// only its own work.
type groupCommitter struct {
	db           *bun.DB
	writeConn    *writeConn    // the writing connection; nil before it is needed; used by the holder of the turn
	checkpointDB *bun.DB       // copies the log; does not wait for the line
	turn         chan struct{} // holds one token while a batch is carried out
	due          chan struct{} // holds one token while the log is to be copied
	lazy         bool          // the connection does not sync commits; read by the holder of the turn
	commits      int           // since the log was last due for copying; counted by the holder of the turn
	mu           sync.Mutex
	queue        []*write

	commitHook func(error) error // in tests: replaces the answer to a commit
}

// write is a transaction in the queue.
type write struct {
	do   transaction
	lazy bool  // its commit need not be brought to the disk
	err  error // to be read when done is closed
	done chan struct{}
}

func newGroupCommitter(db, checkpointDB *bun.DB) *groupCommitter {
	return &groupCommitter{db: db, checkpointDB: checkpointDB, turn: make(chan struct{}, 1), due: make(chan struct{}, 1)}
}

// writeConn is the connection of a writer, with its prepared statements. Its transactions begin and end with statements:
// database/sql has a goroutine that waits for each of its own transactions, and another for each row that is read in
// it, and waking another processor for them takes longer than the statements do.
type writeConn struct {
	bun.Conn

	ready compiled
}

// The statements that begin and end transactions on a connection. A writer takes the lock at once, so that it does
// not fail in the middle because another process has it.
const (
	beginStatement    = "BEGIN IMMEDIATE"
	commitStatement   = "COMMIT"
	rollbackStatement = "ROLLBACK"
)

// connect opens the line, if it is not open. The caller has the turn.
func (w *groupCommitter) connect(ctx context.Context) error {
	if w.writeConn != nil {
		return nil
	}

	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}

	ready, err := compile(ctx, conn.Conn, append([]string{beginStatement, commitStatement, rollbackStatement}, sqliteTexts...)...)
	if err == nil {
		// Others may have had the connection before.
		_, err = conn.Conn.ExecContext(ctx, "PRAGMA synchronous = FULL")
	}

	w.writeConn = &writeConn{Conn: conn, ready: ready}
	w.lazy = false
	if err != nil {
		w.disconnect()
	}
	return err
}

// disconnect gives the line up, with whatever is under way on it.
func (w *groupCommitter) disconnect() {
	if w.writeConn == nil {
		return
	}

	// SQLite keeps a connection on which a statement is prepared, with its lock.
	for _, stmt := range w.writeConn.ready {
		_ = stmt.Close()
	}

	// The pool must not reuse it.
	_ = w.writeConn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.writeConn.Close() // It fails if the pool has closed it.
	w.writeConn = nil
}

// close closes the line when no one has the turn. A later transaction opens another, if the pool allows it.
func (w *groupCommitter) close() {
	w.turn <- struct{}{}
	w.disconnect()
	<-w.turn
}

// begin begins a transaction on the line. A line on which that fails is given up.
func (w *groupCommitter) begin(ctx context.Context) (txn, error) {
	if err := w.connect(ctx); err != nil {
		return txn{}, err
	}
	if _, err := w.writeConn.ready[beginStatement].ExecContext(ctx); err != nil {
		w.disconnect()
		return txn{}, err
	}
	return txn{IDB: w.writeConn.Conn, direct: w.writeConn.Conn.Conn, ready: w.writeConn.ready, end: w.writeConn}, nil
}

// Commit ends a transaction. One that the database refuses is undone.
func (l *writeConn) Commit() error {
	_, err := l.ready[commitStatement].ExecContext(context.Background())
	if err != nil {
		_ = l.Rollback() // It fails if the database was first.
	}
	return err
}

// Rollback undoes a transaction.
func (l *writeConn) Rollback() error {
	_, err := l.ready[rollbackStatement].ExecContext(context.Background())
	return err
}

// run carries out one transaction, alone or with others. When ctx ends while it waits, it is not carried out. A
// transaction that has begun runs to its end, which the database's own timeout limits.
func (w *groupCommitter) run(ctx context.Context, do transaction) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	mine := &write{do: do, lazy: ctx.Value(deferSync{}) != nil, done: make(chan struct{})}
	w.mu.Lock()
	w.queue = append(w.queue, mine)
	w.mu.Unlock()

	select {
	case <-mine.done:
		return mine.err
	case w.turn <- struct{}{}:
		// The holder of the turn works for all that wait, until its own transaction is done.
		for !mine.ended() {
			w.runBatch(context.WithoutCancel(ctx), w.take())
		}
		<-w.turn
	case <-ctx.Done():
		if w.withdraw(mine) {
			return ctx.Err()
		}
	}

	<-mine.done
	return mine.err
}

// ended reports whether the write has been carried out.
func (o *write) ended() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// take empties the queue into a batch.
func (w *groupCommitter) take() []*write {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), maxBatch)
	batch := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	return batch
}

// withdraw removes a write from the queue, and reports whether it was there.
func (w *groupCommitter) withdraw(mine *write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, mine)
	if i < 0 {
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	return true
}

// sync has the next commits brought to the disk, or not. With FULL, SQLite syncs its
// log at each commit, and with it all that was written there before; with NORMAL it
// does so before a checkpoint only.
func (w *groupCommitter) sync(ctx context.Context, lazy bool) error {
	if err := w.connect(ctx); err != nil {
		return err
	}
	if w.lazy == lazy {
		return nil
	}

	mode := "FULL"
	if lazy {
		mode = "NORMAL"
	}

	_, err := w.writeConn.Conn.Conn.ExecContext(ctx, "PRAGMA synchronous = "+mode)
	if err == nil {
		w.lazy = lazy
	}
	return err
}

// runBatch brings every write of a batch to its end.
func (w *groupCommitter) runBatch(ctx context.Context, batch []*write) {
	lazy := !slices.ContainsFunc(batch, func(one *write) bool { return !one.lazy })
	if err := w.sync(ctx, lazy); err != nil {
		fail(batch, err)
	} else if len(batch) == 1 || !w.runTogether(ctx, batch) {
		for _, one := range batch {
			one.err = w.after(transactOnce(ctx, w.begin, one.guarded))
		}
	}

	for _, one := range batch {
		close(one.done)
	}
	w.maybeCheckpoint()
}

// runTogether carries a batch out in one transaction. It returns false, and has changed nothing, if a savepoint cannot
// be restored: the database has rolled everything back.
func (w *groupCommitter) runTogether(ctx context.Context, batch []*write) bool {
	tx, err := w.begin(ctx)
	if err != nil {
		fail(batch, err)
		return true
	}

	for _, one := range batch {
		if err := one.within(ctx, tx); err != nil {
			_ = tx.end.Rollback() // It fails if the database was first.
			return false
		}
	}

	if err := w.after(committed(tx.end.Commit())); err != nil {
		fail(batch, err)
	}
	return true
}

// after lets tests observe the end of each transaction, and make it fail.
func (w *groupCommitter) after(err error) error {
	if w.commitHook == nil {
		return err
	}
	return w.commitHook(err)
}

// fail gives the common error to each write that has none of its own.
func fail(batch []*write, err error) {
	for _, one := range batch {
		if one.err == nil {
			one.err = err
		}
	}
}

// within carries the write out in a savepoint of tx, and keeps its error. The
// error returned is the savepoint's: tx is of no use any more.
func (o *write) within(ctx context.Context, tx txn) error {
	if err := execTx(ctx, tx, "SAVEPOINT write"); err != nil {
		return err
	}
	if o.err = o.guarded(ctx, tx); o.err != nil {
		return execTx(ctx, tx, "ROLLBACK TO write; RELEASE write")
	}
	return execTx(ctx, tx, "RELEASE write")
}

func execTx(ctx context.Context, tx txn, statement string) error {
	_, err := tx.direct.ExecContext(ctx, statement)
	return err
}

// guarded turns a panic into an error: it is the concern of the write's caller,
// not of the one whose turn it is.
func (o *write) guarded(ctx context.Context, tx txn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return o.do(ctx, tx)
}
