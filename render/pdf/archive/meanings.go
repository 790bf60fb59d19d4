package archive

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// fontMeanings finds what the codes of fonts mean that do not say it (/ToUnicode). Ghostscript gives TrueType fonts
// other codes, after which neither their encoding nor their program says it any more.
type fontMeanings struct {
	*pdffile.File

	meanings *redact.Inspector
	page     *redact.PageCodes
	// codes are the meanings that MuPDF reads, by font and code.
	codes map[string]map[string]string
	// replaced are the characters that a reader has taken codes for by mistake.
	replaced characters
}

// tellMeanings gives fonts the meanings of the codes that pages show, as readers find them.
func (a *archiver) tellMeanings(ctx context.Context, from, to string) error {
	d := &job.Document{Work: a.Work, Name: from, Pages: a.Pages}
	f, err := d.ReadSelf()
	if err != nil {
		return a.Fail(job.Damaged, err)
	}
	pages, err := f.Pages(job.MaxPages)
	if err != nil {
		return &job.Error{Kind: job.NoArchive, Text: "cannot be converted to PDF/A: its page list is inconsistent", Cause: err}
	}

	m := &fontMeanings{File: f, meanings: &redact.Inspector{File: f, Fonts: map[string]*redact.FontMeaning{}}, codes: map[string]map[string]string{}, replaced: a.replaced}
	update := f.NewUpdate()
	if len(pages) == a.Pages && m.lacking() {
		if err := m.read(ctx, d, pages); err != nil {
			return err
		}
		named, err := m.ask(ctx, d)
		if err != nil {
			return err
		}
		m.writeMaps(update, named)
	}

	return d.WriteUpdated(from, to, update)
}

// lacking reports whether there is a font whose codes have to be read.
func (m *fontMeanings) lacking() bool {
	return slices.ContainsFunc(m.References(), func(ref string) bool { return m.lacks(ref) })
}

// lacks reports whether a font does not say what all of its codes mean, and would lose what they mean.
func (m *fontMeanings) lacks(ref string) bool {
	entries := m.Entry(ref)
	switch entries["/Subtype"] {
	case "/TrueType":
	case "/Type0":
		below, _ := m.Target(entries["/DescendantFonts"]).([]any)
		return entries["/ToUnicode"] == nil && len(below) == 1 && !m.collected(m.Entry(below[0]))
	default:
		return false
	}

	widths, _ := m.Target(entries["/Widths"]).([]any)
	used := 0
	for _, width := range widths {
		if n, ok := m.Target(width).(float64); ok && n != 0 {
			used++
		}
	}

	texts := m.meanings.Meaning(ref).Unicode
	return len(texts) == 0 || len(texts) < used
}

// collected reports whether the glyphs of a font have the numbers of a collection of Adobe, which readers know: MuPDF
// reads such fonts wrong that also say what their codes mean.
func (m *fontMeanings) collected(below pdffile.Dict) bool {
	system := m.Entry(below["/CIDSystemInfo"])
	return pdffile.Text(m.Target(system["/Registry"])) == "Adobe" && slices.Contains([]string{"Japan1", "GB1", "CNS1", "Korea1", "KR"}, pdffile.Text(m.Target(system["/Ordering"])))
}

// read collects what MuPDF reads on all pages.
func (m *fontMeanings) read(ctx context.Context, d *job.Document, pages []pdffile.Page) error {
	const probe = "marked.pdf"
	update, numbers, err := redact.WithMarks(m.File)
	if errors.Is(err, redact.ErrFilter) {
		return nil // it stays as it is
	}
	if err != nil {
		return d.Fail(job.Damaged, err)
	}
	if err := d.WriteUpdated(d.Name, probe, update); err != nil {
		return err
	}

	var reading sync.Mutex
	return job.InRuns(ctx, d.Pages, func(ctx context.Context, run, from, to int) error {
		input := redact.ReadInput{Input: probe, Output: "glyphs-", First: from, End: to, MarkGray: redact.MarkGray, MarkY: redact.MarkY}
		return redact.ReadRun(ctx, d, run, input, func(n int, codes redact.PageCodes) error {
			reading.Lock()
			defer reading.Unlock()
			m.page = &codes
			// What cannot be read of a page stays as it is: the texts are compared afterwards.
			_ = (&redact.Eraser{File: m.File, Update: m.NewUpdate(), Numbers: numbers, Page: codes, Reader: m}).Read(pages[n])
			return nil
		})
	})
}

