package render

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/spool"
)

// slidesSource is a presentation of two slides, as LibreOffice reads it.
const slidesSource = `<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
 office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.presentation">
<office:automatic-styles><style:page-layout style:name="p"><style:page-layout-properties fo:page-width="16cm" fo:page-height="9cm"/></style:page-layout></office:automatic-styles>
<office:master-styles><style:master-page style:name="m" style:page-layout-name="p"/></office:master-styles>
<office:body><office:presentation>
<draw:page draw:master-page-name="m"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="14cm" svg:height="2cm"><draw:text-box><text:p>Lovelace</text:p></draw:text-box></draw:frame></draw:page>
<draw:page draw:master-page-name="m"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="14cm" svg:height="2cm"><draw:text-box><text:p>Hopper</text:p></draw:text-box></draw:frame></draw:page>
</office:presentation></office:body></office:document>`

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// pagesSource is a document of two pages with an image.
const pagesSource = `<html><head><meta charset="utf-8"></head><body><h1>Lovelace</h1><p><img src="` + pixel + `" width="40" height="40"></p>` +
	`<table><tr><td>cell</td><td>1</td></tr></table><p style="page-break-before: always">Hopper</p></body></html>`

// markdownSource refers to what is elsewhere in the ways of Markdown and HTML.
const markdownSource = `# Lovelace

| Hopper | 12 |
|---|---|
| a | b |

- [x] done

![here](` + pixel + `) ![there](https://example.com/a.png)

<iframe src="https://example.com/"></iframe><script src="//example.com/a.js"></script><div style="background:url(https://example.com/b.png)">
`

// sources are a document of each kind, by file name. The office documents are made by LibreOffice.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 60, 40))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i)
	}
	made := map[string][]byte{
		"source.html": []byte(pagesSource), "source.csv": []byte("name,total\nLovelace,12\nHopper,99\n"),
		"source.txt": []byte("Lovelace\n\fHopper\n"), "source.md": []byte(markdownSource),
	}
	for name, encode := range map[string]func(io.Writer) error{
		"image.png":  func(w io.Writer) error { return png.Encode(w, picture) },
		"image.jpeg": func(w io.Writer) error { return jpeg.Encode(w, picture, nil) },
		"image.gif":  func(w io.Writer) error { return gif.Encode(w, picture, nil) },
		"image.tiff": func(w io.Writer) error { return tiff.Encode(w, picture, nil) },
	} {
		var out bytes.Buffer
		if err := encode(&out); err != nil {
			t.Fatal(err)
		}
		made[name] = out.Bytes()
	}
	webp, err := os.ReadFile(filepath.Join("pdf", "testdata", "alpha.webp"))
	if err != nil {
		t.Fatal(err)
	}
	made["image.webp"] = webp
	dir := t.TempDir()
	for _, from := range []struct {
		name, content, filter string
		to                    []string
	}{
		{"source.html", pagesSource, "HTML (StarWriter)", []string{"docx:MS Word 2007 XML", "doc:MS Word 97", "odt:writer8", "rtf:Rich Text Format", "pdf:writer_pdf_Export"}},
		{"source.csv", string(made["source.csv"]), "Text - txt - csv (StarCalc):44,34,76,1", []string{"xlsx", "xls", "ods"}},
		{"source.fodp", slidesSource, "", []string{"pptx", "ppt", "odp"}},
	} {
		in := filepath.Join(dir, from.name)
		if err := os.WriteFile(in, []byte(from.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, to := range from.to {
			args := []string{"-env:UserInstallation=file://" + dir + "/profile", "--headless", "--convert-to", to, "--outdir", dir}
			if from.filter != "" {
				args = append(args, "--infilter="+from.filter)
			}
			cmd := exec.CommandContext(t.Context(), "soffice", append(args, in)...)
			cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("soffice: %v\n%s", err, out)
			}
			extension, _, _ := strings.Cut(to, ":")
			content, err := os.ReadFile(filepath.Join(dir, "source."+extension))
			if err != nil {
				t.Fatal(err)
			}
			made["source."+extension] = content
		}
	}
	return made
}

// convertBytes converts a document and reads the result.
func convertBytes(t *testing.T, r *Renderer, name string, content []byte, to office.Target) (made []byte, archive bool, err error) {
	t.Helper()
	result, err := r.For("acct_1").Convert(t.Context(), Conversion{Content: spool.FromBytes(content), Name: name, To: to, AllowHTML: true})
	if err != nil {
		return nil, false, err
	}
	defer result.Body.Close()
	made, err = io.ReadAll(result.Body.Open())
	return made, result.Archive, err
}

// TestConvertPairs converts a document of every kind to every target. If a pair is not supported, the error lists
// the supported targets.
func TestConvertPairs(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	r := start(t, Config{})
	documents := sources(t)
	pages := map[string]int{"source.csv": 1, "source.md": 1, "source.xlsx": 1, "source.xls": 1, "source.ods": 1}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		count := pages[name]
		if strings.HasPrefix(name, "image.") {
			count = 1
		} else if count == 0 {
			count = 2
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // both LibreOffice processes, side by side
			convertToAll(t, r, name, documents[name], count)
		})
	}
}

