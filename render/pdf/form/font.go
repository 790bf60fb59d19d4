package form

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"github.com/relaypdf/relaypdf/render/engine"
)

// fontFamilies are the families that letters are taken from first, in this
// order. DejaVu has the joined forms of Arabic letters.
var fontFamilies = []string{"Liberation Sans", "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP"}

// textFont is the name of the font of a form's values.
const textFont = "text.ttf"

// makeFont writes a font with only the letters of a form's values, and reports values with letters that no
// installed font has.
//
// A form's own fonts usually have only the letters of some Western languages. pdftk uses one font for all fields
// and embeds only TrueType outlines, while fonts with Chinese letters have PostScript outlines. So the font is
// assembled from several fonts.
func makeFont(ctx context.Context, w *engine.Work, entries []entry) (FillErrors, error) {
	wanted := make(map[rune]bool)
	for _, e := range entries {
		for _, r := range e.appearanceText {
			wanted[r] = true
			for _, form := range joinedForms(r) {
				wanted[form] = true
			}
		}
	}

	builder := newFontBuilder()
	if err := builder.collect(ctx, w, wanted); err != nil {
		return nil, err
	}

	faults := FillErrors{}
	for _, e := range entries {
		var missing []string
		for _, r := range e.appearanceText {
			if _, has := builder.Glyphs[r]; !has && r > ' ' && !slices.Contains(missing, string(r)) {
				missing = append(missing, string(r))
			}
		}
		if len(missing) > 0 {
			faults[e.name] = "has characters that no font for form fields contains: " + list(missing)
		}
	}

	if err := os.WriteFile(w.Path(textFont), builder.File(), 0o600); err != nil {
		return nil, fmt.Errorf("font: %w", err)
	}
	return faults, nil
}

// joinedForms returns the forms that a letter may have next to others. pdftk joins Arabic
// letters by the characters for their joined forms.
func joinedForms(r rune) []rune {
	const firstArabic, lastArabic, firstForm, lastForm = 0x0621, 0x064a, 0xfe80, 0xfefc
	if r < firstArabic || r > lastArabic {
		return nil
	}
	var forms []rune
	for form := rune(firstForm); form <= lastForm; form++ {
		forms = append(forms, form)
	}
	return forms
}

// UnitsPerEm is the grid of the generated font.
const UnitsPerEm = 2048

// Glyph is a letter's outline and its advance, in the font's units.
type Glyph struct {
	Advance  int
	Contours [][]Point
}

// Point is a point of a contour. If On is false, it is the control point of a quadratic curve.
type Point struct {
	X, Y int
	On   bool
}

// FontBuilder takes letters from fonts.
type FontBuilder struct {
	Glyphs map[rune]Glyph
	buffer sfnt.Buffer
}

func newFontBuilder() *FontBuilder {
	space := Glyph{Advance: UnitsPerEm * 278 / 1000}
	return &FontBuilder{Glyphs: map[rune]Glyph{' ': space, '\u00a0': space}}
}

// lastPlane is the highest character that the font can have, the last of the Basic Multilingual Plane, because
// pdftk supports no other plane.
const lastPlane = 0xffff

// collect loads the wanted letters from the installed fonts.
func (b *FontBuilder) collect(ctx context.Context, w *engine.Work, wanted map[rune]bool) error {
	var left []rune
	for r := range wanted {
		if _, has := b.Glyphs[r]; !has && r > ' ' && r <= lastPlane {
			left = append(left, r)
		}
	}

	slices.Sort(left)
	for len(left) > 0 {
		file, err := findFont(ctx, w, left[0])
		if err != nil {
			return err
		}
		first := left[0]
		if file.path != "" {
			if left, err = b.take(file, left); err != nil {
				return err
			}
		}

		// A font without the letter for which it is listed is skipped.
		left = slices.DeleteFunc(left, func(r rune) bool { return r == first })
	}

	return nil
}

// fontFile is a font, or one of several in a file.
type fontFile struct {
	path  string
	index int
}

// findFont returns the best installed font with a letter.
func findFont(ctx context.Context, w *engine.Work, r rune) (fontFile, error) {
	pattern := ":charset=" + strconv.FormatInt(int64(r), 16) + ":outline=True:color=False:variable=False:slant=0"
	out, err := w.Exec(ctx, engine.Program{
		Name: "fc-list",
		Args: []string{"-f", `%{family[0]}|%{weight}|%{file}|%{index}\n`, pattern},
	})
	if err != nil {
		return fontFile{}, fmt.Errorf("find a font: %w", err)
	}
	return bestFont(out), nil
}

// bestFont chooses among the fonts of a listing: by family, then by how far it
// is from regular weight, then by name.
func bestFont(listing []byte) fontFile {
	type candidate struct {
		fontFile
		rank, weight int
	}

	var fonts []candidate
	for line := range bytes.Lines(listing) {
		part := strings.Split(strings.TrimSpace(string(line)), "|")
		if len(part) != 4 || !slices.ContainsFunc([]string{".ttf", ".otf", ".ttc"}, func(end string) bool {
			return strings.HasSuffix(part[2], end)
		}) {
			continue
		}
		const regular = 80
		weight, weightErr := strconv.Atoi(part[1])
		index, indexErr := strconv.Atoi(part[3])
		if weightErr != nil || indexErr != nil {
			continue
		}

		rank := slices.Index(fontFamilies, part[0])
		switch {
		case rank < 0 && strings.HasPrefix(part[0], "Noto Sans"):
			rank = len(fontFamilies)
		case rank < 0:
			rank = len(fontFamilies) + 1
		}
		fonts = append(fonts, candidate{fontFile{part[2], index}, rank, max(weight-regular, regular-weight)})
	}

	if len(fonts) == 0 {
		return fontFile{}
	}
	return slices.MinFunc(fonts, func(a, b candidate) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		if a.weight != b.weight {
			return a.weight - b.weight
		}
		return strings.Compare(a.path, b.path)
	}).fontFile
}

// take takes letters from a font and returns those that it lacks.
func (b *FontBuilder) take(file fontFile, letters []rune) (left []rune, err error) {
	in, err := os.Open(file.path)
	if err != nil {
		return nil, fmt.Errorf("font: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	f, err := openFont(in, file.index)
	if err != nil {
		return letters, nil // a kind that is not known is passed over
	}

	for _, r := range letters {
		g, ok := b.load(f, r)
		if !ok {
			left = append(left, r)
			continue
		}
		b.Glyphs[r] = g
	}

	return left, nil
}

// openFont reads one of the fonts of a file.
func openFont(in io.ReaderAt, index int) (*sfnt.Font, error) {
	fonts, err := sfnt.ParseCollectionReaderAt(in)
	if err != nil {
		return nil, err
	}
	return fonts.Font(index)
}

// load reads a letter's outline.
func (b *FontBuilder) load(f *sfnt.Font, r rune) (Glyph, bool) {
	index, err := f.GlyphIndex(&b.buffer, r)
	if err != nil || index == 0 {
		return Glyph{}, false
	}

	size := fixed.I(UnitsPerEm) // so that a pixel is a unit
	advance, err := f.GlyphAdvance(&b.buffer, index, size, font.HintingNone)
	if err != nil {
		return Glyph{}, false
	}

	segments, err := f.LoadGlyph(&b.buffer, index, size, nil)
	if err != nil {
		return Glyph{}, false
	}
	return Glyph{Advance: advance.Round(), Contours: outline(segments)}, true
}
