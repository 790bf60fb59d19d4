// Package telemetry reports to an OpenTelemetry collector how long requests, calls, deliveries and their parts take.
// A nil Tracer does nothing, and costs a comparison.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Header carries the parent of a trace.
const Header = "Traceparent"

// Tracer makes spans, and sends them to a collector. Its methods are safe for
// concurrent use, and do nothing on nil.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
}

// Config sets the collector of spans, and the service's name.
type Config struct {
	// URL is the collector's, as OTEL_EXPORTER_OTLP_ENDPOINT names it: spans go to
	// /v1/traces below it. It may be the value of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, to which nothing is added.
	URL             string
	Version, Region string
	Logger          *slog.Logger
}

// maxError is the length of an error that is logged: the exporter quotes what the collector responds.
const maxError = 500

// New returns a Tracer. It does not contact the collector: while the collector does not respond, spans are dropped
// and an error is logged. The SDK and its exporter read other OTEL_ variables themselves, such as those for sampling,
// batches, headers, compression and certificates.
func New(ctx context.Context, c Config) (*Tracer, error) {
	options, err := exporterOptions(c.URL)
	if err != nil {
		return nil, err
	}

	otel.SetLogger(logr.FromSlogHandler(c.Logger.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		c.Logger.Warn("send traces failed", "error", fmt.Sprintf("%.*s", maxError, err))
	}))

	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, err
	}

	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "relaypdf"),
		attribute.String("service.version", c.Version),
		attribute.String("cloud.region", c.Region),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}

	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(exporter))
	return &Tracer{provider, provider.Tracer("relaypdf")}, nil
}

// Close sends the remaining spans until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Kinds of spans that Follow begins.
const (
	Consumer = api.SpanKindConsumer // takes from a queue
	Client   = api.SpanKindClient   // calls another service
)

// Span is a part of a trace that has begun. A nil one is none.
type Span struct{ span api.Span }

// carrier reads and writes the header.
var carrier propagation.TraceContext

// Receive begins the span of a request, which continues the trace that the client names, if any.
func (t *Tracer) Receive(r *http.Request, name string) (*http.Request, *Span) {
	if t == nil {
		return r, nil
	}
	ctx := carrier.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, name, api.WithSpanKind(api.SpanKindServer))
	return r.WithContext(ctx), &Span{span}
}

// Follow begins a span that continues a value of Parent, maybe from another process; without a parent if it is empty.
// The span began the given time ago: the wait is its first part.
func (t *Tracer) Follow(
	ctx context.Context, parent, name string, kind api.SpanKind, ago time.Duration,
) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx = carrier.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	ctx, span := t.tracer.Start(ctx, name, api.WithSpanKind(kind), api.WithTimestamp(time.Now().Add(-ago)))
	return ctx, &Span{span}
}

// Begin begins a part of the span in ctx.
func (t *Tracer) Begin(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !api.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, &Span{span}
}

// Tell adds a part of the span in ctx that has ended just now.
func (t *Tracer) Tell(ctx context.Context, name string, took time.Duration) {
	if t == nil || !api.SpanContextFromContext(ctx).IsValid() {
		return
	}
	now := time.Now()
	_, span := t.tracer.Start(ctx, name, api.WithTimestamp(now.Add(-took)))
	span.End(api.WithTimestamp(now))
}

// Parent returns the span in ctx as others go on from it, as the header has it; empty if there is none.
func (t *Tracer) Parent(ctx context.Context) string {
	if t == nil || !api.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	header := propagation.MapCarrier{}
	carrier.Inject(ctx, header)
	return header["traceparent"]
}

// Pass has who gets a request go on from the span in ctx.
func (t *Tracer) Pass(ctx context.Context, h http.Header) {
	if parent := t.Parent(ctx); parent != "" {
		h.Set(Header, parent)
	}
}

// Rename gives the span another name: a request's route is known when it has been
// answered.
func (s *Span) Rename(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Set sets an attribute of the span. Everyone who sees the operator's traces can read it, for example the name of an
// operation. It must not contain parts of documents, URLs or email addresses.
func (s *Span) Set(key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt is Set with a number.
func (s *Span) SetInt(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Fail marks the span as failed. A code is the reason; error messages may quote documents, and are left out.
func (s *Span) Fail(code string) {
	if s != nil {
		s.span.SetAttributes(attribute.String("error.type", code))
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}

// Logger returns log with the trace ID on each line that belongs to a trace.
func (t *Tracer) Logger(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(handler{log.Handler()})
}

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, line slog.Record) error {
	if span := api.SpanContextFromContext(ctx); span.HasTraceID() {
		line = line.Clone()
		line.AddAttrs(slog.String("traceId", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
