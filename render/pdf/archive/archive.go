// Package archive converts PDFs to PDF/A, and checks the result.
package archive

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Args are the arguments of a Job. The output is the PDF, and the
// result is a Changed.
type Args struct {
	Input job.Input
	Level Level
	// Empty fields keep the document's own values.
	pdffile.Info
}

// Level is one of PDF/A.
type Level string

// The levels of PDF/A that there are.
const (
	Level1B Level = "1b"
	Level2B Level = "2b"
	Level3B Level = "3b"
)

// part returns the part of the standard.
func (l Level) part() int { return int(l[0] - '0') }

//go:embed layers.js
var archiveLayersScript string

//go:embed open.js
var archiveOpenScript string

//go:embed fonts.js
var archiveFontsScript string

//go:embed texts.js
var archiveTextsScript string

//go:embed code.js
var archiveCodeScript string

//go:embed decode.js
var archiveDecodeScript string

//go:embed close.js
var archiveCloseScript string

//go:embed glyphs.js
var archiveGlyphsScript string

// archiveSetup is the program that Ghostscript runs before the document. It sets the profile for the document's
// colours.
//
//go:embed pdfa.ps
var archiveSetup []byte

// profiles is the folder of the profiles that come with Ghostscript: sRGB, and the profile for CMYK colours without
// one.
const (
	profiles     = "/usr/share/color/icc/ghostscript/"
	ColorProfile = profiles + "srgb.icc"
)

// archiveInput are the arguments of both scripts.
type archiveInput struct {
	Input    string            `json:"input"`
	Output   string            `json:"output"`
	Level    Level             `json:"level"`
	Metadata string            `json:"metadata,omitempty"` // file that XMP is written to
	First    string            `json:"first,omitempty"`    // the document as it came
	Before   string            `json:"before,omitempty"`   // the document as it was rendered
	XMP      string            `json:"xmp,omitempty"`
	Info     map[string]string `json:"info,omitempty"`
	Meanings []string          `json:"meanings,omitempty"` // of letters in fonts
}

// archiveFound lists the content that the first script removed or found.
type archiveFound struct {
	Info      map[string]string
	Actions   int
	Fields    int
	Hidden    int // hidden annotations
	Comments  int // annotations other than links and fields
	Undrawn   int // annotations without an appearance
	Kinds     []string
	Files     []string
	Fonts     []string // that are not in the file
	Tagged    bool
	Layers    bool
	Overprint bool
}

// Job converts a PDF to PDF/A and validates the result.
var Job = job.Define("pdf.pdfa", engine.MakeTime, Convert)

// Convert makes a document PDF/A. If its pages are known to be PDF/A, they stay as they are. Otherwise Ghostscript
// draws its pages again, as text, lines and images. Parts that Ghostscript would leave out silently are removed
// before and reported, or put back afterwards. The result is checked by our own rules.
func Convert(ctx context.Context, w *engine.Work, args Args) (job.Changed, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return job.Changed{}, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return job.Changed{}, err
	}
	if err := doc.CheckDrawn(); err != nil {
		return job.Changed{}, err
	}

	encrypted, err := job.FileContains(w.Path(doc.Name), "/Encrypt")
	if err != nil {
		return job.Changed{}, err
	}

	a := &archiver{Document: doc, args: args, replaced: characters{}}
	if !encrypted {
		if done, err := a.direct(); done || err != nil {
			return job.Changed{Changes: a.changes(false)}, err
		}
	}

	const first = "first.pdf"
	if err := doc.WriteTo(ctx, first, job.QPDFJob{"decrypt": "", "objectStreams": "disable"}); err != nil {
		return job.Changed{}, err
	}
	doc.Name = first
	doc.Password = ""
	// A document may have said that it has fewer pages.
	if err := doc.Count(ctx); err != nil {
		return job.Changed{}, doc.Damaged(err)
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return job.Changed{}, err
	}

	if a.Document, a.missing, err = form.WithAppearances(ctx, doc); err != nil {
		return job.Changed{}, err
	}
	if err := a.run(ctx); err != nil {
		return job.Changed{}, err
	}
	return job.Changed{Changes: a.changes(encrypted)}, nil
}

