package barcode

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// sheet is a page full of SVG images, which Chromium draws at once.
type sheet struct {
	html   strings.Builder
	height int
	places map[string]image.Rectangle
}

const (
	sheetWidth  = 4096
	sheetHeight = 4096
)

// TestChromiumDrawsSVG draws each type × scale in Chromium. ZXing reads what
// comes out, and without text it is the PNG, pixel by pixel.
func TestChromiumDrawsSVG(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	samples := slices.DeleteFunc(everyVariant(SVG), func(s sample) bool {
		// The bars of larger scales are compared with those of the smaller ones
		// elsewhere; with text they are all here.
		return !s.req.IncludeText && s.req.Scale > 3
	})
	files := map[string][]byte{}
	for i := range samples {
		s := &samples[i]
		files[s.file] = mustMake(t, s.req)
	}
	drawn := map[string]*image.Gray{}
	for n, page := range layOut(t, files, samples) {
		for file, img := range page.draw(t, filepath.Join(dir, strconv.Itoa(n))) {
			drawn[file] = img
		}
	}
	for _, s := range samples {
		img := drawn[s.file]
		// ZXing reads PGM too, which costs nothing to write. Its name does not matter.
		header := fmt.Sprintf("P5 %d %d 255\n", img.Rect.Dx(), img.Rect.Dy())
		if err := os.WriteFile(filepath.Join(dir, s.file), append([]byte(header), img.Pix...), 0o600); err != nil {
			t.Fatal(err)
		}
		if s.req.IncludeText {
			continue
		}
		req := s.req
		req.Format = PNG
		if x, y, same := firstDifference(img, decodePNG(t, mustMake(t, req))); !same {
			t.Errorf("%s: SVG and PNG differ at %d, %d", s.file, x, y)
		}
	}
	decodeAll(t, dir, samples)
}

// firstDifference compares two images of one size.
func firstDifference(a, b *image.Gray) (x, y int, same bool) {
	if a.Rect.Size() != b.Rect.Size() {
		return b.Rect.Dx(), b.Rect.Dy(), false
	}
	if bytes.Equal(a.Pix, b.Pix) {
		return 0, 0, true
	}
	for i := range a.Pix {
		if a.Pix[i] != b.Pix[i] {
			return i % a.Stride, i / a.Stride, false
		}
	}
	return 0, 0, true
}

var svgSize = regexp.MustCompile(`^<svg [^>]*width="(\d+)" height="(\d+)"`)

// layOut puts the images in rows on as many sheets as it takes.
func layOut(t *testing.T, files map[string][]byte, samples []sample) []*sheet {
	t.Helper()
	var sheets []*sheet
	var page *sheet
	x, y, rowHeight := 0, 0, 0
	for _, s := range samples {
		m := svgSize.FindSubmatch(files[s.file])
		if m == nil {
			t.Fatalf("%s has no size: %.200s", s.file, files[s.file])
		}
		w, _ := strconv.Atoi(string(m[1]))
		h, _ := strconv.Atoi(string(m[2]))
		if x+w > sheetWidth {
			x, y, rowHeight = 0, y+rowHeight, 0
		}
		if page == nil || y+h > sheetHeight {
			page = &sheet{places: map[string]image.Rectangle{}}
			page.html.WriteString(`<!doctype html><body style="margin:0;background:#08f">`)
			sheets = append(sheets, page)
			x, y, rowHeight = 0, 0, 0
		}
		name := strings.TrimSuffix(s.file, ".png") + ".svg"
		fmt.Fprintf(&page.html, `<img src="data:image/svg+xml,%s" alt="%s" style="position:absolute;left:%dpx;top:%dpx">`,
			escapeData(files[s.file]), name, x, y)
		page.places[s.file] = image.Rect(x, y, x+w, y+h)
		x, rowHeight = x+w, max(rowHeight, h)
		page.height = max(page.height, y+h)
	}
	return sheets
}

func escapeData(svg []byte) string {
	return strings.NewReplacer("%", "%25", "#", "%23", `"`, "'", "\n", "", "&", "%26").Replace(string(svg))
}

// draw takes a screenshot of the sheet and cuts it into the images.
func (s *sheet) draw(t *testing.T, dir string) map[string]*image.Gray {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	page, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.png")
	if err := os.WriteFile(page, []byte(s.html.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/lib/chromium/chromium-headless-shell", "--no-sandbox", "--disable-gpu",
		"--hide-scrollbars", "--force-device-scale-factor=1", "--user-data-dir="+filepath.Join(dir, "profile"),
		fmt.Sprintf("--window-size=%d,%d", sheetWidth, s.height), "--screenshot="+shot, "file://"+page)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("Chromium: %v\n%s", err, out)
	}
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	pixels, ok := img.(*image.RGBA)
	if !ok {
		t.Fatalf("the screenshot is a %T, want opaque colours", img)
	}
	images := map[string]*image.Gray{}
	for file, place := range s.places {
		images[file] = redOf(pixels, place)
	}
	return images
}

// redOf returns the red of a part of an image, which is all of a grey one. The
// page around the images is blue, so that what is not covered comes out black.
func redOf(img *image.RGBA, part image.Rectangle) *image.Gray {
	grey := image.NewGray(image.Rect(0, 0, part.Dx(), part.Dy()))
	for y := range part.Dy() {
		line := img.Pix[img.PixOffset(part.Min.X, part.Min.Y+y):]
		out := grey.Pix[y*grey.Stride : (y+1)*grey.Stride]
		for x := range out {
			out[x] = line[4*x]
		}
	}
	return grey
}

// TestSVGEscapesText puts hostile texts into the title and parses the result.
func TestSVGEscapesText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"plain", "plain"},
		{`</title><script>alert(1)</script>`, `</title><script>alert(1)</script>`},
		{`"><img src=x onerror=alert(1)>`, `"><img src=x onerror=alert(1)>`},
		{"]]>&amp;&#x0;<!--", "]]>&amp;&#x0;<!--"},
		{"日本語 😀", "日本語 😀"},
		{"a\x00b\x1bc\uffff", "a\ufffdb\ufffdc\ufffd"},
		{"a\r\nb\tc", "a\r\nb\tc"},
	}
	for _, tt := range tests {
		for _, typ := range []Type{QR, DataMatrix, PDF417} {
			title, err := svgTitle(mustMake(t, Request{Type: typ, Text: tt.text, Format: SVG, Scale: 1}))
			if err != nil {
				t.Errorf("%s of %q: %v", typ, tt.text, err)
			} else if title != tt.want {
				t.Errorf("%s of %q: got title %q, want %q", typ, tt.text, title, tt.want)
			}
		}
	}
}

// svgTitle parses an image strictly, checks that it has no element or attribute
// but ours, and returns the title.
func svgTitle(svg []byte) (string, error) {
	allowed := map[string]string{"svg": "xmlns width height viewBox role", "title": "", "path": "fill fill-opacity d shape-rendering"}
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	var open, title string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return title, nil
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = token.Name.Local
			attributes, ok := allowed[open]
			if !ok {
				return "", fmt.Errorf("element %s", open)
			}
			for _, a := range token.Attr {
				if !strings.Contains(attributes, a.Name.Local) {
					return "", fmt.Errorf("attribute %s of %s", a.Name.Local, open)
				}
			}
		case xml.EndElement:
			open = ""
		case xml.CharData:
			if open == "title" {
				title += string(token)
			}
		case xml.Comment, xml.ProcInst, xml.Directive:
			return "", fmt.Errorf("unexpected %T", token)
		}
	}
}
