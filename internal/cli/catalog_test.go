package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
)

// TestGoldenCatalog: the API of the command line on other systems is the one of the operation table.
func TestGoldenCatalog(t *testing.T) {
	api, err := newProgram(operation.Rows).catalog()
	if err != nil {
		t.Fatal(err)
	}
	text, err := api.encode()
	if err != nil {
		t.Fatal(err)
	}
	apitest.Golden(t, "../catalog.json", text)
	if !json.Valid(text) {
		t.Error("it is not JSON")
	}

	// Nothing that commands and agents read is lost on the way.
	read, err := decodeCatalog(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, text) {
		t.Error("read and written again, it is another one")
	}
}

// TestHelpWithoutServer compares the help of all client commands with that of the program on Linux.
func TestHelpWithoutServer(t *testing.T) {
	whole := newProgram(operation.Rows)
	api, err := whole.catalog()
	if err != nil {
		t.Fatal(err)
	}
	text, err := api.encode()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := program{catalog: func() (catalog, error) { return decodeCatalog(text) }, server: absentCommands()}

	got, want := helpPages(t, elsewhere), helpPages(t, whole)
	for path, page := range got {
		if page != want[path] {
			t.Errorf("%s: got\n%s\nwant\n%s", path, page, want[path])
		}
		delete(want, path)
	}
	for path := range want {
		t.Errorf("%s is missing", path)
	}
}

// helpPages returns the help of each client command, but for those that differ by design.
func helpPages(t *testing.T, p program) map[string]string {
	t.Helper()
	root, err := p.root()
	if err != nil {
		t.Fatal(err)
	}

	pages := map[string]string{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.GroupID == operatorGroup || cmd.Name() == "takedown" || cmd.Name() == "storage" || cmd.Name() == "completion" {
			return
		}
		if cmd != root && cmd.CommandPath() != "relaypdf files" && cmd.Name() != "help" {
			pages[cmd.CommandPath()] = helpText{cmd: cmd, topics: helpTopics(p.data), all: true}.render()
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	return pages
}

// TestServerCommandsElsewhere: on systems without a server, its commands name the one that starts it.
func TestServerCommandsElsewhere(t *testing.T) {
	listed := map[string]bool{"engine": true}
	for _, name := range serverCommands {
		listed[name] = true
	}
	for _, cmd := range newProgram(operation.Rows).server {
		if !listed[cmd.Name()] {
			t.Errorf("the command %s is not in serverCommands", cmd.Name())
		}
	}

	p := program{catalog: func() (catalog, error) { return catalog{}, nil }, server: absentCommands()}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--dev"}, "relaypdf: the server runs on Linux; to start it in a container, run docker run --name relaypdf -p 127.0.0.1:8787:8787 -v relaypdf:/var/lib/relaypdf relaypdf:full\n"},
		{[]string{"accounts", "create", "ada@example.com"}, "relaypdf: accounts runs on the machine of the server, on Linux; in its container, run docker exec relaypdf relaypdf accounts create ada@example.com\n"},
	} {
		var errOut bytes.Buffer
		code := p.run(t.Context(), tt.args, bytes.NewReader(nil), io.Discard, &errOut)
		if code != exitUsage || errOut.String() != tt.want {
			t.Errorf("%v: got %d and %q, want %d and %q", tt.args, code, errOut.String(), exitUsage, tt.want)
		}
	}
}
