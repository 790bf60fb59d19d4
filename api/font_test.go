package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestFonts reads the list of fonts page by page, and searches it.
func TestFonts(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	get := func(query string) wire.FontList {
		return decode[wire.FontList](t, s.Send(t, apitest.Request{Method: "GET", Path: "/v1/fonts" + query}).OK(t))
	}
	var all []wire.Font
	for query := "?limit=100"; ; {
		page := get(query)
		if len(page.Fonts) == 0 || len(page.Fonts) > 100 {
			t.Fatalf("%s: a page of %d families", query, len(page.Fonts))
		}
		all = append(all, page.Fonts...)
		if page.NextCursor == nil {
			break
		}
		query = "?limit=100&cursor=" + *page.NextCursor
	}
	sorted := slices.IsSortedFunc(all, func(a, b wire.Font) int {
		return strings.Compare(strings.ToLower(a.Family), strings.ToLower(b.Family))
	})
	if !sorted || len(all) < 100 {
		t.Errorf("%d families, in the order of the alphabet: %v", len(all), sorted)
	}
	if n := len(get("").Fonts); n != 20 {
		t.Errorf("%d families without a limit, want 20", n)
	}
	for search, alias := range map[string]string{"ROBOTO": "", "georgia": "Gelasio", "montserrat": ""} {
		found := get("?search=" + search).Fonts
		if len(found) == 0 || len(found[0].Styles) == 0 || !strings.EqualFold(found[0].Family, search) {
			t.Errorf("%s: %+v", search, found)
		} else if got := found[0].AliasOf; alias == "" && got != nil || alias != "" && (got == nil || *got != alias) {
			t.Errorf("%s is an alias of %v, want %q", search, got, alias)
		}
	}
	if found := get("?search=zebra").Fonts; found == nil || len(found) > 0 {
		t.Errorf("there is a zebra: %v", found)
	}
	for _, query := range []string{"?cursor=zebra", "?cursor=Wg", "?limit=0", "?limit=101", "?serach=a"} {
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/fonts" + query}).Refused(t, wire.InvalidRequest)
	}
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/fonts", Header: http.Header{"Authorization": {""}}}).Refused(t, wire.Unauthorized)
}
