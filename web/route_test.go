package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/api/middleware"
)

// TestPagesAreCountedByTheirPatterns, and no id in an address becomes a label.
func TestPagesAreCountedByTheirPatterns(t *testing.T) {
	h := sqliteHouse(t, nil)
	registry := prometheus.NewRegistry()
	var told strings.Builder
	pages := middleware.Log(slog.New(slog.NewTextHandler(&told, nil)), registry, nil, nil)(h.web.Handler())
	for path, route := range map[string]string{
		"/pricing":                               "/pricing",
		"/pdf-templates/invoice/invoice-atelier": "/pdf-templates/{category}/{id}",
		"/dashboard/documents":                   "/dashboard/documents",
		"/dashboard/templates/0f2e":              "/dashboard/templates/{id}",
		"/static/nothing.css":                    "/static/*",
		"/nothing/here":                          "unmatched",
	} {
		told.Reset()
		pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if want := " route=" + route + " "; !strings.Contains(told.String(), want) {
			t.Errorf("%s: the log says %q, want%s", path, told.String(), want)
		}
	}
	counted, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	for _, family := range counted {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "route" {
					routes++
				}
				if strings.Contains(label.GetValue(), "0f2e") {
					t.Errorf("the label %s is %s", label.GetName(), label.GetValue())
				}
			}
		}
	}
	if routes != 6 {
		t.Errorf("%d routes are counted, want 6", routes)
	}
}