// archiver is the work on one document.
type archiver struct {
	*job.Document

	args       Args
	found      archiveFound
	about      archiveMetadata
	pageImages []int // pages that became images, for their transparency
	poorer     []int // pages that have lost text
	garbled    garbledText
	replaced   characters // that readers found only because a font did not say what its codes mean
	lost       bool       // XMP had more than is stored
	missing    []string   // fields and comments with letters that no font has
}

func (a *archiver) run(ctx context.Context) error {
	const open, flat, told, meant, metadata, drawn, made = "open.pdf", "flat.pdf", "told.pdf", "meant.pdf", "metadata.xml", "drawn.pdf", "archive.pdf"

	var err error
	script := []byte(job.DrawScript + archiveLayersScript + archiveOpenScript)
	a.found, err = job.RunScript[archiveFound](ctx, a.Document, "open.js", script, archiveInput{Input: a.Name, Output: open, Level: a.args.Level, Metadata: metadata})
	if err != nil {
		return err
	}

	xmp, err := os.ReadFile(a.Work.Path(metadata))
	if err != nil {
		return a.Fail(job.Damaged, err)
	}
	a.about, a.lost = readArchiveMetadata(a.found.Info, xmp)
	a.about.override(a.args)
	a.about.accessible = false // Ghostscript removes the structure

	// Ghostscript mixes up the appearances of several comments, so they become part of pages here.
	if err := (&job.Document{Work: a.Work, Name: open}).WriteFlat(ctx, flat, "all"); err != nil {
		return err
	}
	if _, err := job.RunScript[bool](ctx, a.Document, "texts.js", []byte(job.DrawScript+archiveFontsScript+archiveTextsScript), archiveInput{Input: flat, Output: told}); err != nil {
		return err
	}

	if err := a.tellMeanings(ctx, told, meant); err != nil {
		return err
	}
	if err := a.drawCoded(ctx, meant, drawn); err != nil {
		return err
	}
	if err := a.addTextLayer(ctx, meant, drawn); err != nil {
		return err
	}
	if err := a.limitNumbers(drawn); err != nil {
		return err
	}

	now := time.Now().UTC()
	input := archiveInput{
		Input: drawn, Output: made, Level: a.args.Level, First: a.Name, Before: open,
		XMP: a.about.xmp(a.args.Level, now), Info: a.about.info(now),
	}
	_, err = job.RunScript[bool](ctx, a.Document, "close.js", []byte(job.DrawScript+archiveCloseScript), input)
	if err != nil {
		return err
	}

	if err := a.verify(ctx, told, meant, made); err != nil {
		return err
	}

	if err := os.Rename(a.Work.Path(made), a.Work.Path(job.Output)); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	a.Work.Output(job.Output)
	return nil
}

// drawCoded converts a document whose fonts encode the information that Ghostscript would lose, and restores their
// original names.
func (a *archiver) drawCoded(ctx context.Context, name, drawn string) error {
	const coded, raw = "coded.pdf", "raw.pdf"
	meanings, err := job.RunScript[[]string](ctx, a.Document, "code.js", []byte(job.DrawScript+archiveFontsScript+archiveCodeScript), archiveInput{Input: name, Output: coded})
	if err != nil {
		return err
	}

	if len(meanings) == 0 {
		return a.draw(ctx, coded, drawn)
	}
	if err := a.draw(ctx, coded, raw); err != nil {
		return err
	}

	input := archiveInput{Input: raw, Output: drawn, Meanings: meanings}
	_, err = job.RunScript[bool](ctx, a.Document, "decode.js", []byte(job.DrawScript+archiveFontsScript+archiveDecodeScript), input)
	return err
}

