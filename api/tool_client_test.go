package api_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// asDouble writes a whole number as Java writes it for a field of type double.
func asDouble(whole string) json.RawMessage { return json.RawMessage(whole + ".0") }

// described is the OpenAPI description of inputs.
type described struct {
	Paths map[string]struct {
		Post struct {
			RequestBody struct {
				Content map[string]struct{ Schema describedType }
			}
		}
	}
	Components struct{ Schemas map[string]describedType }
}

// describedType is the type of a value.
type describedType struct {
	Ref        string `json:"$ref"`
	Properties map[string]describedType
	Items      *describedType
}

// withNulls returns a value in which objects have every member that is described, as null if there is none.
func (d described) withNulls(as describedType, value any) any {
	if name, ok := strings.CutPrefix(as.Ref, "#/components/schemas/"); ok {
		as = d.Components.Schemas[name]
	}
	switch value := value.(type) {
	case map[string]any:
		full := map[string]any{}
		for name, member := range as.Properties {
			full[name] = nil
			if given, ok := value[name]; ok {
				full[name] = d.withNulls(member, given)
			}
		}
		return full
	case []any:
		full := slices.Clone(value)
		for i := range full {
			if as.Items != nil {
				full[i] = d.withNulls(*as.Items, full[i])
			}
		}
		return full
	}
	return value
}

