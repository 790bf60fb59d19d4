package template_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"

	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/render/template"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := engine.Serve(os.Stdin, os.Stdout, template.Handlers()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// newPool starts one engine's process: of this program, or of a command.
func newPool(t *testing.T, command ...string) *engine.Pool {
	t.Helper()
	dir, err := os.MkdirTemp("", "template-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	pool, err := engine.Start(engine.Config{Size: 1, Dir: dir, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// TestEngineFills goes the way of a document: through an engine's process, with
// images that the template turns out to show.
func TestEngineFills(t *testing.T) {
	pool := newPool(t)
	png := spool.FromBytes([]byte("\x89PNG\r\n\x1a\n0000"))
	opened := 0
	open := func(_ context.Context, id string) (engine.Content, error) {
		opened++
		switch id {
		case "file_logo":
			return png, nil
		case "file_text":
			return spool.FromBytes([]byte("plain")), nil
		}
		return nil, template.ErrNoImage
	}
	call := template.Call{
		Template: template.Template{HTML: `<img src="{{image logo}}">{{image logo}}{{> p}}`, Partials: map[string]string{"p": "{{name}}"}},
		Data:     json.RawMessage(`{"logo":"file_logo","name":"Ünï & co"}`),
	}
	const uri = "data:image/png;base64,iVBORw0KGgowMDAw"
	if got, err := template.Render(t.Context(), pool.Run, "a", call, open); err != nil || got != `<img src="`+uri+`">`+uri+"Ünï &amp; co" || opened != 1 {
		t.Errorf("got %q, %v, after %d openings", got, err, opened)
	}
	for id, want := range map[string]string{"file_text": "must be a PNG", "file_other": "no stored file"} {
		call.Data = json.RawMessage(fmt.Sprintf(`{"logo":%q}`, id))
		_, err := template.Render(t.Context(), pool.Run, "a", call, open)
		var faults *template.Error
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", id, err, want)
		}
	}
	_, err := template.Render(t.Context(), pool.Run, "a", template.Call{Template: template.Template{HTML: "{{a.b}}{{c}}"}, Strict: true}, nil)
	var missing *template.MissingError
	if !errors.As(err, &missing) || len(missing.Paths) != 2 || missing.Paths[0].Path != "a.b" || missing.Paths[1].Line != 1 {
		t.Errorf("strict: got %v", err)
	}
}

// TestEngineKeepsItsMemory fills hundreds of different templates in one process,
// which another would take over from after a thousand.
func TestEngineKeepsItsMemory(t *testing.T) {
	sharedtest.Slow(t)
	command, err := sharedtest.Engine(t.TempDir()) // without the race detector, whose own memory grows
	if err != nil {
		t.Fatal(err)
	}
	pool := newPool(t, command...)
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			html := fmt.Sprintf("<p>%d %s</p>", i, strings.Repeat("{{name}} and {{#if x}}y{{/if}} ", 10))
			if _, err := template.Render(t.Context(), pool.Run, "a", template.Call{Template: template.Template{HTML: html}, Data: json.RawMessage(`{"name":"x"}`)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0, 300)
	before := childMemory(t)
	fill(300, 900)
	after := childMemory(t)
	if after > before+32<<20 {
		t.Errorf("the process grew from %d to %d MiB", before>>20, after>>20)
	}
	t.Logf("%d MiB, then %d MiB", before>>20, after>>20)
}

// childMemory sums the memory of this test's children.
func childMemory(t *testing.T) int64 {
	t.Helper()
	var total int64
	tasks, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/" + task.Name() + "/status")
		if err != nil || !strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			continue
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		var kib int64
		if _, err := fmt.Sscanf(rest, "%d", &kib); err == nil {
			total += kib << 10
		}
	}
	if total == 0 {
		t.Fatal("no child found")
	}
	return total
}

// TestEngineSurvives: what is hostile costs its own request, and the next one
// comes soon.
func TestEngineSurvives(t *testing.T) {
	pool := newPool(t)
	loop := template.Call{Template: template.Template{HTML: strings.Repeat("{{#times 10000}}", 4) + strings.Repeat("{{/times}}", 4)}}
	var limit *template.LimitError
	if _, err := template.Render(t.Context(), pool.Run, "a", loop, nil); !errors.As(err, &limit) {
		t.Errorf("got %v, want a limit", err)
	}
	began := time.Now()
	got, err := template.Render(t.Context(), pool.Run, "b", template.Call{Template: template.Template{HTML: "{{x}}"}, Data: json.RawMessage(`{"x":1}`)}, nil)
	if err != nil || got != "1" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	t.Logf("the next one took %s", time.Since(began))
}
