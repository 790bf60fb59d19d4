package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"
)

const (
	// exportTimeout is the default of OpenTelemetry's specification for one request.
	exportTimeout = 10 * time.Second
	// quotedResponse limits the part of a response that an error quotes, in bytes.
	quotedResponse = 200
)

// collector sends spans as Protobuf over HTTP. OpenTelemetry's own exporter needs a hundred more packages, most of them
// gRPC's, for the same POST.
type collector struct {
	url     string
	headers http.Header
	client  *http.Client
}

// newCollector returns the collector at a URL. The headers are a list as in OTEL_EXPORTER_OTLP_HEADERS:
// "api-key=secret,team=a%20b".
func newCollector(target, headers string) (*collector, error) {
	c := &collector{
		url:     target,
		headers: http.Header{},
		client:  &http.Client{Timeout: exportTimeout, CheckRedirect: stay},
	}

	for pair := range strings.SplitSeq(headers, ",") {
		name, value, named := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		name = strings.TrimSpace(name)
		switch {
		case strings.TrimSpace(pair) == "":
		case err != nil || !named || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(text):
			return nil, errors.New(
				"the headers for the collector (OTEL_EXPORTER_OTLP_HEADERS or OTEL_EXPORTER_OTLP_TRACES_HEADERS) " +
					"must be a list like name=value,name=value, with values escaped as in URLs",
			)
		default:
			c.headers.Set(name, text)
		}
	}

	c.headers.Set("Content-Type", "application/x-protobuf")
	return c, nil
}

// stay refuses redirects: they would send the headers and the spans to another server.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Start is a part of otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop is a part of otlptrace.Client.
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces makes one request.
func (c *collector) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	// An ExportTraceServiceRequest, whose package needs gRPC, has the same bytes.
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}

	r.Header = c.headers.Clone()
	response, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(io.LimitReader(response.Body, quotedResponse))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s: %q", response.Status, text)
	}
	return err
}
