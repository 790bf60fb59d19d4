package queue

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrBusy means that the queue is full, or that the wait was too long. The error is a
	// *BusyError.
	ErrBusy = errors.New("queue: all slots are taken and the queue is full")
	// ErrClosed means that the queue was closed.
	ErrClosed = errors.New("queue: closed")
)

// BusyError is ErrBusy with an estimate of when to come back.
type BusyError struct {
	RetryAfter time.Duration // whole seconds, at least one
	// Slowed is the time for which the account has fewer slots than others, because its jobs kept running into
	// their deadlines; zero if it has not.
	Slowed time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: try again in %s", ErrBusy, e.RetryAfter)
}

// Is reports that the error is an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
