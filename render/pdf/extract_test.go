package pdf

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// linked is a document whose pages, outline, form and names refer to one
// another in the ways that documents do.
func linked() source {
	return source{
		pages:   []string{"alpha", "beta", "gamma"},
		catalog: "/Outlines 100 0 R /PageMode /UseOutlines /Dests << /named [14 0 R /Fit] >> /AcroForm << /Fields [104 0 R 105 0 R] /DA (/Helv 0 Tf) >>",
		objects: []string{
			"<< /Type /Outlines /First 101 0 R /Last 103 0 R /Count 2 >>",
			"<< /Title (Start) /Parent 100 0 R /Next 103 0 R /First 102 0 R /Last 102 0 R /Count -1 /A 106 0 R >>",
			"<< /Title (Middle) /Parent 101 0 R /Dest [12 0 R /Fit] /C [1 0 0] /F 2 >>",
			"<< /Title (End) /Parent 100 0 R /Prev 101 0 R /Dest /named >>",
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (first) /V (kept value) /Rect [10 10 90 30] /P 10 0 R >>",
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (second) /V (secret value) /Rect [10 10 90 30] /P 12 0 R >>",
			"<< /S /GoTo /D [10 0 R /XYZ 0 300 null] >>",
		},
		annots: map[int]string{
			0: "104 0 R << /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest [12 0 R /Fit] >> << /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest /named >>",
			1: "105 0 R",
		},
	}
}

func TestExtractKeepsOrderAndRepeats(t *testing.T) {
	for _, test := range []struct {
		pages string
		want  []string
	}{
		{"", []string{"alpha", "beta", "gamma"}},
		{"3,1,1", []string{"gamma", "alpha", "alpha"}},
		{"last,-2", []string{"gamma", "alpha", "beta"}},
		{"even", []string{"beta"}},
	} {
		got := make1(t, ExtractJob, Selection{Input: input(""), Pages: test.pages}, linked().write())
		sound(t, got, "", len(test.want))
		if texts := pageTexts(t, got, ""); !reflect.DeepEqual(texts, test.want) {
			t.Errorf("pages %q: got %q, want %q", test.pages, texts, test.want)
		}
	}
}

func TestExtractKeepsTheOutlineOfKeptPages(t *testing.T) {
	for _, test := range []struct {
		pages string
		want  []string
	}{
		{"", []string{"Start 1", "  Middle 2", "End 3"}},
		{"2", []string{"Start -", "  Middle 1"}},
		{"3,1", []string{"Start 2", "End 1"}},
	} {
		got := make1(t, ExtractJob, Selection{Input: input(""), Pages: test.pages}, linked().write())
		if outline := outlineOf(t, got); !reflect.DeepEqual(outline, test.want) {
			t.Errorf("pages %q: outline %q, want %q", test.pages, outline, test.want)
		}
	}
}

// TestExtractLeavesNothingBehind looks for the content of removed pages where
// it could hide: behind links, outline entries and fields.
func TestExtractLeavesNothingBehind(t *testing.T) {
	content := linked().write()
	packed := transform(t, content, "--object-streams=generate")
	for name, got := range map[string][]byte{
		"extract":        make1(t, ExtractJob, Selection{Input: input(""), Pages: "1,3"}, content),
		"delete":         make1(t, DeletePagesJob, Selection{Input: input(""), Pages: "2"}, content),
		"packed extract": make1(t, ExtractJob, Selection{Input: input(""), Pages: "1,3"}, packed),
		"packed delete":  make1(t, DeletePagesJob, Selection{Input: input(""), Pages: "2"}, packed),
	} {
		if outline, want := outlineOf(t, got), []string{"Start 1", "End 2"}; !reflect.DeepEqual(outline, want) {
			t.Errorf("%s: outline %q, want %q", name, outline, want)
		}
		plain := transform(t, got, "--qdf", "--object-streams=disable")
		for _, gone := range []string{"beta", "secret value"} {
			if bytes.Contains(plain, []byte(gone)) {
				t.Errorf("%s: the result still holds %q", name, gone)
			}
		}
		for _, kept := range []string{"alpha", "gamma", "kept value"} {
			if !bytes.Contains(plain, []byte(kept)) {
				t.Errorf("%s: the result lacks %q", name, kept)
			}
		}
		sound(t, got, "", 2)
	}
}

func TestSelectionsAreRefused(t *testing.T) {
	doc := three().write()
	for _, job := range []string{ExtractJob, DeletePagesJob} {
		failed := fails(t, BeyondEnd, job, Selection{Input: input(""), Pages: "2-4"}, doc)
		if failed.Pages != 3 {
			t.Errorf("%s: the document has %d pages, want 3", job, failed.Pages)
		}
	}
	fails(t, BeyondEnd, RotateJob, Rotation{Selection{Input: input(""), Pages: "9"}, 90}, doc)
	if failed := fails(t, AllPages, DeletePagesJob, Selection{Input: input(""), Pages: "1-"}, doc); failed.Pages != 3 {
		t.Errorf("the document has %d pages, want 3", failed.Pages)
	}
	many := strings.TrimSuffix(strings.Repeat("1-30,", 67), ",")
	if failed := fails(t, TooManyPages, ExtractJob, Selection{Input: input(""), Pages: many},
		source{pages: make([]string, 30)}.write()); failed.Max != MaxPages {
		t.Errorf("the limit is %d pages, want %d", failed.Max, MaxPages)
	}
}

func TestDeletePages(t *testing.T) {
	got := make1(t, DeletePagesJob, Selection{Input: input(""), Pages: "2"}, linked().write())
	if texts, want := pageTexts(t, got, ""), []string{"alpha", "gamma"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
	if outline, want := outlineOf(t, got), []string{"Start 1", "End 2"}; !reflect.DeepEqual(outline, want) {
		t.Errorf("outline %q, want %q", outline, want)
	}
}
