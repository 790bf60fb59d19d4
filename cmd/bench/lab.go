package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// accounts of the data folder: the first is alone where one account is
// measured, the next ones take turns or crowd the service.
const (
	inTurn   = 8
	accounts = 1 + inTurn
)

// lab is everything that is measured, running.
type lab struct {
	options
	dir    string
	keys   []string
	server *server
	client *client
	floor  *floor
	slots  int // renders that the service carries out at once
}

// newLab makes a funded data folder and starts both sides.
func newLab(ctx context.Context, opt options) (_ *lab, err error) {
	l := &lab{options: opt, slots: runtime.NumCPU()}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.dir, l.keys, err = newDataDir(ctx, opt.dir, accounts); err != nil {
		return nil, err
	}
	if l.server, err = startServer(ctx, opt, l.dir); err != nil {
		return nil, err
	}
	l.client = newClient(l.server.url)
	if l.floor, err = startFloor(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// close ends what was started. What fails there is only told: the figures are
// there already.
func (l *lab) close() {
	var errs []error
	if l.floor != nil {
		errs = append(errs, l.floor.stop())
	}
	if l.server != nil {
		errs = append(errs, l.server.stop())
	}
	if l.dir != "" {
		errs = append(errs, os.RemoveAll(l.dir))
	}
	if err := errors.Join(errs...); err != nil {
		l.say("%v", err)
	}
}

// say tells what is going on.
func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(l.progress, "bench: "+format+"\n", args...)
}

// choose returns the long value, or the short one for a quick look.
func choose[T any](l *lab, long, short T) T {
	if l.short {
		return short
	}
	return long
}

// wants tells whether a part was asked for.
func (l *lab) wants(name string) bool { return l.only.MatchString(name) }

// own makes documents for the first account.
func (l *lab) own(r request) work {
	return func(ctx context.Context, _ int) error { return l.client.make(ctx, l.keys[0], r) }
}
