package operation

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/pagerange"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/service/schema"
)

// tableOnce compiles the table for all tests.
var tableOnce = sync.OnceValues(func() (*schema.Table[*Deps], error) { return schema.NewTable(Rows) })

// newTable returns the operation table.
func newTable(t *testing.T) *schema.Table[*Deps] {
	t.Helper()
	table, err := tableOnce()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// bind reads a body as the input of an operation and returns its faults as
// "field message" lines.
func bind(t *testing.T, name, body string) []string {
	t.Helper()
	_, err := newTable(t).Lookup(name).Bind(t.Context(), strings.NewReader(body), schema.Files{})
	var faults schema.FieldErrors
	if err != nil && !errors.As(err, &faults) {
		t.Fatalf("%.80s: error %v, want faults", body, err)
	}
	var lines []string
	for _, fault := range faults {
		lines = append(lines, fault.Field+" "+fault.Message)
	}
	return lines
}

// with puts options into an inline document's request.
func with(options string) string { return `{"html":"x","options":{` + options + `}}` }

// withURL puts options into a page's request.
func withURL(options string) string {
	return `{"url":"https://example.com","options":{` + options + `}}`
}

// TestOperationsAreATable checks the rules of the table; its content is in prices.golden.
func TestOperationsAreATable(t *testing.T) {
	table := newTable(t)
	if got := table.All()[0].Path(); got != "/v1/pdf" {
		t.Errorf("the first operation is %s, want /v1/pdf", got)
	}
}

func TestInputsAccept(t *testing.T) {
	header := `"extraHTTPHeaders":{"Authorization":"Bearer x","X-A":"","Accept-Language":"de"}`
	for _, test := range []struct{ name, body string }{
		{"pdf.create", `{"html":"<p>x</p>"}`},
		{"pdf.create", `{"markdown":"# x","response":"url","filename":"x"}`},
		{"pdf.create", `{"url":"https://example.com"}`},
		{"pdf.create", `{"html":"x","url":null,"markdown":null,"options":[]}`},
		{"pdf.create", with(`"format":"a4","landscape":true,"printBackground":false,"preferCSSPageSize":true,"scale":0.1`)},
		{"pdf.create", with(`"format":"LEDGER","scale":2`)},
		{"pdf.create", with(`"width":800,"height":"1000","margin":{"top":"1cm","bottom":" 10 mm ","left":10,"right":"0.5in"}`)},
		{"pdf.create", with(`"width":"8.5IN","height":"14400pt","margin":{"top":0}`)},
		{"pdf.create", with(`"margin":[]`)},
		{"pdf.create", with(`"pageRanges":"1-3,5,7-,even"`)},
		{"pdf.create", with(`"headerTemplate":"<span class=pageNumber></span>","footerTemplate":"","mediaType":"screen"`)},
		{"pdf.create", with(`"metadata":{"title":"T","author":"A","subject":"S","keywords":"a, b"},"tagged":true,"outline":true`)},
		{"pdf.create", with(`"metadata":{"keywords":["a","b"]}`)},
		{"pdf.create", with(`"waitUntil":"networkidle2","timeout":60000,"waitForSelector":"#done","waitForTimeout":30000`)},
		{"pdf.create", with(`"timeout":1`)},
		{"pdf.create", withURL(header)},
		{"pdf.create", withURL(`"cookies":[{"name":"sid","value":"a, \"b\""},{"name":"x","value":"","domain":".example.com","path":"/a"}]`)},
		{"pdf.create", with(`"cookies":[{"name":"sid","value":"1","domain":"127.0.0.1"}]`)},
		{"images.create", `{"html":"x"}`},
		{"images.create", withURL(`"type":"webp","quality":100,"fullPage":true,"omitBackground":true,"captureBeyondViewport":false`)},
		{"images.create", with(`"type":"jpeg","omitBackground":true,"quality":1`)},
		{"images.create", with(`"viewport":{"width":16384,"height":6103}`)},
		{"images.create", with(`"viewport":{"width":1280,"height":720,"deviceScaleFactor":10}`)},
		{"images.create", with(`"clip":{"x":0,"y":0.5,"width":10.5,"height":20}`)},
	} {
		if faults := bind(t, test.name, test.body); faults != nil {
			t.Errorf("%s %s: %q", test.name, test.body, faults)
		}
	}
}

func TestInputsRefuse(t *testing.T) {
	const (
		length  = "must be a number of CSS pixels, or a number with the unit px, in, cm, mm or pt, such as 2.5cm"
		sources = "Send exactly one of html, url, markdown, templateId, file, fileId"
	)
	for _, test := range []struct {
		name, body string
		want       []string
	}{
		// Sources.
		{"pdf.create", `{}`, []string{"html is required unless another source is given. " + sources}},
		{"pdf.create", `{"html":""}`, []string{"html must not be empty"}},
		{"pdf.create", `{"url":""}`, []string{"url must not be empty"}},
		{"pdf.create", `{"html":"x","url":"https://a.example","markdown":"x"}`, []string{
			"url is mutually exclusive with html. " + sources, "markdown is mutually exclusive with html. " + sources}},
		{"pdf.create", `{"html":"x","templateId":"a"}`, []string{"templateId is mutually exclusive with html. Send exactly one of html, url, markdown, templateId, file, fileId"}},
		{"pdf.create", `{"html":"x","strict":true,"templateData":{}}`, []string{"templateData requires templateId", "strict requires templateId"}},
		{"images.create", `{"markdown":"x"}`, []string{
			"markdown is not a known field. Allowed fields: html, url, assets, file, fileId, templateId, templateVersion, templateData, strict, options, filename, response, expiresIn, maxDownloads, callbackUrl, deliverTo, store, then", "html is required unless another source is given. Send exactly one of html, url, templateId, file, fileId"}},
		// Conversions.
		{"convert.create", `{"html":"x","to":"docx","options":{"pageRanges":"1","sheets":["a"]}}`, []string{
			"options.pageRanges requires to: pdf", "options.sheets requires to: pdf"}},
		{"convert.create", `{"html":"x","options":{"standards":["ua-1","a-2a","a-3b"],"pdfa":"2b","password":"x","comments":true}}`, []string{
			"options.password is mutually exclusive with options.pdfa: PDF/A files cannot be encrypted",
			"options.comments is mutually exclusive with options.pdfa: PDF/A files cannot contain comments as notes",
			"options.standards must contain levels of one part of PDF/A only; got levels of several parts",
			"options.pdfa is mutually exclusive with options.standards: options.standards includes the levels of PDF/A",
			"options.password is mutually exclusive with options.standards: PDF/A excludes encryption",
			"options.comments is mutually exclusive with options.standards: screen readers cannot read notes"}},
		{"convert.create", `{"html":"x","to":"docx","options":{"standards":["ua-1"]}}`, []string{"options.standards requires to: pdf"}},
		{"convert.create", `{"html":"x","options":{"standardsStrict":true}}`, []string{"options.standardsStrict requires options.standards"}},
		{"convert.create", `{"html":"x","options":{"pdfa":"2b"},"metadata":{"title":"x"}}`, []string{"metadata is mutually exclusive with options.pdfa. To set both, convert to PDF with metadata, then call pdf.pdfa"}},
		{"convert.create", `{"html":"x","engine":"wkhtmltopdf","options":{"quality":9}}`, []string{"options.quality requires engine libreoffice"}},
		{"convert.create", `{"html":"x","options":{"pdfa":"2b","password":"x","pageRanges":"0"}}`, []string{
			"options.pageRanges has page 0, but pages start at 1. Send " + pagerange.Syntax,
			"options.password is mutually exclusive with options.pdfa: PDF/A files cannot be encrypted"}},
		// Front matter.
		{"pdf.create", `{"markdown":"---\noptions:\n  scale: 9\n  papper: A4\n---\n"}`, []string{
			"markdown has invalid front matter options: papper is not a known field",
			"markdown has invalid front matter options: scale must be between 0.1 and 2; got 9"}},
		{"pdf.create", `{"markdown":"---\noptions:\n  format: A9\n---\n"}`, []string{`options.format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got "A9"`}},
		{"pdf.create", `{"markdown":"---\noptions:\n  format A4\n---\n"}`, []string{"markdown has invalid front matter: line 3 has options that are not an object"}},
		{"pdf.create", `{"markdown":"---\noptions:\n  waitForTimeout: 30000\n---\n"}`, []string{
			"markdown has front matter options that must be sent in the request. Front matter accepts layout options only, such as format, margin and footerTemplate"}},
		{"pdf.create", `{"markdown":"---\noptions:\n  html: allow\n---\n"}`, []string{
			"markdown has front matter options that must be sent in the request. Front matter accepts layout options only, such as format, margin and footerTemplate"}},
		// Standards.
		{"pdf.create", `{"html":"x","options":{"standards":["a-1a"]}}`, []string{`options.standards[0] must be one of ua-1, a-1b, a-2a, a-2u, a-2b, a-3a, a-3u, a-3b; got "a-1a"`}},
		{"pdf.create", `{"html":"x","options":{"standards":["ua-1","a-2b","a-3b"]}}`, []string{"options.standards must contain levels of one part of PDF/A only; got levels of several parts"}},
		{"pdf.create", `{"html":"x","options":{"standardsStrict":true}}`, []string{"options.standardsStrict requires options.standards"}},
		// HTML in Markdown.
		{"pdf.create", `{"html":"x","options":{"html":"filter"}}`, []string{"options.html requires markdown"}},
		{"pdf.create", `{"markdown":"x","options":{"html":"yes"}}`, []string{`options.html must be one of filter, allow; got "yes"`}},
		{"convert.create", `{"html":"x","options":{"html":"allow"}}`, []string{"options.html applies to Markdown only; the source is HTML"}},
		// Errors in the files of a page.
		{"pdf.create", `{"html":"x","assets":[{"filename":"../a","file":"eA=="},{"filename":"b.css"},{"filename":"c","file":"eA==","url":"https://a.example"},{"filename":"d","file":"eA=="},{"filename":"./d","file":"eA=="}]}`, []string{
			`assets[0].filename must be a relative path such as img/logo.png, without .. or backslashes; got "../a"`,
			"assets[1].file is required unless another source is given. Send exactly one of url, file, fileId",
			"assets[2].file is mutually exclusive with assets[2].url. Send exactly one of url, file, fileId", "assets[4].filename is already used by another asset"}},
		{"images.create", `{"url":"https://a.example","assets":[{"filename":"a","file":"eA=="}]}`, []string{"assets cannot be combined with url"}},
		{"pdf.create", `{"file":"eA==","assets":[{"filename":"a","file":"eA=="}]}`, []string{"assets cannot be combined with file, which contains its own assets"}},
		{"pdf.create", `{"file":"eA==","html":"x"}`, []string{"file is mutually exclusive with html. " + sources}},
		// Paper.
		{"pdf.create", with(`"format":"A7"`), []string{`options.format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got "A7"`}},
		{"pdf.create", with(`"width":"wide"`), []string{"options.width " + length + `; got "wide"`}},
		{"pdf.create", with(`"width":""`), []string{"options.width " + length + `; got ""`}},
		{"pdf.create", with(`"width":"1e3"`), []string{"options.width " + length + `; got "1e3"`}},
		{"pdf.create", with(`"width":"10em"`), []string{"options.width " + length + `; got "10em"`}},
		{"pdf.create", with(`"width":true`), []string{"options.width must be a number, or a string of at most 64 characters; got true"}},
		{"pdf.create", with(`"width":-5`), []string{"options.width must be between 9.6px and 19200px; got -5px"}},
		{"pdf.create", with(`"height":"-1cm"`), []string{"options.height must be between 0.254cm and 508cm; got -1cm"}},
		{"pdf.create", with(`"height":0`), []string{"options.height must be between 9.6px and 19200px; got 0px"}},
		{"pdf.create", with(`"height":1e300`), []string{"options.height must be between 9.6px and 19200px; got 1e+300px"}},
		{"pdf.create", with(`"height":"201in"`), []string{"options.height must be between 0.1in and 200in; got 201in"}},
		{"pdf.create", with(`"margin":{"top":"-1px"}`), []string{"options.margin.top must be between 0px and 1056px; got -1px"}},
		{"pdf.create", with(`"margin":{"left":"9in"}`), []string{"options.margin.left must be between 0in and 8.5in; got 9in"}},
		{"pdf.create", with(`"landscape":true,"margin":{"top":"9in"}`), []string{"options.margin.top must be between 0in and 8.5in; got 9in"}},
		{"pdf.create", with(`"margin":{"top":"6in","bottom":"5in"}`), []string{
			"options.margin.bottom is too large: top and bottom margins are 11in in total on a page 11in high"}},
		{"pdf.create", with(`"width":200,"margin":{"left":"1in","right":"2in"}`), []string{
			"options.margin.right is too large: left and right margins are 3in in total on a page 2.083in wide"}},
		{"pdf.create", with(`"margin":{"middle":"1in"}`), []string{"options.margin.middle is not a known field. Allowed fields: top, right, bottom, left"}},
		{"pdf.create", with(`"margin":"1in"`), []string{`options.margin must be an object; got "1in"`}},
		{"pdf.create", with(`"scale":9`), []string{"options.scale must be between 0.1 and 2; got 9"}},
		{"pdf.create", with(`"scale":0`), []string{"options.scale must be between 0.1 and 2; got 0"}},
		{"pdf.create", with(`"mediaType":"tv"`), []string{`options.mediaType must be one of print, screen; got "tv"`}},
		{"pdf.create", with(`"metadata":{"keywords":[1]}`), []string{
			"options.metadata.keywords[0] must be a string of at most 1000 characters; got 1"}},
		// Page ranges.
		{"pdf.create", with(`"pageRanges":""`), []string{`options.pageRanges must be a string of 1 to 1000 characters; got ""`}},
		{"pdf.create", with(`"pageRanges":"3-1"`), []string{"options.pageRanges has the range 3-1, which is reversed. Send " + pagerange.Syntax}},
		{"pdf.create", with(`"pageRanges":"0"`), []string{"options.pageRanges has page 0, but pages start at 1. Send " + pagerange.Syntax}},
		// Waiting.
		{"pdf.create", with(`"timeout":60001`), []string{"options.timeout must be between 1 and 60000; got 60001"}},
		{"pdf.create", with(`"timeout":0`), []string{"options.timeout must be between 1 and 60000; got 0"}},
		{"pdf.create", with(`"waitForTimeout":30001`), []string{"options.waitForTimeout must be between 0 and 30000; got 30001"}},
		{"pdf.create", with(`"timeout":500,"waitForTimeout":500`), []string{"options.waitForTimeout must be shorter than options.timeout (500 ms); got 500"}},
		{"pdf.create", with(`"waitUntil":"soon"`), []string{`options.waitUntil must be one of load, domcontentloaded, networkidle0, networkidle2; got "soon"`}},
		{"pdf.create", with(`"waitForSelector":""`), []string{`options.waitForSelector must be a string of 1 to 1024 characters; got ""`}},
		// Cookies.
		{"pdf.create", with(`"failOnHTTPStatus":[404,"4xx",600,"4XX"],"animations":"stop"`), []string{
			`options.animations must be one of finish, allow; got "stop"`,
			"options.failOnHTTPStatus[2] must be between 100 and 599; got 600",
			`options.failOnHTTPStatus[3] must be a whole number between 100 and 599, or a string of at most 3 characters matching ^[1-5](xx|[0-9][0-9])$; got "4XX"`}},
		{"pdf.create", with(`"cookies":[{"name":"a","value":"b"}]`), []string{
			"options.cookies[0].domain is required when the document is not loaded from url"}},
		{"pdf.create", withURL(`"cookies":[{"value":"b"},{"name":"a"}]`), []string{
			"options.cookies[0].name is required", "options.cookies[1].value is required"}},
		{"pdf.create", withURL(`"cookies":[{"name":"a b","value":"b;c"}]`), []string{
			"options.cookies[0].name must be one or more letters, digits and !#$%&'*+-.^_`|~",
			"options.cookies[0].value must be printable ASCII without semicolons. Percent-encode other characters"}},
		{"pdf.create", withURL(`"cookies":[{"name":"a","value":"é"}]`), []string{
			"options.cookies[0].value must be printable ASCII without semicolons. Percent-encode other characters"}},
		{"pdf.create", withURL(`"cookies":[{"name":"a","value":"` + strings.Repeat("x", 4096) + `"}]`), []string{
			"options.cookies[0].value is too long: name and value together have at most 4096 bytes"}},
		{"pdf.create", withURL(`"cookies":[{"name":"a","value":"b","domain":"https://a.example","path":"a;b"}]`), []string{
			"options.cookies[0].domain must be a host name such as example.com or .example.com",
			"options.cookies[0].path must start with / and be printable ASCII without spaces and semicolons"}},
		// Headers.
		{"pdf.create", with(`"extraHTTPHeaders":{"X-A":1}`), []string{"options.extraHTTPHeaders.X-A must be a string of at most 16384 characters; got 1"}},
		{"pdf.create", with(`"extraHTTPHeaders":{"HOST":"a","Proxy-Authorization":"b","content-length":"1","Transfer-Encoding":"chunked"}`), []string{
			"options.extraHTTPHeaders.HOST cannot be set: the browser controls this header",
			"options.extraHTTPHeaders.Proxy-Authorization cannot be set: the browser controls this header",
			"options.extraHTTPHeaders.Transfer-Encoding cannot be set: the browser controls this header",
			"options.extraHTTPHeaders.content-length cannot be set: the browser controls this header"}},
		{"pdf.create", with(`"extraHTTPHeaders":{"X A":"b"}`), []string{
			"options.extraHTTPHeaders has an invalid header name. Use letters, digits and !#$%&'*+-.^_`|~"}},
		{"pdf.create", with(`"extraHTTPHeaders":{"X-A":"b\r\nX-B: c"}`), []string{
			"options.extraHTTPHeaders.X-A must not contain line breaks or other control characters"}},
		{"pdf.create", with(`"extraHTTPHeaders":{"X-A":"1","x-a":"2"}`), []string{"options.extraHTTPHeaders.x-a is the same header as X-A. Send it once"}},
		{"pdf.create", with(`"extraHTTPHeaders":{"X-A":"` + strings.Repeat("x", 16<<10) + `"}`), []string{
			"options.extraHTTPHeaders must have at most 50 headers with 16384 bytes in total; got 1 headers with 16387 bytes"}},
		// Images.
		{"images.create", with(`"type":"gif"`), []string{`options.type must be one of png, jpeg, webp; got "gif"`}},
		{"images.create", with(`"quality":101`), []string{"options.quality must be between 1 and 100; got 101"}},
		{"images.create", with(`"quality":0`), []string{"options.quality must be between 1 and 100; got 0"}},
		{"images.create", with(`"type":"webp","viewport":{"width":16384,"height":5}`), []string{
			"options.viewport is too large: with its deviceScaleFactor the image has 16384 × 5 pixels; at most 16383 per side of a webp"}},
		{"images.create", with(`"type":"webp","clip":{"x":0,"y":0,"width":5,"height":16384}`), []string{
			"options.clip is too large: with its deviceScaleFactor the image has 5 × 16384 pixels; at most 16383 per side of a webp"}},
		{"images.create", with(`"viewport":{"width":16385}`), []string{"options.viewport.width must be between 1 and 16384; got 16385"}},
		{"images.create", with(`"viewport":{"width":2000,"deviceScaleFactor":9}`), []string{
			"options.viewport is too large: with its deviceScaleFactor the image has 18000 × 6480 pixels; at most 16384 per side"}},
		{"images.create", with(`"viewport":{"width":16000,"height":7000}`), []string{
			"options.viewport is too large: with its deviceScaleFactor the image has 16000 × 7000 pixels; at most 100 megapixels"}},
		{"images.create", with(`"clip":{"x":-1,"y":0,"width":0,"height":5}`), []string{
			"options.clip.width must be between 1 and 16384; got 0", "options.clip.x must be between 0 and 1000000; got -1"}},
		{"images.create", with(`"clip":{"x":0,"y":0,"width":9000,"height":5},"viewport":{"deviceScaleFactor":2}`), []string{
			"options.clip is too large: with its deviceScaleFactor the image has 18000 × 10 pixels; at most 16384 per side"}},
		{"images.create", with(`"clip":{"x":0,"y":720,"width":9,"height":5},"captureBeyondViewport":false`), []string{
			"options.clip is outside the viewport of 1280 × 720 pixels. Set captureBeyondViewport to true, or move the clip"}},
		{"images.create", with(`"clip":{"x":0,"y":0,"width":5,"height":5},"fullPage":true`), []string{"options.clip is mutually exclusive with options.fullPage"}},
		{"images.create", with(`"clip":{"x":0,"y":0}`), []string{"options.clip.height is required", "options.clip.width is required"}},
		{"images.create", with(`"format":"A4"`), []string{"options.format is not a known field"}},
		// All at once.
		{"pdf.create", with(`"scale":9,"format":"B5","pageRanges":"0","cookies":[{"name":"a","value":"b"}]`), []string{
			"options.scale must be between 0.1 and 2; got 9",
			`options.format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got "B5"`,
			"options.pageRanges has page 0, but pages start at 1. Send " + pagerange.Syntax,
			"options.cookies[0].domain is required when the document is not loaded from url"}},
	} {
		if got := bind(t, test.name, test.body); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %.120s\n got %q\nwant %q", test.name, test.body, got, test.want)
		}
	}
}

