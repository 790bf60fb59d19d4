package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"

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
	follower, replica := follow(t, filepath.Join(c.database.DataDir, "relaypdf.db"))
	var moments []time.Time
	var files []string
	for range 3 {
		files = append(files, c.makeFile(server))
		if err := follower.SyncAndWait(t.Context()); err != nil {
			t.Fatal(err)
		}
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
	if err := follower.SyncAndWait(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.end(syscall.SIGKILL)
	for i, moment := range moments {
		dir := t.TempDir()
		for _, name := range []string{"blobs", "secret.key"} {
			copyInto(t, filepath.Join(dir, name), filepath.Join(kept, name))
		}
		back := litestream.NewReplicaWithClient(nil, file.NewReplicaClient(replica))
		options := litestream.NewRestoreOptions()
		options.OutputPath, options.Timestamp = filepath.Join(dir, "relaypdf.db"), moment
		options.IntegrityCheck = litestream.IntegrityCheckFull
		if err := back.Restore(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		c.atMoment(storetest.DB{URL: "sqlite://" + dir + "/relaypdf.db", DataDir: dir}, files[:i+1], files[i+1:])
	}
}

// follow has Litestream follow the log of a database until the test ends, and
// returns the folder that it copies it to.
func follow(t *testing.T, path string) (*litestream.DB, string) {
	t.Helper()
	folder := t.TempDir()
	db := litestream.NewDB(path)
	db.Replica = litestream.NewReplicaWithClient(db, file.NewReplicaClient(folder))
	if err := db.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("close Litestream: %v", err)
		}
	})
	return db, folder
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
