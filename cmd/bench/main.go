// Command bench measures the service beside the floor: what the same browser
// does in the same minutes when nothing but its own protocol stands before it.
//
// The service is the real program, a child process with a data folder of its
// own, SQLite, keys and money, spoken to over HTTP on kept connections. The
// floor is a browser with the same binary, flags, user and sandbox, spoken to
// over its debugging pipe.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// patience bounds a whole run, whatever hangs; rowPatience adds to it for each call
// of a history.
const (
	patience    = 45 * time.Minute
	rowPatience = 100 * time.Microsecond
)

// options are the flags.
type options struct {
	binary, dir       string
	short, soak, json bool
	rows              int // calls of a history
	only              *regexp.Regexp
	env               []string // of this program, of which the service gets PATH, TMPDIR and RELAYPDF_MEMORY
	out, progress     io.Writer
}

func main() {
	opt := options{out: os.Stdout, progress: os.Stderr, env: os.Environ()}
	flag.StringVar(&opt.binary, "bin", "bin/relaypdf", "the program to measure; `make build` makes it")
	flag.StringVar(&opt.dir, "dir", "", "parent of the data folders (default the system's temporary folder)")
	flag.BoolVar(&opt.short, "short", false, "a quick look: every figure from far too few documents")
	flag.BoolVar(&opt.soak, "soak", false, "render 10,000 documents and compare the memory at the start and at the end")
	flag.BoolVar(&opt.json, "json", false, "print the figures as JSON")
	flag.IntVar(&opt.rows, "rows", 1_000_000, "how many calls the part history writes; 50,000,000 take an hour or two, and some 26 GB of disk")
	only := flag.String("run", "", "measure only the parts whose name matches this regular expression")
	flag.Parse()
	var err error
	if opt.binary, err = filepath.Abs(opt.binary); err == nil { // engines start it in folders of their own
		opt.only, err = regexp.Compile(*only)
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		err = run(ctx, opt)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures and prints. Its error means that something did not work, never
// that it was slow.
func run(ctx context.Context, opt options) error {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Duration(opt.rows)*rowPatience)
	defer cancel()
	l, err := newLab(ctx, opt)
	if err != nil {
		return err
	}
	defer l.close()
	measure := l.bench
	if opt.soak {
		measure = l.soak
	}
	report, err := measure(ctx)
	if err != nil {
		return err
	}
	if opt.json {
		err = report.writeJSON(opt.out)
	} else {
		err = report.write(opt.out)
	}
	if err != nil {
		return err
	}
	return report.failure()
}
