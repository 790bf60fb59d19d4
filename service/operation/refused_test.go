package operation

import (
	"strings"
	"testing"
)

// TestRefusedURLsHaveTheirCause: the text of a URL that is refused names what is wrong with it.
func TestRefusedURLsHaveTheirCause(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://user:secret@example.com/":       "a user name or a password",
		"http://user:secret@example.com/":        "a user name or a password",
		"https:user:secret@example.com/":         "a user name or a password",
		`https:\\user:secret@example.com/`:       "a user name or a password",
		"mailto:secret@example.com":              NotAllowed,
		"//user:secret@example.com/":             NotAllowed,
		"https://user@example.com?x":             "a user name or a password",
		"\ufeffhttps://example.com/":             "a byte order mark",
		"http://example.com/":                    NotAllowed,
		"https://localhost/a@b":                  NotAllowed,
		"https://example.local/?mail=me@host.it": NotAllowed,
	} {
		if got := RefusedText(address, PageURL); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
