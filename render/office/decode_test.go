package office

import (
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/spool"
)

// TestDecode returns text of another encoding in UTF-8, and no other file.
func TestDecode(t *testing.T) {
	t.Parallel()
	const page, latin = "<!doctype html><p>Grüße", "<!doctype html><p>Gr\xfc\xdfe"
	bigEndian := func(text string) string {
		b := []byte(utf16le(text))
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
		return string(b)
	}
	for _, c := range []struct{ name, charset, content, want string }{
		{"marked LE", "", "\xff\xfe" + utf16le(page), page},
		{"marked BE", "", "\xfe\xff" + bigEndian(page), page},
		{"marked against the header", "windows-1252", "\xff\xfe" + utf16le(page), page},
		{"header LE", "utf-16le", utf16le(page), page},
		{"header BE", "UTF-16BE", bigEndian(page), page},
		{"header Latin", "iso-8859-1", latin, page},
		{"header of UTF-8", "windows-1252", page, page},
		{"UTF-8", "utf-8", page, ""},
		{"no header", "", latin, ""},
		{"no header, UTF-16", "", utf16le(page), ""},
		{"unknown charset", "x-none", utf16le(page), ""},
		{"archive", "iso-8859-1", "PK\x03\x04 an archive", ""},
		{"PDF", "iso-8859-1", "%PDF-1.7 Gr\xfc\xdfe", ""},
		{"RTF", "iso-8859-1", `{\rtf Gr` + "\xfc", ""},
		{"binary", "iso-8859-1", "\x00\x01\x02\x03", ""},
		{"empty", "iso-8859-1", "", ""},
	} {
		got, err := Decode(spool.FromBytes([]byte(c.content)), "a.html", c.charset)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	if got := PageText([]byte("<meta charset=windows-1252>" + latin)); !strings.HasSuffix(got, page) {
		t.Errorf("a declared encoding: %q", got)
	}
}
