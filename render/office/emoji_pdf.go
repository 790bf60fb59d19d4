package office

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"slices"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"

	"relaypdf/render/pdffile"
)

const (
	// maxSubset is the maximum size of a font in a PDF: 255 glyphs of the stand-in.
	maxSubset = 1 << 20
	// perEm is the number of units per em in PDFs.
	perEm = 1000
	// maxCodes bounds the codes of a font with one-byte codes.
	maxCodes = 256
	// emojiSize is the size of the images in pixels an em.
	emojiSize = 109
)

// emojiDrawer puts the emoji into a PDF that contains their stand-in.
type emojiDrawer struct {
	stand  standIn
	plain  bool // no partly transparent pixels: PDF/A-1 has none
	file   *pdffile.File
	update *pdffile.Update
	face   *font.Face
	images map[int]string // references, by glyph
}

// drawEmoji replaces the stand-in in a PDF that LibreOffice wrote, if it is there. If plain is true, as PDF/A-1 demands,
// pixels are fully opaque or transparent.
func (s standIn) drawEmoji(path string, plain bool) (err error) {
	if n, err := countIn(path, s.name); err != nil || n == 0 {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := emojiDrawer{stand: s, plain: plain, images: map[int]string{}}
	if d.file, err = pdffile.Read(content); err != nil {
		return err
	}
	d.update = d.file.NewUpdate()
	source, err := os.Open(s.source)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // It was read only.
	if d.face, err = font.ParseTTF(source); err != nil {
		return fmt.Errorf("read %s: %w", emojiFamily, err)
	}
	d.face.SetPpem(emojiSize, emojiSize)
	for _, ref := range d.file.Containing(s.name) {
		if err := d.replace(ref); err != nil {
			return fmt.Errorf("object %s: %w", ref, err)
		}
	}
	added, err := d.update.Append()
	if err != nil {
		return err
	}
	return appendTo(path, added)
}

// replace turns an object that names the stand-in into the emoji font, whose glyphs are images. The stand-in's
// other objects are removed.
func (d *emojiDrawer) replace(ref string) error {
	entries := d.file.Dict(ref)
	if entries["/Type"] != "/Font" {
		return nil // a font descriptor; it is removed with its font
	}
	about := d.file.Entry(entries["/FontDescriptor"])
	program := pdffile.Reference(about["/FontFile2"])
	glyphs, err := d.glyphs(program)
	if err != nil {
		return err
	}
	procedures, resources := pdffile.Dict{}, pdffile.Dict{}
	differences := []any{0}
	for code, glyph := range glyphs {
		name := fmt.Sprintf("/g%d", code)
		differences = append(differences, name)
		proc, err := d.draw(glyph, resources)
		if err != nil {
			return fmt.Errorf("glyph %d: %w", glyph, err)
		}
		procedures[name] = proc
	}
	// PDF readers derive the size of such a font from the width of its m, which has this
	// width if it counts in thousandths of the size.
	const widthOfM = 600
	widths, _ := d.file.Target(entries["/Widths"]).([]any)
	if len(glyphs) < maxCodes && len(widths) == len(glyphs) {
		procedures["/m"] = d.procedure(fmt.Sprintf("%d 0 d0", widthOfM))
		differences, widths = append(differences, "/m"), append(slices.Clone(widths), widthOfM)
	}
	d.update.Set(ref, pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type3", "/FontBBox": about["/FontBBox"], "/FontMatrix": []any{1.0 / perEm, 0, 0, 1.0 / perEm, 0, 0},
		"/FirstChar": 0, "/LastChar": len(widths) - 1, "/Widths": widths, "/ToUnicode": entries["/ToUnicode"],
		"/Encoding":  pdffile.Dict{"/Type": "/Encoding", "/Differences": differences},
		"/CharProcs": procedures, "/Resources": pdffile.Dict{"/XObject": resources},
	})
	for _, gone := range []string{program, pdffile.Reference(entries["/FontDescriptor"])} {
		d.update.Set(gone, nil)
	}
	return nil
}

// glyphs returns the emoji glyphs in a subset of the stand-in, by their codes.
func (d *emojiDrawer) glyphs(program string) ([]int, error) {
	stream, ok := d.file.Stream(program)
	if !ok {
		return nil, pdffile.ErrUnread
	}
	unpacked, err := zlib.NewReader(bytes.NewReader(stream.Content))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(unpacked, maxSubset))
	if err != nil {
		return nil, err
	}
	return glyphsOf(content)
}

