package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestSBOMHasAllThatIsLinked makes the list that `make sbom` makes, of the program, validates it against the
// schema of CycloneDX, and looks for each module that the go command lists as linked, and for some of the embedded
// and installed components.
func TestSBOMHasAllThatIsLinked(t *testing.T) {
	sharedtest.Slow(t)
	if testing.Short() {
		t.Skip("builds the program")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said.String())
		}
		return out
	}
	program := filepath.Join(t.TempDir(), "relaypdf")
	run("build", "-ldflags=-s -w", "-o", program, "./cmd/relaypdf")
	made := run("run", "-modfile=.ci/sbom.mod", "./.ci/sbom", program)
	document, err := validator.UnmarshalJSON(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	schemas := filepath.Join(strings.TrimSpace(string(run("list", "-modfile=.ci/sbom.mod", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go"))), "schema")
	if err := cycloneDX(t, schemas).Validate(document); err != nil {
		t.Errorf("it is not as CycloneDX has it: %v", err)
	}
	var bom struct {
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(made, &bom); err != nil {
		t.Fatal(err)
	}
	has := func(name, version, purl string) bool {
		return slices.ContainsFunc(bom.Components, func(c struct{ Name, Version, PURL string }) bool {
			return c.Name == name && c.Version == version && strings.HasPrefix(c.PURL, purl)
		})
	}
	linked := 0
	for line := range strings.Lines(string(run("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}{{end}}{{end}}", "./cmd/relaypdf"))) {
		path, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		if linked++; !has(path, version, "pkg:golang/"+path+"@") {
			t.Errorf("%s %s is linked and missing", path, version)
		}
	}
	if linked < 50 {
		t.Errorf("the go command names %d modules", linked)
	}
	for name, purl := range map[string]string{"chromium-headless-shell": "pkg:deb/debian/", "libreoffice-writer-nogui": "pkg:deb/debian/"} {
		if !has(name, "", purl+name) {
			t.Errorf("%s is installed and missing", name)
		}
	}
	for _, name := range []string{"handlebars", "@codemirror/state", "@expo-google-fonts/gelasio"} {
		if purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@"; !slices.ContainsFunc(bom.Components, func(c struct{ Name, Version, PURL string }) bool {
			return c.Name == name && c.PURL == purl+c.Version
		}) {
			t.Errorf("%s is missing", name)
		}
	}
}

// cycloneDX is the schema of version 1.6, from the module's own folder.
func cycloneDX(t *testing.T, folder string) *validator.Schema {
	t.Helper()
	const base = "http://cyclonedx.org/schema/"
	compiler := validator.NewCompiler()
	for name, file := range map[string]string{
		"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		document, err := validator.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(base+name, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
