package e2e

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"relaypdf/internal/app"
	"relaypdf/internal/slow"
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

// TestFirstDay runs the commands of docs/first-day.md unchanged, one task after another in one folder.
func TestFirstDay(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-day.md"))
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

// TestCommandsOfTheReadme runs the commands that call a server or work on its data. Files that they download from the
// web are in their own folder.
func TestCommandsOfTheReadme(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	site := httptest.NewTLSServer(http.FileServer(http.Dir(dir)))
	defer site.Close()
	app := startOpen(t, "RELAYPDF_EXTRA_CA="+authorityOf(t, site), "RELAYPDF_ALLOW_HOSTS=127.0.0.1")
	c := commandsOf(t, app)
	c.dir = dir
	c.begin += "JSON='Content-Type: application/json'\nexport RELAYPDF_DATA_DIR=" + app.Config.DataDir + "\n"
	c.run("what they take", `echo '<h1>Alpha</h1>' > page.html
relaypdf pdf page.html -o a.pdf
relaypdf pdf page.html -o b.pdf
relaypdf convert page.html -o letter.docx
`)
	here := strings.NewReplacer("http://localhost:8787", app.BaseURL(), "localhost:8787", strings.TrimPrefix(app.BaseURL(), "http://"),
		"https://example.com", site.URL+"/page.html", "https://…", site.URL, "pdf_test_…", c.key, "bin/relaypdf", "relaypdf")
	said, ran := "", 0
	for _, block := range regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindAllString(string(text), -1) {
		if script := here.Replace(block); script != block {
			ran += strings.Count(block, "bin/relaypdf") + strings.Count(block, "curl ")
			said += c.run("README.md", script)
		}
	}
	if ran < 16 {
		t.Errorf("%d commands were run", ran)
	}
	if !regexp.MustCompile(`"id":"file_`).MatchString(said) || !regexp.MustCompile(`(?m)^pdf_(live|test)_\S+$`).MatchString(said) {
		t.Errorf("no upload's id and no key in %s", said)
	}
	for file, want := range map[string]string{"page.pdf": "Alpha", "hello.pdf": "relaypdf", "note.pdf": "Hello", "letter.pdf": "Alpha", "both.pdf": "Alpha"} {
		if words, err := runs(t, c.key, dir, "pdftotext", file, "-"); err != nil || !strings.Contains(words, want) {
			t.Errorf("%s says %q, %v", file, words, err)
		}
	}
}