func (m *fontMeanings) Begin(string, bool) {}
func (m *fontMeanings) End()               {}

// Show notes the meanings of the codes of an operation.
func (m *fontMeanings) Show(items []any, first, _ int, sizes []int, font any) {
	ref := pdffile.Reference(font)
	if sizes == nil || ref == "" || !m.lacks(ref) {
		return
	}

	if m.codes[ref] == nil {
		m.codes[ref] = map[string]string{}
	}

	texts := m.meanings.Meaning(ref).Unicode
	for _, item := range items {
		raw, _ := redact.RawBytes(item)
		for len(raw) > 0 {
			code := string(raw[:sizes[0]])
			if texts[code] == "" {
				m.codes[ref][code] = m.page.Codes[first].Text
			}
			raw, sizes, first = raw[sizes[0]:], sizes[1:], first+1
		}
	}
}

// probeLine is the distance of lines on the page of a font, in points, and probeSize the size of its letters.
const (
	probeLine = 30
	probeSize = 10
)

// ask returns what poppler reads for the codes of TrueType fonts: it knows more names of glyphs than MuPDF. Each font
// has a page, and each code a line.
func (m *fontMeanings) ask(ctx context.Context, d *job.Document) (named map[string]map[string]string, err error) {
	const probe = "fonts.pdf"
	fonts := slices.DeleteFunc(slices.Sorted(maps.Keys(m.codes)), func(ref string) bool {
		return m.Entry(ref)["/Subtype"] != "/TrueType" || len(m.codes[ref]) == 0
	})
	if len(fonts) == 0 {
		return nil, nil
	}

	update := m.NewUpdate()
	tree := update.Reserve()
	kids := []any{}
	for _, ref := range fonts {
		codes := slices.Sorted(maps.Keys(m.codes[ref]))
		height := probeLine * (len(codes) + 1)
		var content bytes.Buffer
		fmt.Fprintf(&content, "BT /F %d Tf\n", probeSize)
		for i, code := range codes {
			fmt.Fprintf(&content, "1 0 0 1 50 %d Tm <%x> Tj\n", height-probeLine*(i+1), code)
		}
		content.WriteString("ET")

		body := update.Reserve()
		page := update.Reserve()
		update.Set(body, pdffile.Stream{Entries: pdffile.Dict{}, Content: content.Bytes()})
		update.Set(page, pdffile.Dict{
			"/Type": "/Page", "/Parent": tree, "/MediaBox": []any{0, 0, 200, height}, "/Contents": body, "/Resources": pdffile.Dict{"/Font": pdffile.Dict{"/F": ref}},
		})
		kids = append(kids, page)
	}
	update.Set(tree, pdffile.Dict{"/Type": "/Pages", "/Kids": kids, "/Count": len(kids)})
	update.Set(m.Root(), pdffile.Dict{"/Type": "/Catalog", "/Pages": tree})
	if err := d.WriteUpdated(d.Name, probe, update); err != nil {
		return nil, err
	}

	out, err := d.Work.Exec(ctx, engine.Program{Name: "pdftotext", MaxStdout: job.MaxTextBytes, Args: []string{"-q", "-bbox", "-enc", "UTF-8", engine.PathArg(probe), "-"}})
	if err != nil {
		return nil, d.Damaged(err)
	}
	return readLines(out, fonts, m.codes), nil
}

