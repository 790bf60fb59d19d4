package render_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// cells is the number of cells of a fingerprint in each direction.
	cells = 16
	// step is the difference of two neighbouring cells, out of 255, that counts.
	// Antialiasing moves the mean of a cell by less.
	step = 4
	// tolerance is the maximum number of differing bits among the 1,024 of a fingerprint. A cell whose difference
	// is close to a step may fall to either side of it.
	tolerance = 16
)

// fingerprint is a perceptual hash of an image. Its four planes hold one bit per cell: the cell is clearly lighter
// than the cell to its right, lighter than the cell below, more colourful than the cell to its right, and more
// colourful than the cell below. Evenly coloured areas are zero.
type fingerprint [4 * cells * cells / 8]byte

func fingerprintOf(img image.Image) fingerprint {
	var lightness, chroma [cells + 1][cells + 1]int
	bounds := img.Bounds()
	for row := range cells + 1 {
		for col := range cells + 1 {
			area := image.Rect(
				bounds.Min.X+col*bounds.Dx()/(cells+1), bounds.Min.Y+row*bounds.Dy()/(cells+1),
				bounds.Min.X+(col+1)*bounds.Dx()/(cells+1), bounds.Min.Y+(row+1)*bounds.Dy()/(cells+1),
			)
			lightness[row][col], chroma[row][col] = meanOf(img, area)
		}
	}
	var f fingerprint
	at := 0
	for _, plane := range [...]*[cells + 1][cells + 1]int{&lightness, &chroma} {
		for row := range cells {
			for col := range cells {
				for _, next := range [...]int{plane[row][col+1], plane[row+1][col]} {
					if plane[row][col]-next >= step {
						f[at/8] |= 1 << (at % 8)
					}
					at++
				}
			}
		}
	}
	return f
}

// meanOf returns the mean lightness and the mean distance between the
// strongest and the weakest colour of an area on white paper, both of 255.
func meanOf(img image.Image, area image.Rectangle) (lightness, chroma int) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			r, g, b, a := img.At(x, y).RGBA()
			white := 0xffff - a
			r, g, b = r+white, g+white, b+white
			lightness += int((299*r + 587*g + 114*b) / 1000)
			chroma += int(max(r, g, b) - min(r, g, b))
		}
	}
	count := max(area.Dx()*area.Dy(), 1) * 0x101
	return lightness / count, chroma / count
}

// distance returns the number of bits in which two fingerprints differ.
func (f fingerprint) distance(other fingerprint) int {
	n := 0
	for i := range f {
		n += bits.OnesCount8(f[i] ^ other[i])
	}
	return n
}

// looksLine starts a golden's line that ends with a fingerprint.
const looksLine = "looks"

// checkGolden compares what a document turned out to be with the golden file of
// that name. Fingerprints may differ within the tolerance, all else must be
// equal. With UPDATE_GOLDEN=1 it writes the file where they differ.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".golden")
	want, err := os.ReadFile(path)
	update := os.Getenv("UPDATE_GOLDEN") == "1"
	if err != nil && (!update || !os.IsNotExist(err)) {
		t.Fatalf("%v; run `make golden` to write it", err)
	}
	faults := differences(got, string(want))
	if len(faults) == 0 {
		return
	}
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(faults) > 10 {
		faults = append(faults[:10], fmt.Sprintf("and %d lines more", len(faults)-10))
	}
	t.Errorf("%s has changed; look at the pages, then run `make golden`.\n%s", path, strings.Join(faults, "\n"))
}

// differences lists the lines in which two goldens differ.
func differences(got, want string) []string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	var faults []string
	for i := range max(len(gotLines), len(wantLines)) {
		var gotLine, wantLine string
		if i < len(gotLines) {
			gotLine = gotLines[i]
		}
		if i < len(wantLines) {
			wantLine = wantLines[i]
		}
		if gotLine == wantLine {
			continue
		}
		if n, ok := looksApart(gotLine, wantLine); !ok {
			faults = append(faults, fmt.Sprintf("line %d:\n got  %s\n want %s", i+1, gotLine, wantLine))
		} else if n > tolerance {
			faults = append(faults, fmt.Sprintf("line %d: looks different in %d bits, of which %d are tolerated", i+1, n, tolerance))
		}
	}
	return faults
}

// looksApart returns the distance of the fingerprints at the end of two lines,
// if that is what stands there.
func looksApart(got, want string) (n int, ok bool) {
	var prints [2]fingerprint
	for i, line := range [...]string{got, want} {
		text, isLook := strings.CutPrefix(line, looksLine+" ")
		raw, err := hex.DecodeString(text)
		if !isLook || err != nil || len(raw) != len(prints[i]) {
			return 0, false
		}
		copy(prints[i][:], raw)
	}
	return prints[0].distance(prints[1]), true
}

