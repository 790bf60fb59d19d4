package sharedtest

import (
	"os"
	"testing"
)

// Slow skips t if the environment has SLOW_TESTS=off, as `make test` sets it, and with -short. It comes first in a
// test that takes more than five seconds.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() || os.Getenv("SLOW_TESTS") == "off" {
		t.Skip("takes long: make test SLOW=on")
	}
}
