package pdf

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"relaypdf/render/engine"
	"relaypdf/render/spool"
)

// hostile are documents that try to keep their reader busy for ever.
func hostile() map[string][]byte {
	loop := linked()
	loop.objects[1] = "<< /Title (Start) /Parent 100 0 R /First 101 0 R /Last 101 0 R /Next 101 0 R /Dest [10 0 R /Fit] >>"
	tree := three()
	tree.catalog = "/Names << /Dests 100 0 R >>"
	tree.objects = []string{"<< /Kids [100 0 R 100 0 R] /Names [(a) 100 0 R] >>"}
	tree.annots = map[int]string{0: "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest (a) >>"}
	nested := three()
	nested.objects = []string{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat("<</Dest", 5_000)}
	pages := three().write()
	kids := strings.Repeat("10 0 R ", 10_000)
	return map[string][]byte{
		"outline loop":   loop.write(),
		"name tree loop": tree.write(),
		"nesting":        nested.write(),
		"page tree loop": []byte(strings.Replace(string(pages), "/Kids [10 0 R", "/Kids [2 0 R", 1)),
		"many pages":     []byte(strings.Replace(string(pages), "/Kids [", "/Kids ["+kids, 1)),
		"empty":          []byte("%PDF-1.7\n%%EOF"),
		"endless xref":   append(append([]byte{}, pages...), strings.Repeat("startxref\n0\n%%EOF\n", 10_000)...),
	}
}

// TestHostileDocuments gives them to every job. Each ends in time, with a
// result or in words, and leaves the engines in order.
func TestHostileDocuments(t *testing.T) {
	const patience = 60 * time.Second
	for name, content := range hostile() {
		for job, args := range map[string]any{
			InfoJob: input(""), ExtractJob: Selection{Input: input(""), Pages: "1"}, CompressJob: input(""),
			BookmarksJob: Outline{Input: input(""), Bookmarks: []Bookmark{{Title: "x", Page: 1}}},
			MergeJob:     Merge{Inputs: []MergeInput{{Input: input("")}, {Input: input("")}}},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			result, err := pool.Run(ctx, engine.Job{
				Name: job, Args: args, Files: []engine.File{{Name: inputName(0), Content: spool.FromBytes(content)}},
			})
			err = FromJob(err)
			cancel()
			var failed *Error
			if err != nil && !errors.As(err, &failed) {
				t.Errorf("%s of %s: error %v, want a result or an *Error", job, name, err)
			}
			if err == nil && job != InfoJob && result.Output(0).Size() == 0 {
				t.Errorf("%s of %s: an empty result", job, name)
			}
			if err := result.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	got := make1(t, ExtractJob, Selection{Input: input(""), Pages: "2"}, three().write())
	if texts, want := pageTexts(t, got, ""), []string{"beta"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("afterwards: pages %q, want %q", texts, want)
	}
}

// FuzzDocuments gives mutated documents to the job that reads most of them. A
// document may exhaust its child, which is an *Error too: the child is
// replaced, and nobody else notices.
func FuzzDocuments(f *testing.F) {
	f.Add(three().write())
	f.Add(linked().write())
	for _, content := range hostile() {
		if len(content) < 10_000 {
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		job := engine.Job{Name: MergeJob, Args: Merge{Inputs: []MergeInput{{Input: input("")}, {Input: input("")}}}}
		job.Files = []engine.File{{Name: inputName(0), Content: spool.FromBytes(content)}}
		result, err := pool.Run(t.Context(), job)
		var failed *Error
		if err != nil && !errors.As(FromJob(err), &failed) {
			t.Fatalf("error %v, want a result or an *Error", err)
		}
		if err := result.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
