package pdf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// madeArchive makes PDF/A of a document, and returns what was changed.
func madeArchive(t testing.TB, level archive.Level, content []byte) ([]byte, string) {
	t.Helper()
	result, err := runJob(t, archive.Job.Name, archive.Args{Input: input(""), Level: level}, content)
	if err != nil {
		t.Fatal(err)
	}
	var told job.Changed
	if err := json.Unmarshal(result.Body, &told); err != nil {
		t.Fatal(err)
	}
	return read(t, result), strings.Join(told.Changes, "\n")
}

// passesCheck reports the rules of pdf.check that an archive breaks, of all standards that it claims.
func passesCheck(t testing.TB, level archive.Level, archived []byte) {
	t.Helper()
	standards := claimed(t, archived)
	if want := pdffile.Standard("a-" + level); !slices.Contains(standards, want) {
		t.Errorf("an archive claims %q, want %s", standards, want)
	}

	args := CheckArgs{Input: input(""), Standards: standards}
	report := unmarshal[pdfcheck.Report](t, result(t, CheckJob.Name, args, archived))
	for _, r := range report.Results {
		for _, v := range r.Violations {
			t.Errorf("an archive violates %s %s-%d: %s %+v", r.Standard, v.Clause, v.Test, v.Message, v.Places)
		}
	}
}

// claimed returns the standards that a document claims.
func claimed(t testing.TB, document []byte) (standards []pdffile.Standard) {
	t.Helper()
	about := unmarshal[Metadata](t, result(t, MetadataJob.Name, input(""), document))
	for _, name := range about.Standards {
		standards = append(standards, pdffile.Standard(name))
	}
	return standards
}

// TestArchivePassesCheck makes archives of a document that claims PDF/UA-1, which stays true. All other tests of the
// job check their results in the same way: see do.
func TestArchivePassesCheck(t *testing.T) {
	t.Parallel()
	document := conforming(t)
	for _, level := range []archive.Level{archive.Level1B, archive.Level2B, archive.Level3B} {
		made, _ := madeArchive(t, level, document)
		if accessible := slices.Contains(claimed(t, made), pdffile.UA1); accessible != (level != archive.Level1B) {
			t.Errorf("%s: claims PDF/UA-1: %v", level, accessible)
		}
	}
}

// TestArchivedIsChecked checks what others made: a document is of its own level only.
func TestArchivedIsChecked(t *testing.T) {
	t.Parallel()
	plain := pdftest.Three().Write()
	made, _ := madeArchive(t, archive.Level2B, plain)
	if _, err := runJob(t, archive.ClaimJob.Name, archive.CheckArgs{Input: input(""), Level: archive.Level2B}, made); err != nil {
		t.Errorf("what was made so: %v", err)
	}
	for _, test := range []struct {
		level   archive.Level
		content []byte
		want    string
	}{{archive.Level3B, made, "another part of PDF/A than 3"}, {archive.Level2B, plain, "no XMP metadata"}} {
		failed := runFailing(t, job.NoArchive, archive.ClaimJob.Name, archive.CheckArgs{Input: input(""), Level: test.level}, test.content)
		if !strings.Contains(failed.Text, test.want) {
			t.Errorf("%s: %q, want %q", test.level, failed.Text, test.want)
		}
	}
}

