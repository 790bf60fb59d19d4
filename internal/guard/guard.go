// Package guard keeps a panic in one piece of work from ending the program.
//
//	if err := guard.Do(func() { handle(message) }); err != nil {
//		log.Error("message failed", "error", err)
//	}
package guard

import (
	"fmt"
	"runtime/debug"
)

// Do calls work, and returns its panic as an error whose text holds the stack.
func Do(work func()) error {
	return Try(func() error {
		work()
		return nil
	})
}

// Try is Do for work that may fail: it returns the error of work, or its panic.
func Try(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}
