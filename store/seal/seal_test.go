package seal_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/relaypdf/relaypdf/store/seal"
)

func box(t *testing.T, fill byte) *seal.Box {
	t.Helper()
	b, err := seal.New(bytes.Repeat([]byte{fill}, seal.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpenReturnsTheSealedText(t *testing.T) {
	t.Parallel()
	b, plain := box(t, 1), []byte("whsec_…")
	sealed, err := b.Seal("webhook we_1", plain)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, plain) {
		t.Error("the sealed bytes hold the plain ones")
	}
	if got, err := b.Open("webhook we_1", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("opened %q, %v, want %q", got, err, plain)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another purpose": func() ([]byte, error) { return b.Open("webhook we_2", sealed) },
		"another secret":  func() ([]byte, error) { return box(t, 2).Open("webhook we_1", sealed) },
		"changed bytes":   func() ([]byte, error) { return b.Open("webhook we_1", changed) },
		"no bytes":        func() ([]byte, error) { return b.Open("webhook we_1", nil) },
	} {
		if got, err := open(); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("%s: opened %q, %v, want ErrSealed", name, got, err)
		}
	}
}

func TestShortSecretIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := seal.New(make([]byte, seal.MinSecret-1)); err == nil {
		t.Error("a secret that is too short was taken")
	}
}

// sealStream encrypts a stream.
func sealStream(t *testing.T, b *seal.Box, plain []byte) []byte {
	t.Helper()
	var sealed bytes.Buffer
	w, err := b.Writer("input", &sealed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return sealed.Bytes()
}

func TestStream(t *testing.T) {
	t.Parallel()
	b := box(t, 1)
	for _, size := range []int{1, 64 << 10, 64<<10 + 1, 1 << 20} {
		plain := bytes.Repeat([]byte("secret"), size/6+1)[:size]
		sealed := sealStream(t, b, plain)
		read := func(sealed []byte) ([]byte, error) {
			r, err := b.Reader("input", bytes.NewReader(sealed))
			if err != nil {
				t.Fatal(err)
			}
			return io.ReadAll(r)
		}
		if got, err := read(sealed); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%d bytes: read back %d, %v", size, len(got), err)
		}
		if _, err := read(sealed[:len(sealed)-1]); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("%d bytes, the last one cut off: %v, want ErrSealed", size, err)
		}
		sealed[len(sealed)/2] ^= 1
		if _, err := read(sealed); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("%d bytes, one changed: %v, want ErrSealed", size, err)
		}
	}
}
