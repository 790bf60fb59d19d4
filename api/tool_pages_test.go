package api_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	_ "image/jpeg" // kinds that results are decoded from
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// dot is a red PNG.
func dot(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	for i := range img.Pix {
		img.Pix[i] = [4]uint8{255, 0, 0, 255}[i%4]
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// look draws the first page of a PDF at 72 dpi.
func look(t *testing.T, document string) image.Image {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "document.pdf")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range [][]string{{"qpdf", "--check", path}, {"pdftoppm", "-q", "-r", "72", "-png", "-singlefile", path, filepath.Join(dir, "page")}} {
		if out, err := exec.CommandContext(t.Context(), program[0], program[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", program, err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "page.png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// reach is the smallest rectangle that holds all pixels which are near a colour.
func reach(img image.Image, want color.RGBA) image.Rectangle {
	var found image.Rectangle
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			if apart(c.R, want.R) < 60 && apart(c.G, want.G) < 60 && apart(c.B, want.B) < 60 {
				found = found.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return found
}

func apart(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }

func TestRaster(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := `"file":` + inline(letters("alpha", "beta", "gamma")) // 300 by 400 points
	for _, test := range []struct {
		body, file, contentType, kind string
		size                          image.Point
	}{
		{`{` + source + `}`, "page.png", "image/png", "png", image.Pt(625, 834)},
		{`{` + source + `,"pages":[2],"dpi":72}`, "page.png", "image/png", "png", image.Pt(300, 400)},
		{`{` + source + `,"pages":"last","dpi":36,"type":"jpeg","filename":"x"}`, "x.jpeg", "image/jpeg", "jpeg", image.Pt(150, 200)},
		{`{` + source + `,"pages":"last","dpi":36,"type":"jpeg","filename":"x.JPG"}`, "x.jpg", "image/jpeg", "jpeg", image.Pt(150, 200)},
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/raster", Body: test.body}).OK(t)
		config, kind, err := image.DecodeConfig(strings.NewReader(answer.Body))
		if err != nil || kind != test.kind || image.Pt(config.Width, config.Height) != test.size {
			t.Errorf("%.40s: a %s of %d × %d (error %v), want a %s of %v", test.body, kind, config.Width, config.Height, err, test.kind, test.size)
		}
		if got := answer.Header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="`+test.file+`"`) {
			t.Errorf("disposition %q, want %s", got, test.file)
		}
		if got := answer.Header.Get("Content-Type"); got != test.contentType {
			t.Errorf("type %q, want %q", got, test.contentType)
		}
	}
	several := s.Send(t, apitest.Request{Path: "/v1/pdf/raster", Body: `{` + source + `,"pages":"1-","dpi":36}`}).OK(t)
	archive, err := zip.NewReader(strings.NewReader(several.Body), int64(len(several.Body)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range archive.File {
		names = append(names, f.Name)
	}
	if want := []string{"page-001.png", "page-002.png", "page-003.png"}; !reflect.DeepEqual(names, want) || several.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("files %v of type %s, want %v", names, several.Header.Get("Content-Type"), want)
	}
}

func TestFromImages(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	picture := `{"file":` + inline(dot(t)) + `}`
	for _, test := range []struct {
		body string
		page image.Point
		at   image.Rectangle
	}{
		{`{"files":[` + picture + `]}`, image.Pt(30, 15), image.Rect(0, 0, 30, 15)},
		{`{"files":[` + picture + `,` + picture + `],"options":{"width":"100pt","height":"200pt","margin":{"left":"10pt","right":"10pt"}}}`, image.Pt(100, 200), image.Rect(10, 80, 90, 120)},
		{`{"files":[` + picture + `],"options":{"format":"a6","landscape":true,"fit":"fill"}}`, image.Pt(420, 298), image.Rect(0, 0, 420, 298)},
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/from-images", Body: test.body}).OK(t)
		img := look(t, answer.Body)
		if got := reach(img, color.RGBA{R: 255, A: 255}); img.Bounds().Max != test.page || !got.In(test.at.Inset(-1)) || !test.at.Inset(1).In(got) {
			t.Errorf("%.30s…%s: a page of %v with the image at %v, want %v and %v", test.body, test.body[len(test.body)-60:], img.Bounds().Max, got, test.page, test.at)
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := `"file":` + inline(letters("alpha", "beta"))
	for _, text := range []string{"DRAFT 100%p", "秘密 機密", "سري للغاية", "Совершенно секретно", "two\\nlines", "<b>&amp;"} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/stamp", Body: `{` + source + `,"text":"` + text + `","color":"#f00","fontSize":30,"position":"top","pages":"1"}`}).OK(t)
		keepResult(t, text, answer.Body)
		got := reach(look(t, answer.Body), color.RGBA{R: 255, A: 255})
		if middle := (got.Min.X + got.Max.X) / 2; got.Empty() || apart(uint8(middle), 150) > 6 || got.Min.Y < 20 || got.Max.Y > 120 {
			t.Errorf("%s: the stamp is at %v", text, got)
		}
		wanted := strings.Fields(strings.ReplaceAll(text, "\\n", " ") + " alpha beta")
		if text != "سري للغاية" { // its letters come back in their presentation forms
			if got := words(t, answer.Body, ""); !sameLines(got, wanted) {
				t.Errorf("%s: the words are %q, want %q", text, got, wanted)
			}
		}
	}
	grey := s.Send(t, apitest.Request{Path: "/v1/pdf/stamp", Body: `{` + source + `,"text":"M","bold":true,"fontSize":200,"color":"#808080"}`}).OK(t)
	if got := reach(look(t, grey.Body), color.RGBA{R: 128, G: 128, B: 128, A: 255}); got.Dy() < 100 {
		t.Errorf("the grey stamp is at %v", got)
	}
	emoji := s.Send(t, apitest.Request{Path: "/v1/pdf/stamp", Body: `{` + source + `,"text":"🍓","opacity":0.9,"rotate":-30,"position":{"x":10,"y":20}}`}).OK(t)
	if got := reach(look(t, emoji.Body), color.RGBA{R: 220, G: 50, B: 60, A: 255}); got.Empty() {
		t.Error("the emoji is not seen")
	}
	image := s.Send(t, apitest.Request{Path: "/v1/pdf/stamp", Body: `{` + source + `,"image":{"file":` + inline(dot(t)) + `},"position":{"x":10,"y":20},"scale":2}`}).OK(t)
	if got, want := reach(look(t, image.Body), color.RGBA{R: 255, A: 255}), rectangle(10, 20, 70, 50); got != want {
		t.Errorf("the image is at %v, want %v", got, want)
	}
}

func rectangle(x0, y0, x1, y1 int) image.Rectangle { return image.Rect(x0, y0, x1, y1) }

// keepResult writes a result to the folder that LOOK names, where a user can look at it.
func keepResult(t *testing.T, name, content string) {
	t.Helper()
	if dir := os.Getenv("LOOK"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".pdf"), []byte(content), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := `"file":` + inline(letters("alpha", "beta"))
	for body, want := range map[string]string{
		`{` + source + `}`:                   `{"pageCount":2,"pages":[{"page":1,"text":"alpha"},{"page":2,"text":"beta"}]}`,
		`{` + source + `,"mergePages":true}`: `{"pageCount":2,"text":"alpha\fbeta"}`,
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/text", Body: body}).OK(t)
		if got := strings.TrimSpace(answer.Body); got != want || answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s of type %s, want %s", got, answer.Header.Get("Content-Type"), want)
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	form, err := os.ReadFile("../render/pdf/testdata/form.pdf")
	if err != nil {
		t.Fatal(err)
	}
	values := func(document string) map[string]any {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/form/fields", Body: `{"file":` + inline([]byte(document)) + `}`}).OK(t)
		var got struct {
			Fields []struct {
				Name  string
				Value any
			}
		}
		if err := json.Unmarshal([]byte(answer.Body), &got); err != nil {
			t.Fatal(err)
		}
		values := make(map[string]any)
		for _, f := range got.Fields {
			values[f.Name] = f.Value
		}
		return values
	}
	if got := values(string(form)); len(got) != 15 || got["name"] != "Ada" {
		t.Errorf("the fields are %v", got)
	}
	fill := `{"file":` + inline(form) + `,"fields":{"name":"Łukasz","code":12345,"agree":true,"colour":"blue","languages":["German"],"country":"Japan"}`
	filled := values(s.Send(t, apitest.Request{Path: "/v1/pdf/form/fill", Body: fill + `}`}).OK(t).Body)
	for name, want := range map[string]any{"name": "Łukasz", "code": "12345", "agree": true, "colour": "blue", "languages": []any{"German"}, "country": "jp"} {
		if !reflect.DeepEqual(filled[name], want) {
			t.Errorf("%s is %v, want %v", name, filled[name], want)
		}
	}
	flat := s.Send(t, apitest.Request{Path: "/v1/pdf/form/fill", Body: fill + `,"flatten":true}`}).OK(t)
	if got := values(flat.Body); len(got) != 0 {
		t.Errorf("after flattening there are the fields %v", got)
	}
	if text := strings.Join(words(t, flat.Body, ""), " "); !strings.Contains(text, "Łukasz") || !strings.Contains(text, "Japan") {
		t.Errorf("flattened, the page says %q", text)
	}
}

func TestPageToolsFail(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	source := `"file":` + inline(letters("alpha", "beta", "gamma"))
	picture := `"image":{"file":` + inline(dot(t)) + `}`
	before, _ := s.Balance(t)
	for _, test := range []struct {
		path, body string
		code       wire.Code
		field      string
		message    string
	}{
		{"raster", `{` + source + `,"dpi":601}`, wire.InvalidRequest, "dpi", "must be between 36 and 600; got 601"},
		{"raster", `{` + source + `,"pages":"4"}`, wire.InvalidRequest, "pages", "must select pages of the document, which has 3"},
		{"raster", `{` + source + `,"type":"gif"}`, wire.InvalidRequest, "type", `must be one of png, jpeg; got "gif"`},
		{"text", `{"file":` + inline([]byte("hello")) + `}`, wire.ProcessingFailed, "file", "is not a PDF"},
		{"from-images", `{"files":[{"file":` + inline([]byte("hello")) + `}]}`, wire.ProcessingFailed, "files[0].file", "is not a PNG, JPEG, WebP, TIFF or GIF image"},
		{"from-images", `{"files":[{"file":` + inline(dot(t)[:50]) + `}]}`, wire.ProcessingFailed, "files[0].file", "is a damaged image, or has an unsupported format"},
		{"from-images", `{"files":[{"file":` + inline(dot(t)) + `}],"options":{"width":100}}`, wire.InvalidRequest, "options.height", "is required with options.width"},
		{"from-images", `{"files":[{"file":` + inline(dot(t)) + `}],"options":{"format":"A4","margin":{"top":"200mm","bottom":"100mm"}}}`, wire.InvalidRequest, "options.margin.bottom", "is too large: top and bottom margins are 300mm in total on a page 297mm high"},
		{"stamp", `{` + source + `}`, wire.InvalidRequest, "text", "is required without image. Send exactly one of text, image"},
		{"stamp", `{` + source + `,"text":"x",` + picture + `}`, wire.InvalidRequest, "image", "is mutually exclusive with text. Send exactly one of text, image"},
		{"stamp", `{` + source + `,"text":"x","stamps":[{"text":"y"}]}`, wire.InvalidRequest, "stamps", "is mutually exclusive with text, image and their options. Move them into stamps"},
		{"stamp", `{` + source + `,"stamps":[{"text":"y"},{"rotate":1}]}`, wire.InvalidRequest, "stamps[1].text", "is required without image. Send exactly one of text, image"},
		{"stamp", `{` + source + `,"stamps":[{"image":{"file":` + inline([]byte("hello")) + `}}]}`, wire.ProcessingFailed, "stamps[0].image.file", "is not a PNG, JPEG, WebP, TIFF or GIF image"},
		{"stamp", `{` + source + `,"text":"x","tiled":true,"position":"top"}`, wire.InvalidRequest, "position", "is mutually exclusive with tiled"},
		{"stamp", `{` + source + `,"text":"x","color":"url(x)"}`, wire.InvalidRequest, "color", `must be a CSS colour such as #c00, #cc0000 or crimson; got "url(x)"`},
		{"stamp", `{` + source + `,"image":{"file":` + inline([]byte("hello")) + `}}`, wire.ProcessingFailed, "image.file", "is not a PNG, JPEG, WebP, TIFF or GIF image"},
		{"stamp", `{` + source + `,"text":"x","position":"middle"}`, wire.InvalidRequest, "position", `must be one of center, top, bottom, top-left, top-right, bottom-left, bottom-right, or an object with x and y; got "middle"`},
		{"stamp", `{` + source + `,"text":"x","position":{"x":1}}`, wire.InvalidRequest, "position.y", "is required"},
		{"form/fill", `{` + source + `,"fields":{"name":"x"}}`, wire.InvalidRequest, "fields", "requires a PDF with a form; the PDF has none"},
		{"form/fill", `{"file":` + formSource(t) + `,"fields":{"agree":"x"}}`, wire.InvalidRequest, "fields.agree", `must be true, false or "Yes"; got "x"`},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/pdf/" + test.path, Body: test.body}).Refused(t, test.code)
		if want := []wire.Detail{{Field: test.field, Message: test.message}}; !reflect.DeepEqual(failure.Details, want) {
			t.Errorf("%s: details %+v, want %+v", test.path, failure.Details, want)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
}

func formSource(t *testing.T) string {
	t.Helper()
	form, err := os.ReadFile("../render/pdf/testdata/form.pdf")
	if err != nil {
		t.Fatal(err)
	}
	return inline(form)
}

// TestRedactedImagesAreReported expects a warning about pages that became images, also with a title, which is set
// later.
func TestRedactedImagesAreReported(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	document := s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"<div style='width:90px;height:90px;border-radius:50%;border:3px solid'></div><p>words</p>"}`}).OK(t).Body
	for fields, want := range map[string][]wire.Warning{
		`"areas":[{"page":1,"x":0,"y":0,"width":60,"height":60}],"metadata":{"title":"Words"}`: {{
			Code: "content_changed", Message: "Pages with content other than text and images in a redacted area were converted to images without text: 1.",
		}},
		`"terms":["words"]`: nil,
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/redact", Body: `{"file":` + inline([]byte(document)) + `,"response":"url",` + fields + `}`})
		if got := fileURL(t, answer).Warnings; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: warned of %+v, want %+v", fields, got, want)
		}
	}
}
