package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Variables that turn the test binary into the program itself, so that tests
// can start, kill and restart a real server process.
const (
	actAsProgram = "TEST_RELAYPDF_PROGRAM" // run main
	stopAfter    = "TEST_RELAYPDF_STOP"    // serve, and hang after this step of a paid call
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(stopAfter) != "":
		if err := serveUntil(os.Getenv(stopAfter)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(actAsProgram) != "", len(os.Args) > 1 && os.Args[1] == "engine":
		main()
	default:
		os.Exit(m.Run())
	}
}

// serveUntil serves until a paid call has passed the step; it then says so and
// leaves the call hanging there, to be killed.
func serveUntil(step string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cmd := newServeCommand()
	config, err := LoadConfig(cmd.Flags(), os.Environ())
	if err != nil {
		return err
	}
	app, err := NewApp(ctx, config, newLogger(config, os.Stderr), Hooks{AfterStep: func(passed string) {
		if passed == step {
			fmt.Println("reached", step)
			select {}
		}
	}})
	if err != nil {
		return err
	}
	fmt.Println("listening", app.URL)
	return app.Run(ctx)
}
