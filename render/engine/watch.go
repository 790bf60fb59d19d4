package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// watchPeriod is the interval at which limits are checked that the kernel does not enforce.
const watchPeriod = 100 * time.Millisecond

// errOvergrown ends a child that holds more files or memory than it may.
var errOvergrown = errors.New("over the bound")

// watch calls check in intervals of period until stop is closed, and calls exceeded once it returns an error.
func watch(stop <-chan struct{}, period time.Duration, check func() error, exceeded func(error)) {
	tick := time.NewTicker(period)
	defer tick.Stop()

	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if err := check(); err != nil {
				exceeded(err)
				return
			}
		}
	}
}

// checkFolder reports whether a folder holds more than limit bytes or too many
// files.
func checkFolder(path string, limit int64) error {
	var bytes int64
	entries := 0
	return filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it has gone, or is closed and empty
		}

		if info, err := e.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				const block = 512
				bytes += s.Blocks * block
			}
		}

		if entries++; entries > maxEntries || bytes > limit {
			return fmt.Errorf("files: %w", errOvergrown)
		}
		return nil
	})
}
