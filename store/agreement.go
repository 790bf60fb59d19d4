package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store/blob"
)

// Agree stores a value by name, unless there is one, and returns what is stored. All processes of a database compare
// their own settings with its agreements when they start.
func (s *Store) Agree(ctx context.Context, name, value string) (agreed string, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw("INSERT INTO agreements (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
			name, value).Exec(ctx)
		if err != nil {
			return err
		}
		return tx.NewRaw("SELECT value FROM agreements WHERE name = ?", name).Scan(ctx, &agreed)
	})
	return agreed, wrapped("read agreement", err)
}

// ReplaceAgreement replaces an agreed value.
func (s *Store) ReplaceAgreement(ctx context.Context, name, value string) error {
	return s.update(ctx, "replace agreement", func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw("UPDATE agreements SET value = ? WHERE name = ?", value, name).Exec(ctx)
		return err
	})
}

// urlAgreement is the name of the public URL of the server.
const urlAgreement = "base-url"

// SetBaseURL stores the public URL of a server that starts.
func (s *Store) SetBaseURL(ctx context.Context, url string) error {
	stored, err := s.Agree(ctx, urlAgreement, url)
	if err != nil || stored == url {
		return err
	}
	return s.ReplaceAgreement(ctx, urlAgreement, url)
}

// BaseURL returns the public URL of the server that started last; empty if none has.
func (s *Store) BaseURL(ctx context.Context) (url string, err error) {
	err = s.read.NewRaw("SELECT value FROM agreements WHERE name = ?", urlAgreement).Scan(ctx, &url)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return url, wrapped("read URL", err)
}

// filesAgreement is the name of the mark of the folder that holds the files.
const filesAgreement = "files"

// markTimeout is the time for which a process waits for another to mark their common folder.
const markTimeout = 5 * time.Second

// FolderError means that the files of the database are in another folder than this process's.
type FolderError struct {
	Path string // of the file that marks a folder
	Want string // its content
	Got  string // empty if the folder has no mark
}

func (e *FolderError) Error() string {
	got := "has no mark"
	if e.Got != "" {
		got = "is marked " + e.Got
	}
	return fmt.Sprintf("the files of this database are in a folder that is marked %s, and this one %s (%s)",
		e.Want, got, e.Path)
}

// CheckFolder compares the folder of the files with the one that the database knows, and marks both at the first start.
// It returns a *FolderError if they differ: each of two processes with folders of their own would serve half of the
// files. Other places of files are common by nature.
func (s *Store) CheckFolder(ctx context.Context) error {
	folder, ok := s.blobs.(blob.Folder)
	if !ok {
		return nil
	}

	mark, err := folder.Mark()
	if err != nil {
		return err
	}

	own := mark
	if own == "" {
		own = s.NewID("folder")
	}
	want, err := s.Agree(ctx, filesAgreement, own)
	if err != nil {
		return err
	}
	if want == own {
		return folder.SetMark(own)
	}

	// Another process that shares the folder may be about to mark it.
	deadline := time.Now().Add(markTimeout)
	for mark == "" && time.Now().Before(deadline) {
		if mark, err = folder.Mark(); err != nil {
			return err
		}
		guard.Pause(ctx, 100*time.Millisecond)
	}

	if mark == want {
		return nil
	}
	return &FolderError{Path: folder.MarkPath(), Want: want, Got: mark}
}
