package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// openFolder opens the database with a folder of files.
func openFolder(t *testing.T, db storetest.DB, dir string) *store.Store {
	t.Helper()
	disk, err := blob.NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return db.OpenAs(t, store.Config{Blobs: disk})
}

// TestFoldersOfOneDatabase: a process with another folder of files than the first one is told so, and a folder that
// processes share is right for each of them.
func TestFoldersOfOneDatabase(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		shared, other := t.TempDir(), t.TempDir()

		var starts sync.WaitGroup
		for range 3 {
			s := openFolder(t, db, shared)
			starts.Go(func() {
				if err := s.CheckFolder(t.Context()); err != nil {
					t.Errorf("the shared folder: %v", err)
				}
			})
		}
		starts.Wait()

		// An empty folder, one of another database, and a copy with its mark.
		var fault *store.FolderError
		if err := openFolder(t, db, other).CheckFolder(t.Context()); !errors.As(err, &fault) || fault.Got != "" || fault.Want == "" {
			t.Fatalf("an empty folder: %v", err)
		}
		mark := filepath.Join(other, filepath.Base(fault.Path))
		if err := os.WriteFile(mark, []byte("folder_of_another"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openFolder(t, db, other).CheckFolder(t.Context()); !errors.As(err, &fault) || fault.Got != "folder_of_another" {
			t.Errorf("the folder of another database: %v", err)
		}
		if err := os.WriteFile(mark, []byte(fault.Want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openFolder(t, db, other).CheckFolder(t.Context()); err != nil {
			t.Errorf("a folder with the right mark: %v", err)
		}
	})
}
