package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"golang.org/x/net/http/httpguts"
)

const (
	// firstRetry is the mean wait before spans are sent again: a process that stops waits 5 s for the collector.
	firstRetry = time.Second
	// maxRetryWait and maxRetryTime are the defaults of the exporter.
	maxRetryWait = 30 * time.Second
	maxRetryTime = time.Minute
)

// exporterOptions returns what differs from the exporter's defaults and its variables. The exporter logs invalid
// headers, which may be secrets, and continues without them. They are an error here.
func exporterOptions(target string) ([]otlptracehttp.Option, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		if !validHeaders(os.Getenv(name)) {
			return nil, fmt.Errorf("%s must be a list like name=value,name=value, with values escaped as in URLs", name)
		}
	}

	options := []otlptracehttp.Option{
		otlptracehttp.WithProxy(proxy),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled:         true,
			InitialInterval: firstRetry,
			MaxInterval:     maxRetryWait,
			MaxElapsedTime:  maxRetryTime,
		}),
	}

	// A URL of this variable is complete, and the exporter reads it.
	if target != strings.TrimRight(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "/") {
		options = append(options, otlptracehttp.WithEndpointURL(target+"/v1/traces"))
	}

	return options, nil
}

// validHeaders reports whether a text is a list like "api-key=secret,team=a%20b". Empty pairs are
// left out.
func validHeaders(headers string) bool {
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}

		name, value, named := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		valid := httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) && httpguts.ValidHeaderFieldValue(text)
		if err != nil || !named || !valid {
			return false
		}
	}

	return true
}

// proxy returns the proxy of the environment. It refuses redirects, which would send the headers and the spans to
// another server: the exporter has no other option for that.
func proxy(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errors.New("the collector redirects to " + r.URL.Redacted() + ", and redirects are not followed")
	}
	return http.ProxyFromEnvironment(r)
}
