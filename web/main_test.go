package web_test

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	// A sixth of this process's time was garbage collection.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
