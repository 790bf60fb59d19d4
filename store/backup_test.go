package store_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// backedUp returns a fixture with money and files in every state, and its
// backup.
func backedUp(t *testing.T) (*fixture, []byte) {
	t.Helper()
	f := newFixture(t, storetest.SQLite(t))
	f.keep(t, "first result")
	f.keep(t, "second result")
	f.release(t, f.begin(t, f.newCall(10)).ID)
	f.begin(t, f.keyed("body"))
	var buf bytes.Buffer
	if err := f.Backup(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	return f, buf.Bytes()
}

func TestBackupRoundTrip(t *testing.T) {
	t.Parallel()
	f, backup := backedUp(t)
	dir := filepath.Join(t.TempDir(), "restored")
	if err := store.Restore(t.Context(), bytes.NewReader(backup), dir); err != nil {
		t.Fatal(err)
	}
	g := &fixture{Store: storetest.DB{DataDir: dir}.Open(t, f.clock), clock: f.clock, acc: f.acc, key: f.key}
	g.sound(t)
	g.wallet(t, trial-200-1000, 1000, 1200)
	want, err := f.Files(t.Context(), store.FileFilter{AccountID: f.acc.ID})
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Files(t.Context(), store.FileFilter{AccountID: f.acc.ID})
	if err != nil || len(got.Items) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("files: got %+v, %v; want %+v", got, err, want)
	}
	for _, file := range got.Items {
		r, size, err := g.Blobs().Open(t.Context(), file.BlobKey)
		if err != nil || size != file.Size {
			t.Errorf("blob %s: got %d, %v; want %d", file.BlobKey, size, err, file.Size)
			continue
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	// The call that ran during the backup runs nowhere on the copy.
	g.reap(t, 1)
	g.wallet(t, trial-200, 0, 200)
	if err := store.Restore(t.Context(), bytes.NewReader(backup), dir); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("restoring over a store: got %v, want ErrNotEmpty", err)
	}
}

// TestBackupsRestoreTheirMoments makes a series of backups of a store in use: each restores the state of its
// moment, whatever came after.
func TestBackupsRestoreTheirMoments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	var backups [3]bytes.Buffer
	kept := make([][]string, len(backups))
	for i := range backups {
		if i > 0 {
			kept[i] = append(kept[i], kept[i-1]...)
		}
		kept[i] = append(kept[i], f.keep(t, fmt.Sprintf("result %d", i)))
		if err := f.Backup(t.Context(), &backups[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.DeleteFile(t.Context(), f.acc.ID, kept[0][0]); err != nil { // by mistake
		t.Fatal(err)
	}
	for i := range backups {
		dir := filepath.Join(t.TempDir(), "restored")
		if err := store.Restore(t.Context(), &backups[i], dir); err != nil {
			t.Fatal(err)
		}
		g := &fixture{Store: storetest.DB{DataDir: dir}.Open(t, f.clock), clock: f.clock, acc: f.acc, key: f.key}
		g.sound(t)
		n := credit.Amount(len(kept[i]))
		g.wallet(t, trial-100*n, 0, 100*n)
		for j, id := range kept[len(kept)-1] {
			if j >= len(kept[i]) {
				g.gone(t, id)
				continue
			}
			file, err := g.PublicFile(t.Context(), id)
			if err != nil {
				t.Fatalf("backup %d: file %d: %v", i, j, err)
			}
			content, _, err := g.Blobs().Open(t.Context(), file.BlobKey)
			if err != nil {
				t.Fatalf("backup %d: the bytes of file %d: %v", i, j, err)
			}
			if err := content.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBackupCarriesWaitingJobs: on the copy a job that waits has its input, the
// file that it pinned, and the key that both secrets and inputs are sealed with.
func TestBackupCarriesWaitingJobs(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	f := newFixture(t, db)
	if err := os.WriteFile(filepath.Join(db.DataDir, store.SecretFile), []byte("a secret key"), 0o600); err != nil {
		t.Fatal(err)
	}
	upload := f.upload(t, "a pinned upload")
	job := f.begin(t, f.newJob(t, upload))
	if err := f.DeleteFile(t.Context(), f.acc.ID, upload); err != nil {
		t.Fatal(err)
	}
	ended := f.begin(t, f.newJob(t))
	f.release(t, ended.ID)
	if err := f.DropInput(t.Context(), ended.Job.InputKey); err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if err := f.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if names, want := len(unpack(t, backup.Bytes())), 5; names != want {
		t.Errorf("the backup has %d files, want %d: database, secret, input, upload and manifest", names, want)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if err := store.Restore(t.Context(), &backup, dir); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, store.SecretFile)
	if got, err := os.ReadFile(secret); err != nil || string(got) != "a secret key" {
		t.Errorf("the secret key is %q, %v", got, err)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret key has the mode %v, %v; want 0600", info.Mode(), err)
	}
	g := &fixture{Store: storetest.DB{DataDir: dir}.Open(t, f.clock), clock: f.clock, acc: f.acc, key: f.key}
	g.reap(t, 0)
	claimed, err := g.ClaimJob(t.Context(), "lease_new")
	if err != nil || claimed.Call.ID != job.ID {
		t.Fatalf("ClaimJob on the copy: got %+v, %v; want the job that waited", claimed, err)
	}
	file, err := g.PinnedFile(t.Context(), job.ID, upload)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{claimed.InputKey: "input", file.BlobKey: "a pinned upload"} {
		r, _, err := g.Blobs().Open(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	g.settle(t, job.ID, 100)
	g.sound(t)
}

// TestBackupWhileWriting makes a backup while money moves: the copy is one state, with a consistent ledger.
func TestBackupWhileWriting(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	stop, started, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			if n == 10 {
				close(started)
			}
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			c := f.newCall(10)
			if err := errors.Join(f.Begin(t.Context(), c), f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 10})); err != nil {
				done <- err
				return
			}
		}
	}()
	select {
	case <-started:
	case err := <-done:
		t.Fatal(err)
	}
	var buf bytes.Buffer
	err := f.Backup(t.Context(), &buf)
	close(stop)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := store.Restore(t.Context(), &buf, dir); err != nil {
		t.Fatal(err)
	}
	report, err := storetest.DB{DataDir: dir}.Open(t, f.clock).CheckLedger(t.Context())
	if err != nil || len(report.Problems) != 0 || report.Revenue < 100 {
		t.Errorf("report of the copy: got %+v, %v; want a sound one", report, err)
	}
}

// packed is a file in an archive.
type packed struct {
	header tar.Header
	body   []byte
}

func unpack(t *testing.T, backup []byte) []packed {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(backup))
	if err != nil {
		t.Fatal(err)
	}
	var list []packed
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, packed{*header, body})
	}
}

func pack(t *testing.T, list []packed) []byte {
	t.Helper()
	var buf bytes.Buffer
	zipped := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zipped)
	for _, p := range list {
		if err := archive.WriteHeader(&p.header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(p.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestRestoreRefusesBadBackups(t *testing.T) {
	t.Parallel()
	_, good := backedUp(t)
	plain := func(name, body string) packed {
		return packed{tar.Header{Name: name, Mode: 0o600, Size: int64(len(body)), Typeflag: tar.TypeReg}, []byte(body)}
	}
	before := func(p packed) func([]packed) []packed {
		return func(list []packed) []packed { return append([]packed{p}, list...) }
	}
	link := packed{header: tar.Header{Name: "blobs/link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}
	cases := map[string][]byte{
		"empty":     {},
		"not gzip":  []byte("PK\x03\x04 something else"),
		"cut short": good[:len(good)/2],
		"no end":    good[:len(good)-4],
	}
	for name, change := range map[string]func([]packed) []packed{
		"traversal":          before(plain("../evil", "x")),
		"traversal in blobs": before(plain("blobs/../../evil", "x")),
		"absolute":           before(plain("/tmp/evil", "x")),
		"hidden blob":        before(plain("blobs/.part-1", "x")),
		"unlisted blob":      before(plain("blobs/extra", "x")),
		"symlink":            before(link),
		"no manifest":        func(list []packed) []packed { return list[:len(list)-1] },
		"no database":        func(list []packed) []packed { return list[1:] },
		"missing blob":       func(list []packed) []packed { return append(list[:1:1], list[2:]...) },
		"twice":              func(list []packed) []packed { return append(list[:1:1], list...) },
		"changed blob": func(list []packed) []packed {
			list[1].body[0] ^= 1
			return list
		},
		"changed database": func(list []packed) []packed {
			list[0].body[len(list[0].body)/2] ^= 1
			return list
		},
		"other format": func(list []packed) []packed {
			return append(list[:len(list)-1], plain("manifest.json", `{"format": 2}`))
		},
		"only a manifest": func([]packed) []packed { return []packed{plain("manifest.json", `{"format": 1}`)} },
	} {
		cases[name] = pack(t, change(unpack(t, good)))
	}
	for name, backup := range cases {
		parent := t.TempDir()
		dir := filepath.Join(parent, "data")
		if err := store.Restore(t.Context(), bytes.NewReader(backup), dir); !errors.Is(err, store.ErrBadBackup) {
			t.Errorf("%s: got %v, want ErrBadBackup", name, err)
		}
		if found := files(t, parent); len(found) != 0 {
			t.Errorf("%s: left %v", name, found)
		}
	}
}

func TestRestoreStopsWithItsContext(t *testing.T) {
	t.Parallel()
	_, good := backedUp(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := store.Restore(ctx, bytes.NewReader(good), dir); !errors.Is(err, context.Canceled) {
		t.Errorf("restoring after the end of the context: got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestBackupOfPostgresNamesItsTools(t *testing.T) {
	t.Parallel()
	s := storetest.Postgres(t).Open(t, nil)
	if err := s.Backup(t.Context(), io.Discard); !errors.Is(err, store.ErrUseDump) {
		t.Errorf("Backup: got %v, want ErrUseDump", err)
	}
}

// files returns the regular files below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
