package operation

import (
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pagerange"
)

// aPDF is a source that passes the checks of an input.
const aPDF = `"file":"JVBERi0="`

func TestPDFInputsAccept(t *testing.T) {
	for _, test := range []struct{ name, body string }{
		{"pdf.merge", `{"files":[{` + aPDF + `,"filename":"a.pdf","password":"x"},{"url":"http://example.com/b.pdf"},{"fileId":"file_x"}]}`},
		{"pdf.extract", `{` + aPDF + `}`},
		{"pdf.extract", `{` + aPDF + `,"pages":"7-,even,last,-3","password":"x","filename":"x","response":"url"}`},
		{"pdf.extract", `{` + aPDF + `,"pages":[3,1,1],"url":null,"fileId":null}`},
		{"pdf.protect", `{` + aPDF + `,"userPassword":"-x","permissions":[]}`},
		{"pdf.protect", `{` + aPDF + `,"userPassword":"x","ownerPassword":"y","permissions":{"print":false,"copy":true,"fill":false}}`},
		{"pdf.unlock", `{"url":"https://example.com/a.pdf","password":"x"}`},
		{"pdf.unlock", `{` + aPDF + `,"password":""}`},
		{"pdf.form.fill", `{` + aPDF + `,"fields":{},"flatten":true}`},
		{"pdf.form.fill", `{` + aPDF + `,"fields":{"a":null}}`},
		{"pdf.bookmarks", `{` + aPDF + `,"bookmarks":[{"title":"x","page":1,"children":[{"title":"y","page":2,"children":[]}]}]}`},
		{"pdf.rotate", `{` + aPDF + `,"degrees":-270}`},
		{"pdf.delete-pages", `{` + aPDF + `,"pages":[1]}`},
		{"pdf.extract", `{` + aPDF + `,"pages":[` + strings.Repeat("999999,", 1999) + `1]}`},
		{"pdf.compress", `{` + aPDF + `}`},
		{"pdf.crop", `{` + aPDF + `,"box":{"x":0,"y":0,"width":14400,"height":3.5}}`},
		{"pdf.crop", `{` + aPDF + `,"margins":{"top":"1cm","left":0},"pages":"odd"}`},
		{"images.convert", `{` + aPDF + `,"to":"jpeg","quality":100,"width":16384,"background":"navy","fit":"cover"}`},
		{"email.create", `{` + aPDF + `}`},
		{"email.create", `{` + aPDF + `,"attachments":"append","format":"a4","metadata":{"title":"x"}}`},
		{"pdf.optimize", `{` + aPDF + `,"linearize":false,"imageQuality":1,"maxImageDpi":1200,"grayscale":true}`},
		{"pdf.compress-advanced", `{` + aPDF + `}`},
		{"pdf.compress-advanced", `{` + aPDF + `,"level":"high","grayscale":true}`},
		{"pdf.resize", `{` + aPDF + `,"format":"a5","landscape":true,"pages":[1],"fit":"fill"}`},
		{"pdf.resize", `{` + aPDF + `,"width":"200in","height":9.7}`},
		{"pdf.nup", `{` + aPDF + `,"perSheet":16,"format":"a6","landscape":true,"border":true,"margin":"33pt","order":"column","pages":[3,1,1]}`},
		{"pdf.nup", `{` + aPDF + `,"perSheet":2}`},
		{"pdf.booklet", `{` + aPDF + `}`},
		{"pdf.booklet", `{` + aPDF + `,"perSheet":4,"format":"LEGAL","binding":"short","guides":true,"metadata":{"title":"x"}}`},
		{"pdf.compare", `{"files":[{` + aPDF + `,"password":"x"},{"url":"http://example.com/b.pdf","filename":"b.pdf"}]}`},
		{"pdf.compare", `{"files":[{` + aPDF + `},{"fileId":"file_x"}],"output":"images","ignore":[{"x":0,"y":1.5,"width":10,"height":20},{"page":500,"x":0,"y":0,"width":1,"height":1}],"tolerance":{"threshold":0,"maxDiffPixelRatio":0.01}}`},
		{"pdf.attachments", `{` + aPDF + `}`},
		{"pdf.attachments", `{` + aPDF + `,"action":"extract","names":["a"]}`},
		{"pdf.extract-images", `{` + aPDF + `,"minWidth":1,"minHeight":65535,"pages":[2]}`},
		{"pdf.merge", `{"files":[{` + aPDF + `,"title":"One"},{` + aPDF + `}],"tableOfContents":true,"pageNumbers":true,"pageNumberPosition":"top-left"}`},
		{"pdf.split", `{` + aPDF + `,"everyPages":1}`},
		{"pdf.overlay", `{` + aPDF + `,"overlay":{` + aPDF + `}}`},
		{"pdf.overlay", `{` + aPDF + `,"overlay":{` + aPDF + `,"filename":"a.pdf","password":"x"},"position":"under","pages":"2-","from":[2,1],"repeat":"last"}`},
		{"pdf.metadata", `{` + aPDF + `}`},
		{"pdf.facturx.read", `{` + aPDF + `}`},
		{"pdf.facturx.check", `{` + aPDF + `,"password":"x"}`},
		{"pdf.facturx", `{` + aPDF + `,"xml":"<x/>","compare":"off","profile":"minimum"}`},
		{"pdf.facturx", `{` + aPDF + `,"invoice":` + string(invoiceJSON) + `}`},
		{"pdf.create", `{"html":"x","options":{"standards":["ua-1","a-3a"],"facturx":{"profile":"basic","invoice":` + string(invoiceJSON) + `}}}`},
		{"pdf.create", `{"templateId":"x","templateData":` + string(invoiceJSON) + `,"options":{"facturx":{}}}`},
		{"pdf.metadata", `{` + aPDF + `,"metadata":{"title":"x","keywords":["a","b"],"createdAt":"2026-11-27T09:30:00+01:00","custom":{"Project":"Blue"}},"remove":["*","author","Old"]}`},
		{"pdf.split", `{` + aPDF + `,"bookmarkLevel":20,"password":"x"}`},
		{"pdf.split", `{` + aPDF + `,"text":"Dear"}`},
		{"pdf.split", `{` + aPDF + `,"maxBytes":1024}`},
		{"pdf.ocr", `{` + aPDF + `,"languages":["eng","chi_sim"],"pages":"2-","force":true,"rotate":false,"deskew":false,"output":"text"}`},
		{"pdf.pdfa", `{` + aPDF + `,"level":"3b","password":"x","metadata":{"title":"x"}}`},
		{"pdf.redact", `{` + aPDF + `,"terms":["Zoë"],"patterns":["\\d{4} ?\\d{4}"],"areas":[{"page":2,"x":0,"y":1.5,"width":10,"height":20}],"color":"crimson"}`},
		{"pdf.data", `{` + aPDF + `,"output":"markdown","pages":"2-","ocr":true,"languages":["eng","deu"]}`},
		{"pdf.info", `{"fileId":"file_x","password":""}`},
	} {
		if faults := bind(t, test.name, test.body); faults != nil {
			t.Errorf("%s %s: %q", test.name, test.body, faults)
		}
	}
}

