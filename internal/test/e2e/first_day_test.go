package e2e

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// beginnings maps an extension to the first bytes of the files that commands make.
var beginnings = map[string]string{
	".pdf": "%PDF-", ".png": "\x89PNG", ".zip": "PK", ".docx": "PK", ".xlsx": "PK", ".json": "{", ".svg": "<",
}

// commands runs the commands of a document unchanged, one after another in one folder.
type commands struct {
	*testing.T
	key, dir, begin string
}

// commandsOf are run against an App, in a folder of their own.
func commandsOf(t *testing.T, app *app.App) commands {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := curlFails + "relaypdf() { " + actAsProgram + "=1 " + self + " \"$@\"; }\n" +
		"export HOME=$PWD RELAYPDF_API_URL=" + app.BaseURL() + "\nURL=$RELAYPDF_API_URL/v1 AUTH=\"Authorization: Bearer $RELAYPDF_API_KEY\"\n"
	return commands{T: t, key: keyOf(t, app), dir: t.TempDir(), begin: begin}
}

// madeFile finds the files that commands make.
var madeFile = regexp.MustCompile(`(?:-o|>) ([a-z]+(\.[a-z]+))(?:\s|$)`)

// run runs a script, and returns its output. It must not fail, and each file that it makes must have the type of its
// name.
func (c commands) run(name, script string) string {
	c.Helper()
	out, err := runs(c.T, c.key, c.dir, "bash", "-e", "-o", "pipefail", "-c", c.begin+script)
	if err != nil {
		c.Errorf("%s: %v\n%s\n%.2000s", name, err, script, out)
	}
	for _, file := range madeFile.FindAllStringSubmatch(script, -1) {
		content, err := os.ReadFile(filepath.Join(c.dir, file[1]))
		if want, known := beginnings[file[2]]; known && (err != nil || !bytes.HasPrefix(content, []byte(want))) && file[1] != "damaged.pdf" {
			c.Errorf("%s: %s is %.100q, %v", name, file[1], content, err)
		}
	}
	return out
}

// TestFirstDay runs the commands of docs/start/first-day.md unchanged, one task after another in one folder.
func TestFirstDay(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "start", "first-day.md"))
	if err != nil {
		t.Fatal(err)
	}
	tasks := regexp.MustCompile("(?s)\n## ([0-9]+\\. [^\n]+)\n\n(?:[^\n]+\n\n)?```sh\n(.*?)\n```\n\n([^\n]+)").FindAllSubmatch(text, -1)
	if headings := len(regexp.MustCompile(`\n## [0-9]+\. `).FindAll(text, -1)); len(tasks) != headings || headings < 35 {
		t.Fatalf("%d of %d tasks have commands and say what comes back, want 35 at least", len(tasks), headings)
	}
	c := commandsOf(t, startOpen(t))
	for _, task := range tasks {
		name, script, back := string(task[1]), string(task[2]), string(task[3])
		out := c.run(name, script)
		if said, _, found := strings.Cut(strings.TrimPrefix(back, "`"), "`"); found && strings.HasPrefix(back, "`") && !strings.Contains(script, said) && !strings.Contains(out, said) {
			t.Errorf("%s: %s does not come back", name, said)
		}
	}
	for file, want := range map[string]string{"warned.json": `"warnings"`, "text.json": "They are answered within a day", "info.json": "Ada Lovelace", "fields.json": `"name"`, "prices.json": "pdf.create"} {
		if content, err := os.ReadFile(filepath.Join(c.dir, file)); err != nil || !bytes.Contains(content, []byte(want)) {
			t.Errorf("%s lacks %q: %.500s, %v", file, want, content, err)
		}
	}
	redacted, err := runs(t, c.key, c.dir, "pdftotext", "redacted.pdf", "-")
	if err != nil || strings.Contains(redacted, "Ada") || strings.Contains(redacted, "BUKB") || !strings.Contains(redacted, "Lantern") {
		t.Errorf("the redacted invoice says %q, %v", redacted, err)
	}
}

// authorityOf writes the certificate of a server to a file, for RELAYPDF_EXTRA_CA.
func authorityOf(t *testing.T, server *httptest.Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(path, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCommandsOfTheReadme runs the commands of README.md and docs/start/install.md that call a server or work on its
// data, those for containers on this machine.
func TestCommandsOfTheReadme(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	site := httptest.NewTLSServer(http.FileServer(http.Dir(dir)))
	defer site.Close()
	app := startOpen(t, "RELAYPDF_EXTRA_CA="+authorityOf(t, site), "RELAYPDF_ALLOW_HOSTS=127.0.0.1")
	c := commandsOf(t, app)
	c.dir = dir
	c.begin += "export RELAYPDF_DATA_DIR=" + app.Config.DataDir + "\n"
	if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte("<h1>Alpha</h1>"), 0o600); err != nil {
		t.Fatal(err)
	}
	output, ran := "", 0
	for i, file := range []string{"README.md", "docs/start/install.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		local := strings.NewReplacer("http://localhost:8787", app.BaseURL(), "https://example.com", site.URL+"/page.html", "pdf_…", c.key,
			"docker exec relaypdf relaypdf", "relaypdf", "bin/relaypdf", "relaypdf")
		for j, block := range regexp.MustCompile("(?ms)^```(?:text|sh)\n(.*?\n)```$").FindAllStringSubmatch(string(text), -1) {
			// The server runs already, and images need a container engine.
			script := regexp.MustCompile(`(?m)^(?:make .*|bin/relaypdf serve|docker (?:compose|run) (?:.*\\\n)*.*)\n`).ReplaceAllString(block[1], "")
			ran += len(regexp.MustCompile(`curl |relaypdf [a-z]+ `).FindAllString(script, -1))
			script = strings.ReplaceAll(script, "you@example.com", fmt.Sprintf("user-%d-%d@example.com", i, j)) // each block has its own
			output += c.run(file, local.Replace(script))
		}
	}
	if ran < 10 {
		t.Errorf("%d commands were run", ran)
	}
	if keys := regexp.MustCompile(`(?m)^pdf_(live|test)_\S+$`).FindAllString(output, -1); len(keys) != 3 {
		t.Errorf("%d keys in the output, want 3: %s", len(keys), output)
	}
	for file, want := range map[string]string{"hello.pdf": "relaypdf", "note.pdf": "Hello"} {
		if words, err := runs(t, c.key, dir, "pdftotext", file, "-"); err != nil || !strings.Contains(words, want) {
			t.Errorf("%s contains %q, %v", file, words, err)
		}
	}
}
