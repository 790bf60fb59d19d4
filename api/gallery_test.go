package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// gallery asks for layouts, without a key.
func gallery(t *testing.T, s *apitest.Server, query string) []wire.GalleryTemplate {
	t.Helper()
	answer := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/templates/gallery" + query, Header: http.Header{"Authorization": {""}}}).OK(t)
	if got, want := answer.Header.Get("Cache-Control"), "public, max-age=0, s-maxage=300, stale-while-revalidate=60, stale-if-error=86400"; got != want {
		t.Errorf("%s: Cache-Control is %q, want %q", query, got, want)
	}
	var list wire.GalleryList
	if err := json.Unmarshal([]byte(answer.Body), &list); err != nil {
		t.Fatal(err)
	}
	if list.Templates == nil {
		t.Errorf("%s: templates is null", query)
	}
	return list.Templates
}

func TestGalleryListsLayouts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	all := gallery(t, s, "")
	categories := map[string]int{}
	for _, l := range all {
		categories[l.Category]++
		if l.Href != "/pdf-templates/"+l.Category+"/"+l.ID || l.Name == "" || l.Description == "" || l.Slug == "" || len(l.Tags) == 0 {
			t.Errorf("%s is incomplete: %+v", l.ID, l)
		}
	}
	if len(all) < 30 || len(categories) < 10 {
		t.Errorf("%d layouts in %d categories, want at least 30 in 10", len(all), len(categories))
	}
	for _, test := range []struct {
		query string
		want  int
	}{
		{"?category=invoice", categories["invoice"]},
		{"?category=invoice&search=Swiss%20grid", 1},
		{"?search=guilloche", 1},
		{"?search=zebra", 0},
		{"?category=invoice&search=guilloche", 0},
	} {
		if got := gallery(t, s, test.query); len(got) != test.want {
			t.Errorf("%s: %d layouts, want %d", test.query, len(got), test.want)
		}
	}
	for _, query := range []string{"?category=zebra", "?search=" + strings.Repeat("a", 201)} {
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/templates/gallery" + query}).Refused(t, wire.InvalidRequest)
	}
}

func TestThumbnailsAreCachedForEver(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, l := range gallery(t, s, "?category=certificate") {
		_, path, ok := strings.Cut(l.ThumbnailURL, "/gallery/")
		if !ok {
			t.Fatalf("the thumbnail's address is %s", l.ThumbnailURL)
		}
		answer := s.Send(t, apitest.Request{Method: "GET", Path: "/gallery/" + path, Header: http.Header{"Authorization": {""}}})
		if answer.Status != http.StatusOK {
			t.Fatalf("%s: status %d", path, answer.Status)
		}
		if !strings.HasPrefix(answer.Body, "RIFF") || answer.Header.Get("Content-Type") != "image/webp" {
			t.Errorf("%s is no WebP: %s", path, answer.Header.Get("Content-Type"))
		}
		if got, want := answer.Header.Get("Cache-Control"), "public, max-age=31536000, immutable"; got != want {
			t.Errorf("%s: Cache-Control is %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"/gallery/certificate-form.webp", "/gallery/sources.json", "/gallery/..%2fsources.json"} {
		s.Send(t, apitest.Request{Method: "GET", Path: path, Header: http.Header{"Authorization": {""}}}).Refused(t, wire.NotFound)
	}
}