// TestArchiveRealDocuments makes PDF/A of each level of documents from the wild: veraPDF accepts them, their pages look
// as they did, and readers find the characters that they found, or the document is refused in words. The flag
// -documents=0 takes all documents.
func TestArchiveRealDocuments(t *testing.T) { //nolint:tparallel // It waits for its documents.
	sharedtest.Slow(t)
	t.Parallel()
	var made sync.Map // levels, by path
	dir := t.TempDir()
	t.Run("documents", func(t *testing.T) {
		for i, path := range someDocuments(t, *realRows) {
			for n, level := range []archive.Level{archive.Level1B, archive.Level2B, archive.Level3B} {
				if *realRows > 0 && i%3 != n {
					continue // each takes a second or more
				}
				t.Run(fmt.Sprintf("%s as %s", filepath.Base(path), level), func(t *testing.T) {
					t.Parallel()
					archiveReal(t, dir, path, level, &made)
				})
			}
		}
	})

	files, done := map[archive.Level][]string{}, 0
	made.Range(func(path, level any) bool {
		files[level.(archive.Level)] = append(files[level.(archive.Level)], path.(string))
		done++
		return true
	})
	const fewest = 12
	if done < fewest {
		t.Errorf("%d documents were archived, want %d", done, fewest)
	}
	for level, files := range files {
		for file, rules := range pdftest.VeraPDF(t, string(level), files...) {
			t.Errorf("%s is not PDF/A-%s: %q", file, level, rules)
		}
	}
}

// archiveReal archives a document into a folder, and notes where the result is.
func archiveReal(t *testing.T, dir, path string, level archive.Level, made *sync.Map) {
	t.Helper()
	content := pdftest.Load(t, path)
	result, err := runJob(t, archive.Job.Name, archive.Args{Input: input(""), Level: level}, content)
	var failed *job.Error
	if errors.As(err, &failed) && failed.Kind != job.Exhausted {
		t.Skipf("refused: %s %s", failed.Kind, failed.Text)
	}
	if err != nil {
		t.Fatal(err)
	}
	archived := read(t, result)
	changes := strings.Join(unmarshal[job.Changed](t, result.Body).Changes, "\n")
	keep(t, string(level)+" "+filepath.Base(path), archived)
	lookAlike(t, filepath.Base(path), content, archived)
	for _, lost := range []string{"no longer be copied", "text of such pages was lost"} {
		if strings.Contains(changes, lost) {
			t.Logf("changes: %s", changes)
		}
	}

	file := filepath.Join(dir, fmt.Sprintf("%s %s.pdf", strings.ReplaceAll(t.Name(), "/", " "), level))
	if err := os.WriteFile(file, archived, 0o600); err != nil {
		t.Fatal(err)
	}
	made.Store(file, level)
}

// TestArchivePassesVeraPDF: colours of several inks, dates of odd time zones, forms, layers and
// attachments are PDF/A by another validator's rules.
func TestArchivePassesVeraPDF(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	inks := source{
		Pages: []string{"inks"},
		Info:  "/CreationDate (D:20240229120000+05'30')",
		Objects: []string{
			"[/DeviceN [/Orange /Cyan] /DeviceCMYK 101 0 R]",
			"<< /FunctionType 4 /Domain [0 1 0 1] /Range [0 1 0 1 0 1 0 1] /Length 31 >>\nstream\n{ exch dup 0.5 mul exch 0 exch 0 } \nendstream",
		},
	}.Write()
	inks = bytes.ReplaceAll(inks, []byte("/Resources <<"), []byte("/Resources << /ColorSpace << /Inks 100 0 R >>"))
	for name, content := range map[string][]byte{"inks": inks, "much": archivist().Write(), "pages": pdftest.Three().Write()} {
		for _, level := range []archive.Level{archive.Level1B, archive.Level2B, archive.Level3B} {
			made, _ := madeArchive(t, level, content)
			for file, rules := range pdftest.VeraPDF(t, string(level), pdftest.Save(t, made)) {
				t.Errorf("%s: %s is not PDF/A-%s: %q", name, file, level, rules)
			}
			if name == "inks" && !strings.Contains(pdftest.Tool(t, "pdfinfo", "-rawdates", pdftest.Save(t, made)), "D:20240229120000+05'30'") {
				t.Errorf("%s: the time zone of its date is lost", level)
			}
		}
	}
}