// draw has Ghostscript rewrite a document. If it finds something that PDF/A forbids,
// Ghostscript continues without PDF/A and exits with 0; only its output mentions the
// problem.
func (a *archiver) draw(ctx context.Context, name, drawn string) error {
	const setup = "setup.ps"
	if err := os.WriteFile(a.Work.Path(setup), archiveSetup, 0o600); err != nil {
		return fmt.Errorf("setup: %w", err)
	}

	args := []string{
		"-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", fmt.Sprintf("-dPDFA=%d", a.args.Level.part()), "-dPDFACompatibilityPolicy=2",
		// The colours stay unchanged, each with its profile; JPEGs stay as they are, and other images lose nothing.
		"-sColorConversionStrategy=UseDeviceIndependentColor",
		"-dDownsampleColorImages=false", "-dDownsampleGrayImages=false", "-dDownsampleMonoImages=false",
		"-dAutoFilterColorImages=false", "-dAutoFilterGrayImages=false", "-dColorImageFilter=/FlateEncode", "-dGrayImageFilter=/FlateEncode",
		// Colours of several inks become those that they look like: an archive would have to describe each ink.
		"-dPreserveDeviceN=false",
		"-dAutoRotatePages=/None", "-dPrinted=false", "--permit-file-read=" + profiles,
	}
	if a.args.Level == Level1B {
		// Pages with transparency become images of this resolution in dpi.
		args = append(args, "-r300")
	}

	printed, err := a.Work.Exec(ctx, engine.Program{Name: "gs", Args: append(args, "-o", drawn, setup, name), MaxStdout: maxSaid, Joined: true})
	if errors.Is(err, engine.ErrNoProgram) {
		return &job.Error{Kind: job.NoProgram, Text: "Ghostscript", Cause: err}
	}
	if err := a.Damaged(err); err != nil {
		return err
	}

	if found := refusal.FindSubmatch(printed); found != nil {
		return &job.Error{Kind: job.NoArchive, Text: "cannot be converted to PDF/A: " + joined(found[1])}
	}
	if bytes.Contains(printed, []byte("This file had errors that were repaired")) || bytes.Contains(printed, []byte("Error:")) {
		a.found.Kinds = append(a.found.Kinds, repaired)
	}
	return nil
}

// addTextLayer adds an invisible text layer to pages that were rendered as images. Only the oldest level has such
// pages.
func (a *archiver) addTextLayer(ctx context.Context, before, drawn string) error {
	if a.args.Level != Level1B {
		return nil
	}

	source := &job.Document{Work: a.Work, Name: before}
	made := &job.Document{Work: a.Work, Name: drawn}
	f, err := made.ReadSelf()
	if err != nil {
		return a.Fail(job.Damaged, err)
	}

	if a.pageImages = picturePages(f); len(a.pageImages) == 0 {
		return nil
	}
	return layWords(ctx, source, made, a.pageImages)
}

// repaired is among the kinds of a document whose pages are damaged.
const repaired = "repaired"

// maxSaid is the maximum size of Ghostscript's output about a document.
const maxSaid = 16 << 20

// refusal is Ghostscript's message that its output will not be PDF/A.
var refusal = regexp.MustCompile(`(?s)GPL Ghostscript [0-9.]+: ([^:]{1,300}?)(?:[,.]\s*)?(?:aborting conversion|reverting to normal|PDF/A conversion aborted)`)

// joined makes a part of a sentence of a program's output.
func joined(text []byte) string {
	return strings.Trim(strings.Join(strings.Fields(string(text)), " "), " ,.")
}

// verify returns an error unless the result is PDF/A by our rules, with the same text as the source.
func (a *archiver) verify(ctx context.Context, before, meant, name string) error {
	source := &job.Document{Work: a.Work, Name: before}
	made := &job.Document{Work: a.Work, Name: name}
	told := &job.Document{Work: a.Work, Name: meant}

	for _, d := range []*job.Document{source, made, told} {
		if err := d.Count(ctx); err != nil {
			return a.Damaged(err)
		}
	}

	if made.Pages != source.Pages {
		return &job.Error{Kind: job.NoArchive, Text: fmt.Sprintf("cannot be converted to PDF/A: only %d of %d pages can be rendered", made.Pages, source.Pages)}
	}
	if err := mustBeArchive(ctx, made, a.args.Level); err != nil {
		return err
	}
	if err := a.sameText(ctx, source, told, made); err != nil {
		return err
	}
	return a.sameLook(ctx, source, made)
}

const (
	// lookedAt is the number of pages that are rendered at a low resolution, to check that their appearance has not
	// changed.
	lookedAt = 30
	lookDPI  = 24
	// otherLook is the share of dots from which on a page looks different, and otherDot
	// from how many steps of grey on a dot does.
	otherLook = 0.1
	otherDot  = 80
)

