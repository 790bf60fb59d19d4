package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// edit is one change of the source: a new file, or text put before a place in
// one that is there.
type edit struct{ file, before, text string }

// additions are the steps for additions in CONTRIBUTING.md: as many edits as there are files in its table.
var additions = map[string][]edit{
	"an operation": {
		{"service/operation/spare.go", "", "package operation\n\nimport (\n\t\"context\"\n\n\t\"github.com/relaypdf/relaypdf/service/schema\"\n)\n\n" +
			"type SpareInput struct {\n\tschema.Common\n}\n\n" +
			"func runSpare(context.Context, *Deps, *SpareInput) (schema.Result, error) {\n\treturn schema.Result{Stem: \"spare\", JSON: map[string]any{}}, nil\n}\n"},
		{"service/operation/rows.go", "\trow[zipInput]{", "\trow[SpareInput]{Info: schema.Info{Name: \"spare.create\", Summary: \"Spare\", Price: zipPrice, Produces: []string{\"application/json\"}}, Run: runSpare},\n"},
	},
	"a route": {
		{"api/routes_spare.go", "", "package api\n\nimport (\n\t\"context\"\n\n\t\"github.com/relaypdf/relaypdf/service/call\"\n\t\"github.com/relaypdf/relaypdf/api/wire\"\n)\n\n" +
			"func (a *API) spare(context.Context, call.Caller, noInput) (wire.Acknowledged, error) {\n\treturn wire.Acknowledged{OK: true}, nil\n}\n"},
		{"api/routes.go", "\t\tjsonRoute(a, routeSpec{\n\t\t\tmethod: \"GET\", pattern: \"/openapi.json\"", "\t\tjsonRoute(a, routeSpec{method: \"GET\", pattern: \"/v1/spare\", access: withKey, summary: \"Spare\"}, a.spare),\n"},
	},
	"a setting": {
		{"internal/app/config_table.go", "\t{\n\t\tname: \"admin-email\"", "\t{\n\t\tname: \"spare\", group: GroupServer, fallback: \"on\", doc: \"Spare.\",\n\t\tapply: into(func(c *Config) *bool { return &c.Spare }, parseSwitch),\n\t},\n"},
		{"internal/app/config.go", "\tRateLimits      bool\n", "\tSpare bool\n"},
	},
	"an event": {
		{"store/event.go", "\t\t{EventWalletTopUp, ", "\t\t{\"job.spare\", \"Spare\"},\n"},
		{"api/openapi_event.go", "\tcase store.EventJobCompleted,", "\tcase \"job.spare\":\n\t\tdata = reflect.TypeFor[wire.JobStatus]()\n"},
	},
	"a page": {
		// The output of templ for views/spare.templ.
		{"views/spare_templ.go", "", "package views\n\nimport \"github.com/a-h/templ\"\n\nfunc SparePage(Page) templ.Component { return templ.NopComponent }\n"},
		{"web/spare.go", "", "package web\n\nimport \"github.com/relaypdf/relaypdf/views\"\n\nfunc (w *Web) showSpare(v *pageRequest) error { return v.show(200, views.SparePage(v.page(\"Spare\", \"\"))) }\n"},
		{"web/routes.go", "\t\t{\"GET\", \"/login\", noLogin", "\t\t{\"GET\", \"/spare\", signedIn, w.showSpare},\n"},
	},
}

// TestAdditionsTakeAFewEdits adds one of each to a copy of the source, and
// builds that: nothing else has to change.
func TestAdditionsTakeAFewEdits(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	dir := copySource(t)
	for what, edits := range additions {
		for _, e := range edits {
			if err := e.apply(dir); err != "" {
				t.Errorf("add %s: %s: %s", what, e.file, err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, "built"), "./cmd/relaypdf")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds, whose cache it shares
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}

// TestContributingCountsTheEdits compares the table of CONTRIBUTING.md with the files that past additions changed.
func TestContributingCountsTheEdits(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for what, edits := range additions {
		files := map[string]bool{}
		for _, e := range edits {
			files[e.file] = true
		}
		found := regexp.MustCompile(`(?m)^\| add ` + what + `\b[^|]*\| (\d+) files?\b`).FindSubmatch(text)
		if found == nil {
			t.Errorf("CONTRIBUTING.md does not say how many files it takes to add %s", what)
		} else if got, want := string(found[1]), strconv.Itoa(len(files)); got != want {
			t.Errorf("CONTRIBUTING.md says %s files for adding %s, which takes %s", got, what, want)
		}
	}
}

func (e edit) apply(dir string) string {
	path := filepath.Join(dir, e.file)
	old, err := os.ReadFile(path)
	text := []byte(e.text)
	switch {
	case e.before == "" && err == nil:
		return "is there already"
	case e.before != "" && bytes.Count(old, []byte(e.before)) != 1:
		return "does not have the place of the edit once"
	case e.before != "":
		text = bytes.Replace(old, []byte(e.before), []byte(e.text+e.before), 1)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err.Error()
	}
	return ""
}

// copySource copies the files that git knows to a folder of the test's.
func copySource(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Skipf("the source is no git repository: %v", err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
