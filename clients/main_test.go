package clients

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
)

// TestMain makes this test binary the engine of the renderer that its tests share.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := render.ServeEngine(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if err := lab.close(); err != nil {
		fmt.Fprintln(os.Stderr, "close the renderer:", err)
		code = 1
	}
	os.Exit(code)
}

// lab is the renderer of the tests that call everything. It starts with the first.
var lab workroom

type workroom struct {
	once   sync.Once
	dir    string
	render *render.Renderer
	err    error
}

// renderer returns the renderer, which ends with all tests.
func (w *workroom) renderer(t *testing.T) *render.Renderer {
	t.Helper()
	w.once.Do(func() {
		if w.dir, w.err = os.MkdirTemp("", "clients-test-"); w.err != nil {
			return
		}
		// The engines' own user passes through it.
		if w.err = os.Chmod(w.dir, 0o711); w.err != nil {
			return
		}
		var engine []string
		if engine, w.err = sharedtest.Engine(w.dir); w.err != nil {
			return
		}
		w.render, w.err = render.New(context.Background(), render.Config{Dir: w.dir, Engine: engine, Resolver: noNames{}, Times: chrome.Times{Job: 2 * time.Minute}})
	})
	if w.err != nil {
		t.Fatal(w.err)
	}
	return w.render
}

func (w *workroom) close() error {
	defer os.RemoveAll(w.dir)
	if w.render == nil {
		return nil
	}
	return w.render.Close()
}

// noNames is a DNS that knows no name: no test asks the real one.
type noNames struct{}

func (noNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}
