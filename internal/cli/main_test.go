package cli

import (
	"os"
	"testing"
	"time"
)

// actAsProgram is the variable that turns the test binary into the program itself, so that tests can run it as another
// user.
const actAsProgram = "TEST_RELAYPDF_PROGRAM"

// testTimeout is the time limit of a test's waits, on a machine that is busy with other work.
const testTimeout = 5 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(actAsProgram) != "" || len(os.Args) > 1 && os.Args[1] == "engine" {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}