// TestArchivedRefusesTextWithoutGlyphs: text that shows .notdef is not PDF/A.
func TestArchivedRefusesTextWithoutGlyphs(t *testing.T) {
	t.Parallel()
	content := pdftest.Lettered(t, "00240000", "1 beginbfchar <0024> <0041> endbfchar")
	failed := runFailing(t, job.NoArchive, archive.ClaimJob.Name, archive.CheckArgs{Input: input(""), Level: archive.Level2B}, content)
	if want := "Text has no glyph in its font (.notdef) on page 1;"; !strings.Contains(failed.Text, want) {
		t.Errorf("got %q, want %q", failed.Text, want)
	}
}

// lookAlike compares the first pages of two documents, and their text.
func lookAlike(t *testing.T, name string, before, after []byte) {
	t.Helper()
	about := unmarshal[Info](t, result(t, InfoJob.Name, input(""), before))
	for page := 1; page <= min(3, about.PageCount); page++ {
		// MuPDF uses the same profile that Ghostscript gives colours without one.
		if share := differing(t, drawMuPDF(t, after, page), drawMuPDF(t, before, page)); share > 0.06 {
			t.Errorf("%s: page %d: %.1f %% of the pixels differ", name, page, 100*share)
		}
	}
}

// archivist is a document with much that an archive cannot have as it is.
func archivist() source {
	return source{
		Pages: []string{"alpha", "beta", "gamma"},
		Info:  "/Title (A & B <c>) /Author <FEFF0158006500F3> /CreationDate (D:20240229120000+02'00')",
		Catalog: "/Lang (de-DE) /PageLabels << /Nums [0 << /S /r >> 2 << /S /D /P (A-) >>] >> /OpenAction [12 0 R /Fit] /AA << /WC 110 0 R >> " +
			"/Names << /JavaScript << /Names [(x) 110 0 R] >> /EmbeddedFiles << /Names [(data.xml) 101 0 R] >> >> /AF [101 0 R] /Outlines 104 0 R " +
			"/AcroForm << /Fields [103 0 R] /XFA (x) >> /OCProperties << /OCGs [107 0 R 108 0 R] /D << /OFF [107 0 R] /Order [107 0 R 108 0 R] >> >>",
		Objects: []string{
			"<< /Type /EmbeddedFile /Subtype /text#2Fxml /Length 4 >>\nstream\n<a/>\nendstream",
			"<< /Type /Filespec /F (data.xml) /UF (data.xml) /AFRelationship /Data /Desc (the data) /EF << /F 100 0 R >> >>",
			"<< /Type /XObject /Subtype /Form /BBox [0 0 80 20] /Resources << /Font << /F1 3 0 R >> >> /Length 38 >>\nstream\nBT /F1 12 Tf 2 5 Td (kept value) Tj ET \nendstream",
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (first) /V (kept value) /F 4 /Rect [10 10 90 30] /P 10 0 R /AP << /N 102 0 R >> >>",
			"<< /Type /Outlines /First 105 0 R /Last 106 0 R /Count 2 >>",
			"<< /Title <FEFF005A0061010D00E100740065006B> /Parent 104 0 R /Next 106 0 R /Dest [10 0 R /Fit] >>",
			"<< /Title (Script) /Parent 104 0 R /Prev 105 0 R /A 110 0 R >>",
			"<< /Type /OCG /Name (off) >>", "<< /Type /OCG /Name (on) >>",
			"<< /Type /XObject /Subtype /Form /OC 107 0 R /BBox [0 0 300 300] /Resources << /Font << /F1 3 0 R >> >> /Length 43 >>\nstream\nBT /F1 20 Tf 9 200 Td (never shown) Tj ET  \nendstream",
			"<< /S /JavaScript /JS (app.alert\\(1\\)) >>",
		},
		Annots: map[int]string{
			0: "103 0 R << /Type /Annot /Subtype /Link /Rect [40 300 100 330] /Border [0 0 0] /Dest [12 0 R /Fit] >> " +
				"<< /Type /Annot /Subtype /Link /Rect [40 200 100 230] /Border [0 0 0] /A << /S /URI /URI (https://example.com/) >> >> " +
				"<< /Type /Annot /Subtype /Link /Rect [40 100 100 130] /Border [0 0 0] /A << /S /Launch /F (calc.exe) >> >>",
			1: "<< /Type /Annot /Subtype /Text /Rect [200 300 220 320] /Contents (A note) /Name /Note >> " +
				"<< /Type /Annot /Subtype /FreeText /Rect [100 100 200 120] /F 2 /Contents (hidden words) /DA (/Helv 12 Tf 0 g) >> << /Type /Annot /Subtype /Movie /Rect [1 1 9 9] >>",
			2: "<< /Type /Annot /Subtype /FileAttachment /Rect [1 1 9 9] /FS 101 0 R >>",
		},
	}
}

