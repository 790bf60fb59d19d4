package api_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	convert := func(body string) apitest.Response {
		t.Helper()
		return s.Send(t, apitest.Request{Path: "/v1/convert", Body: body}).OK(t)
	}
	docx := convert(`{"html":"<h1>alpha</h1><p>beta</p>","to":"docx","filename":"letter"}`)
	xlsx := convert(`{"file":` + inline([]byte("alpha;beta\n1,5;x\n")) + `,"sourceFilename":"Table of sums.csv","to":"xlsx"}`)
	for _, test := range []struct {
		what, kind, file string
		answer           apitest.Response
	}{
		{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "letter.docx", docx},
		{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "Table of sums.xlsx", xlsx},
		{"html", "text/html", "letter.html", convert(`{"file":` + inline([]byte(docx.Body)) + `,"sourceFilename":"letter.docx","to":"html"}`)},
		{"png", "image/png", "document.png", convert(`{"file":` + inline([]byte(docx.Body)) + `,"to":"png"}`)},
		{"zip", "application/zip", "letters.zip", convert(`{"url":"` + lab.files.URL + `/letters.pdf","sourceFilename":"letters.pdf","to":"png"}`)},
		{"pdf", "application/pdf", "document.pdf", convert(`{"html":"<p>alpha"}`)},
	} {
		if got := test.answer.Header.Get("Content-Type"); got != test.kind {
			t.Errorf("%s: type %q, want %q", test.what, got, test.kind)
		}
		if got, want := test.answer.Header.Get("Content-Disposition"), `attachment; filename="`+test.file+`"`; !strings.HasPrefix(got, want) {
			t.Errorf("%s: disposition %q, want %q", test.what, got, want)
		}
		if got := test.answer.Header.Get("x-service-charged-microdollars"); got != "3000" {
			t.Errorf("%s: charged %q", test.what, got)
		}
	}
	for _, test := range []struct {
		body string
		want []string
	}{
		{`{"file":` + inline([]byte(docx.Body)) + `}`, []string{"alpha", "beta"}},
		{`{"file":` + inline([]byte(xlsx.Body)) + `,"sourceFilename":"lying.docx"}`, []string{"alpha", "beta", "1,5", "x"}},
		{`{"file":` + inline([]byte("# alpha\n\nbeta")) + `,"sourceFilename":"a.md"}`, []string{"alpha", "beta"}},
		{`{"html":"<h1>alpha</h1>beta","engine":"wkhtmltopdf"}`, []string{"alpha", "beta"}},
		{`{"file":` + inline([]byte("<h1>alpha</h1>beta")) + `,"engine":"wkhtmltopdf","options":{"toc":true}}`, []string{"Contents", "alpha", "2", "alpha", "beta"}},
	} {
		if got := words(t, convert(test.body).Body, ""); !reflect.DeepEqual(withoutSheetName(got), test.want) {
			t.Errorf("%.60s: got %q, want %q", test.body, got, test.want)
		}
	}
}

// TestConvertTakesAssets: a page finds the files sent with it, and missing ones cause warnings, in every operation
// that prints it.
func TestConvertTakesAssets(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	convert := func(body, warnings string) apitest.Response {
		t.Helper()
		got := s.Send(t, apitest.Request{Path: "/v1/convert", Body: body}).OK(t)
		if told := got.Header.Get("X-Service-Warnings"); told != warnings {
			t.Errorf("%.80s: %q warnings, want %q", body, told, warnings)
		}
		return got
	}
	const page = `<link rel=stylesheet href=css/a.css>\n\n<p class=x>alpha</p>`
	asset := `,"assets":[{"filename":"css/a.css","file":` + inline([]byte(`.x:after { content: " styled" }`)) + `}]`
	markdown := `{"file":` + inline([]byte(strings.ReplaceAll(page, `\n`, "\n"))) + `,"sourceFilename":"a.md"`
	for _, test := range []struct {
		body, warnings string
		want           []string
	}{
		{`{"html":"` + page + `"` + asset + `}`, "", []string{"alpha", "styled"}},
		{`{"html":"` + page + `"}`, "1", []string{"alpha"}},
		{`{"html":"` + page + `","engine":"wkhtmltopdf"}`, "1", []string{"alpha"}},
		{markdown + asset + `}`, "", []string{"alpha", "styled"}},
	} {
		if got := words(t, convert(test.body, test.warnings).Body, ""); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%.80s: got %q, want %q", test.body, got, test.want)
		}
	}
	plain, styled := convert(`{"html":"`+page+`","to":"png"}`, "1"), convert(`{"html":"`+page+`","to":"png"`+asset+`}`, "")
	if plain.Body == styled.Body || !strings.HasPrefix(styled.Body, "\x89PNG") {
		t.Error("the image of a page is the same with and without its style sheet")
	}
	picture := `,"assets":[{"filename":"a.png","file":` + inline(onePixel(t)) + `}]`
	if made := convert(`{"html":"<p><img src=a.png> alpha","to":"docx"`+picture+`}`, ""); !strings.Contains(made.Body, "word/media/") {
		t.Error("the document lacks the image of the assets")
	}
	for _, test := range []struct{ body, message string }{
		{`{"html":"x","engine":"wkhtmltopdf"` + asset + `}`, "cannot be combined with engine wkhtmltopdf, which loads public URLs only"},
		{`{"file":` + inline([]byte("a,b")) + `,"sourceFilename":"a.csv"` + asset + `}`, "require an HTML or Markdown source"},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/convert", Body: test.body}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) != 1 || failure.Details[0].Field != "assets" || failure.Details[0].Message != test.message {
			t.Errorf("%.80s: details %+v, want assets %s", test.body, failure.Details, test.message)
		}
	}
}

