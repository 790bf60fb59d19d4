package pdf

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// part is a file of an archive.
type splitPart struct {
	name    string
	content []byte
}

// splitParts splits a document, and fails the test unless all parts together have its pages.
func splitParts(t testing.TB, args SplitArgs, content []byte) (parts []splitPart) {
	t.Helper()
	made := makeOne(t, SplitJob.Name, args, content)
	archive, err := zip.NewReader(bytes.NewReader(made), int64(len(made)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, splitPart{file.Name, part})
	}
	return parts
}

// textsOf returns the names of parts with the texts of their pages.
func textsOf(t testing.TB, parts []splitPart, password string) (lines []string) {
	t.Helper()
	for _, part := range parts {
		texts := pageTexts(t, part.content, password)
		sound(t, part.content, password, len(texts))
		lines = append(lines, part.name+" "+strings.Join(texts, ","))
	}
	return lines
}

func TestSplit(t *testing.T) {
	for name, test := range map[string]struct {
		args SplitArgs
		want []string
	}{
		"pages":         {SplitArgs{Every: 1}, []string{"001.pdf alpha", "002.pdf beta", "003.pdf gamma"}},
		"two pages":     {SplitArgs{Every: 2}, []string{"001.pdf alpha,beta", "002.pdf gamma"}},
		"one part":      {SplitArgs{Every: 9}, []string{"001.pdf alpha,beta,gamma"}},
		"bookmarks":     {SplitArgs{Level: 1}, []string{"001-Start.pdf alpha,beta", "002-End.pdf gamma"}},
		"all bookmarks": {SplitArgs{Level: 2}, []string{"001-Start.pdf alpha", "002-Middle.pdf beta", "003-End.pdf gamma"}},
		"text":          {SplitArgs{Text: "  BE TA"}, []string{"001.pdf alpha", "002.pdf beta,gamma"}},
		"first page":    {SplitArgs{Text: "alpha"}, []string{"001.pdf alpha,beta,gamma"}},
		"large":         {SplitArgs{MaxBytes: 1 << 20}, []string{"001.pdf alpha,beta,gamma"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.args.Input = input("")
			parts := splitParts(t, test.args, linked().Write())
			if got := textsOf(t, parts, ""); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestSplitParts looks at what the parts have of the outline, the links and the form.
func TestSplitParts(t *testing.T) {
	parts := splitParts(t, SplitArgs{Input: input(""), Every: 2}, linked().Write())
	for i, want := range [][]string{{"Start 1", "  Middle 2"}, {"End 1"}} {
		if got := outlineOf(t, parts[i].content); !reflect.DeepEqual(got, want) {
			t.Errorf("part %d: outline %q, want %q", i, got, want)
		}
	}
	first := string(pdftest.Transform(t, parts[0].content, "--qdf", "--object-streams=disable"))
	for _, want := range []string{"kept value", "secret value", "alpha", "beta"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first part lacks %q", want)
		}
	}
	second := string(pdftest.Transform(t, parts[1].content, "--qdf", "--object-streams=disable"))
	for _, gone := range []string{"kept value", "secret value", "alpha", "beta", "/AcroForm", "Start"} {
		if strings.Contains(second, gone) {
			t.Errorf("the second part still has %q", gone)
		}
	}
	// Of the two links of the first page, one leads to the second page, and the other out of the part.
	if got := strings.Count(first, "/Dest ["); got != 3 {
		t.Errorf("the first part has %d destinations, want those of 2 bookmarks and 1 link:\n%s", got, first)
	}
}

// TestSplitEncrypted: parts are encrypted as the document is, with its passwords and permissions.
func TestSplitEncrypted(t *testing.T) {
	t.Parallel()
	plain := source{
		Pages: []string{"alpha", "beta", "gamma"}, Page: func(int) string { return "/PieceInfo 100 0 R" },
		Objects: []string{"<< /Note (secret) /Length 6 >>\nstream\nhidden\nendstream", "<< /Type /Metadata /Subtype /XML /Length 9 >>\nstream\n<public/>\nendstream"},
		Catalog: "/Metadata 101 0 R",
	}.Write()
	for _, how := range []string{
		"256 --print=none", "256 --print=none --cleartext-metadata", "256 --print=none --force-R5", "128 --print=none --use-aes=y",
		"128 --print=none --use-aes=y --cleartext-metadata", "128 --print=none", "128 --print=none --force-V4", "40 --print=n",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			content := pdftest.Transform(t, plain, slices.Concat([]string{"--allow-weak-crypto", "--encrypt", "u", "o"}, strings.Fields(how), []string{"--"})...)
			parts := splitParts(t, SplitArgs{Input: input("u"), Every: 2}, content)
			if got, want := textsOf(t, parts, "u"), []string{"001.pdf alpha,beta", "002.pdf gamma"}; !reflect.DeepEqual(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			part := pdftest.Save(t, parts[1].content)
			if about := pdftest.Tool(t, "pdfinfo", "-upw", "u", part); !strings.Contains(about, "print:no") {
				t.Errorf("the part does not forbid printing:\n%s", about)
			}
			pdftest.Tool(t, "qpdf", "--check", "--password=o", part)
			open := string(pdftest.Transform(t, parts[1].content, "--password=u", "--decrypt", "--qdf", "--object-streams=disable"))
			for _, text := range []string{"(secret)", "hidden", "<public/>"} {
				cleartext := text == "<public/>" && strings.Contains(how, "cleartext")
				if !strings.Contains(open, text) || bytes.Contains(parts[1].content, []byte(text)) != cleartext {
					t.Errorf("%s: opened %t, in clear text %t", text, strings.Contains(open, text), bytes.Contains(parts[1].content, []byte(text)))
				}
			}
		})
	}
	runFailing(t, job.PasswordRequired, SplitJob.Name, SplitArgs{Input: input(""), Every: 2}, pdftest.Transform(t, plain, "--encrypt", "u", "o", "256", "--"))
}

// TestSplitBySize fills parts: none is larger than allowed, and no two of them would fit into one.
func TestSplitBySize(t *testing.T) {
	s := source{Page: func(i int) string { return fmt.Sprintf("/PieceInfo %d 0 R", 100+i) }}
	for i := range 40 { // each page has data of its own that cannot be compressed
		data := strings.Map(func(rune) rune { return rune('!' + rand.IntN(90)) }, strings.Repeat("x", 5000+100*i))
		s.Pages = append(s.Pages, fmt.Sprintf("page %d", i+1))
		s.Objects = append(s.Objects, fmt.Sprintf("<< /Filter /JPXDecode /Length %d >>\nstream\n%s\nendstream", len(data), data))
	}
	content := s.Write()
	const maximum = 40_000
	parts := splitParts(t, SplitArgs{Input: input(""), MaxBytes: maximum}, content)
	pages := 0
	for i, part := range parts {
		texts := pageTexts(t, part.content, "")
		pages += len(texts)
		if len(part.content) > maximum || i+1 < len(parts) && len(part.content) < maximum/2 {
			t.Errorf("%s has %d bytes, %d pages", part.name, len(part.content), len(texts))
		}
	}
	if pages != 40 || len(parts) < 7 {
		t.Errorf("%d pages in %d parts", pages, len(parts))
	}
	if failed := runFailing(t, job.Unsplit, SplitJob.Name, SplitArgs{Input: input(""), MaxBytes: 2000}, content); !strings.Contains(failed.Text, "page 1 alone has") {
		t.Errorf("got %q", failed.Text)
	}
}

// TestSplitShares has pages that share resources in the tree of pages: a part has those that it uses.
func TestSplitShares(t *testing.T) {
	const images = 20
	var objects []string
	var names strings.Builder
	for i := range images {
		objects = append(objects, fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width 100 /Height 100 /BitsPerComponent 8 /ColorSpace /DeviceGray /Filter /JPXDecode /Length 10000 >>\nstream\n%s\nendstream", strings.Repeat(string(rune('a'+i)), 10000)))
		fmt.Fprintf(&names, "/I%d %d 0 R ", i, 100+i)
	}
	s := source{Objects: objects, Resources: "/XObject << " + names.String() + ">> "}
	for i := range images {
		s.Pages = append(s.Pages, fmt.Sprintf("p) Tj ET q 50 0 0 50 0 0 cm /I%d Do Q BT (x", i))
	}
	for _, part := range splitParts(t, SplitArgs{Input: input(""), Every: 1}, s.Write()) {
		const maximum = 12_000
		if len(part.content) > maximum {
			t.Errorf("%s has %d bytes, want %d at most", part.name, len(part.content), maximum)
		}
		sound(t, part.content, "", 1)
	}
}

func TestSplitIsRefused(t *testing.T) {
	doc := three().Write()
	for _, args := range []SplitArgs{{Level: 1}, {Text: "delta"}} {
		args.Input = input("")
		runFailing(t, job.Unsplit, SplitJob.Name, args, doc)
	}
	many := source{Pages: make([]string, job.MaxPages+1)}.Write()
	runFailing(t, job.TooManyPages, SplitJob.Name, SplitArgs{Input: input(""), Every: job.MaxPages + 1}, many)
}

// TestSplitManyPages makes single pages of a large document.
func TestSplitManyPages(t *testing.T) {
	sharedtest.Slow(t)
	s := source{Pages: make([]string, maxParts)}
	parts := splitParts(t, SplitArgs{Input: input(""), Every: 1}, s.Write())
	if len(parts) != maxParts || parts[maxParts-1].name != "5000.pdf" {
		t.Fatalf("%d parts, the last is %s", len(parts), parts[len(parts)-1].name)
	}
	sound(t, parts[maxParts-1].content, "", 1)
	s.Pages = append(s.Pages, "one more")
	runFailing(t, job.Unsplit, SplitJob.Name, SplitArgs{Input: input(""), Every: 1}, s.Write())
}

func TestSplitLabels(t *testing.T) {
	s := source{Pages: []string{"a", "b", "c", "d", "e"}, Catalog: "/PageLabels << /Nums [0 << /S /r >> 2 << /S /D /St 7 /P (A-) >>] >>"}
	parts := splitParts(t, SplitArgs{Input: input(""), Every: 2}, s.Write())
	for i, want := range []string{"/S /r", "/P (A-) /S /D /St 7", "/P (A-) /S /D /St 9"} {
		plain := strings.Join(strings.Fields(string(pdftest.Transform(t, parts[i].content, "--qdf", "--object-streams=disable"))), " ")
		if !strings.Contains(plain, want) {
			t.Errorf("part %d lacks the label %q:\n%s", i, want, plain)
		}
	}
}

func TestFileTitles(t *testing.T) {
	for title, want := range map[string]string{
		"Introduction": "Introduction", "1.2 Über uns & more": "1.2-Über-uns-&-more", "../../etc/passwd": "etc-passwd", "a\\b:c*d?\"e<f>|g": "a-b-c-d-e-f-g",
		"\x00\u202Eexe.fdp": "exe.fdp", "": "", "...": "", "CON": "CON", "東京　レポート": "東京-レポート", strings.Repeat("é", 80): strings.Repeat("é", 50),
		"a\xffb": "a-b",
	} {
		if got := fileTitle(title); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}

// TestSplitTagged keeps the structure of the pages of each part: a table that continues on the next page, with an
// empty cell.
func TestSplitTagged(t *testing.T) {
	s := source{
		Pages:   []string{"alpha", "beta"},
		Page:    func(i int) string { return fmt.Sprintf("/StructParents %d", i) },
		Catalog: "/MarkInfo << /Marked true >> /StructTreeRoot 100 0 R",
		Objects: []string{
			"<< /Type /StructTreeRoot /K [101 0 R] /ParentTree << /Nums [0 [105 0 R 107 0 R] 1 [109 0 R]] >> >>",
			"<< /S /Document /P 100 0 R /K [102 0 R 103 0 R] >>",
			"<< /S /Figure /P 101 0 R /Alt (nothing) >>",
			"<< /S /Table /P 101 0 R /K [104 0 R 108 0 R] >>",
			"<< /S /TR /P 103 0 R /K [105 0 R 106 0 R] >>",
			"<< /S /TD /P 104 0 R /Pg 10 0 R /K 0 >>",
			"<< /S /TD /P 104 0 R /K 107 0 R >>",
			"<< /S /P /P 106 0 R /K << /Type /MCR /Pg 10 0 R /MCID 1 >> >>",
			"<< /S /TR /P 103 0 R /K [109 0 R 110 0 R] >>",
			"<< /S /TD /P 108 0 R /K [<< /Type /MCR /Pg 12 0 R /MCID 0 >>] >>",
			"<< /S /TD /P 108 0 R /ActualText (empty) >>",
		},
	}
	parts := splitParts(t, SplitArgs{Input: input(""), Every: 1}, s.Write())
	for i, want := range []map[string]int{
		{"/Document": 1, "/Table": 1, "/TR": 1, "/TD": 2, "/P": 1}, {"/Document": 1, "/Table": 1, "/TR": 1, "/TD": 2},
	} {
		f, err := pdffile.Read(parts[i].content)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, ref := range f.References() {
			if name, ok := f.Dict(ref)["/S"].(string); ok && f.Dict(ref)["/P"] != nil {
				got[name]++
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("part %d: %v, want %v", i, got, want)
		}
		sound(t, parts[i].content, "", 1)
	}
}

// TestSplitRealDocuments splits documents from the wild into single pages: poppler draws them as before, and qpdf finds
// no more errors than in the document.
func TestSplitRealDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	done := 0
	for _, path := range someDocuments(t, *realRows) {
		content := pdftest.Load(t, path)
		result, err := runJob(t, InfoJob.Name, input(""), content)
		var about Info
		if err != nil || json.Unmarshal(result.Body, &about) != nil || about.Encrypted {
			continue
		}
		done++
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			const maximum = 5 // pages to be looked at
			looks := func(path string, page int) string {
				return pdftest.Tool(t, "pdftoppm", "-q", "-r", "40", "-f", fmt.Sprint(page), "-l", fmt.Sprint(page), path)
			}
			original := pdftest.Save(t, content)
			parts := splitParts(t, SplitArgs{Input: input(""), Every: 1}, content)
			if len(parts) != about.PageCount {
				t.Fatalf("%d parts, want %d", len(parts), about.PageCount)
			}
			for i, part := range parts[:min(maximum, len(parts))] {
				made := pdftest.Save(t, part.content)
				checkLike(t, "split", content, made)
				if looks(made, 1) != looks(original, i+1) {
					t.Errorf("page %d looks different", i+1)
				}
			}
		})
	}
	const fewest = 20
	if done < fewest {
		t.Errorf("only %d documents could be read", done)
	}
}