func TestPDFInputsRefuse(t *testing.T) {
	const sources = "Send exactly one of url, file, fileId"
	missing := "file is required unless another source is given. " + sources
	const nothingCut = "margins must have at least one of top, right, bottom or left above 0"
	const noFields = "fields must not be empty unless flatten is true. Send at least one value in fields, or flatten: true"
	long := `"` + strings.Repeat("ä", 100) + `"`
	for _, test := range []struct {
		name, body string
		want       []string
	}{
		// Sources.
		{"pdf.info", `{}`, []string{missing}},
		{"pdf.info", `{"file":""}`, []string{"file must not be empty"}},
		{"convert.create", `{"file":""}`, []string{"file must not be empty"}},
		{"pdf.stamp", `{` + aPDF + `,"image":{"file":""}}`, []string{"image.file must not be empty"}},
		{"pdf.create", `{"file":""}`, []string{"file must not be empty"}},
		{"pdf.merge", `{"files":[{"file":""},{"file":"` + "JVBERg==" + `"}]}`, []string{"files[0].file must not be empty"}},
		{"zip.create", `{"files":[{"file":"","filename":"a"}]}`, nil},
		{"pdf.compare", `{"files":[{` + aPDF + `}]}`, []string{"files must be an array of exactly 2 items; got an array of 1 item"}},
		{"pdf.compare", `{"files":[{` + aPDF + `},{"password":"a\nb"}],"ignore":[{"x":-1,"y":0,"width":0.5}],"tolerance":{"threshold":1.5}}`, []string{
			"ignore[0].height is required", "ignore[0].width must be between 1 and 14400; got 0.5", "ignore[0].x must be between 0 and 14400; got -1",
			"tolerance.threshold must be between 0 and 1; got 1.5",
			"files[1].file is required unless another source is given. " + sources, "files[1].password must not contain line breaks or NUL characters"}},
		{"pdf.info", `{"file":"%%%"}`, []string{"file must be Base64, optionally with a data URI prefix"}},
		{"pdf.info", `{"url":""}`, []string{"url must not be empty"}},
		{"pdf.info", `{` + aPDF + `,"url":"https://a.example","fileId":"x"}`, []string{
			"file is mutually exclusive with url. " + sources, "fileId is mutually exclusive with url. " + sources}},
		{"pdf.info", `{"fileId":""}`, []string{`fileId must be a string of 1 to 255 characters; got ""`}},
		{"pdf.info", `{` + aPDF + `,"password":"a\nb"}`, []string{"password must not contain line breaks or NUL characters"}},
		{"pdf.info", `{` + aPDF + `,"pages":"1"}`, []string{"pages is not a known field. Allowed fields: url, file, fileId, password, filename, response, expiresIn, maxDownloads, callbackUrl, deliverTo, store"}},
		{"pdf.merge", `{}`, []string{"files is required"}},
		{"pdf.merge", `{"files":[{` + aPDF + `}]}`, []string{"files must be an array of 2 to 20 items; got an array of 1 item"}},
		{"pdf.merge", `{"files":[{` + aPDF + `},{},{"url":"x",` + aPDF + `},{"fileId":"x","password":"\u0000"}]}`, []string{
			"files[1].file is required unless another source is given. " + sources,
			"files[2].file is mutually exclusive with files[2].url. " + sources,
			"files[3].password must not contain line breaks or NUL characters"}},
		// Pages.
		{"pdf.delete-pages", `{` + aPDF + `}`, []string{"pages is required"}},
		{"pdf.extract", `{` + aPDF + `,"pages":""}`, []string{
			`pages must be a string of 1 to 1000 characters, or an array of 1 to 2000 items; got ""`}},
		{"pdf.extract", `{` + aPDF + `,"pages":[]}`, []string{
			"pages must be a string of 1 to 1000 characters, or an array of 1 to 2000 items; got an array of 0 items"}},
		{"pdf.extract", `{` + aPDF + `,"pages":[1,0,"2"]}`, []string{
			"pages[1] must be between 1 and 999999; got 0", `pages[2] must be a whole number between 1 and 999999; got "2"`}},
		{"pdf.extract", `{` + aPDF + `,"pages":true}`, []string{
			"pages must be a string of 1 to 1000 characters, or an array of 1 to 2000 items; got true"}},
		{"pdf.extract", `{` + aPDF + `,"pages":"3-1"}`, []string{
			"pages has the range 3-1, which is reversed. Send " + pagerange.Syntax + ", or an array of page numbers"}},
		// Their own fields.
		{"pdf.ocr", `{` + aPDF + `,"languages":["en","../eng"],"output":"text","metadata":{"title":"x"}}`, []string{
			`languages[0] must be a string of 3 to 20 characters matching ^[a-z]{3}(_[A-Za-z]+)*$; got "en"`,
			`languages[1] must be a string of 3 to 20 characters matching ^[a-z]{3}(_[A-Za-z]+)*$; got "../eng"`, "metadata requires output pdf; got text"}},
		{"pdf.pdfa", `{` + aPDF + `,"level":"2u"}`, []string{`level must be one of 1b, 2b, 3b; got "2u"`}},
		{"pdf.redact", `{` + aPDF + `}`, []string{"terms is required without patterns or areas. Send at least one of terms, patterns or areas"}},
		{"pdf.redact", `{` + aPDF + `,"terms":[" "],"patterns":["a*","(","(?=a)"],"color":"nocolour"}`, []string{
			"terms[0] must not be blank", "patterns[0] must not match empty text", "patterns[1] must be a valid RE2 regular expression: missing closing ): `(`",
			"patterns[2] must be a valid RE2 regular expression: invalid or unsupported Perl syntax: `(?=`", `color must be a CSS colour such as #c00, #cc0000 or crimson; got "nocolour"`}},
		{"pdf.ocr", `{` + aPDF + `,"output":"text","metadata":{"title":"x"}}`, []string{"metadata requires output pdf; got text"}},
		{"pdf.data", `{` + aPDF + `,"ocr":false,"languages":["eng"],"pages":"0"}`, []string{"pages has page 0, but pages start at 1. Send " + pagerange.Syntax + ", or an array of page numbers", "languages require ocr: true"}},
		{"pdf.rotate", `{` + aPDF + `}`, []string{"degrees is required"}},
		{"pdf.crop", `{` + aPDF + `}`, []string{"box is required without margins. Send exactly one of box, margins"}},
		{"pdf.crop", `{` + aPDF + `,"box":{"x":0,"y":0,"width":9,"height":9},"margins":{"top":1}}`, []string{"margins is mutually exclusive with box. Send exactly one of box, margins"}},
		{"pdf.crop", `{` + aPDF + `,"margins":{}}`, []string{nothingCut}},
		{"pdf.crop", `{` + aPDF + `,"margins":[]}`, []string{nothingCut}},
		{"pdf.crop", `{` + aPDF + `,"margins":{"top":0,"right":"0mm","bottom":null,"left":"0"},"metadata":{"title":"x"}}`, []string{nothingCut}},
		{"pdf.crop", `{` + aPDF + `,"margins":{"top":"wide"}}`, []string{"margins.top must be a number of CSS pixels, or a number with the unit px, in, cm, mm or pt, such as 2.5cm; got \"wide\""}},
		{"pdf.crop", `{` + aPDF + `,"margins":{"top":-1,"left":"1 inch"},"pages":"x"}`, []string{
			"pages has a part that is not a page: \"x\". Send " + pagerange.Syntax + ", or an array of page numbers",
			"margins.top must be between 0px and 19200px; got -1px", "margins.left must be a number of CSS pixels, or a number with the unit px, in, cm, mm or pt, such as 2.5cm; got \"1 inch\""}},
		{"images.convert", `{"to":"bmp","background":"no colour","width":16385}`, []string{"to must be one of png, jpeg, webp, tiff, gif; got \"bmp\"", "width must be between 1 and 16384; got 16385", "file is required unless another source is given. " + sources, "background must be a CSS colour such as #c00, #cc0000 or crimson; got \"no colour\""}},
		{"pdf.optimize", `{` + aPDF + `,"imageQuality":101,"maxImageDpi":35}`, []string{"imageQuality must be between 1 and 100; got 101", "maxImageDpi must be between 36 and 1200; got 35"}},
		{"pdf.compress-advanced", `{` + aPDF + `,"level":"max"}`, []string{"level must be one of low, medium, high; got \"max\""}},
		{"email.create", `{"attachments":"drop","format":"B9"}`, []string{"attachments must be one of embed, append, ignore; got \"drop\"", "file is required unless another source is given. " + sources,
			"format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got \"B9\""}},
		{"pdf.resize", `{` + aPDF + `}`, []string{"format is required without width and height"}},
		{"pdf.resize", `{` + aPDF + `,"width":"201in","pages":"0"}`, []string{"pages has page 0, but pages start at 1. Send " + pagerange.Syntax + ", or an array of page numbers", "height is required with width"}},
		{"pdf.resize", `{` + aPDF + `,"format":"B9","height":1}`, []string{"format is mutually exclusive with width and height", "format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got \"B9\""}},
		{"pdf.resize", `{` + aPDF + `,"width":"201in","height":1}`, []string{"width must be between 0.1in and 200in; got 201in", "height must be between 9.6px and 19200px; got 1px"}},
		{"pdf.attachments", `{` + aPDF + `,"names":["a"],"files":[{` + aPDF + `,"filename":"a"}]}`, []string{
			"names requires action extract or remove; got list", "files requires action add; got list"}},
		{"pdf.attachments", `{` + aPDF + `,"action":"remove"}`, []string{"names is required for action remove"}},
		{"pdf.attachments", `{` + aPDF + `,"action":"add","files":[{"filename":"a/b",` + aPDF + `},{"filename":"c",` + aPDF + `,"contentType":"Text/plain; x"},{"filename":"c"}]}`, []string{
			"files[0].filename must be a file name without folders or control characters", "files[1].contentType must be a lower-case media type without parameters, such as text/xml",
			"files[2].file is required unless another source is given. " + sources, "files[2].filename is already used: each attachment needs a unique name"}},
		{"pdf.nup", `{` + aPDF + `}`, []string{"perSheet is required"}},
		{"pdf.metadata", `{` + aPDF + `,"metadata":{"title":"x","createdAt":"yesterday","custom":{"Title":"x","a/b":"x"}},"remove":["title"]}`, []string{
			`metadata.createdAt must be a time in RFC 3339, such as 2026-11-27T09:30:00Z; got "yesterday"`, "metadata.custom must not have the reserved name Title",
			`metadata.custom must have names of 1 to 100 letters, digits, spaces and _.:-; got "a/b"`, "remove[0] must not be a value that metadata sets; got title",
		}},
		{"pdf.facturx", `{` + aPDF + `}`, []string{"invoice is required unless xml is given"}},
		{"pdf.facturx", `{` + aPDF + `,"xml":"<x/>","invoice":{},"profile":"best"}`, []string{
			`profile must be one of minimum, basic-wl, basic, en16931, extended, xrechnung; got "best"`, "xml is mutually exclusive with invoice. Send exactly one of invoice, xml",
		}},
		{"pdf.facturx", `{` + aPDF + `,"invoice":{"numbr":"1","lines":[{"price":true}],"issueDate":5}}`, []string{
			"invoice.issueDate must be a string of at most 10000 characters; got 5", "invoice.lines[0].price must be a number, or a string of at most 38 characters matching ^[+-]?[0-9.]+$; got true", "invoice.numbr is not a known field; did you mean invoice.number?",
		}},
		{"pdf.facturx", `{` + aPDF + `,"invoice":` + strings.NewReplacer(`"due": 42.50`, `"due": 42.49`, `"2026-17"`, `""`).Replace(string(invoiceJSON)) + `}`, []string{
			"invoice.number breaks the rule BR-02: The invoice must have a number (BT-1)",
			"invoice.totals.due breaks the rule BR-CO-16: The amount due (BT-115) must be the total with VAT (BT-112) less the paid amount (BT-113) plus the rounding (BT-114); expected 42.50; got 42.49",
		}},
		{"pdf.create", `{"html":"x","options":{"standards":["a-2b"],"facturx":{"xml":"<x/>"}}}`, []string{"options.standards must contain levels of PDF/A-3 only with options.facturx"}},
		{"pdf.overlay", `{` + aPDF + `}`, []string{"overlay is required"}},
		{"pdf.overlay", `{` + aPDF + `,"overlay":{"password":"a\nb"},"position":"between"}`, []string{
			`position must be one of over, under; got "between"`, "overlay.file is required unless another source is given. " + sources,
			"overlay.password must not contain line breaks or NUL characters",
		}},
		{"pdf.merge", `{"files":[{` + aPDF + `,"title":" "},{` + aPDF + `}],"tableOfContents":1,"pageNumberPosition":"auto"}`, []string{"tableOfContents must be true or false; got 1", "files[0].title must not be blank", "pageNumberPosition requires pageNumbers"}},
		{"pdf.split", `{` + aPDF + `}`, []string{"everyPages is required unless another way to split is given. Send exactly one of everyPages, bookmarkLevel, text, maxBytes"}},
		{"pdf.split", `{` + aPDF + `,"everyPages":2,"maxBytes":4000}`, []string{"maxBytes is mutually exclusive with everyPages. Send exactly one of everyPages, bookmarkLevel, text, maxBytes"}},
		{"pdf.split", `{` + aPDF + `,"text":" "}`, []string{"text must not be blank"}},
		{"pdf.split", `{` + aPDF + `,"everyPages":0,"maxBytes":1000}`, []string{"everyPages must be between 1 and 2000; got 0", "maxBytes must be between 1024 and 209715200; got 1000"}},
		{"pdf.nup", `{` + aPDF + `,"perSheet":5,"order":"z"}`, []string{`order must be one of row, column; got "z"`, "perSheet must be one of 2, 3, 4, 6, 8, 9, 12, 16; got 5"}},
		{"pdf.nup", `{` + aPDF + `,"perSheet":16,"format":"a6","margin":"36pt","pages":"0"}`, []string{"pages has page 0, but pages start at 1. Send " + pagerange.Syntax + ", or an array of page numbers", "margin must be less than 33.605pt with 16 pages per sheet"}},
		{"pdf.nup", `{` + aPDF + `,"perSheet":2,"landscape":true,"margin":"6in"}`, []string{"margin must be less than 2.7in with 2 pages per sheet"}},
		{"pdf.nup", `{` + aPDF + `,"perSheet":2,"format":"B9","margin":-1}`, []string{`format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got "B9"`, "margin must be between 0px and 19200px; got -1px"}},
		{"pdf.booklet", `{` + aPDF + `,"perSheet":8,"binding":"left"}`, []string{`binding must be one of long, short; got "left"`, "perSheet must be one of 2, 4; got 8"}},
		{"pdf.booklet", `{` + aPDF + `,"format":"B9"}`, []string{`format must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got "B9"`}},
		{"pdf.rotate", `{` + aPDF + `,"degrees":45}`, []string{"degrees must be one of -270, -180, -90, 90, 180, 270; got 45"}},
		{"pdf.rotate", `{` + aPDF + `,"degrees":0}`, []string{"degrees must be one of -270, -180, -90, 90, 180, 270; got 0"}},
		{"pdf.protect", `{` + aPDF + `}`, []string{"userPassword is required"}},
		{"pdf.protect", `{` + aPDF + `,"userPassword":""}`, []string{`userPassword must be a string of 1 to 127 characters; got ""`}},
		{"pdf.protect", `{` + aPDF + `,"userPassword":` + long + `}`, []string{"userPassword must be at most 127 bytes in UTF-8; got 200"}},
		{"pdf.protect", `{` + aPDF + `,"userPassword":"x","ownerPassword":"x"}`, []string{
			"ownerPassword must differ from userPassword"}},
		{"pdf.protect", `{` + aPDF + `,"userPassword":"x","permissions":{"print":false,"highres":true,"edit":true}}`, []string{
			"permissions.edit is not a known field. Allowed fields: print, highres, copy, modify, annotate, fill, assemble", "permissions.highres must be false if permissions.print is false"}},
		{"pdf.unlock", `{` + aPDF + `}`, []string{"password is required"}},
		// Nothing to do.
		{"pdf.form.fill", `{` + aPDF + `,"fields":{}}`, []string{noFields}},
		{"pdf.form.fill", `{` + aPDF + `,"fields":[],"flatten":false}`, []string{noFields}},
		{"pdf.form.fill", `{` + aPDF + `,"fields":{},"metadata":{}}`, []string{noFields}},
		{"pdf.stamp", `{` + aPDF + `,"text":" "}`, []string{"text must not be blank"}},
		{"pdf.stamp", `{` + aPDF + `,"stamps":[]}`, []string{"stamps must be an array of 1 to 20 items; got an array of 0 items", "text is required without image. Send exactly one of text, image"}},
		{"pdf.redact", `{` + aPDF + `,"areas":[],"terms":[]}`, []string{"areas must be an array of 1 to 200 items; got an array of 0 items", "terms must be an array of 1 to 100 items; got an array of 0 items"}},
		{"pdf.delete-pages", `{` + aPDF + `,"pages":[]}`, []string{"pages must be a string of 1 to 1000 characters, or an array of 1 to 2000 items; got an array of 0 items"}},
		{"pdf.metadata", `{` + aPDF + `,"remove":[]}`, []string{"remove must be an array of 1 to 100 items; got an array of 0 items"}},
		{"pdf.bookmarks", `{` + aPDF + `,"bookmarks":[]}`, []string{"bookmarks must be an array of 1 to 2000 items; got an array of 0 items"}},
		{"pdf.bookmarks", `{` + aPDF + `,"bookmarks":[{"title":"","page":0},{"title":"x","page":1e20},{"page":1,"children":[{"title":"x","level":2}]}]}`, []string{
			"bookmarks[0].page must be between 1 and 999999; got 0",
			`bookmarks[0].title must be a string of 1 to 1000 characters; got ""`,
			"bookmarks[1].page must be between 1 and 999999; got 1e+20",
			"bookmarks[2].children[0].level is not a known field. Allowed fields: title, page, children", "bookmarks[2].children[0].page is required", "bookmarks[2].title is required"}},
	} {
		if got := bind(t, test.name, test.body); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %.200s:\n got  %q\n want %q", test.name, test.body, got, test.want)
		}
	}
}