// archivistPDF also has a layer that is off, and text that nobody sees.
func archivistPDF(t testing.TB) []byte {
	t.Helper()
	text := strings.Replace(string(archivist().Write()), "/Resources << /Font << /F1 3 0 R >> >> >>", "/Resources << /Font << /F1 3 0 R >> /XObject << /Off 109 0 R >> >> >>", 1)
	text = strings.Replace(text, "BT /F1 24 Tf 40 300 Td (alpha) Tj ET", "/Off Do BT /F1 24 Tf 40 300 Td (alpha) Tj 3 Tr 0 -50 Td (read by OCR) Tj ET", 1)
	result, err := runJob(t, RepairJob.Name, input(""), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, result)
}

// TestArchiveKeeps looks what becomes of everything that a document may have.
func TestArchiveKeeps(t *testing.T) {
	sharedtest.Slow(t)
	document := archivistPDF(t)
	for _, level := range []archive.Level{archive.Level1B, archive.Level2B, archive.Level3B} {
		t.Run(string(level), func(t *testing.T) {
			made, changes := madeArchive(t, level, document)
			keep(t, "archivist "+string(level)+".pdf", made)
			sound(t, made, "", 3)
			path := pdftest.Save(t, made)
			for page := 1; page <= 3; page++ {
				if share := differing(t, draw(t, made, page), draw(t, document, page)); share > 0.02 {
					t.Errorf("page %d: %.1f %% of the pixels differ", page, 100*share)
				}
			}
			text := pdftest.Tool(t, "pdftotext", path, "-")
			for word, want := range map[string]bool{"alpha": true, "gamma": true, "read by OCR": true, "kept value": true, "never shown": false, "hidden words": false} {
				if strings.Contains(text, word) != want {
					t.Errorf("%q in the text is %v, want %v:\n%s", word, !want, want, text)
				}
			}
			if outline := outlineOf(t, made); len(outline) == 0 || outline[0] != "Začátek 1" {
				t.Errorf("outline %q", outline)
			}
			plain := string(pdftest.Transform(t, made, "--qdf", "--object-streams=disable"))
			for _, want := range []string{"/Lang", "/PageLabels", "(A-)", "/OpenAction", "https://example.com/", "3 Tr", "/Subtype /Text", "/PageLabels"} {
				if !strings.Contains(plain, want) {
					t.Errorf("%s has gone", want)
				}
			}
			for _, gone := range []string{"/JavaScript", "/Launch", "/XFA", "/Movie", "calc.exe", "/Widget", "/OCProperties", "never shown"} {
				if strings.Contains(plain, gone) {
					t.Errorf("%s is still there", gone)
				}
			}
			about := unmarshal[Info](t, result(t, InfoJob.Name, input(""), made))
			if about.Title != "A & B <c>" || about.Author != "Řeó" || about.CreatedAt == nil || about.CreatedAt.Format("2006-01-02T15:04:05-07:00") != "2024-02-29T12:00:00+02:00" {
				t.Errorf("information %+v", about)
			}
			if !strings.Contains(plain, "A &amp; B &lt;c&gt;") {
				t.Error("XMP has not the title")
			}
			wanted := []string{"Form fields (1)", "Scripts and actions", "Hidden comments and fields (1)", `"Movie"`, "Layers were removed", "Helvetica"}
			list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), made)).Attachments
			if level == archive.Level3B {
				wanted = append(wanted, "Attached files remain")
				if len(list) == 0 || list[0].Filename != "data.xml" || list[0].ContentType != "text/xml" || !strings.Contains(plain, "/AFRelationship /Data") {
					t.Errorf("attachments %+v", list)
				}
			} else {
				wanted = append(wanted, `removed: "data.xml"`)
				if len(list) > 0 {
					t.Errorf("attachments %+v", list)
				}
			}
			for _, want := range wanted {
				if !strings.Contains(changes, want) {
					t.Errorf("nothing says %q:\n%s", want, changes)
				}
			}
		})
	}
}

