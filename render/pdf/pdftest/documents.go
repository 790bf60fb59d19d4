package pdftest

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
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
	u, root := pdffile.NewDocument()
	add := func(value any) string {
		ref := u.Reserve()
		u.Set(ref, value)
		return ref
	}
	stream := func(entries pdffile.Dict, content []byte) string {
		return add(pdffile.Stream{Entries: entries, Content: content})
	}
	descriptor := add(pdffile.Dict{
		"/Type": "/FontDescriptor", "/FontName": "/ABCDEF+LiberationSans", "/Flags": 4, "/FontBBox": []any{0, -200, 1000, 900}, "/ItalicAngle": 0,
		"/Ascent": 900, "/Descent": -200, "/CapHeight": 700, "/StemV": 80, "/FontFile2": stream(pdffile.Dict{"/Length1": len(font)}, font),
	})
	descendant := add(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/CIDFontType2", "/BaseFont": "/ABCDEF+LiberationSans", "/FontDescriptor": descriptor, "/DW": 600, "/CIDToGIDMap": "/Identity",
		"/CIDSystemInfo": pdffile.Dict{"/Registry": "b:41646f6265", "/Ordering": "b:4964656e74697479", "/Supplement": 0},
	})
	tells := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n" +
		"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + meanings + "\nendcmap CMapName currentdict /CMap defineresource pop end end"
	face := add(pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type0", "/BaseFont": "/ABCDEF+LiberationSans", "/Encoding": "/Identity-H",
		"/DescendantFonts": []any{descendant}, "/ToUnicode": stream(pdffile.Dict{}, []byte(tells)),
	})
	pages := u.Reserve()
	page := add(pdffile.Dict{
		"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 400, 200}, "/Resources": pdffile.Dict{"/Font": pdffile.Dict{"/F": face}},
		"/Contents": stream(pdffile.Dict{}, []byte("BT /F 24 Tf 20 100 Td <"+glyphs+"> Tj ET")),
	})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Kids": []any{page}, "/Count": 1})
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages})
	return bytes.Replace(u.Document(root), []byte("%PDF-1.3"), []byte("%PDF-1.7"), 1)
}