// paper draws a page with a heading, lines of text and, below them, a chart of
// bars in a colour, all shifted down by some pixels.
func paper(down int, chart color.Color) *image.RGBA {
	page := image.NewRGBA(image.Rect(0, 0, 413, 585))
	draw.Draw(page, page.Rect, image.White, image.Point{}, draw.Src)
	fill := func(x, y, w, h int, c color.Color) {
		draw.Draw(page, image.Rect(x, y+down, x+w, y+h+down), image.NewUniform(c), image.Point{}, draw.Src)
	}
	fill(30, 30, 200, 18, color.Black)
	for line := range 12 {
		for word := range 8 {
			fill(30+word*44, 70+line*14, 24+(line*7+word*11)%16, 5, color.Gray{60})
		}
	}
	if chart != nil {
		for bar := range 5 {
			height := 30 + bar*41%80
			fill(240+bar*28, 430-height, 18, height, chart)
		}
	}
	return page
}

// noisy returns an image as another rasteriser might draw it: edges blurred by half a pixel and every pixel off by
// up to three levels.
func noisy(img *image.RGBA) *image.RGBA {
	random := rand.New(rand.NewPCG(1, 2))
	out := image.NewRGBA(img.Rect)
	for y := img.Rect.Min.Y; y < img.Rect.Max.Y; y++ {
		for x := img.Rect.Min.X; x < img.Rect.Max.X; x++ {
			here, right := img.RGBAAt(x, y), img.RGBAAt(min(x+1, img.Rect.Max.X-1), y)
			mix := func(a, b uint8) uint8 {
				return uint8(min(max((int(a)+int(b))/2+random.IntN(7)-3, 0), 255))
			}
			out.SetRGBA(x, y, color.RGBA{mix(here.R, right.R), mix(here.G, right.G), mix(here.B, right.B), 255})
		}
	}
	return out
}

func TestFingerprint(t *testing.T) {
	blue := color.RGBA{0x1d, 0x4e, 0xd8, 0xff}
	page := fingerprintOf(paper(0, blue))
	for name, test := range map[string]struct {
		other image.Image
		same  bool
	}{
		"the same page":     {paper(0, blue), true},
		"another raster":    {noisy(paper(0, blue)), true},
		"no chart":          {paper(0, nil), false},
		"chart in grey":     {paper(0, color.Gray{0x59}), false},
		"moved by one line": {paper(14, blue), false},
		"empty page":        {image.NewRGBA(image.Rect(0, 0, 413, 585)), false},
		"upside down":       {turned(paper(0, blue)), false},
	} {
		if got := page.distance(fingerprintOf(test.other)); got <= tolerance != test.same {
			t.Errorf("%s: distance %d with a tolerance of %d, want the same look: %v", name, got, tolerance, test.same)
		}
	}
	var blank fingerprint
	if got := fingerprintOf(image.NewRGBA(image.Rect(0, 0, 40, 60))); got != blank {
		t.Errorf("blank paper: %x, want zeros", got)
	}
}

// turned returns an image upside down.
func turned(img *image.RGBA) *image.RGBA {
	out := image.NewRGBA(img.Rect)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			out.SetRGBA(x, img.Rect.Dy()-1-y, img.RGBAAt(x, y))
		}
	}
	return out
}

func TestDifferences(t *testing.T) {
	look := fingerprintOf(paper(0, color.Black))
	near, far := look, look
	near[0] ^= 0x0f
	copy(far[:], bytes.Repeat([]byte{0x55}, 10))
	golden := func(pages int, f fingerprint, text string) string {
		return fmt.Sprintf("pages %d\n%s %x\n\n%s\n", pages, looksLine, f, text)
	}
	want := golden(1, look, "text")
	for name, test := range map[string]struct {
		got    string
		faults int
	}{
		"equal":                    {golden(1, look, "text"), 0},
		"a look within tolerance":  {golden(1, near, "text"), 0},
		"another look":             {golden(1, far, "text"), 1},
		"another number of pages":  {golden(2, look, "text"), 1},
		"another text":             {golden(1, look, "texts"), 1},
		"a line more":              {golden(1, look, "text\nmore"), 1},
		"a look that is not there": {strings.Replace(want, looksLine, "seems", 1), 1},
		"nothing":                  {"", 3},
	} {
		if got := differences(test.got, want); len(got) != test.faults {
			t.Errorf("%s: %d faults %q, want %d", name, len(got), got, test.faults)
		}
	}
}