// TestArchiveTransparency keeps transparency where it is allowed. Elsewhere pages become
// images, whose words stay where they were for two readers.
func TestArchiveTransparency(t *testing.T) {
	sharedtest.Slow(t)
	s := three()
	s.Objects = []string{"<< /Type /ExtGState /ca 0.5 >>"}
	text := strings.Replace(string(s.Write()), "/Resources << /Font << /F1 3 0 R >> >> >>", "/Resources << /Font << /F1 3 0 R >> /ExtGState << /G 100 0 R >> >> >>", 1)
	text = strings.Replace(text, "BT /F1 24 Tf 40 300 Td (alpha)", "/G gs 1 0 0 rg 30 290 99 30 re f BT /F1 24 Tf 40 300 Td (alpha)", 1)
	document := makeOne(t, RepairJob.Name, input(""), []byte(text))
	for level, rasterImage := range map[archive.Level]bool{archive.Level1B: true, archive.Level2B: false} {
		made, changes := madeArchive(t, level, document)
		keep(t, "transparent "+string(level)+".pdf", made)
		if share := differing(t, draw(t, made, 1), draw(t, document, 1)); share > 0.02 {
			t.Errorf("%s: %.1f %% of the pixels differ", level, 100*share)
		}
		if seen := pdftest.Tool(t, "mutool", "draw", "-q", "-F", "text", pdftest.Save(t, made), "1"); !strings.Contains(seen, "\nalpha") {
			t.Errorf("%s: MuPDF reads %q", level, seen)
		}
		texts := pageTexts(t, made, "")
		if texts[0] != "alpha" || texts[1] != "beta" || strings.Contains(changes, "an invisible text layer: 1.") != rasterImage || strings.Contains(changes, "was lost") {
			t.Errorf("%s: texts %q, changes %s", level, texts, changes)
		}
	}
}

// TestArchiveWords reads words of pages that have become images where they were, on turned
// pages too.
func TestArchiveWords(t *testing.T) {
	sharedtest.Slow(t)
	s := three()
	s.Objects = []string{"<< /Type /ExtGState /ca 0.5 >>"}
	text := strings.Replace(string(s.Write()), "/Resources << /Font << /F1 3 0 R >> >> >>", "/Resources << /Font << /F1 3 0 R >> /ExtGState << /G 100 0 R >> >> >>", 1)
	text = strings.Replace(text, "BT /F1 24 Tf 40 300 Td (alpha)", "/G gs BT /F1 24 Tf 40 300 Td (alpha omega 1234)", 1)
	plain := makeOne(t, RepairJob.Name, input(""), []byte(text))
	box := regexp.MustCompile(`<word xMin="([0-9.]+)" yMin="([0-9.]+)" xMax="([0-9.]+)" yMax="([0-9.]+)">(.*)</word>`)
	boxes := func(document []byte) [][]string {
		return box.FindAllStringSubmatch(pdftest.Tool(t, "pdftotext", "-bbox", "-l", "1", pdftest.Save(t, document), "-"), -1)
	}
	for turn, document := range map[string][]byte{
		"upright": plain, "to the right": makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input(""), Pages: "1"}, 90}, plain),
		"to the left": makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input(""), Pages: "1"}, 270}, plain),
	} {
		made, changes := madeArchive(t, archive.Level1B, document)
		if got := pageTexts(t, made, "")[0]; got != "alpha omega 1234" || !strings.Contains(changes, "an invisible text layer: 1.") {
			t.Errorf("%s: the page says %q, changes %s", turn, got, changes)
		}
		if seen := pdftest.Tool(t, "mutool", "draw", "-q", "-F", "text", pdftest.Save(t, made), "1"); !strings.Contains(seen, "alpha omega 1234") {
			t.Errorf("%s: MuPDF reads %q", turn, seen)
		}
		want, got := boxes(document), boxes(made)
		if len(want) != 3 || len(got) != len(want) {
			t.Fatalf("%s: words %q, want those of %q", turn, got, want)
		}
		for i := range want {
			for side := 1; side <= 4; side++ {
				a, errA := strconv.ParseFloat(want[i][side], 64)
				b, errB := strconv.ParseFloat(got[i][side], 64)
				if errors.Join(errA, errB) != nil || math.Abs(a-b) > 1 || want[i][5] != got[i][5] {
					t.Errorf("%s: %q, want %q", turn, got[i], want[i])
				}
			}
		}
	}
}

