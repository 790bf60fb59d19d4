package office

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// TestStoppedOffice stops the LibreOffice process before and in the middle of a job, which a new one does.
func TestStoppedOffice(t *testing.T) {
	sharedtest.Slow(t)
	for name, content := range map[string][]byte{"idle.txt": []byte("second"), "long.html": long()} {
		t.Run(name, func(t *testing.T) {
			p, pid := only(t)
			if name == "idle.txt" {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			} else {
				go func() { _ = syscall.Kill(atWork(t, []int{pid}), syscall.SIGSTOP) }()
			}

			made, err := convert(t, p, content, name, "", ToPDF)
			if err != nil || len(made) == 0 {
				t.Errorf("got %d bytes and %v, want the document", len(made), err)
			}
			eventually(t, "the stopped office is gone", func() bool { return !slices.Contains(offices(t), pid) })
		})
	}
}

// TestOfficeThatStops stops every LibreOffice process as soon as it starts, until the job has failed.
func TestOfficeThatStops(t *testing.T) {
	sharedtest.Slow(t)
	before := offices(t)
	p := New(Config{Engine: engine.Config{Size: 1}, Queue: 3})
	t.Cleanup(func() { _ = p.Close() })

	ended, stopping := make(chan struct{}), sync.WaitGroup{}
	stopping.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
			for _, pid := range offices(t) {
				if !slices.Contains(before, pid) {
					_ = syscall.Kill(pid, syscall.SIGSTOP) // It may have ended.
				}
			}
		}
	})
	begun := time.Now()
	_, _, err := p.Convert(t.Context(), Conversion{
		Content: spool.FromBytes([]byte("a,b\n1,2\n")), Source: Source{KindSheet, FormatCSV}, To: ToPDF, MaxPages: 10, MaxBytes: 1 << 20,
	})
	close(ended)
	stopping.Wait()

	if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "%!") {
		t.Errorf("after %v: got %v, want ErrUnavailable", time.Since(begun), err)
	}
	if made, err := convert(t, p, []byte("second"), "second.txt", "", ToPDF); err != nil || textOf(t, made) != "second" {
		t.Errorf("afterwards: %v", err)
	}
}
