package pdf

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// mergeOf merges documents, each with its password and title.
func mergeOf(passwords, titles []string) MergeArgs {
	var args MergeArgs
	for i := range passwords {
		args.Inputs = append(args.Inputs, MergeInput{job.Input{Name: inputName(i), Password: passwords[i]}, titles[i]})
	}
	return args
}

func TestMergeTakesEveryKindOfPDF(t *testing.T) {
	plain := three().Write()
	variants := map[string][]byte{
		"plain":           plain,
		"pdf20":           source{Pages: []string{"alpha", "beta", "gamma"}, Version: "2.0"}.Write(),
		"object streams":  pdftest.Transform(t, plain, "--object-streams=generate"),
		"linearized":      pdftest.Transform(t, plain, "--linearize"),
		"rc4 40":          pdftest.Transform(t, plain, "--allow-weak-crypto", "--encrypt", "geheim", "o", "40", "--"),
		"rc4 128":         pdftest.Transform(t, plain, "--allow-weak-crypto", "--encrypt", "geheim", "o", "128", "--use-aes=n", "--"),
		"aes 128":         pdftest.Transform(t, plain, "--allow-weak-crypto", "--encrypt", "geheim", "o", "128", "--use-aes=y", "--"),
		"aes 256 R5":      pdftest.Transform(t, plain, "--encrypt", "geheim", "o", "256", "--force-R5", "--"),
		"aes 256 R6":      pdftest.Transform(t, plain, "--encrypt", "geheim", "o", "256", "--"),
		"no user":         pdftest.Transform(t, plain, "--encrypt", "", "o", "256", "--"),
		"junk before":     append([]byte("HTTP/1.1 200 OK\r\n\r\n"), plain...),
		"broken xref":     bytes.Replace(plain, []byte("startxref\n"), []byte("startxref\n9"), 1),
		"without trailer": plain[:bytes.LastIndex(plain, []byte("xref\n0 "))],
	}
	for name, content := range variants {
		password := "geheim"
		if !strings.Contains(name, "aes") && !strings.Contains(name, "rc4") {
			password = ""
		}
		args := mergeOf([]string{"", password}, []string{"", ""})
		got := makeOne(t, MergeJob.Name, args, plain, content)
		sound(t, got, "", 6)
		if texts, want := pageTexts(t, got, ""), []string{"alpha", "beta", "gamma", "alpha", "beta", "gamma"}; !reflect.DeepEqual(texts, want) {
			t.Errorf("%s: got %q, want %q", name, texts, want)
		}
	}
}

func TestMergeNestsOutlines(t *testing.T) {
	second := three()
	second.Catalog = "/Outlines 100 0 R /Names << /Dests << /Names [(there) 101 0 R] >> >>"
	second.Objects = []string{
		"<< /Type /Outlines /First 102 0 R /Last 103 0 R /Count 2 >>", "<< /D [12 0 R /FitH 200] >>",
		"<< /Title <FEFF00C40062> /Parent 100 0 R /Next 103 0 R /Dest (there) >>",
		"<< /Title (Site) /Parent 100 0 R /Prev 102 0 R /A 104 0 R >>", "<< /S /URI /URI (https://example.com/) >>",
	}
	got := makeOne(t, MergeJob.Name, mergeOf([]string{"", "", ""}, []string{"One", "", "Zwö"}), linked().Write(), three().Write(), second.Write())
	sound(t, got, "", 9)
	want := []string{"One 1", "  Start 1", "    Middle 2", "  End 3", "Document 2 4", "Zwö 7", "  Äb 8", "  Site -"}
	if outline := outlineOf(t, got); !reflect.DeepEqual(outline, want) {
		t.Errorf("outline %q, want %q", outline, want)
	}
	if !bytes.Contains(got, []byte("https://example.com/")) {
		t.Error("the entry for an address has lost it")
	}
	if plain := makeOne(t, MergeJob.Name, mergeOf([]string{"", ""}, []string{"One", "Two"}), three().Write(), three().Write()); outlineOf(t, plain) != nil {
		t.Errorf("documents without outlines became one with %q", outlineOf(t, plain))
	}
}

// TestMergeKeepsLinks follows links by page and by name in each of the parts.
func TestMergeKeepsLinks(t *testing.T) {
	locked := pdftest.Transform(t, linked().Write(), "--object-streams=generate", "--encrypt", "u", "o", "256", "--")
	got := makeOne(t, MergeJob.Name, mergeOf([]string{"", "", "u"}, []string{"One", "Two", "Three"}), linked().Write(), three().Write(), locked)
	path := pdftest.Save(t, got)
	for _, link := range []struct {
		from, number int // the link is that annotation of the page, from 1
		to           int
	}{{1, 2, 2}, {1, 3, 3}, {7, 2, 8}, {7, 3, 9}} {
		annotation := pdftest.Tool(t, "mutool", "show", path, fmt.Sprintf("pages/%d/Annots/%d", link.from, link.number))
		page, _, _ := strings.Cut(pdftest.Tool(t, "mutool", "show", path, fmt.Sprintf("pages/%d", link.to)), " ")
		if !strings.Contains(annotation, "/Dest [ "+page+" 0 R /Fit ]") {
			t.Errorf("link %d of page %d does not lead to page %d, object %s:\n%s", link.number, link.from, link.to, page, annotation)
		}
	}
}

// TestMergeKeepsFormsApart merges a form with itself: each field keeps its own value under its own name.
func TestMergeKeepsFormsApart(t *testing.T) {
	form := linked()
	other := bytes.ReplaceAll(form.Write(), []byte("kept value"), []byte("more value"))
	got := pdftest.Transform(t, makeOne(t, MergeJob.Name, mergeOf([]string{"", ""}, []string{"", ""}), form.Write(), other), "--qdf", "--object-streams=disable")
	for _, want := range []string{"(kept value)", "(more value)"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("the result lacks %s", want)
		}
	}
	if n := bytes.Count(got, []byte("/T (first)")); n != 1 {
		t.Errorf("%d fields have the name first, want 1", n)
	}
}

func TestMergeNamesTheInputAtFault(t *testing.T) {
	doc := three().Write()
	locked := pdftest.Transform(t, doc, "--encrypt", "geheim", "o", "256", "--")
	for _, test := range []struct {
		content  []byte
		password string
		want     job.Kind
	}{
		{[]byte("GIF89a"), "", job.NotPDF},
		{[]byte("%PDF-1.7\nnothing more"), "", job.Damaged},
		{locked, "", job.PasswordRequired},
		{locked, "wrong", job.WrongPassword},
	} {
		args := mergeOf([]string{"", "", test.password}, []string{"", "", ""})
		if failed := runFailing(t, test.want, MergeJob.Name, args, doc, doc, test.content); failed.Input != 2 {
			t.Errorf("%s: input %d, want 2", test.want, failed.Input)
		}
	}
	long := source{Pages: make([]string, 1001)}.Write()
	if failed := runFailing(t, job.TooManyPages, MergeJob.Name, mergeOf([]string{"", ""}, []string{"", ""}), long, long); failed.Max != job.MaxPages {
		t.Errorf("the limit is %d pages, want %d", failed.Max, job.MaxPages)
	}
}
