package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestLitestreamRestoresAnyMoment lets Litestream follow a server's database, as in docs/operations/backup.md. The server is
// killed and its folder lost. Restores have the state of each moment: wallets, ledger and files; and a server runs on
// them.
func TestLitestreamRestoresAnyMoment(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	c := newCrashBench(t, storetest.SQLite(t))
	server := c.start("none")
	follower := follow(t, filepath.Join(c.database.DataDir, "relaypdf.db"))

	var moments []time.Time
	var files []string
	for range 3 {
		files = append(files, c.makeFile(server))
		follower.sync()
		// Moments differ by milliseconds.
		<-time.After(2 * time.Millisecond)
		moments = append(moments, time.Now())
		<-time.After(2 * time.Millisecond)
	}

	kept := t.TempDir() // of the copies of everything but the database
	for _, name := range []string{"blobs", "secret.key"} {
		copyInto(t, filepath.Join(kept, name), filepath.Join(c.database.DataDir, name))
	}
	if err := c.store.DeleteFile(t.Context(), c.account.ID, files[0]); err != nil { // by mistake
		t.Fatal(err)
	}
	follower.sync()
	server.end(syscall.SIGKILL)

	for i, moment := range moments {
		dir := t.TempDir()
		for _, name := range []string{"blobs", "secret.key"} {
			copyInto(t, filepath.Join(dir, name), filepath.Join(kept, name))
		}
		follower.restore(moment, filepath.Join(dir, "relaypdf.db"))
		c.atMoment(storetest.DB{URL: "sqlite://" + dir + "/relaypdf.db", DataDir: dir}, files[:i+1], files[i+1:])
	}
}

// litestream is a process of Litestream, as pinned in .ci/litestream.mod, that follows the log of a database.
type litestream struct {
	t        *testing.T
	program  string
	folder   string // of its settings, its socket and what it copies
	database string
}

// follow starts a process that follows the log of a database until the test ends.
func follow(t *testing.T, database string) litestream {
	t.Helper()
	program, err := sharedtest.Tool("litestream.mod", "litestream")
	if err != nil {
		t.Fatal(err)
	}

	l := litestream{t: t, program: program, folder: t.TempDir(), database: database}
	settings := fmt.Sprintf("socket: {enabled: true, path: socket}\ndbs: [{path: %q, replica: {url: %q}}]\n", database, l.replica())
	if err := os.WriteFile(filepath.Join(l.folder, "litestream.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}

	process := l.command("replicate", "-config", "litestream.yml")
	out, err := process.StdoutPipe()
	if err == nil {
		err = storetest.Start(process)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = process.Process.Kill(), process.Wait() })

	// The start ends with a line about the replica.
	log := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "replicating to"); {
		if line, err = log.ReadString('\n'); err != nil {
			t.Fatalf("Litestream ended: %v", err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return l
}

func (l litestream) replica() string { return "file://" + filepath.Join(l.folder, "replica") }

// command runs in the folder: the path of a socket is short.
func (l litestream) command(args ...string) *exec.Cmd {
	command := exec.CommandContext(context.WithoutCancel(l.t.Context()), l.program, args...)
	command.Dir = l.folder
	command.Stderr = l.t.Output()
	return command
}

// sync waits until what the database has is copied.
func (l litestream) sync() {
	l.t.Helper()
	l.run("sync", "-wait", "-timeout", strconv.Itoa(int(crashPatience.Seconds())), "-socket", "socket", l.database)
}

// restore writes the database as it was at a moment.
func (l litestream) restore(moment time.Time, path string) {
	l.t.Helper()
	l.run("restore", "-integrity-check", "full", "-timestamp", moment.UTC().Format(time.RFC3339Nano), "-o", path, l.replica())
}

func (l litestream) run(args ...string) {
	l.t.Helper()
	command := l.command(args...)
	command.Stdout = l.t.Output()
	if err := command.Run(); err != nil {
		l.t.Fatalf("litestream %s: %v", args[0], err)
	}
}

// makeFile makes a call whose result is stored, and returns the file's ID.
func (c *crashBench) makeFile(server *crashServer) string {
	c.t.Helper()
	response, err := c.send(c.t.Context(), server.url+"/v1/pdf", "", strings.NewReader(`{"html":"<p>kept</p>","response":"url"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	return response.Header.Get("x-service-id")
}

// copyInto copies a file or a folder.
func copyInto(t *testing.T, to, from string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var content []byte
		if content, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// atMoment checks that a restored database has the files and no others, charges for exactly those, and that a server
// runs on it.
func (c *crashBench) atMoment(db storetest.DB, there, later []string) {
	c.t.Helper()
	s := db.Open(c.t, nil)
	spent := credit.Amount(2000 * len(there))
	account, err := s.Account(c.t.Context(), c.account.ID)
	if err != nil || account.Balance != 5*credit.Dollar-spent || account.Held != 0 {
		c.t.Errorf("after %d calls: balance %v, held %v, %v; want %v", len(there), account.Balance, account.Held, err, 5*credit.Dollar-spent)
	}
	if report, err := s.CheckLedger(c.t.Context()); err != nil || !report.OK() {
		c.t.Errorf("after %d calls: ledger %+v, %v", len(there), report, err)
	}
	for _, id := range later {
		if _, err := s.PublicFile(c.t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			c.t.Errorf("after %d calls: the later file %s: %v, want none", len(there), id, err)
		}
	}
	restored := *c
	restored.env = append(slices.Clip(c.env), "RELAYPDF_DATA_DIR="+db.DataDir, "RELAYPDF_DATABASE_URL="+db.URL)
	server := restored.start("none")
	defer server.end(syscall.SIGTERM)
	for _, id := range there {
		if content := c.fetch(server.url + "/v1/files/" + id); !strings.HasPrefix(content, "%PDF-") {
			c.t.Errorf("after %d calls: file %s is %.200q", len(there), id, content)
		}
	}
	restored.makeFile(server)
}

// fetch returns the content of a URL.
func (c *crashBench) fetch(address string) string {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: crashPatience}).Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	return bodyOf(c.t, response)
}