func TestInputsRefuseLargeTexts(t *testing.T) {
	table := newTable(t)
	large := strings.Repeat("x", maxText+1)
	for field, name := range map[string]string{"html": "pdf.create", "markdown": "pdf.create"} {
		_, err := table.Lookup(name).Bind(t.Context(), strings.NewReader(`{"`+field+`":"`+large+`"}`), schema.Files{})
		var size *schema.SizeError
		if !errors.As(err, &size) || size.Field != field || size.Limit != maxText {
			t.Errorf("%s: error %v, want a SizeError", field, err)
		}
		if _, err := table.Lookup(name).Bind(t.Context(), strings.NewReader(`{"`+field+`":"`+large[1:]+`"}`), schema.Files{}); err != nil {
			t.Errorf("%s of exactly 10 MiB: %v", field, err)
		}
	}
}

func TestLengthInches(t *testing.T) {
	for raw, want := range map[any]float64{
		int64(96): 1, 48.0: 0.5, "96": 1, "96px": 1, "1in": 1, "2.54cm": 1, "25.4 mm": 1, " 72PT ": 1, ".5in": 0.5, "1.in": 1, "+1in": 1, "-1in": -1,
	} {
		if got, err := (Length{raw}).inches(); err != nil || got != want {
			t.Errorf("%v: %v, %v; want %v", raw, got, err, want)
		}
	}
}