// convertToAll converts a document of so many pages to every target.
func convertToAll(t *testing.T, r *Renderer, name string, document []byte, count int) {
	t.Helper()
	possible := 0
	for _, to := range []office.Target{office.ToPDF, office.ToDOCX, office.ToXLSX, office.ToHTML, office.ToPNG} {
		made, archive, err := convertBytes(t, r, name, document, to)
		var pair *office.PairError
		switch {
		case errors.As(err, &pair) && !slices.Contains(pair.Possible, to) && len(pair.Possible) > 2:
			continue
		case err != nil:
			t.Errorf("%s to %s: %v", name, to, err)
			continue
		}
		possible++
		what := fmt.Sprintf("%s to %s", name, to)
		switch to {
		case office.ToPDF:
			checkPDF(t, what, made, count)
		case office.ToHTML:
			checkHTML(t, what, made)
		case office.ToPNG:
			checkImages(t, what, made, archive, count)
		default:
			again, _, err := convertBytes(t, r, "", made, office.ToPDF)
			if err != nil {
				t.Errorf("%s: reading it again: %v", what, err)
				continue
			}
			want := 0 // tables get a new layout
			if to == office.ToDOCX && name == "source.pdf" {
				want = count
			}
			checkPDF(t, what, again, want)
		}
	}
	if possible < 3 {
		t.Errorf("%s: only %d targets", name, possible)
	}
}

// checkPDF looks at a PDF of the sources; of images it has no text. Zero pages
// are any.
func checkPDF(t *testing.T, what string, content []byte, pages int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.pdf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "qpdf", "--check", path)
	text := tool(t, "pdftotext", path, "-")
	if !strings.HasPrefix(what, "image.") && (!strings.Contains(text, "Lovelace") || !strings.Contains(text, "Hopper")) {
		t.Errorf("%s: the text is %q", what, text)
	}
	if got := strings.Count(text, "\f"); pages > 0 && got != pages {
		t.Errorf("%s: %d pages, want %d", what, got, pages)
	}
}

// elsewhere finds what a document would have to fetch.
var elsewhere = regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?(?:[^"'#dhm]|h[^t])|url\(["']?[^d"']|(?:src|@import)[^>]*https?:`)

func checkHTML(t *testing.T, what string, content []byte) {
	t.Helper()
	text := string(content)
	if !strings.HasPrefix(what, "image.") && (!strings.Contains(text, "Lovelace") || !strings.Contains(text, "Hopper")) {
		t.Errorf("%s: the text is missing: %.300s", what, text)
	}
	if found := elsewhere.FindString(html.UnescapeString(text)); found != "" {
		t.Errorf("%s: it is not in one file: %q", what, found)
	}
	if pictured := regexp.MustCompile(`^(image|source\.(html|docx|doc|odt|rtf|pdf|md))`); pictured.MatchString(what) && !strings.Contains(text, "data:image/") {
		t.Errorf("%s: its picture is missing", what)
	}
}

func checkImages(t *testing.T, what string, content []byte, archive bool, pages int) {
	t.Helper()
	if archive != (pages > 1) {
		t.Errorf("%s: an archive: %v, for %d pages", what, archive, pages)
		return
	}
	images := [][]byte{content}
	if archive {
		z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		images = nil
		for i, f := range z.File {
			if want := fmt.Sprintf("page-%03d.png", i+1); f.Name != want {
				t.Errorf("%s: got %s, want %s", what, f.Name, want)
			}
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(in)
			if err := errors.Join(err, in.Close()); err != nil {
				t.Fatal(err)
			}
			images = append(images, page)
		}
	}
	if len(images) != pages {
		t.Errorf("%s: %d images, want %d", what, len(images), pages)
	}
	for _, one := range images {
		page, err := png.Decode(bytes.NewReader(one))
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if blank(page) {
			t.Errorf("%s: a page is blank", what)
		} else if size := page.Bounds().Size(); strings.HasPrefix(what, "image.") && !strings.HasPrefix(what, "image.webp") && size != image.Pt(60, 40) {
			t.Errorf("%s: the image has %v pixels, want 60 x 40", what, size)
		}
	}
}

// blank reports whether an image has one colour.
func blank(picture image.Image) bool {
	bounds := picture.Bounds()
	first := color.NRGBAModel.Convert(picture.At(bounds.Min.X, bounds.Min.Y))
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if color.NRGBAModel.Convert(picture.At(x, y)) != first {
				return false
			}
		}
	}
	return true
}

func TestConvertWithoutOffice(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"unshare", "true"} { // what tries the browser's sandbox
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(programs), 0o755); err != nil { // the browser's user looks there
		t.Fatal(err)
	}
	if _, err := Engine(); err != nil { // built while Go can be found
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	r := start(t, Config{})
	_, _, err := convertBytes(t, r, "a.txt", []byte("x"), office.ToPDF)
	if !errors.Is(err, office.ErrUnavailable) {
		t.Errorf("got %v, want office.ErrUnavailable", err)
	}
	if err := r.WarmConvert(); !errors.Is(err, office.ErrUnavailable) {
		t.Errorf("WarmConvert: got %v, want office.ErrUnavailable", err)
	}
	doc, err := r.For("account").PDF(t.Context(), Source{HTML: "<p>unharmed"}, PageSettings{}, PDF{})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Pages != 1 {
		t.Errorf("the browser printed %d pages, want 1", doc.Pages)
	}
	if err := doc.Body.Close(); err != nil {
		t.Error(err)
	}
}