// TestPagesOfArrays spells arrays as expressions, in their order.
func TestPagesOfArrays(t *testing.T) {
	for want, in := range map[string][]any{
		"1-3,5":   {int64(1), int64(2), int64(3), int64(5)},
		"3,2,1-2": {int64(3), int64(2), int64(1), int64(2)},
		"4,4,4":   {int64(4), int64(4), int64(4)},
		"2-3,1":   {2.0, int64(3), 1.0},
	} {
		var pages Pages
		if err := pages.SetJSON(in); err != nil || pages.text() != want {
			t.Errorf("%v: got %q, %v, want %q", in, pages.text(), err, want)
		}
	}
}

func TestMergeTitles(t *testing.T) {
	address := func(s string) FileSource { return FileSource{URL: &s} }
	for want, file := range map[string]MergeFile{
		"Annual report": {FileItem: FileItem{Filename: "Annual report.pdf"}},
		"b":             {FileItem: FileItem{Filename: `C:\a\b.pdf`, FileSource: address("https://example.com/c.pdf")}},
		"c d":           {FileItem: FileItem{FileSource: address("https://example.com/x/c%20d.PDF?e=f.pdf")}},
		"":              {FileItem: FileItem{FileSource: address("https://example.com/")}},
	} {
		if got := file.title(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
