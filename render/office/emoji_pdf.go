package office

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

const (
	// maxCodes bounds the codes of a font with one-byte codes.
	maxCodes = 256
	// widthOfM is the width of the unused m of fonts whose glyphs are images. PDF readers derive the size of such a
	// font from the width of its m, which has this width if it counts in thousandths of the size.
	widthOfM = 600
)

// finishColour completes the colour fonts in a PDF that LibreOffice wrote: without an m, poppler takes their size for
// a tiny one, and reads their glyphs next to their lines. The emoji font with a random name gets its usual name.
func finishColour(path, emojiName string) error {
	if n, err := countIn(path, "/Type3"); err != nil || n == 0 {
		return err
	}

	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := pdffile.Read(content)
	if err != nil {
		return err
	}

	update := file.NewUpdate()
	for _, ref := range file.Containing("/Type3", cmp.Or(emojiName, "/Type3")) {
		entries := file.Dict(ref)
		if entries["/Subtype"] == "/Type3" {
			entries = withM(file, update, entries)
		}
		for _, key := range []string{"/Name", "/BaseFont", "/FontName"} {
			if name, ok := entries[key].(string); ok && emojiName != "" {
				entries[key] = strings.Replace(name, emojiName, strings.ReplaceAll(emojiFamily, " ", ""), 1)
			}
		}
		if entries["/Type"] == "/Font" || entries["/Type"] == "/FontDescriptor" {
			update.Set(ref, entries)
		}
	}

	added, err := update.Append()
	if err != nil {
		return err
	}
	return appendTo(path, added)
}

// withM adds the m to a font whose glyphs are images, if it has a code left.
func withM(file *pdffile.File, update *pdffile.Update, entries pdffile.Dict) pdffile.Dict {
	widths, _ := file.Target(entries["/Widths"]).([]any)
	encoding := file.Entry(entries["/Encoding"])
	names, _ := file.Target(encoding["/Differences"]).([]any)
	procedures := file.Entry(entries["/CharProcs"])
	// The names follow the code 1; the code 0 has a width only.
	if procedures == nil || len(widths) == 0 || len(widths) >= maxCodes || len(names) != len(widths) {
		return entries
	}

	drawing := update.Reserve()
	update.Set(drawing, pdffile.Stream{Entries: pdffile.Dict{}, Content: fmt.Appendf(nil, "%d 0 d0", widthOfM)})
	procedures["/m"] = drawing
	encoding["/Differences"] = append(slices.Clone(names), "/m")

	entries["/CharProcs"] = procedures
	entries["/Encoding"] = encoding
	entries["/Widths"] = append(slices.Clone(widths), widthOfM)
	entries["/LastChar"] = len(widths)
	return entries
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
