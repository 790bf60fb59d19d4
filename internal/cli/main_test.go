package cli

import (
	"os"
	"testing"
	"time"
)

// actAsProgram is the variable that turns the test binary into the program itself, so that tests can run it as another
// user.
const actAsProgram = "TEST_RELAYPDF_PROGRAM"

// patience is how long a test waits for what has to happen, on a machine that does much else.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(actAsProgram) != "" || len(os.Args) > 1 && os.Args[1] == "engine" {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}
