package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

func TestFileReturnsWrittenBytes(t *testing.T) {
	for _, size := range []int{0, 1, MemoryLimit, MemoryLimit + 1, 3*MemoryLimit + 7} {
		dir := t.TempDir()
		f := New(dir, 0)
		want := bytes.Repeat([]byte("relay"), size/5+1)[:size]
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 700_001)
			if _, err := f.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		for range 2 {
			got, err := io.ReadAll(f.Open())
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("size %d: read %d bytes, %v", size, len(got), err)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("size %d: a named file is left in the folder: %v", size, left)
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestFileRefusesMoreThanItsLimit(t *testing.T) {
	f := New(t.TempDir(), 10)
	if _, err := f.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{1}); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("11th byte: %v, want ErrTooLarge", err)
	}
	if f.Size() != 10 {
		t.Errorf("size %d after a refused write, want 10", f.Size())
	}
}