// sameLook returns an error if pages do not look the same. Of many pages, it checks a sample.
func (a *archiver) sameLook(ctx context.Context, source, made *job.Document) error {
	tree, err := source.ReadSelf()
	if err != nil {
		return a.Fail(job.Damaged, err)
	}
	pages, err := tree.Pages(job.MaxPages)
	if err != nil {
		return a.Fail(job.Damaged, err)
	}

	units := &job.Structure{File: tree}
	for n := 1; n <= source.Pages; n += 1 + source.Pages/lookedAt {
		// Ghostscript draws a page as large as its unit makes it, poppler does not.
		unit := units.Paper(pages[n-1].Entries).Unit
		before, err := job.DrawGray(ctx, source, source.Name, n, max(1, int(lookDPI*unit)))
		if err != nil {
			return err
		}
		after, err := job.DrawGray(ctx, made, made.Name, n, lookDPI)
		if err != nil {
			return err
		}

		if !alike(before, after) {
			return &job.Error{Kind: job.NoArchive, Text: fmt.Sprintf("cannot be converted to PDF/A: page %d would look different", n)}
		}
	}

	return nil
}

// alike reports whether two scans show the same.
func alike(s, other *job.Scan) bool {
	// A size may be rounded in two ways.
	if w, h := s.Width-other.Width, s.Height-other.Height; max(w, -w, h, -h) > 1 {
		return false
	}

	different := 0
	width, height := min(s.Width, other.Width), min(s.Height, other.Height)

	for y := range height {
		for x := range width {
			if d := int(s.Pixels[y*s.Width+x]) - int(other.Pixels[y*other.Width+x]); max(d, -d) >= otherDot {
				different++
			}
		}
	}

	return float64(different) <= otherLook*float64(width*height)
}

// sameText fails if pages have lost their text, or have other text than before. Pages that
// are images now are noted, and pages on which single characters have become others.
//
// MuPDF reads the source. Poppler reads the copy whose fonts say what their codes mean: it finds wrong characters in
// some fonts that do not.
func (a *archiver) sameText(ctx context.Context, source, told, made *job.Document) error {
	texts, err := shownTexts(ctx, told)
	if err != nil {
		return err
	}
	now, err := shownTexts(ctx, made)
	if err != nil {
		return err
	}
	before, err := readCharacters(ctx, source)
	if err != nil {
		return err
	}
	after, err := readCharacters(ctx, made)
	if err != nil {
		return err
	}

	same := len(texts) == source.Pages && len(now) == source.Pages // else fonts call letters form feeds: the pages cannot be separated
	for i := range before {
		var unread []rune // by poppler
		if same {
			read := characters{}
			left := characters{}
			read.add(texts[i])
			left.add(now[i])
			unread, _ = read.without(before[i].beside).lost(left, nil)
		}
		if slices.Contains(a.pageImages, i+1) {
			if same && (hasFigure(unread) || job.CountLetters(now[i]) < job.CountLetters(texts[i])) {
				a.poorer = append(a.poorer, i+1)
			}
			continue
		}

		if hasFigure(unread) {
			return &job.Error{Kind: job.NoArchive, Text: fmt.Sprintf("cannot be converted to PDF/A: "+
				"digits on page %d could no longer be copied, because their font has no character codes", i+1)}
		}

		left := maps.Clone(after[i].shown)
		for r, n := range after[i].beside {
			left[r] += n
		}

		missing, times := before[i].shown.lost(left, a.replaced)
		if all := before[i].shown.count(); times > few+all/2 {
			return &job.Error{Kind: job.NoArchive, Text: fmt.Sprintf(
				"cannot be converted to PDF/A: page %d has %d letters of text, of which %d could no longer be copied",
				i+1, all, times,
			)}
		}
		if same {
			beside := before[i].beside.count()
			if difference := job.CountLetters(now[i]) - job.CountLetters(texts[i]); max(difference, -difference) > few+beside+job.CountLetters(texts[i])/2 {
				return &job.Error{Kind: job.NoArchive, Text: fmt.Sprintf(
					"cannot be converted to PDF/A: page %d has %d letters of text and would have %d",
					i+1, job.CountLetters(texts[i]), job.CountLetters(now[i]),
				)}
			}
		}

		if missing = append(missing, unread...); len(missing) > 0 {
			a.garbled.add(i+1, missing)
		}
	}

	if len(a.garbled.pages) == 0 {
		return nil
	}

	f, err := source.ReadSelf()
	if err != nil {
		return a.Fail(job.Damaged, err)
	}
	a.garbled.findFonts(f)
	return nil
}

