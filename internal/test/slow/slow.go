// Package slow marks the tests that `make test` leaves out and .ci/nightly runs (ADR 36).
package slow

import (
	"os"
	"testing"
)

// Test skips t if the environment has SLOW_TESTS=off, as `make test` sets it, and with -short. It comes first in a
// test that takes more than five seconds.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() || os.Getenv("SLOW_TESTS") == "off" {
		t.Skip("takes long: make test SLOW=on")
	}
}