// TestArchiveKeepsFigures refuses a document whose digits have other text than the glyphs
// suggest, as browsers write tabular ones: Ghostscript leaves that text out, and a copied
// amount would be wrong.
func TestArchiveKeepsFigures(t *testing.T) {
	for said, refused := range map[string]bool{"1,20 EUR": true, "words": false} {
		text := strings.Replace(string(three().Write()), "BT /F1 24 Tf 40 300 Td (alpha) Tj", "/Span << /ActualText ("+said+") >> BDC BT /F1 24 Tf 40 300 Td (alpha) Tj EMC", 1)
		document := makeOne(t, RepairJob.Name, input(""), []byte(text))
		if got := pageTexts(t, document, "")[0]; got != said {
			t.Fatalf("the page says %q, want %q", got, said)
		}
		if !refused {
			madeArchive(t, archive.Level2B, document)
			continue
		}
		failed := runFailing(t, job.NoArchive, archive.Job.Name, archive.Args{Input: input(""), Level: archive.Level2B}, document)
		if !strings.Contains(failed.Text, "digits on page 1") {
			t.Errorf("got %q", failed.Text)
		}
	}
}

// TestArchiveImages keeps JPEGs to the byte, and other images to the pixel.
func TestArchiveImages(t *testing.T) {
	document := album(t)
	made, _ := madeArchive(t, archive.Level2B, document)
	keep(t, "album.pdf", made)
	for page := 1; page <= 8; page++ {
		if share := differing(t, drawMuPDF(t, made, page), drawMuPDF(t, document, page)); share > 0.02 {
			t.Errorf("page %d: %.1f %% of the pixels differ", page, 100*share)
		}
	}
	if list := imagesOf(t, made); !strings.HasSuffix(list[0], "jpeg") || strings.Count(strings.Join(list, "\n"), "jpeg") != 1 {
		t.Errorf("images are\n%s", strings.Join(list, "\n"))
	}
}

// TestArchiveUnits makes an archive of a page whose unit is two points, and of pages whose
// boxes begin elsewhere than at zero.
func TestArchiveUnits(t *testing.T) {
	t.Parallel()
	document := bytes.Replace(three().Write(), []byte("/MediaBox [0 0 300 400]"), []byte("/MediaBox [0 0 300 400] /UserUnit 2"), 1)
	document = bytes.Replace(document, []byte("/MediaBox [0 0 301 400]"), []byte("/MediaBox [-50 20 301 400] /CropBox [-20 100 290 390] /Rotate 90"), 1)
	made, _ := madeArchive(t, archive.Level2B, document)
	pages := about(t, made, "").Pages
	if pages[0].Width != 600 || pages[0].Height != 800 || pages[1].Width*pages[1].Height != 310*290 {
		t.Errorf("pages are %+v", pages)
	}
}