// few letters may differ, for fields that are drawn in two ways, such as check marks.
const few = 20

// shownTexts returns the visible texts of pages.
func shownTexts(ctx context.Context, d *job.Document) ([]string, error) {
	out, err := d.DrawPages(ctx, d.Pages, engine.Program{Name: "pdftotext", MaxStdout: job.MaxTextBytes, Args: []string{"-q", "-cropbox", "-enc", "UTF-8", engine.PathArg(d.Name), "-"}})
	if err != nil {
		return nil, d.Damaged(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\f"), "\f"), nil
}

// shortFaults writes the first of many faults.
func shortFaults(faults []string) string {
	const maximum = 3
	if len(faults) > maximum {
		return strings.Join(faults[:maximum], "; ") + fmt.Sprintf("; and %d more", len(faults)-maximum)
	}
	return strings.Join(faults, "; ")
}

// fontNames are names of fonts as people write them.
func fontNames(names []string) []string {
	var plain []string
	for _, name := range names {
		plain = append(plain, escapedByte.ReplaceAllStringFunc(name, func(text string) string {
			code, _ := strconv.ParseUint(text[1:], 16, 8)
			return string(rune(code))
		}))
	}
	slices.Sort(plain)
	return plain
}

var escapedByte = regexp.MustCompile(`#[0-9A-Fa-f]{2}`)

// changes describes the differences of the result.
func (a *archiver) changes(encrypted bool) []string {
	f := a.found
	var differences []string
	say := func(really bool, format string, args ...any) {
		if really {
			differences = append(differences, fmt.Sprintf(format, args...))
		}
	}

	say(encrypted, "The document is no longer encrypted: anyone can open it.")
	say(f.Fields > 0, "Form fields (%d) were flattened into their pages, with their values.", f.Fields)
	say(f.Actions > 0, "Scripts and actions (%d) were removed.", f.Actions)
	if a.args.Level == Level3B {
		say(len(f.Files) > 0, "Attached files remain, each with its relationship to the document.")
	} else {
		say(len(f.Files) > 0, "Attached files were removed: %s. Level 3b preserves them.", job.ShortList(f.Files))
	}

	say(f.Hidden > 0, "Hidden comments and fields (%d) were removed.", f.Hidden)
	say(f.Comments > 0, "Comments and drawings (%d) were flattened into their pages; their text remains as notes.", f.Comments)
	say(len(a.missing) > 0, job.PoorerText, job.ShortList(a.missing))
	say(f.Undrawn > 0, "Comments (%d) without an appearance are no longer visible.", f.Undrawn)

	repairs := slices.Contains(f.Kinds, repaired)
	kinds := slices.DeleteFunc(slices.Clone(f.Kinds), func(kind string) bool { return kind == repaired })
	say(len(kinds) > 0, "Annotations that PDF/A does not allow were removed: %s.", job.ShortList(kinds))
	say(f.Layers, "Layers were removed: visible content is part of the pages, hidden content was deleted.")
	say(f.Tagged, "Structure tags for screen readers were removed.")
	say(f.Overprint, "Overprint mode was changed to 0.")
	say(len(f.Fonts) > 0, "Missing fonts were embedded or replaced: %s.", job.ShortList(fontNames(f.Fonts)))
	say(len(a.pageImages) > 0, "Pages with transparency were converted to images with an invisible text layer: %s. Levels 2b and 3b preserve them.", job.RangeText(a.pageImages))
	say(len(a.poorer) > 0, "Some text of such pages was lost: %s.", job.RangeText(a.poorer))
	say(len(a.garbled.pages) > 0, "Characters on some pages can no longer be copied or searched: %s on %s, in the fonts: %s.",
		a.garbled.describe(), job.RangeText(a.garbled.pages), job.ShortList(fontNames(a.garbled.fonts)))
	say(a.lost, "Metadata other than title, author, subject, keywords, program and dates was removed.")
	say(repairs, "The document has errors in its pages; unreadable content may be missing.")

	return differences
}
