package gallery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/static"
)

// formatAll prints what the editor's Format makes of the sources on its input, or
// null for those that it leaves alone.
const formatAll = `
const [script, ...sources] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
(0, eval)(script);
console.log(JSON.stringify(sources.map((source) => globalThis.formatTemplate(source))));
`

// formatted has the sources of all layouts formatted, by their ids, with the script
// that browsers fetch.
var formatted = sync.OnceValues(func() (map[string]string, error) {
	files, err := static.Open()
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	files.ServeHTTP(w, httptest.NewRequest(http.MethodGet, files.URL("format.js"), http.NoBody))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("format.js: status %d", w.Code)
	}
	g, err := New()
	if err != nil {
		return nil, err
	}
	layouts := g.List("", "")
	input := []string{w.Body.String()}
	for _, l := range layouts {
		input = append(input, l.HTML)
	}
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	node := exec.Command("node", "-e", formatAll)
	node.Stdin = strings.NewReader(string(text))
	out, err := node.Output()
	if err != nil {
		return nil, err
	}
	var made []*string
	if err := json.Unmarshal(out, &made); err != nil || len(made) != len(layouts) {
		return nil, fmt.Errorf("%d of %d layouts came back: %w", len(made), len(layouts), err)
	}
	found := map[string]string{}
	for i, l := range layouts {
		if made[i] != nil {
			found[l.ID] = *made[i]
		}
	}
	return found, nil
})

// checkFormatted wants a layout that was formatted to print every word where the
// layout itself has it.
func checkFormatted(t *testing.T, l Layout, format string, before printed) {
	t.Helper()
	sources, err := formatted()
	if err != nil {
		t.Fatal(err)
	}
	source, ok := sources[l.ID]
	if !ok {
		t.Error("it is not formatted: that would change what it says")
		return
	}
	if source == l.HTML {
		return // It stands as Format leaves it.
	}
	l.HTML = source
	html, err := fillOnce(t, l, asItIs)
	if err != nil {
		t.Fatalf("formatted: %v", err)
	}
	after := printHTML(t, html, settings(t, l, format))
	want, got := placed(t, before), placed(t, after)
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("formatted, it prints other words or elsewhere: got %q, want %q", got[min(i, len(got)-1)], want[i])
			return
		}
	}
}

// placed are the pages and words of a document, with their places.
func placed(t *testing.T, p printed) (lines []string) {
	t.Helper()
	for line := range strings.Lines(run(t, "pdftotext", "-bbox", p.path, "-")) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "<page ") || strings.HasPrefix(line, "<word ") {
			lines = append(lines, line)
		}
	}
	return lines
}