// glyphsOf returns the glyphs that the outlines of a font encode.
func glyphsOf(content []byte) ([]int, error) {
	loader, err := opentype.NewLoader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var tables [3][]byte
	for i, tag := range []string{"head", "loca", "glyf"} {
		if tables[i], err = loader.RawTable(opentype.MustNewTag(tag)); err != nil {
			return nil, err
		}
	}
	places, err := placesOf(tables[0], tables[1])
	if err != nil {
		return nil, err
	}
	var glyphs []int
	for i := 1; i < len(places); i++ {
		from, to := places[i-1], places[i]
		if from > to || to > len(tables[2]) {
			return nil, errors.New("a glyph outside of its table")
		}
		glyph, ok := cornerOf(tables[2][from:to])
		if !ok {
			return nil, errors.New("an outline that is none of ours")
		}
		glyphs = append(glyphs, glyph)
	}
	return glyphs, nil
}

// placesOf reads where glyphs begin, and the last one ends.
func placesOf(head, loca []byte) (places []int, err error) {
	if len(head) < 52 {
		return nil, io.ErrUnexpectedEOF
	}
	if binary.BigEndian.Uint16(head[50:]) == 0 {
		for ; len(loca) > 1; loca = loca[2:] {
			places = append(places, 2*int(binary.BigEndian.Uint16(loca)))
		}
		return places, nil
	}
	for ; len(loca) > 3; loca = loca[4:] {
		places = append(places, int(binary.BigEndian.Uint32(loca)))
	}
	return places, nil
}

// draw returns the procedure that draws a glyph, and adds the glyph's image to the
// resources.
func (d *emojiDrawer) draw(glyph int, resources pdffile.Dict) (procedure string, err error) {
	id := font.GID(glyph)
	scale := perEm / float32(d.face.Upem())
	program := fmt.Sprintf("%.6g 0 d0", d.face.HorizontalAdvance(id)*scale)
	bitmap, ok := d.face.GlyphDataBitmap(id)
	box, measured := d.face.GlyphExtents(id)
	if ok && measured && bitmap.Format == font.PNG {
		name := fmt.Sprintf("/E%d", glyph)
		if resources[name], err = d.image(glyph, bitmap.Data); err != nil {
			return "", err
		}
		program += fmt.Sprintf("\nq %.6g 0 0 %.6g %.6g %.6g cm %s Do Q", box.Width*scale, -box.Height*scale, box.XBearing*scale, (box.YBearing+box.Height)*scale, name)
	}
	return d.procedure(program), nil
}

// procedure adds the procedure that draws a glyph.
func (d *emojiDrawer) procedure(program string) (ref string) {
	ref = d.update.Reserve()
	d.update.Set(ref, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(program)})
	return ref
}

// image adds the image of a glyph, once.
func (d *emojiDrawer) image(glyph int, data []byte) (ref string, err error) {
	if ref = d.images[glyph]; ref != "" {
		return ref, nil
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	colours, opacity := split(picture, d.plain)
	size := picture.Bounds().Size()
	entries := func(more pdffile.Dict) pdffile.Dict {
		all := pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Image", "/Width": size.X, "/Height": size.Y, "/BitsPerComponent": 8, "/Filter": "/FlateDecode"}
		for key, v := range more {
			all[key] = v
		}
		return all
	}
	mask := d.update.Reserve()
	kind := "/SMask"
	about := entries(pdffile.Dict{"/ColorSpace": "/DeviceGray"})
	if d.plain {
		kind = "/Mask"
		about = entries(pdffile.Dict{"/ImageMask": true, "/BitsPerComponent": 1})
	}
	d.update.Set(mask, pdffile.Stream{Entries: about, Content: deflate(opacity)})
	ref = d.update.Reserve()
	d.update.Set(ref, pdffile.Stream{Entries: entries(pdffile.Dict{"/ColorSpace": "/DeviceRGB", kind: mask}), Content: deflate(colours)})
	d.images[glyph] = ref
	return ref, nil
}

// split returns the colours of an image, three bytes a pixel, and its opacity, one byte a
// pixel. A plain image is on white, and has a bit for each transparent pixel, in rows of
// whole bytes.
func split(picture image.Image, plain bool) (colours, opacity []byte) {
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		var row byte
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c, _ := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
			if !plain {
				colours, opacity = append(colours, c.R, c.G, c.B), append(opacity, c.A)
				continue
			}
			white := func(v byte) byte { return byte((int(v)*int(c.A) + 255*(255-int(c.A))) / 255) }
			colours = append(colours, white(c.R), white(c.G), white(c.B))
			at := (x - bounds.Min.X) & 7
			if c.A < 128 {
				row |= 0x80 >> at
			}
			if at == 7 || x == bounds.Max.X-1 {
				opacity, row = append(opacity, row), 0
			}
		}
	}
	return colours, opacity
}

// deflate compresses the content of a stream.
func deflate(content []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, _ = z.Write(content) // A buffer takes everything.
	_ = z.Close()
	return out.Bytes()
}

// appendTo writes behind a file's end.
func appendTo(path string, content []byte) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(content)
	return err
}
