package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"relaypdf/api"
	"relaypdf/api/apitest"
	"relaypdf/store"
	"relaypdf/store/storetest"
)

// TestFilesAreReadInTheirRegion keeps a file in one region and asks another for it,
// which has the same database and a folder of files of its own.
func TestFilesAreReadInTheirRegion(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var box *api.Config
		home := apitest.New(t, apitest.Options{DB: &db, Change: func(c *api.Config) { box = c }})
		id := stored(t, home, `{"text":"letter","response":"url"}`)
		far := storetest.DB{URL: db.URL, DataDir: t.TempDir()}.OpenAs(t, store.Config{Now: home.Clock.Now, Region: "iad"})
		// ask asks the far region, and returns its answer and where it leads.
		ask := func(regions api.Regions, path string, header ...string) *httptest.ResponseRecorder {
			t.Helper()
			config := *box
			config.Store, config.Registry, config.Regions = far, nil, regions
			made, err := api.New(config)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			made.Handler().ServeHTTP(w, r)
			return w
		}
		path := "/v1/files/" + id
		there := api.Regions{Here: "iad", URLs: map[string]string{"loc": home.URL}}
		got := ask(there, path)
		if want := home.URL + path + "?from=iad"; got.Code != http.StatusTemporaryRedirect || got.Header().Get("Location") != want {
			t.Fatalf("status %d to %q, want %q: %s", got.Code, got.Header().Get("Location"), want, got.Body)
		}
		read := home.Send(t, apitest.Request{Method: "GET", Path: strings.TrimPrefix(got.Header().Get("Location"), home.URL), Header: without()}).OK(t)
		if read.Body != "letter" {
			t.Errorf("the file reads %q where the redirect leads", read.Body)
		}
		replay := api.Regions{Here: "iad", Replay: true}
		for name, q := range map[string]struct {
			regions api.Regions
			path    string
			header  []string
			status  int
			replay  string
		}{
			"Fly's proxy is asked":            {replay, path, nil, http.StatusServiceUnavailable, "region=loc"},
			"and not twice":                   {replay, path, []string{"Fly-Replay-Src", "instance=1;region=loc"}, http.StatusServiceUnavailable, ""},
			"a client is not sent in circles": {there, path + "?from=loc", nil, http.StatusServiceUnavailable, ""},
			"an unknown region":               {api.Regions{Here: "iad", URLs: map[string]string{"fra": home.URL}}, path, nil, http.StatusServiceUnavailable, ""},
			"shared files":                    {api.Regions{Here: "iad"}, path, nil, http.StatusServiceUnavailable, ""},
			"an unknown file":                 {there, "/v1/files/file_unknown", nil, http.StatusNotFound, ""},
		} {
			got := ask(q.regions, q.path, q.header...)
			if got.Code != q.status || got.Header().Get("Fly-Replay") != q.replay || got.Header().Get("Location") != "" {
				t.Errorf("%s: status %d, %v: %s", name, got.Code, got.Header(), got.Body)
			}
		}
	})
}
