// Package bench measures the service and, in the same minutes, the baseline of each value: the browser driven by
// raw commands, a tool run by hand, or a server that only writes to the disk. Each result is a [Row] of one table.
//
// The service is the real executable, a child process with its own data folder, SQLite, keys and money, called over
// HTTP on persistent connections:
//
//	rows, err := bench.Run(ctx, bench.Options{Binary: "/usr/bin/relaypdf", Env: []string{"PATH=/usr/bin:/bin"}, Out: os.Stdout, Progress: os.Stderr})
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"time"
)

// Options select the measurements of a run and their target.
type Options struct {
	Binary        string         // the program to measure
	Dir           string         // parent of the data folders; empty is the system's
	Short         bool           // every figure from too few calls
	Only          *regexp.Regexp // names of the parts to measure; nil is all
	Env           []string       // of the service, besides its settings: PATH and the like
	Out, Progress io.Writer
}

// Run measures the rows, and prints and returns those of the parts that worked. Its
// error means that a part did not work, never that it was slow.
func Run(ctx context.Context, opt Options) (rows []Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	l, err := newLab(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer l.close()
	for _, p := range l.parts() {
		if opt.Only != nil && !opt.Only.MatchString(p.name) || ctx.Err() != nil {
			continue
		}
		begin := time.Now()
		measured, problem := p.measure(ctx)
		l.say("%s took %.1f s", p.name, time.Since(begin).Seconds())
		rows = append(rows, measured...)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, problem))
		}
	}
	return rows, errors.Join(err, write(opt.Out, describeMachine(ctx, l.floor.product, l.dir), time.Now(), rows))
}

// part measures one row or a few.
type part struct {
	name    string
	measure func(context.Context) ([]Row, error)
}

// inTurn is the number of accounts that are measured in turn, before another one is measured alone.
const inTurn = 8

// lab is everything that is measured, running.
type lab struct {
	Options
	closers

	dir    string
	keys   []string
	server *server
	client *client
	floor  *floor
	slots  int // renders that the service carries out at once
	tools  *fixtures
}

// newLab makes a funded data folder and starts both sides.
func newLab(ctx context.Context, opt Options) (_ *lab, err error) {
	l := &lab{Options: opt, slots: runtime.NumCPU()}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.dir, err = os.MkdirTemp(opt.Dir, "relaypdf-bench-"); err != nil {
		return nil, err
	}
	l.opened(func() error { return os.RemoveAll(l.dir) })
	s, err := openStore(ctx, "", l.dir)
	if err != nil {
		return nil, err
	}
	l.keys, err = fund(ctx, s, 1+inTurn)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if l.server, err = startServer(ctx, opt, l.dir); err != nil {
		return nil, err
	}
	l.opened(l.server.stop)
	l.client = newClient(l.server.url)
	if l.floor, err = startFloor(ctx); err != nil {
		return nil, err
	}
	l.opened(l.floor.stop)
	return l, nil
}

// close stops the started processes. It only reports failures, because the results are complete.
func (l *lab) close() {
	if err := l.closers.close(); err != nil {
		l.say("%v", err)
	}
}

func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(l.Progress, "bench: "+format+"\n", args...)
}

// choose returns the long value, or the short one for a short run.
func choose[T any](l *lab, long, short T) T {
	if l.Short {
		return short
	}
	return long
}

// closers are functions that close resources.
type closers []func() error

func (c *closers) opened(end func() error) { *c = append(*c, end) }

// close closes everything, the last one first.
func (c closers) close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i]())
	}
	return errors.Join(errs...)
}
