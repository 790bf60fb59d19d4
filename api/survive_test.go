package api_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestWorkerThatPanicsFailsOneJob has a bug meet one job outside of its steps, which
// recover by themselves: it fails, and the next one is done.
func TestWorkerThatPanicsFailsOneJob(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var panicked atomic.Bool
		s := apitest.New(t, apitest.Options{DB: &db, Change: func(c *apitest.Settings) {
			quiet(c)
			c.AfterStep = func(step string) {
				if step == "claimed" && panicked.CompareAndSwap(false, true) {
					panic("a bug between two jobs")
				}
			}
		}})
		first := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		s.Work(t)
		if got := s.Await(t, first.ID); got.Error == nil || got.Error.Code != string(wire.InternalError) {
			t.Errorf("the job of the panic is %+v, want internal_error", got)
		}
		second := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		if got := s.Await(t, second.ID); got.Error != nil {
			t.Errorf("the next job is %+v", got)
		}
		if log := s.Log.String(); !strings.Contains(log, "a bug between two jobs") || !strings.Contains(log, "survive_test.go") {
			t.Error("the log has no panic with its stack")
		}
	})
}

// noisyOutbound delivers nothing at first: it panics, breaks off and returns responses that no receiver sends.
type noisyOutbound struct {
	*apitest.Outbound
	sent *atomic.Int64
}

func (o noisyOutbound) Webhooks() *http.Client {
	client := *o.Outbound.Webhooks()
	client.Timeout = 0 // Its timer would go on after the panic.
	client.Transport = noise{client.Transport, o.sent}
	return &client
}

type noise struct {
	http.RoundTripper
	sent *atomic.Int64
}

// noises is the number of attempts that meet noise.
const noises = 4

func (n noise) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	switch n.sent.Add(1) {
	case 1:
		panic("a bug met by an answer")
	case 2:
		return nil, io.ErrUnexpectedEOF
	case 3:
		return &http.Response{StatusCode: -1, Body: body}, nil
	case noises:
		return &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {"-1", "\xff"}}, Body: body}, nil
	}
	return n.RoundTripper.RoundTrip(r)
}

// TestDispatcherSurvivesAnyAnswer has attempts meet noise, one of them a bug: each fails,
// and the next event is delivered.
func TestDispatcherSurvivesAnyAnswer(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := apitest.New(t, apitest.Options{Change: func(c *apitest.Settings) {
		quiet(c)
		outbound, _ := c.Outbound.(*apitest.Outbound)
		c.Outbound = noisyOutbound{outbound, &sent}
	}})
	receiver := apitest.NewReceiver(t, nil)
	s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
	s.Work(t)
	s.Deliver(t)
	for range noises + 1 {
		s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID)
	}
	receiver.Next(t)
	if log := s.Log.String(); !strings.Contains(log, "a bug met by an answer") || !strings.Contains(log, "survive_test.go") {
		t.Error("the log has no panic with its stack")
	}
}
