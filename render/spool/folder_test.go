package spool

import (
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := OpenFolder(dir, "part-")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestOpenRemovesUnusedFolders(t *testing.T) {
	dir := t.TempDir()
	abandoned := filepath.Join(dir, "part-123")
	if err := os.MkdirAll(filepath.Join(abandoned, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other-123")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	first := open(t, dir)
	if exists(abandoned) || !exists(other) {
		t.Errorf("abandoned folder is there: %v, another's: %v; want only the other's", exists(abandoned), exists(other))
	}
	second := open(t, dir)
	if !exists(first.Path) || first.Path == second.Path {
		t.Errorf("a folder in use was removed: %s, %s", first.Path, second.Path)
	}
	if info, err := os.Stat(first.Path); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("mode %v, %v; want 0711", info.Mode(), err)
	}
	for _, f := range []*Folder{first, second} {
		if err := f.Close(); err != nil || exists(f.Path) {
			t.Errorf("closed: %v, still there: %v", err, exists(f.Path))
		}
	}
}

func TestOpenLeavesLinksAlone(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	if err := os.Symlink(target, filepath.Join(dir, "part-link")); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	if !exists(target) {
		t.Error("the target of a link was removed")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
