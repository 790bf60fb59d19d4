package pdftag

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDev(t *testing.T) {
	files, _ := filepath.Glob("/tmp/ua/tagged/" + os.Getenv("ONLY") + "*.pdf")
	os.MkdirAll("/tmp/ua/out", 0o755)
	for _, f := range files {
		b, _ := os.ReadFile(f)
		p, _ := os.ReadFile(strings.Replace(f, "tagged", "plain", 1))
		best := time.Hour
		var r Result
		var err error
		for range 3 {
			s := time.Now()
			r, err = Conform(b, Options{Standards: []Standard{UA1, A2A, A2U, A2B}})
			best = min(best, time.Since(s))
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		os.WriteFile("/tmp/ua/out/"+filepath.Base(f), r.PDF, 0o644)
		fmt.Printf("%s plain %d tagged %d out %d (%.2f) %.1f ms %v\n", filepath.Base(f), len(p), len(b), len(r.PDF), float64(len(r.PDF))/float64(len(p)), float64(best.Microseconds())/1000, r.Claimed)
		for _, x := range r.Faults {
			fmt.Printf("    %+v\n", x)
		}
	}
}
