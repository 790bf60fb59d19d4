package seal_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/relaypdf/relaypdf/store/seal"
)

// TestSecretsCanBeChanged seals with one secret, and opens it with a box that
// has another one too, and with a box that does not have it any more.
func TestSecretsCanBeChanged(t *testing.T) {
	t.Parallel()
	before, after := bytes.Repeat([]byte{1}, seal.MinSecret), bytes.Repeat([]byte{2}, seal.MinSecret)
	old := box(t, 1)
	sealed, err := old.Seal("webhook we_1", []byte("whsec"))
	if err != nil {
		t.Fatal(err)
	}
	stream := sealStream(t, old, []byte("input"))
	both, err := seal.New(after, before)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := both.Open("webhook we_1", sealed); err != nil || string(got) != "whsec" {
		t.Errorf("with both secrets: opened %q, %v", got, err)
	}
	r, err := both.Reader("input", bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "input" {
		t.Errorf("a stream with both secrets: read %q, %v", got, err)
	}
	again, err := both.Seal("webhook we_1", []byte("whsec"))
	if err != nil || !both.Newest(again) || both.Newest(sealed) {
		t.Errorf("the newest secret is not told from the old one: %v", err)
	}
	if _, err := old.Open("webhook we_1", again); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("without the secret: got %v, want ErrSealed", err)
	}
	if _, err := box(t, 2).Reader("input", bytes.NewReader(stream)); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("a stream without its secret: got %v, want ErrSealed", err)
	}
}