// TestArchiveSealed archives documents that are encrypted and signed, and says so.
func TestArchiveSealed(t *testing.T) {
	signed := archivist()
	signed.Objects = append(signed.Objects, "<< /Type /Sig /Filter /Adobe.PPKLite /ByteRange [0 1 2 3] /Contents <00> >>")
	locked := pdftest.Transform(t, signed.Write(), "--encrypt", "u", "o", "256", "--")
	runFailing(t, job.PasswordRequired, archive.Job.Name, archive.Args{Input: input(""), Level: archive.Level2B}, locked)
	runFailing(t, job.WrongPassword, archive.Job.Name, archive.Args{Input: input("x"), Level: archive.Level2B}, locked)
	result, err := runJob(t, archive.Job.Name, archive.Args{Input: input("u"), Level: archive.Level2B, Info: pdffile.Info{Title: "Ours", Keywords: "a, b"}}, locked)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no longer encrypted"} {
		if !strings.Contains(string(result.Body), want) {
			t.Errorf("nothing says %q: %s", want, result.Body)
		}
	}
	made := read(t, result)
	sound(t, made, "", 3)
	var about Info
	described, err := runJob(t, InfoJob.Name, input(""), made)
	if err != nil || json.Unmarshal(described.Body, &about) != nil || about.Title != "Ours" || !slices.Equal(about.Keywords, []string{"a", "b"}) || about.Author != "Řeó" {
		t.Errorf("information %+v, %v", about, err)
	}
}

// TestArchiveOffice archives what LibreOffice makes of a form.
func TestArchiveOffice(t *testing.T) {
	if testing.Short() {
		t.Skip("starts LibreOffice")
	}
	document := officePDF(t, filepath.Join("testdata", "form.fodt"))
	made, changes := madeArchive(t, archive.Level2B, document)
	lookAlike(t, "office", document, made)
	if !strings.Contains(changes, "Form fields") {
		t.Errorf("changes: %s", changes)
	}
}

// TestArchiveCheck breaks rules of pdf.check: a document that is PDF/A is none after.
func TestArchiveCheck(t *testing.T) {
	document, _ := madeArchive(t, archive.Level3B, archivistPDF(t))
	plain := string(pdftest.Transform(t, document, "--qdf", "--object-streams=disable", "--static-id"))
	check := func(text string, level archive.Level) string {
		path := pdftest.Save(t, []byte(text))
		mended := path + ".mended"
		// fix-qdf would not write streams whose length has changed; qpdf repairs.
		pdftest.Tool(t, "sh", "-c", `qpdf --warning-exit-0 --no-warn --stream-data=preserve --object-streams=disable "$1" "$2"`, "sh", path, mended)
		violations, err := archive.Check(pdftest.Load(t, mended), level)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(violations, "; ")
	}
	if violations := check(plain, archive.Level3B); violations != "" {
		t.Fatalf("before anything is broken: %s", violations)
	}

	for _, test := range []struct {
		name, old, new string
		level          archive.Level
		want           string
	}{
		{"another level", "", "", archive.Level2B, "another part of PDF/A than 2 (clause 6.6.4)"},
		{"files in 2b", "", "", archive.Level2B, "An embedded file is not a PDF"},
		{"no XMP", "/Metadata ", "/Metaxxxx ", archive.Level3B, "no XMP"},
		{"no profile for ink", "BT\n", "0 0 0 1 k BT\n", archive.Level3B, "without a CMYK output intent (clause 6.2.4.3, page 2)"},
		{"a script", "/OpenAction [", "/OpenAction << /S /JavaScript /JS (x) >> /OpenOther [", archive.Level3B, "An action is of a kind"},
		{"scripts by name", "/Names <<", "/Names << /JavaScript << /Names [(x) << /S /JavaScript /JS (x) >>] >>", archive.Level3B, "An action is of a kind"},
		{"events", "/Lang ", "/AA << >> /Lang ", archive.Level3B, "Events of the document"},
		{"XFA", "/Lang ", "/AcroForm << /XFA (x) >> /Lang ", archive.Level3B, "XFA"},
		{"a font", "/FontFile3 ", "/FontFilx3 ", archive.Level3B, "A font is not embedded (clause 6.2.11.4.1, page 1)"},
		{"launch", "/S /URI", "/S /Launch", archive.Level3B, "An action is of a kind"},
		{"hidden", "/F 4", "/F 2", archive.Level3B, "hidden or not printed"},
		{"no relation", "/AFRelationship", "/AFRelationshix", archive.Level3B, "(AFRelationship)"},
		{"an operator", "BT\n", "zz BT\n", archive.Level3B, "operator"},
		{"LZW", "/Lang ", "/X 9000 0 R /Lang ", archive.Level3B, "LZWDecode"},
		{"layers", "/Lang ", "/OCProperties << >> /Lang ", archive.Level1B, "layers"},
	} {
		broken := plain
		if test.old != "" {
			if broken = strings.Replace(plain, test.old, test.new, 1); broken == plain {
				t.Errorf("%s: %q is not there", test.name, test.old)
				continue
			}
		}
		broken = strings.Replace(broken, "\nxref\n", "\n9000 0 obj\n<< /Filter /LZWDecode /Length 1 >>\nstream\nx\nendstream\nendobj\nxref\n", 1)
		if violations := check(broken, test.level); !strings.Contains(violations, test.want) {
			t.Errorf("%s: %q, want %q", test.name, violations, test.want)
		}
	}

	violations, err := archive.Check([]byte(strings.Replace(string(document), "/ID", "/IX", 1)), archive.Level3B)
	if err != nil || !slices.Equal(violations, []string{"The file has no identifier: ID in the trailer (clause 6.1.3)"}) {
		t.Errorf("without an identifier: %q, %v", violations, err)
	}
}