// readLines reads the words of the pages of fonts by their height.
func readLines(out []byte, fonts []string, codes map[string]map[string]string) map[string]map[string]string {
	named := map[string]map[string]string{}
	decoder := xml.NewDecoder(bytes.NewReader(out))
	decoder.Strict = false
	decoder.AutoClose = xml.HTMLAutoClose
	decoder.Entity = xml.HTMLEntity
	page := -1
	var sorted []string

	for {
		token, err := decoder.Token()
		if err != nil {
			return named // io.EOF, or letters that are not XML: MuPDF reads them, too
		}
		element, ok := token.(xml.StartElement)
		switch {
		case ok && element.Name.Local == "page":
			if page++; page >= len(fonts) {
				return named
			}
			sorted = slices.Sorted(maps.Keys(codes[fonts[page]]))
			named[fonts[page]] = map[string]string{}

		case ok && element.Name.Local == "word" && page >= 0:
			var top, bottom float64
			for _, attribute := range element.Attr {
				switch attribute.Name.Local {
				case "yMin":
					_, _ = fmt.Sscan(attribute.Value, &top)
				case "yMax":
					_, _ = fmt.Sscan(attribute.Value, &bottom)
				}
			}

			var text strings.Builder
			for {
				token, err := decoder.Token()
				if letters, is := token.(xml.CharData); is {
					text.Write(letters)
				}
				if _, ends := token.(xml.EndElement); ends || err != nil {
					break
				}
			}

			const middle = 3.5 // above the line
			if line := int(math.Round(((top+bottom)/2+middle)/probeLine)) - 1; line >= 0 && line < len(sorted) {
				named[fonts[page]][sorted[line]] += text.String()
			}
		}
	}
}

// writeMaps writes the meanings into fonts.
func (m *fontMeanings) writeMaps(update *pdffile.Update, named map[string]map[string]string) {
	for _, ref := range slices.Sorted(maps.Keys(m.codes)) {
		entries := m.Entry(ref)
		meanings := maps.Clone(m.meanings.Meaning(ref).Unicode)
		sizes := map[int]bool{}

		for code, text := range m.codes[ref] {
			name := named[ref][code]
			means := m.choose(entries, code, text, name)
			if means == "" {
				continue
			}
			meanings[code], sizes[len(code)] = means, true
			for _, other := range []string{text, name} {
				if isText(other) && other != means {
					m.replaced.add(other)
				}
			}
		}

		if len(sizes) != 1 {
			continue // there is nothing to tell, or codes of several sizes, for which readers have no common table
		}

		table := update.Reserve()
		update.Set(table, pdffile.Deflated(pdffile.Dict{}, meaningTable(meanings)))
		entries = pdffile.Without(entries)
		entries["/ToUnicode"] = table
		update.Set(ref, entries)
	}
}

// choose returns what a code means, by what MuPDF and poppler read. Where the encoding names the glyph, poppler knows
// the name; elsewhere MuPDF reads the font itself.
func (m *fontMeanings) choose(entries pdffile.Dict, code, text, name string) string {
	encoding := m.Target(entries["/Encoding"])
	isNamed := encoding != nil
	if list, ok := encoding.(pdffile.Dict); ok && list["/BaseEncoding"] == nil {
		isNamed = m.differs(list, code)
	}

	first := text
	second := name
	if isNamed {
		first = name
		second = text
	}

	for _, means := range []string{first, second} {
		if isText(means) {
			return means
		}
	}
	return ""
}

// differs reports whether an encoding names the glyph of a code.
func (m *fontMeanings) differs(encoding pdffile.Dict, code string) bool {
	list, _ := m.Target(encoding["/Differences"]).([]any)
	at := 0

	for _, item := range list {
		switch item := m.Target(item).(type) {
		case float64:
			at = int(item)
		case string:
			if at == int(code[0]) {
				return true
			}
			at++
		}
	}
	return false
}

// isText reports whether readers have understood a code: what it means is not a sign for that, or for private use.
func isText(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || r < ' '
	})
}

// meaningTable is the table of what codes mean (/ToUnicode).
func meaningTable(meanings map[string]string) []byte {
	const maximum = 100 // in one part
	codes := slices.Sorted(maps.Keys(meanings))
	size := 1
	for _, code := range codes {
		size = max(size, len(code))
	}

	var b bytes.Buffer
	b.WriteString("/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n" +
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n")
	fmt.Fprintf(&b, "1 begincodespacerange <%s> <%s> endcodespacerange\n", strings.Repeat("00", size), strings.Repeat("ff", size))
	for part := range slices.Chunk(codes, maximum) {
		fmt.Fprintf(&b, "%d beginbfchar\n", len(part))
		for _, code := range part {
			var text []byte
			for _, unit := range utf16.Encode([]rune(meanings[code])) {
				text = append(text, byte(unit>>8), byte(unit))
			}
			fmt.Fprintf(&b, "<%x> <%s>\n", code, hex.EncodeToString(text))
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap CMapName currentdict /CMap defineresource pop end end\n")
	return b.Bytes()
}
