package api_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestEncodingsOfSources: the text of web pages, Markdown and plain text is read in the encoding of its byte order mark, of
// its server, or of its own declaration.
func TestEncodingsOfSources(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	const text = "Grüße 5€"
	const page = "<!doctype html><title>t</title><p>" + text
	inUTF16 := func(text string, order binary.AppendByteOrder) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	latin := strings.NewReplacer("ü", "\xfc", "ß", "\xdf", "€", "\x80")
	little, big := binary.LittleEndian, binary.BigEndian
	for name, c := range map[string]struct{ name, kind, body string }{
		"UTF-16LE with a mark":               {"a.html", "text/html", inUTF16("\ufeff"+page, little)},
		"UTF-16BE with a mark":               {"a.html", "text/html", inUTF16("\ufeff"+page, big)},
		"a mark against the header":          {"a.html", "text/html; charset=windows-1252", inUTF16("\ufeff"+page, little)},
		"UTF-8 with a mark":                  {"a.html", "text/html", "\ufeff" + page},
		"UTF-8 against the header":           {"a.html", "text/html; charset=windows-1252", page},
		"Windows-1252 by meta":               {"a.html", "text/html", "<!doctype html><meta charset=windows-1252><p>" + latin.Replace(text)},
		"Windows-1252 by http-equiv":         {"a.html", "text/html", `<html><meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>` + latin.Replace(text)},
		"Windows-1252 undeclared":            {"a.html", "text/html", latin.Replace(page)},
		"UTF-16LE by the header":             {"", "text/html; charset=utf-16le", inUTF16(page, little)},
		"UTF-16BE by the header":             {"", "text/html; charset=UTF-16BE", inUTF16(page, big)},
		"Windows-1252 by the header":         {"", "text/html; charset=windows-1252", latin.Replace(page)},
		"the header against meta":            {"", "text/html; charset=windows-1252", "<!doctype html><meta charset=iso-8859-5><p>" + latin.Replace(text)},
		"Markdown by the header":             {"a.md", "text/markdown; charset=windows-1252", latin.Replace(text)},
		"plain text by the header":           {"a.txt", "text/plain; charset=windows-1252", latin.Replace(text)},
		"plain text, UTF-16LE by the header": {"a.txt", "text/plain; charset=utf-16le", inUTF16(text, little)},
	} {
		inputs := map[string]string{"url": strings.TrimSuffix(lab.files.URL, "/") + "/sent?" + url.Values{"type": {c.kind}, "body": {c.body}}.Encode()}
		if !strings.Contains(name, "header") {
			inputs["file"] = base64.StdEncoding.EncodeToString([]byte(c.body))
		}
		for field, value := range inputs {
			for _, to := range []string{"pdf", "docx"} {
				body, err := json.Marshal(map[string]string{field: value, "sourceFilename": c.name, "to": to})
				if err != nil {
					t.Fatal(err)
				}
				if c.name == "" {
					body = []byte(strings.Replace(string(body), `"sourceFilename":"",`, "", 1))
				}
				got := s.Send(t, apitest.Request{Path: "/v1/convert", Body: string(body)}).OK(t)
				shown := got.Body
				if to == "docx" {
					shown = s.Send(t, apitest.Request{Path: "/v1/convert", Body: `{"file":` + inline([]byte(got.Body)) + `,"sourceFilename":"a.docx","to":"pdf"}`}).OK(t).Body
				}
				shown = strings.Join(words(t, shown, ""), " ")
				if !strings.Contains(shown, text) {
					t.Errorf("%s by %s to %s: %.300q", name, field, to, shown)
				}
			}
		}
	}
}
