package pdf

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

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
		got := makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: test.pages}, linked().Write())
		sound(t, got, "", len(test.want))
		if texts := pageTexts(t, got, ""); !reflect.DeepEqual(texts, test.want) {
			t.Errorf("pages %q: got %q, want %q", test.pages, texts, test.want)
		}
	}
}

func TestExtractKeepsTheOutlineOfItsPages(t *testing.T) {
	for _, test := range []struct {
		pages string
		want  []string
	}{
		{"", []string{"Start 1", "  Middle 2", "End 3"}},
		{"2", []string{"Start -", "  Middle 1"}},
		{"3,1", []string{"Start 2", "End 1"}},
	} {
		got := makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: test.pages}, linked().Write())
		if outline := outlineOf(t, got); !reflect.DeepEqual(outline, test.want) {
			t.Errorf("pages %q: outline %q, want %q", test.pages, outline, test.want)
		}
	}
}

// TestExtractLeavesNothingBehind looks for the content of removed pages where
// it could hide: behind links, outline entries and fields.
func TestExtractLeavesNothingBehind(t *testing.T) {
	content := linked().Write()
	packed := pdftest.Transform(t, content, "--object-streams=generate")
	for name, got := range map[string][]byte{
		"extract":        makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: "1,3"}, content),
		"delete":         makeOne(t, DeletePagesJob.Name, Selection{Input: input(""), Pages: "2"}, content),
		"packed extract": makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: "1,3"}, packed),
		"packed delete":  makeOne(t, DeletePagesJob.Name, Selection{Input: input(""), Pages: "2"}, packed),
	} {
		if outline, want := outlineOf(t, got), []string{"Start 1", "End 2"}; !reflect.DeepEqual(outline, want) {
			t.Errorf("%s: outline %q, want %q", name, outline, want)
		}
		plain := pdftest.Transform(t, got, "--qdf", "--object-streams=disable")
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
	doc := three().Write()
	for _, jobName := range []string{ExtractJob.Name, DeletePagesJob.Name} {
		failed := runFailing(t, job.PageOutOfRange, jobName, Selection{Input: input(""), Pages: "2-4"}, doc)
		if failed.Pages != 3 {
			t.Errorf("%s: the document has %d pages, want 3", jobName, failed.Pages)
		}
	}
	runFailing(t, job.PageOutOfRange, RotateJob.Name, RotateArgs{Selection{Input: input(""), Pages: "9"}, 90}, doc)
	if failed := runFailing(t, job.AllPages, DeletePagesJob.Name, Selection{Input: input(""), Pages: "1-"}, doc); failed.Pages != 3 {
		t.Errorf("the document has %d pages, want 3", failed.Pages)
	}
	many := strings.TrimSuffix(strings.Repeat("1-30,", 67), ",")
	if failed := runFailing(t, job.TooManyPages, ExtractJob.Name, Selection{Input: input(""), Pages: many},
		source{Pages: make([]string, 30)}.Write()); failed.Max != job.MaxPages {
		t.Errorf("the limit is %d pages, want %d", failed.Max, job.MaxPages)
	}
}

func TestDeletePages(t *testing.T) {
	got := makeOne(t, DeletePagesJob.Name, Selection{Input: input(""), Pages: "2"}, linked().Write())
	if texts, want := pageTexts(t, got, ""), []string{"alpha", "gamma"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
	if outline, want := outlineOf(t, got), []string{"Start 1", "End 2"}; !reflect.DeepEqual(outline, want) {
		t.Errorf("outline %q, want %q", outline, want)
	}
}
