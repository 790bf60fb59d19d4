package render

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/spool"
)

// dot is an image of one colour.
func dot(t *testing.T, c color.Color) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 8, 8))
	for i := range 64 {
		picture.Set(i%8, i/8, c)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpacked returns all that an office document or an HTML document says, and the images
// in it.
func unpacked(t *testing.T, content []byte) (text string, images int) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return string(content), strings.Count(string(content), `src="data:image/`)
	}
	var all strings.Builder
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.Name, "/media/") {
			images++
			continue
		}
		all.WriteString(f.Name + ":\n" + string(part) + "\n")
	}
	return all.String(), images
}

// TestConvertEmbeds checks that documents made of HTML and Markdown contain their images, both from assets and from
// public URLs. Missing images are reported as for PDFs, and the result contains no path of the server.
func TestConvertEmbeds(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	red, blue, green := dot(t, color.RGBA{255, 0, 0, 255}), dot(t, color.RGBA{0, 0, 255, 255}), dot(t, color.RGBA{0, 255, 0, 255})
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/red.png" {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write(red)
	}), "site.test")
	_, port, _ := net.SplitHostPort(site.server.Listener.Addr().String())
	r := start(t, Config{ExtraCA: site.ca, AllowHosts: []string{"site.test:" + port}, Resolver: names{"site.test": "127.0.0.1"}})
	remote, gone := site.url("site.test", "/red.png"), site.url("site.test", "/gone.png")
	assets := []chrome.Asset{{Name: "img/blue.png", Content: spool.FromBytes(blue)}, {Name: "style.css", Content: spool.FromBytes([]byte(`h1 { color: #123456 } p { background: url(green.png) }`))}, {Name: "green.png", Content: spool.FromBytes(green)}}
	svg := `data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9' fill='lime'/></svg>`
	markdown := fmt.Sprintf("# Lovelace\n\n![far](%s) ![near](img/blue.png) ![lost](%s) ![none](none.png)\n\n[in](other.md) [root](/root.md) [out](https://example.com/y)\n", remote, gone)
	page := fmt.Sprintf(`<html><head><link rel="stylesheet" href="style.css"></head><body background="tile.png"><h1>Lovelace</h1><p><img src="%s"><img src="img/blue.png"><img src="%s" alt="lost"><img src="none.png" alt="none"><img src="%s">
<a href="other.html">in</a> <a href="/root.html">root</a> <a href="file:///etc/passwd">file</a></p><form action="send.cgi"><input type="image" src="none.png"></form><iframe src="frame.html"></iframe><script src="act.js"></script></body></html>`, remote, gone, svg)
	ours := regexp.MustCompile(`/work/|file:|/tmp/|assets\.invalid|etc/passwd|\.\./root|^\{\}|>\{\}`)
	for _, test := range []struct {
		name, content string
		to            office.Target
		assets        []chrome.Asset
		images        int
		code          string
		lacking       []string
	}{
		{"source.md", markdown, office.ToHTML, assets, 2, "resource_failed", []string{gone, "http://assets.invalid/none.png"}},
		{"source.md", markdown, office.ToHTML, nil, 1, "resource_failed", []string{gone, "img/blue.png", "none.png"}},
		{"source.md", markdown, office.ToDOCX, assets, 2, "resource_failed", []string{gone, "http://assets.invalid/none.png"}},
		{"source.md", markdown, office.ToXLSX, assets, 0, "pictures_omitted", []string{""}},
		{"source.html", page, office.ToDOCX, assets, 3, "resource_failed", []string{"http://assets.invalid/tile.png", gone, "http://assets.invalid/none.png"}},
		{"source.html", page, office.ToDOCX, nil, 2, "resource_failed", []string{gone, "style.css", "tile.png", "img/blue.png", "none.png"}},
		{"source.html", page, office.ToXLSX, nil, 0, "pictures_omitted", []string{""}},
	} {
		what := fmt.Sprintf("%s to %s with %d assets", test.name, test.to, len(test.assets))
		made, err := r.For("acct_1").Convert(t.Context(), Conversion{Content: spool.FromBytes([]byte(test.content)), Name: test.name, To: test.to, Assets: test.assets})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		content, err := io.ReadAll(made.Body.Open())
		if err != nil {
			t.Fatal(err)
		}
		text, images := unpacked(t, content)
		if images != test.images {
			t.Errorf("%s: %d images, want %d", what, images, test.images)
		}
		for _, found := range ours.FindAllStringIndex(text, -1) {
			t.Errorf("%s: it has %q", what, text[max(0, found[0]-100):min(len(text), found[1]+60)])
		}
		if !strings.Contains(text, "Lovelace") || test.to == office.ToDOCX && !strings.Contains(text, "lost") {
			t.Errorf("%s: its text is missing", what)
		}
		var lacking []string
		for _, w := range made.Warnings {
			if lacking = append(lacking, w.URL); w.Code != test.code {
				t.Errorf("%s: warned of %+v", what, w)
			}
		}
		slices.Sort(lacking)
		slices.Sort(test.lacking)
		if !reflect.DeepEqual(lacking, test.lacking) {
			t.Errorf("%s: warned of %q, want %q", what, lacking, test.lacking)
		}
		if err := made.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// linkedWord is a Word document that links to images instead of holding them.
func linkedWord(t *testing.T, addresses ...string) []byte {
	t.Helper()
	var body, relations strings.Builder
	for i, address := range addresses {
		fmt.Fprintf(&relations, `<Relationship Id="rId%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="%s" TargetMode="External"/>`, i+1, address)
		fmt.Fprintf(&body, `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="914400" cy="914400"/><wp:docPr id="%d" name="p%d"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="%d" name="p%d"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="rId%d"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="914400" cy="914400"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`, i+1, i+1, i+1, i+1, i+1)
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, content := range map[string]string{
		"[Content_Types].xml":          `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
		"_rels/.rels":                  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/_rels/document.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + relations.String() + `</Relationships>`,
		"word/document.xml": `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><w:body><w:p><w:r><w:t>Lovelace</w:t></w:r></w:p>` +
			body.String() + `</w:body></w:document>`,
	} {
		part, err := archive.Create(name)
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestConvertEmbedsLinked checks that the result contains images that a Word document links to, and files that a
// fetched page refers to by relative links. Missing files are reported.
func TestConvertEmbedsLinked(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	red := dot(t, color.RGBA{255, 0, 0, 255})
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/a/red.png":
			_, _ = w.Write(red)
		case "/a/page.png":
			_, _ = io.WriteString(w, "<p>no image</p>")
		default:
			http.NotFound(w, q)
		}
	}), "site.test")
	_, port, _ := net.SplitHostPort(site.server.Listener.Addr().String())
	r := start(t, Config{ExtraCA: site.ca, AllowHosts: []string{"site.test:" + port}, Resolver: names{"site.test": "127.0.0.1"}})
	here, gone, page := site.url("site.test", "/a/red.png"), site.url("site.test", "/a/gone.png"), site.url("site.test", "/a/page.png")
	word := linkedWord(t, here, gone, page, "file:///etc/hostname.png")
	base := site.url("site.test", "/a/index.html")
	web := []byte(`<h1>Lovelace</h1><img src="red.png"><img src="gone.png" alt="lost"><p><a href="other.html">in</a></p>`)
	for _, test := range []struct {
		name    string
		content []byte
		address string
		to      office.Target
		images  int
		lacking []string
		has     string
	}{
		{"a.docx", word, "", office.ToDOCX, 1, []string{gone, page, "file:///etc/hostname.png"}, ""},
		{"a.docx", linkedWord(t, here), "", office.ToPDF, 0, nil, "/Subtype/Image"},
		{"index.html", web, base, office.ToDOCX, 1, []string{gone}, site.url("site.test", "/a/other.html")},
		{"index.md", []byte("# Lovelace\n\n![](red.png) ![](gone.png) [in](other.html)\n"), base, office.ToHTML, 1, []string{gone}, site.url("site.test", "/a/other.html")},
	} {
		what := fmt.Sprintf("%s to %s", test.name, test.to)
		made, err := r.For("acct_1").Convert(t.Context(), Conversion{Content: spool.FromBytes(test.content), Name: test.name, To: test.to, Address: test.address})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		content, err := io.ReadAll(made.Body.Open())
		if err != nil {
			t.Fatal(err)
		}
		text, images := unpacked(t, content)
		if images != test.images || !strings.Contains(text, test.has) || test.to != office.ToPDF && !strings.Contains(text, "Lovelace") {
			t.Errorf("%s: %d images, want %d, and %q in it:\n%.3000s", what, images, test.images, test.has, text)
		}
		var lacking []string
		for _, w := range made.Warnings {
			if lacking = append(lacking, w.URL); w.Code != "resource_failed" {
				t.Errorf("%s: warned of %+v", what, w)
			}
		}
		slices.Sort(lacking)
		slices.Sort(test.lacking)
		if !slices.Equal(lacking, test.lacking) {
			t.Errorf("%s: warned of %q, want %q", what, lacking, test.lacking)
		}
		if err := made.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
