package api_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// The IDs of a client's trace, as its header contains them.
const (
	clientSpan = "00f067aa0ba902b7"
	syncTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	jobTrace   = "5bf92f3577b34da6a3ce929d0e0e4737"
	badTrace   = "6bf92f3577b34da6a3ce929d0e0e4738"
)

// TestTraces follows a call, a job with its callback and a call that fails, each from the client's trace to its
// end, and checks that no private data is in the spans.
func TestTraces(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		collector := apitest.NewCollector(t)
		tracer, flush := collector.Tracer(t)
		s := apitest.New(t, apitest.Options{
			DB: &db,
			Operations: []schema.Definition[*operation.Deps]{apitest.Echo(func(_ context.Context, in *apitest.EchoInput) error {
				if in.Label == "b" {
					return errors.New("words-of-the-document cannot be shown")
				}
				return nil
			})},
			Change: func(c *apitest.Settings) {
				quiet(c)
				c.Tracer, c.Logger = tracer, tracer.Logger(c.Logger)
			},
		})
		receiver := apitest.NewReceiver(t, nil)
		from := func(traceID string) http.Header {
			return http.Header{telemetry.Header: {"00-" + traceID + "-" + clientSpan + "-01"}}
		}
		endpoint := s.NewWebhook(t, `{"url":"`+receiver.URL+`/hook?token=query-of-the-hook"}`)
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"words-of-the-document","response":"url"}`, Header: from(syncTrace)}).OK(t)
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"words-of-the-document","label":"b"}`, Header: from(badTrace)}).Refused(t, wire.InternalError)
		job := s.Enqueue(t, apitest.Request{
			Path:   echo,
			Body:   `{"text":"words-of-the-document","response":"async","callbackUrl":"` + receiver.URL + `/back?token=query-of-the-hook"}`,
			Header: from(jobTrace),
		})
		stopWork, stopDelivery := s.Work(t), s.Deliver(t)
		s.Await(t, job.ID)
		passedOn := map[string]bool{}
		for range 2 {
			passedOn[receiver.Next(t).Header.Get(telemetry.Header)] = true
		}
		stopWork()
		stopDelivery()
		s.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/webhooks/" + endpoint.ID})
		flush()

		const paid = "  limit\n  decode\n  authorize\n  quote\n  pin\n  admit\n  hold\n"
		expectTree(t, collector, syncTrace, "POST "+echo+"\n"+paid+"  run\n  settle\n    settle/store\n")
		expectTree(t, collector, badTrace, "POST "+echo+" failed\n"+paid+"  run failed\n")
		// The call of the job may or may not have its response before the worker continues it.
		expectTree(t, collector, jobTrace, "POST "+echo+"\n"+paid+
			"  job test.echo\n    wait\n    standing\n    load\n    run\n    settle\n      settle/store\n  delivery\n  delivery\n")
		for _, span := range collector.Spans(jobTrace) {
			if span.GetName() == "delivery" {
				parent := "00-" + jobTrace + "-" + hex.EncodeToString(span.GetSpanId()) + "-01"
				if !passedOn[parent] {
					t.Errorf("%s was not passed on, but %v", parent, passedOn)
				}
			}
		}
		for _, secret := range []string{"words-of-the-document", "query-of-the-hook", receiver.URL, "owner@example.com", s.Secret, s.Account.ID} {
			if strings.Contains(collector.Raw(), secret) {
				t.Errorf("the collector was told %q", secret)
			}
		}
		expectTraceInLog(t, s, "request", syncTrace, badTrace, jobTrace)
		expectTraceInLog(t, s, "job", jobTrace)
		expectTraceInLog(t, s, "delivery", jobTrace, jobTrace)
	})
}

func expectTree(t *testing.T, c *apitest.Collector, traceID, want string) {
	t.Helper()
	if got := c.Tree(traceID, clientSpan); got != want {
		t.Errorf("the trace is\n%s, want\n%s", got, want)
	}
}

// expectTraceInLog wants the log's lines of a kind to name these traces, in this
// order.
func expectTraceInLog(t *testing.T, s *apitest.Server, kind string, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(s.Log.String()) {
		var entry struct{ Msg, TraceID string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if known := entry.TraceID == syncTrace || entry.TraceID == badTrace || entry.TraceID == jobTrace; entry.Msg == kind && known {
			got = append(got, entry.TraceID)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("lines of %s have the traces %q, want %q", kind, got, want)
	}
}

// TestNoTracer: without a collector a client's trace is ignored, and no header is sent.
func TestNoTracer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	s.Enqueue(t, apitest.Request{
		Path: echo, Body: `{"text":"a","response":"async","callbackUrl":"` + receiver.URL + `"}`,
		Header: http.Header{telemetry.Header: {"00-" + jobTrace + "-" + clientSpan + "-01"}},
	})
	s.Work(t)
	s.Deliver(t)
	if got := receiver.Next(t).Header.Get(telemetry.Header); got != "" {
		t.Errorf("the callback goes on from %q", got)
	}
	if strings.Contains(s.Log.String(), jobTrace) {
		t.Errorf("the log knows the client's trace:\n%s", s.Log.String())
	}
}