// TestConvertTakesFrontMatter: the options in Markdown's front matter apply as those of pdf.create do, the request's
// options take precedence, and options without effect cause warnings.
func TestConvertTakesFrontMatter(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := func(options string) string {
		return `{"file":` + inline([]byte("---\ntitle: alpha\noptions:\n"+options+"---\nbeta\n\n<p style='break-before: page'>gamma\n")) + `,"sourceFilename":"a.md"`
	}
	const paper = "  format: A5\n  landscape: true\n"
	const header = "  margin:\n    top: 1in\n  headerTemplate: <b style=\"font-size:9px\">delta</b>\n"
	for _, test := range []struct {
		body, warnings string
		width, height  float64
		want           []string
	}{
		{source(paper+header) + `}`, "", 595.92, 420, []string{"delta", "alpha", "beta", "delta", "gamma"}},
		{source(paper) + `,"options":{"landscape":false}}`, "", 420, 595.92, []string{"alpha", "beta", "gamma"}},
		{source("  pageRanges: \"2\"\n") + `}`, "", 612, 792, []string{"gamma"}},
		{source("  pageRanges: \"2\"\n") + `,"options":{"pageRanges":"1"}}`, "", 612, 792, []string{"alpha", "beta"}},
		{source(paper+"  pageRanges: 1-1\n  outline: true\n") + `,"to":"png"}`, "1", 0, 0, nil},
		{source(paper) + `,"to":"docx"}`, "1", 0, 0, nil},
		{source("  formulas: false\n") + `,"to":"html"}`, "", 0, 0, nil},
	} {
		got := s.Send(t, apitest.Request{Path: "/v1/convert", Body: test.body}).OK(t)
		if told := got.Header.Get("X-Service-Warnings"); told != test.warnings {
			t.Errorf("%.200s: %q warnings, want %q", test.body, told, test.warnings)
		}
		if test.want == nil {
			continue
		}
		if got := words(t, got.Body, ""); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%.200s: got %q, want %q", test.body, got, test.want)
		}
		size := s.Send(t, apitest.Request{Path: "/v1/pdf/info", Body: `{"file":` + inline([]byte(got.Body)) + `}`}).OK(t)
		if want := fmt.Sprintf(`"width":%v,"height":%v`, test.width, test.height); !strings.Contains(size.Body, want) {
			t.Errorf("%.200s: want %s in %s", test.body, want, size.Body)
		}
	}
	told := s.Send(t, apitest.Request{Path: "/v1/convert", Body: source(paper) + `,"to":"docx","response":"url"}`}).OK(t)
	if want := `"warnings":[{"code":"option_unused","message":"the front matter has options that do not apply to docx: format, landscape"}]`; !strings.Contains(told.Body, want) {
		t.Errorf("got %s, want %s in it", told.Body, want)
	}
	s.Send(t, apitest.Request{Path: "/v1/convert", Body: source("  format: [\n") + `,"to":"html"}`}).Refused(t, wire.InvalidRequest)
	for options, message := range map[string]string{
		"  papper: A4\n":      " options: papper is not a known field",
		"  format A4\n":       ": line 4 has options that are not an object",
		"  format: [\n":       ": line 4 is not valid YAML: ",
		"  format: B9\n":      ` options: format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got "B9"`,
		"  pageRanges: 3-x\n": " options: pageRanges ",
		"  margin:\n    top: 9in\n    bottom: 9in\n": " options: margin.bottom is too large",
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/convert", Body: source(options) + `}`}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) != 1 || failure.Details[0].Field != "file" ||
			!strings.HasPrefix(failure.Details[0].Message, "has invalid front matter"+message) {
			t.Errorf("%q: details %+v, want %s", options, failure.Details, message)
		}
	}
}