func TestPDFOptionsPrint(t *testing.T) {
	inch := func(n float64) *float64 { return &n }
	for name, test := range map[string]struct {
		options PDFOptions
		want    render.PDF
	}{
		"defaults": {PDFOptions{}, render.PDF{Width: 8.5, Height: 11, Scale: 1, PrintBackground: true}},
		"everything": {
			PDFOptions{
				Format: "Ledger", Landscape: true, Scale: 0.5, PrintBackground: new(false), PreferCSSPageSize: true,
				Margin:     Margin{Top: Length{"1in"}, Left: Length{int64(0)}},
				PageRanges: "1", HeaderTemplate: "h", FooterTemplate: "f", Tagged: true, Outline: true,
				Metadata: Metadata{Title: "t", Author: "a", Subject: "s", Keywords: Keywords{"k"}},
			},
			render.PDF{
				Width: 17, Height: 11, Landscape: true, Scale: 0.5, PreferCSSPageSize: true,
				Margin:     render.Margin{Top: inch(1), Left: inch(0)},
				PageRanges: "1", Header: "h", Footer: "f", Tagged: true, Outline: true,
				Metadata: pdffile.Info{Title: "t", Author: "a", Subject: "s", Keywords: "k"},
			},
		},
		"format before width": {
			PDFOptions{Format: "tabloid", Width: Length{"1in"}}, render.PDF{Width: 11, Height: 17, Scale: 1, PrintBackground: true},
		},
		"width alone": {PDFOptions{Width: Length{"96"}}, render.PDF{Width: 1, Height: 11, Scale: 1, PrintBackground: true}},
	} {
		if got := test.options.settings(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

func TestLoadOptionsPage(t *testing.T) {
	for name, test := range map[string]struct {
		options LoadOptions
		hasURL  bool
		want    render.PageSettings
	}{
		"inline":      {LoadOptions{}, false, render.PageSettings{WaitUntil: "load"}},
		"url":         {LoadOptions{}, true, render.PageSettings{WaitUntil: "networkidle0"}},
		"longer wait": {LoadOptions{WaitForTimeout: 5000}, false, render.PageSettings{WaitUntil: "load", Timeout: 35 * time.Second, WaitForTimeout: 5 * time.Second}},
		"longest":     {LoadOptions{WaitForTimeout: 30000}, false, render.PageSettings{WaitUntil: "load", Timeout: time.Minute, WaitForTimeout: 30 * time.Second}},
		"all": {
			LoadOptions{
				WaitUntil: "domcontentloaded", WaitForSelector: "p", WaitForFunction: "x()", Timeout: 1500,
				FailOnHTTPStatus: Statuses{[]string{"404", "5xx"}}, FailOnResourceError: true, FailOnConsoleError: true,
				ExtraHTTPHeaders: map[string]string{"A": "b"}, Cookies: []Cookie{{"n", "v", "d.example", "/p"}},
			}, true,
			render.PageSettings{
				WaitUntil: "domcontentloaded", WaitForSelector: "p", WaitForFunction: "x()", Timeout: 1500 * time.Millisecond,
				Strict:  chrome.FailOn{Statuses: []chrome.StatusRange{{First: 404, Last: 404}, {First: 500, Last: 599}}, Resources: true, Console: true},
				Headers: map[string]string{"A": "b"}, Cookies: []chrome.Cookie{{Name: "n", Value: "v", Domain: "d.example", Path: "/p"}},
			},
		},
	} {
		if got := test.options.page(test.hasURL); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

func TestImageOptionsCapture(t *testing.T) {
	defaults := chrome.Screenshot{
		Type: "png", Quality: 80, Viewport: chrome.Viewport{Width: 1280, Height: 720, Scale: 1}, MaxSide: 16384, MaxPixels: 100_000_000,
	}
	if got := new(ImageOptions).screenshot(); !reflect.DeepEqual(got, defaults) {
		t.Errorf("defaults: %+v, want %+v", got, defaults)
	}
	clipped := defaults
	clipped.Clip, clipped.CaptureBeyondViewport = &chrome.Rect{X: 1, Y: 2, Width: 3, Height: 4}, true
	if got := (&ImageOptions{Clip: &Clip{1, 2, 3, 4}}).screenshot(); !reflect.DeepEqual(got, clipped) {
		t.Errorf("with a clip: %+v, want %+v", got, clipped)
	}
}

func TestFieldErrors(t *testing.T) {
	var address *URLError
	if err := fieldError(&egress.RefusedError{}); !errors.As(err, &address) || address.Refused[0].Field != "url" {
		t.Errorf("a refusal: %v, want a URLError on url", err)
	}
	for field, err := range map[string]error{
		"options.pageRanges": &chrome.PageRangeError{Pages: 3}, "options.waitForSelector": chrome.ErrWaitForSelector,
		"options.margin": chrome.ErrNoContentArea, "options.footerTemplate": &chrome.HeaderError{Name: "footer"},
	} {
		var faults schema.FieldErrors
		if !errors.As(fieldError(err), &faults) || len(faults) != 1 || faults[0].Field != field {
			t.Errorf("%v: %v, want one fault on %s", err, faults, field)
		}
	}
	if got := fieldError(chrome.ErrBusy); !errors.Is(got, chrome.ErrBusy) {
		t.Errorf("got %v, want the error itself", got)
	}
}

// TestToolFaults expects errors with field names for the renderer's errors about arguments.
func TestToolFaults(t *testing.T) {
	files, sources := []openFile{{field: "file"}}, []stagedFile{{}}
	for want, failed := range map[string]*job.Error{
		"pages must select pages of the document, which has 3":                                     {Kind: job.PageOutOfRange, Pages: 3},
		"bookmarks[0].page must select pages of the document, which has 3":                         {Kind: job.PageOutOfRange, Pages: 3, Bookmark: []int{0}},
		"bookmarks[4].children[0].children[2].page must select pages of the document, which has 1": {Kind: job.PageOutOfRange, Pages: 1, Bookmark: []int{4, 0, 2}},
		"pages is empty": {Kind: job.NoSelection, Text: "is empty"},
		"dpi is too high for page 2: its image would have 50000 × 5 pixels; the limit is 16384 per side and 100000000 in total": {Kind: job.TooFine, Page: 2, Width: 49999.6, Height: 4.5001},
	} {
		var faults schema.FieldErrors
		if err := toolFault(failed, files, sources); !errors.As(err, &faults) || len(faults) != 1 || faults[0].Field+" "+faults[0].Message != want {
			t.Errorf("%+v: %v, want %s", failed, err, want)
		}
	}
}
