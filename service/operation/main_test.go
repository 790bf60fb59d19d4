package operation

import (
	"fmt"
	"os"
	"testing"

	"github.com/relaypdf/relaypdf/render"
)

// TestMain makes this test binary the engine of the renderers that its tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := render.ServeEngine(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
