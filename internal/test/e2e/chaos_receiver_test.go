package e2e

import (
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// chaosReceiver is the receiver of webhooks and callbacks: it stores the requests, and responds with success, with
// errors or not at all.
type chaosReceiver struct {
	server *httptest.Server
	calm   chan struct{} // closed: it answers well from now on, but for those that are gone

	mu     sync.Mutex
	got    []chaosDelivery
	frozen chan struct{} // closed when the receiver continues; nil while it is not frozen
}

// chaosDelivery is one request that the receiver got.
type chaosDelivery struct {
	kind   string
	header http.Header
	body   []byte
}

func newChaosReceiver(t *testing.T) *chaosReceiver {
	t.Helper()
	r := &chaosReceiver{calm: make(chan struct{})}
	r.server = httptest.NewUnstartedServer(r)
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of senders that died
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	return r
}

// ServeHTTP records a request and behaves according to its path.
func (r *chaosReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if frozen := r.isFrozen(); frozen != nil {
		select {
		case <-frozen:
		case <-request.Context().Done():
			return
		}
	}
	kind := strings.Trim(request.URL.Path, "/")
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // The sender died: it will come again.
	}
	r.mu.Lock()
	r.got = append(r.got, chaosDelivery{kind, request.Header.Clone(), body})
	r.mu.Unlock()
	switch {
	case kind == "gone":
		w.WriteHeader(http.StatusGone)
	case r.isCalm():
	case kind == "flaky" && rand.IntN(2) == 0:
		w.WriteHeader(http.StatusInternalServerError)
	case kind == "redirect":
		http.Redirect(w, request, "/ok", http.StatusFound)
	case kind == "stall":
		select {
		case <-request.Context().Done():
		case <-r.calm:
		case <-time.After(crashPatience):
		}
	}
}

// freeze keeps all requests waiting, or lets them go on.
func (r *chaosReceiver) freeze(freeze bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if freeze {
		r.frozen = make(chan struct{})
	} else {
		close(r.frozen)
		r.frozen = nil
	}
}

func (r *chaosReceiver) isFrozen() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.frozen
}

func (r *chaosReceiver) calmDown() { close(r.calm) }

func (r *chaosReceiver) isCalm() bool {
	select {
	case <-r.calm:
		return true
	default:
		return false
	}
}

func (r *chaosReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// of returns the requests to the receivers of a kind.
func (r *chaosReceiver) of(kind string) []chaosDelivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []chaosDelivery
	for _, d := range r.got {
		if d.kind == kind {
			list = append(list, d)
		}
	}
	return list
}
