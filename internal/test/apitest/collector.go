package apitest

import (
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/relaypdf/relaypdf/internal/telemetry"
)

// Collector receives traces as OTLP over HTTP, and stores them.
type Collector struct {
	URL string

	mu     sync.Mutex
	raw    []byte
	spans  []*otlp.Span
	header http.Header // of the last request
}

// NewCollector starts a collector that ends with its test.
func NewCollector(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got otlp.TracesData // the bytes of an ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s got what is no trace: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw = append(c.raw, body...)
		c.header = r.Header
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Tracer returns one that sends to the collector, and a function after which all
// that has ended is there.
func (c *Collector) Tracer(t testing.TB) (tracer *telemetry.Tracer, flush func()) {
	t.Helper()
	tracer, err := telemetry.New(t.Context(), telemetry.Config{URL: c.URL, Version: "test", Region: "tst", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return tracer, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := tracer.Close(ctx); err != nil {
			t.Errorf("send the last spans: %v", err)
		}
	}
}

// Header returns the header of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}

// Raw returns all received bytes, unchanged.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.raw)
}

// Spans returns the received spans of a trace in the order of their start.
func (c *Collector) Spans(traceID string) (list []*otlp.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) == traceID {
			list = append(list, span)
		}
	}
	slices.SortStableFunc(list, func(a, b *otlp.Span) int { return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()) })
	return list
}

// Tree formats the descendants of a span, one per line, indented by their depth.
func (c *Collector) Tree(traceID, parent string) string {
	var text strings.Builder
	list := c.Spans(traceID)
	var below func(parent, indent string)
	below = func(parent, indent string) {
		for _, span := range list {
			if hex.EncodeToString(span.GetParentSpanId()) == parent {
				text.WriteString(indent + span.GetName())
				if span.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR {
					text.WriteString(" failed")
				}
				text.WriteString("\n")
				below(hex.EncodeToString(span.GetSpanId()), indent+"  ")
			}
		}
	}
	below(parent, "")
	return text.String()
}
