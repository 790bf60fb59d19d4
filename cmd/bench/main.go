// Command bench measures the service alongside the floor of each figure, and prints a
// Markdown table. Package internal/test/bench has the rows.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/relaypdf/relaypdf/internal/test/bench"
)

func main() {
	opt := bench.Options{Out: os.Stdout, Progress: os.Stderr}
	for _, name := range []string{"PATH", "TMPDIR", "RELAYPDF_MEMORY"} {
		opt.Env = append(opt.Env, name+"="+os.Getenv(name))
	}

	binary := flag.String("bin", "bin/relaypdf", "the program to measure; `make build` makes it")
	flag.StringVar(&opt.Dir, "dir", "", "parent of the data folders (default the system's temporary folder)")
	flag.BoolVar(&opt.Short, "short", false, "measure every figure from too few calls, in a minute")
	only := flag.String("run", "", "measure only the parts whose names match this regular expression")
	flag.Parse()

	var err error
	if opt.Binary, err = filepath.Abs(*binary); err == nil { // engines start it in folders of their own
		opt.Only, err = regexp.Compile(*only)
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		_, err = bench.Run(ctx, opt)
		stop()
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
