package pdftest

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Documents returns the paths of documents that others have made, in order.
func Documents(t testing.TB) (paths []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("many documents take long")
	}
	dir := Corpus(t)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.EqualFold(filepath.Ext(path), ".pdf") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d documents in %s: %v", len(paths), dir, err)
	}
	slices.Sort(paths)
	return paths
}

// SomeDocuments returns some n small ones of the documents of others, from here and there; or all if n is 0.
func SomeDocuments(t testing.TB, n int) (chosen []string) {
	t.Helper()
	const large = 60_000
	var small, special []string
	for _, path := range Documents(t) {
		about, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 && about.Size() > large {
			continue
		}
		small = append(small, path)
		for _, kind := range []string{"/signatures/", "/form/", "/pdf20/"} {
			if strings.Contains(path, kind) {
				special = append(special, path)
			}
		}
	}
	every := 1
	if n > 0 {
		every = max(1, len(small)/n)
	}
	for i := 0; i < len(small); i += every {
		chosen = append(chosen, small[i])
	}
	for i := 0; i < len(special); i += cmp.Or(len(special)/5, 1) {
		chosen = append(chosen, special[i])
	}
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

// Lettered is a page of glyphs, from 36 on, of a font that says what they mean.
func Lettered(t testing.TB, glyphs, meanings string) []byte {
	t.Helper()
	font := Load(t, strings.TrimSpace(Tool(t, "fc-match", "-f", "%{file}", "Liberation Sans")))
	stream := func(entries, content string) string {
		return fmt.Sprintf("<< %s/Length %d >>\nstream\n%s\nendstream", entries, len(content), content)
	}
	tells := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n" +
		"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + meanings + "\nendcmap CMapName currentdict /CMap defineresource pop end end"
	return write("1.7", map[int]string{
		1: "<< /Type /Catalog /Pages 2 0 R >>",
		2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		3: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200 ] /Resources << /Font << /F 6 0 R >> >> /Contents 5 0 R >>",
		4: "<< >>",
		5: stream("", "BT /F 24 Tf 20 100 Td <"+glyphs+"> Tj ET"),
		6: "<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+LiberationSans /Encoding /Identity-H /DescendantFonts [7 0 R] /ToUnicode 8 0 R >>",
		7: "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /ABCDEF+LiberationSans /FontDescriptor 9 0 R /DW 600 /CIDToGIDMap /Identity " +
			"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
		8: stream("", tells),
		9: "<< /Type /FontDescriptor /FontName /ABCDEF+LiberationSans /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 " +
			"/Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 /FontFile2 10 0 R >>",
		10: stream(fmt.Sprintf("/Length1 %d ", len(font)), string(font)),
	})
}