// withoutSheetName leaves out the header and footer of a sheet.
func withoutSheetName(words []string) (left []string) {
	for i, word := range words {
		frame := strings.HasPrefix(word, "Sheet") || strings.HasPrefix(word, "input") || word == "Page" || i > 0 && words[i-1] == "Page"
		if !frame {
			left = append(left, word)
		}
	}
	return left
}

func TestConvertRefuses(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	csv := `"file":` + inline([]byte("a,b")) + `,"sourceFilename":"a.csv"`
	before, _ := s.Balance(t)
	for _, test := range []struct {
		body    string
		code    wire.Code
		field   string
		message string
	}{
		{`{}`, wire.InvalidRequest, "html", "is required unless another source is given. Send exactly one of html, url, file, fileId"},
		{`{"html":"x",` + csv + `}`, wire.InvalidRequest, "file", "is mutually exclusive with html. Send exactly one of html, url, file, fileId"},
		{`{"html":""}`, wire.InvalidRequest, "html", "must not be empty"},
		{`{` + csv + `,"options":{"toc":true}}`, wire.InvalidRequest, "options.toc", "requires engine wkhtmltopdf"},
		{`{"html":"x","engine":"wkhtmltopdf","to":"docx"}`, wire.InvalidRequest, "to", "must be pdf with engine wkhtmltopdf"},
		{`{` + csv + `,"to":"docx"}`, wire.InvalidRequest, "to", "must be one of pdf, xlsx, html, png for this source type (spreadsheet); got docx"},
		{`{"url":"` + lab.files.URL + `/letters.pdf"}`, wire.InvalidRequest, "to", "must be one of docx, html, png for this source type (PDF); got pdf"},
		{`{"file":` + inline([]byte("\x7fELF\x00\x01")) + `}`, wire.ProcessingFailed, "file",
			"has an unsupported file type. Supported: office documents, HTML, Markdown, CSV, text, PDF and images"},
		{`{"file":` + inline([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"+strings.Repeat("\x00", 600))) + `}`, wire.ProcessingFailed, "file", "is damaged or has an unsupported format"},
		{`{"file":` + inline([]byte("\x89PNG\r\n\x1a\nrest")) + `}`, wire.ProcessingFailed, "file", "is a damaged image, or has an unsupported format"},
		{`{"file":` + inline(letters("alpha")) + `,"engine":"wkhtmltopdf"}`, wire.ProcessingFailed, "file", "must be HTML if engine is wkhtmltopdf"},
		{`{"file":` + inline([]byte("\x7fELF\x00\x01")) + `,"engine":"wkhtmltopdf"}`, wire.ProcessingFailed, "file", "must be HTML if engine is wkhtmltopdf"},
		{`{"url":"` + lab.files.URL + `/","engine":"wkhtmltopdf"}`, wire.URLNotAllowed, "url", ""},
		{`{"url":"http://127.0.0.1/a.docx"}`, wire.URLNotAllowed, "url", "must be an http or https URL of a public host"},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/convert", Body: test.body}).Refused(t, test.code)
		if len(failure.Details) != 1 || failure.Details[0].Field != test.field || test.message != "" && failure.Details[0].Message != test.message {
			t.Errorf("%.80s: details %+v, want %s %s", test.body, failure.Details, test.field, test.message)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
}

// TestConvertUnavailable has LibreOffice not respond.
func TestConvertUnavailable(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *apitest.EchoInput) error {
		return fmt.Errorf("secret: %w", office.ErrUnavailable)
	}
	s := apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}})
	got := s.Send(t, apitest.Request{Path: "/v1/test/echo", Body: `{"text":"a"}`})
	if failure := got.Refused(t, wire.ConvertUnavailable); strings.Contains(failure.Message, "secret") {
		t.Errorf("the client reads %q", failure.Message)
	}
	if seconds, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || seconds < 1 || got.Status != 503 {
		t.Errorf("status %d, Retry-After %q", got.Status, got.Header.Get("Retry-After"))
	}
	if balance, held := s.Balance(t); balance != int64(apitest.Trial) || held != 0 {
		t.Errorf("balance %d, held %d", balance, held)
	}
}

// onePixel is an image.
func onePixel(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
