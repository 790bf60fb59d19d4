package api_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestRowsOnOfficeDocuments runs the newest operations on PDFs that an office suite made of a text with a table, a
// link and an image, and of a spreadsheet: the PDFs keep their text.
func TestRowsOnOfficeDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	send := func(path, body string) apitest.Response {
		t.Helper()
		return s.Send(t, apitest.Request{Path: path, Body: body}).OK(t)
	}
	picture := base64.StdEncoding.EncodeToString(dot(t))
	html := `<h1>Rechnung für Größe</h1><p>On <a href=\"https://example.com/\">behalf</a> of Falkenberg, <b>due</b> soon.</p>` +
		`<table border=1><tr><td>Paper<td>12.50<tr><td>Ink<td>30.00</table><p><img width=40 height=20 src=\"data:image/png;base64,` + picture + `\"></p>`
	sheet := "Item;Amount\nPaper for Falkenberg;12,50\nInk;30\n"
	ruled := map[string]string{"docx": "| Ink | 30.00", "xlsx": "Ink"} // sheets are printed without lines
	for name, file := range map[string]string{
		"docx": send("/v1/convert", `{"html":"`+html+`","to":"docx"}`).Body,
		"xlsx": send("/v1/convert", `{"file":`+inline([]byte(sheet))+`,"sourceFilename":"a.csv","to":"xlsx"}`).Body,
	} {
		document := send("/v1/convert", `{"file":`+inline([]byte(file))+`,"sourceFilename":"a.`+name+`","to":"pdf"}`).Body
		source := `"file":` + inline([]byte(document))
		before := strings.Join(words(t, document, ""), " ")
		if !strings.Contains(before, "Falkenberg") || !strings.Contains(before, "Paper") {
			t.Fatalf("%s: the office wrote %q", name, before)
		}
		for _, call := range []struct{ row, fields, want string }{
			{"repair", "", before},
			{"crop", `,"margins":{"top":"2mm","left":"2mm"}`, before},
			{"resize", `,"format":"A5","landscape":true`, before},
			{"nup", `,"perSheet":2`, before},
			{"optimize", `,"imageQuality":60,"maxImageDpi":72`, before},
			{"compress-advanced", `,"level":"high","grayscale":true`, before},
			{"attachments", `,"action":"add","files":[{"file":"YQ==","filename":"a.txt"}]`, before},
			{"ocr", `,"force":true`, before},
			{"redact", `,"terms":["falkenberg"]`, strings.ReplaceAll(before, "Falkenberg", "")},
			{"pdfa", `,"level":"1b"`, before},
			{"pdfa", `,"level":"2b"`, before},
			{"pdfa", `,"level":"3b"`, before},
		} {
			got := s.Send(t, apitest.Request{Path: "/v1/pdf/" + call.row, Body: `{` + source + call.fields + `}`})
			if got.Status != 200 {
				t.Errorf("%s, %s%s: status %d: %.300s", name, call.row, call.fields, got.Status, got.Body)
				continue
			}
			// If a word is missing, poppler may read the cells of a row in another order.
			said, want := words(t, got.Body, ""), strings.Fields(call.want)
			if call.row == "redact" {
				slices.Sort(said)
				slices.Sort(want)
			}
			if !slices.Equal(said, want) {
				t.Errorf("%s, %s%s: says %q, want %q", name, call.row, call.fields, said, want)
			}
			keepResult(t, fmt.Sprintf("%s-%s", name, call.row), got.Body)
		}
		if read := send("/v1/pdf/data", `{`+source+`}`).Body; !strings.Contains(read, "Falkenberg") || !strings.Contains(read, ruled[name]) {
			t.Errorf("%s: as Markdown it is %s", name, read)
		}
		if name == "docx" {
			if archive := send("/v1/pdf/extract-images", `{`+source+`}`).Body; !strings.HasPrefix(archive, "PK") || !strings.Contains(archive, ".png") {
				t.Errorf("%s: its images are %.100q", name, archive)
			}
		}
	}
}
