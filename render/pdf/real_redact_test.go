package pdf

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// TestRedactRealDocuments takes a long word out of documents that others have made:
// neither poppler nor MuPDF reads it in what comes out, which is as sound as it was.
func TestRedactRealDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const fewest = 20
	var done atomic.Int32
	t.Cleanup(func() { // when all of them are done
		if done.Load() < fewest {
			t.Errorf("words were taken out of %d documents, want %d", done.Load(), fewest)
		}
	})
	for _, path := range someDocuments(t, 2**realRows) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			word := longestWord(t, path)
			if word == "" {
				t.Skip("has no words, or cannot be read without a password")
			}
			content := pdftest.Load(t, path)
			result, err := runJob(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{word}}, content)
			var failed *job.Error
			if errors.As(err, &failed) && failed.Kind != job.Exhausted && failed.Kind != job.NoMatch {
				t.Skipf("%q: %v", word, failed) // said in words, and nothing came out
			}
			if err != nil {
				t.Fatalf("%q: %v", word, err)
			}
			done.Add(1)
			made := pdftest.Save(t, read(t, result))
			checkLike(t, redact.Job.Name, content, made)
			texts, ok := readings(t, made)
			if !ok {
				t.Error("it cannot be read any more")
			}
			for reader, left := range texts {
				if strings.Contains(strings.ToLower(left), strings.ToLower(word)) {
					t.Errorf("reader %d of 2 still finds %q", reader+1, word)
				}
			}
		})
	}
}

// readings returns the text that poppler and MuPDF read in a document, if both can.
func readings(t *testing.T, path string) (texts [2]string, ok bool) {
	t.Helper()
	for i, program := range [][]string{{"pdftotext", "-q", path, "-"}, {"mutool", "draw", "-q", "-F", "text", path}} {
		text, err := exec.CommandContext(t.Context(), program[0], program[1:]...).Output()
		if err != nil {
			return texts, false
		}
		texts[i] = string(text)
	}
	return texts, true
}

// longestWord is the longest of those that both readers find in a document.
func longestWord(t *testing.T, path string) (longest string) {
	t.Helper()
	word := regexp.MustCompile(`\b[A-Za-z]{4,20}\b`)
	texts, _ := readings(t, path)
	others := word.FindAllString(texts[1], -1)
	for _, w := range word.FindAllString(texts[0], -1) {
		if len(w) > len(longest) && slices.Contains(others, w) {
			longest = w
		}
	}
	return longest
}
