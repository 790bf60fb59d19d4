package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// beginnings are those of the files that commands make, by extension.
var beginnings = map[string]string{
	".pdf": "%PDF-", ".png": "\x89PNG", ".zip": "PK", ".docx": "PK", ".xlsx": "PK", ".json": "{", ".svg": "<",
}

// TestFirstDay runs the commands of docs/first-day.md as they stand, one task after
// another in one folder.
func TestFirstDay(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-day.md"))
	if err != nil {
		t.Fatal(err)
	}
	tasks := regexp.MustCompile("(?s)\n## ([0-9]+\\. [^\n]+)\n\n(?:[^\n]+\n\n)?```sh\n(.*?)\n```\n\n([^\n]+)").FindAllSubmatch(text, -1)
	if headings := len(regexp.MustCompile(`\n## [0-9]+\. `).FindAll(text, -1)); len(tasks) != headings || headings < 35 {
		t.Fatalf("%d of %d tasks have commands and say what comes back, want 35 at least", len(tasks), headings)
	}
	app := startOpen(t)
	key := keyOf(t, app)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := curlFails + "relaypdf() { " + actAsProgram + "=1 " + self + " \"$@\"; }\n" +
		"export HOME=$PWD RELAYPDF_API_URL=" + app.BaseURL() + "\nURL=$RELAYPDF_API_URL/v1 AUTH=\"Authorization: Bearer $RELAYPDF_API_KEY\"\n"
	dir := t.TempDir()
	made := regexp.MustCompile(`(?:-o|>) ([a-z]+(\.[a-z]+))(?:\s|$)`)
	for _, task := range tasks {
		name, script, back := string(task[1]), string(task[2]), string(task[3])
		out, err := runs(t, key, dir, "bash", "-e", "-o", "pipefail", "-c", begin+script)
		if err != nil {
			t.Errorf("%s: %v\n%s\n%.2000s", name, err, script, out)
		}
		if said, _, found := strings.Cut(strings.TrimPrefix(back, "`"), "`"); found && strings.HasPrefix(back, "`") && !strings.Contains(script, said) && !strings.Contains(out, said) {
			t.Errorf("%s: %s does not come back", name, said)
		}
		for _, file := range made.FindAllStringSubmatch(script, -1) {
			content, err := os.ReadFile(filepath.Join(dir, file[1]))
			if want, known := beginnings[file[2]]; known && (err != nil || !bytes.HasPrefix(content, []byte(want))) && file[1] != "damaged.pdf" {
				t.Errorf("%s: %s is %.100q, %v", name, file[1], content, err)
			}
		}
	}
	for file, want := range map[string]string{"warned.json": `"warnings"`, "text.json": "They are answered within a day", "info.json": "Ada Lovelace", "fields.json": `"name"`, "prices.json": "pdf.create"} {
		if content, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Contains(content, []byte(want)) {
			t.Errorf("%s lacks %q: %.500s, %v", file, want, content, err)
		}
	}
	redacted, err := runs(t, key, dir, "pdftotext", "redacted.pdf", "-")
	if err != nil || strings.Contains(redacted, "Ada") || strings.Contains(redacted, "BUKB") || !strings.Contains(redacted, "Lantern") {
		t.Errorf("the redacted invoice says %q, %v", redacted, err)
	}
}