// TestRowsOfPublishedClients sends the requests of the published PHP and Java clients to the newest operations. PHP
// escapes slashes, also in data URIs, and writes an empty map as an empty array. Java writes every field without a
// value as null, also in nested objects, and whole numbers with a fraction.
func TestRowsOfPublishedClients(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	var interfaces described
	if err := json.Unmarshal(openAPI(t, s), &interfaces); err != nil {
		t.Fatal(err)
	}
	file := func(kind, content string) string {
		return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
	}
	type body = map[string]any
	note := body{"file": file("text/plain", "a note"), "filename": "note.txt", "contentType": "text/plain"}
	source := file("application/pdf", string(letters("alpha", "beta", "gamma")))
	send := func(path string, call body) apitest.Response {
		t.Helper()
		text, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		return s.Send(t, apitest.Request{Path: path, Body: string(text)}).OK(t)
	}
	picture := file("image/png", string(dot(t)))
	scan := file("application/pdf", send("/v1/pdf/from-images", body{"files": []any{body{"file": picture}}}).Body)
	attached := file("application/pdf", send("/v1/pdf/attachments", body{"file": source, "action": "add", "files": []any{note}}).Body)
	mail := file("message/rfc822", "From: a@example.com\r\nTo: b@example.com\r\nSubject: alpha\r\n\r\nbeta\r\n")
	const pdf, zip, object = "application/pdf", "application/zip", "application/json"
	for _, test := range []struct {
		path  string
		call  body
		kind  string
		holds []string // words of the PDF, or the text of another response
	}{
		{"pdf/repair", body{"file": source}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/crop", body{"file": source, "pages": []any{1, 2}, "box": body{"x": asDouble("20"), "y": asDouble("50"), "width": asDouble("200"), "height": 100}}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/crop", body{"file": source, "margins": body{"top": "1mm", "left": asDouble("4")}}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/resize", body{"file": source, "format": "a5", "fit": "contain", "landscape": false, "pages": "1-2"}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/nup", body{"file": source, "perSheet": 2, "format": "a5", "landscape": true, "border": true, "margin": "1cm", "order": "row", "pages": "1-2"}, pdf, []string{"alpha", "beta"}},
		{"pdf/booklet", body{"file": source, "perSheet": 2, "format": "a4", "binding": "long", "guides": true}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/resize", body{"file": source, "width": asDouble("400"), "height": "10cm"}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/optimize", body{"file": scan, "linearize": true, "imageQuality": 60, "maxImageDpi": 72, "grayscale": true}, pdf, nil},
		{"pdf/compress-advanced", body{"file": scan, "level": "high"}, pdf, nil},
		{"pdf/metadata", body{"file": source}, object, []string{`"differences"`}},
		{"pdf/metadata", body{"file": source, "metadata": body{"creator": "Ink"}, "remove": []any{"author"}}, pdf, []string{"alpha"}},
		{"pdf/overlay", body{"file": source, "overlay": body{"file": scan, "filename": "a.pdf"}, "position": "under", "pages": []any{1, 3}, "from": "1", "repeat": "last"}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/merge", body{"files": []any{body{"file": source, "title": "Letters"}, body{"file": scan, "filename": "dots.pdf"}}, "tableOfContents": true, "pageNumbers": true}, pdf, []string{"Contents", "Letters", "dots", "alpha"}},
		{"pdf/split", body{"file": source, "text": "beta"}, zip, []string{"001.pdf", "002.pdf"}},
		{"pdf/extract-images", body{"file": scan, "pages": "1", "minWidth": 10, "minHeight": 10}, zip, nil},
		{"pdf/attachments", body{"file": attached}, object, []string{`"note.txt"`}},
		{"pdf/attachments", body{"file": attached, "action": "extract", "names": []any{"note.txt"}}, zip, []string{"note.txt"}},
		{"pdf/attachments", body{"file": source, "action": "add", "files": []any{note}}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/attachments", body{"file": attached, "action": "remove", "names": []any{"note.txt"}}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/ocr", body{"file": source, "languages": []any{"eng"}, "pages": []any{1}, "force": true}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/ocr", body{"file": source, "force": true, "output": "text", "pages": "2"}, object, []string{"beta"}},
		{"pdf/redact", body{
			"file": source, "terms": []any{"beta"}, "patterns": []any{`g.mm\w`}, "color": "#c00",
			"areas": []any{body{"page": 1, "x": asDouble("0"), "y": asDouble("200"), "width": asDouble("50"), "height": asDouble("50")}},
		}, pdf, []string{"alpha"}},
		{"pdf/pdfa", body{"file": source, "level": "2b"}, pdf, []string{"alpha", "beta", "gamma"}},
		{"pdf/data", body{"file": source, "output": "markdown", "pages": []any{3}}, object, []string{"gamma"}},
		{"images/convert", body{"file": picture, "to": "jpeg", "quality": 80, "width": 20, "fit": "contain", "background": "#fff"}, "image/jpeg", []string{"\xff\xd8"}},
		{"email", body{"file": mail, "attachments": "embed", "format": "A4"}, pdf, []string{"alpha", "beta"}},
	} {
		path := "/v1/" + test.path
		java := interfaces.withNulls(interfaces.Paths[path].Post.RequestBody.Content["application/json"].Schema, test.call)
		php := maps.Clone(test.call)
		php["response"] = "binary"
		if full, ok := java.(body); !ok || len(full) < len(test.call)+5 {
			t.Fatalf("%s is described with the members %v", path, java)
		} else if _, ok := full["metadata"]; ok {
			if test.kind == pdf {
				php["metadata"] = []any{}
			}
		}
		for client, call := range map[string]any{"PHP": php, "Java": java} {
			text, err := json.Marshal(call)
			if err != nil {
				t.Fatal(err)
			}
			sent := string(text)
			if client == "PHP" {
				sent = strings.ReplaceAll(sent, "/", `\/`)
			}
			got := s.Send(t, apitest.Request{Path: path, Body: sent})
			if kind := got.Header.Get("Content-Type"); got.Status != 200 || kind != test.kind {
				t.Errorf("%s, %s: status %d, %s: %.300s", path, client, got.Status, kind, got.Body)
				continue
			}
			said := got.Body
			if test.kind == pdf {
				said = strings.Join(words(t, got.Body, ""), " ")
			}
			for _, word := range test.holds {
				if !strings.Contains(said, word) {
					t.Errorf("%s, %s: no %q in %.300q", path, client, word, said)
				}
			}
			if test.path == "pdf/redact" && said != "alpha" {
				t.Errorf("%s, %s: says %q", path, client, said)
			}
			if test.kind == object {
				// With both of these the clients take a response for a file's address.
				answer := decode[map[string]any](t, got)
				if answer["url"] != nil && answer["status"] != nil {
					t.Errorf("%s, %s: %v", path, client, answer)
				}
			}
		}
	}
}