// TestArchiveIsCheckedWhole checks content that exceeds the limit, or has a filter that is not read: an archive with
// such content is refused.
func TestArchiveIsCheckedWhole(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	for name, test := range map[string]struct {
		content any
		refused bool
	}{
		"short": {pdffile.Deflated(pdffile.Dict{}, bytes.Repeat([]byte{' '}, 1000)), false},
		"long":  {pdffile.Deflated(pdffile.Dict{}, append(bytes.Repeat([]byte{' '}, limit), "unknown"...)), true},
		"other": {pdffile.Stream{Entries: pdffile.Dict{"/Filter": "/ASCIIHexDecode"}, Content: []byte("20>")}, true},
	} {
		document := withContent(t, contentCase{resources: func(func(any) string) (pdffile.Dict, pdffile.Dict) { return pdffile.Dict{}, nil }, content: test.content})
		violations, err := archive.Check(document, archive.Level2B)
		if err != nil || test.refused != (len(violations) == 1 && strings.Contains(violations[0], "cannot be checked")) || !test.refused && len(violations) > 0 {
			t.Errorf("%s: %q, %v", name, violations, err)
		}
	}
}

// TestArchiveHostile gives it documents that would keep it busy for ever.
func TestArchiveHostile(t *testing.T) {
	t.Parallel()
	for name, content := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, failed := attempt(t, archive.Job.Name, archive.Args{Input: input(""), Level: archive.Level3B}, content)
			if failed == nil {
				passesCheck(t, archive.Level3B, read(t, result))
			}
		})
	}
}

// TestArchiveLimitsNumbers: a document with rectangles that reach far beyond its pages becomes PDF/A-1b.
func TestArchiveLimitsNumbers(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	document := pdftest.Load(t, filepath.Join(pdftest.Corpus(t), "pkg", "samples", "grid", "GridFromPDF.pdf"))
	made, _ := madeArchive(t, archive.Level1B, document)
	for file, rules := range pdftest.VeraPDF(t, "1b", pdftest.Save(t, made)) {
		t.Errorf("%s is not PDF/A-1b: %q", file, rules)
	}
}
