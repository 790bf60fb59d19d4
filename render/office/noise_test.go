package office

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// noisyEngine is the argument that makes this program an engine whose answers to conversions are not those of
// LibreOffice.
const noisyEngine = "noise"

// serveNoise answers the first job, that of the start, as it should, and every other one with a message that the
// protocol of engines permits and a LibreOffice process never sends.
func serveNoise(kind string) {
	answers := map[string]struct {
		header, body string
	}{
		"no file":    {`{}`, `{"Kind":"document","Pages":1}`},
		"null":       {`{}`, `null`},
		"no JSON":    {`{"files":[{"name":"output.pdf","size":3}]}`, `{"Kind":`},
		"two files":  {`{"files":[{"name":"a","size":3},{"name":"b","size":3}]}`, `{"Kind":"document"}`},
		"other JSON": {`{"files":[{"name":"output.pdf","size":3}]}`, `[7]`},
	}
	a := answers[kind]
	message := func(header, body string) {
		for _, part := range []string{header, body} {
			out := append(binary.BigEndian.AppendUint32(nil, uint32(len(part))), part...)
			_, _ = os.Stdout.Write(out) // the pool may have gone
		}
	}
	message(`{"private":true}`, "")
	message(`{}`, "")
	in := bufio.NewReader(os.Stdin)
	for {
		// The setup and the start come before the first conversion.
		if _, err := in.ReadString('{'); err != nil {
			os.Exit(0)
		}
		if text, err := in.Peek(min(in.Buffered(), 4096)); err == nil && bytes.Contains(text, []byte(convertJob)) {
			message(a.header, a.body)
			_, _ = os.Stdout.WriteString(strings.Repeat("pdf", bytes.Count([]byte(a.header), []byte("name"))))
			_, _ = io.Copy(io.Discard, in)
		}
	}
}

// TestConvertSurvivesAnyAnswer has engines answer a conversion with anything that their
// protocol permits: it is an error, and none is a document.
func TestConvertSurvivesAnyAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"no file", "null", "no JSON", "two files", "other JSON"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := New(Config{Engine: engine.Config{Command: []string{"/proc/self/exe", noisyEngine, kind}, Size: 1}})
			t.Cleanup(func() { _ = p.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			file, _, err := p.Convert(ctx, Conversion{
				Content: spool.FromBytes([]byte("text")), Source: Source{KindText, FormatText}, To: ToPDF, MaxPages: 10, MaxBytes: 1 << 20,
			})
			var failed *Error
			if file != nil || !errors.As(err, &failed) || failed.Reason != Exhausted {
				t.Errorf("got file %v and %v, want that of a crash", file, err)
			}
		})
	}
}

// TestWorkerMayNotAnswerAnythingElse gives the worker's side of the protocol random,
// truncated and stale lines: the child is replaced, so that no document gets the answer
// to another.
func TestWorkerMayNotAnswerAnythingElse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same at each run
	good := `{"id":1,"kind":"document"}`
	lines := []string{
		"", "\n", "null\n", "{}\n", "[]\n", "7\n", `{"kind":"document"}` + "\n", `{"id":1}` + "\n", `{"id":2,"kind":"document"}` + "\n", `{"ready":true}` + "\n",
		`{"id":0,"error":"damaged"}` + "\n", `{"id":"1","kind":"document"}` + "\n", "a warning of a library\n" + good + "\n", strings.Repeat("x", 2*maxAnswer) + "\n",
	}
	for range 200 {
		noise := make([]byte, random.IntN(300))
		for i := range noise {
			noise[i] = byte(random.IntN(256))
		}
		lines = append(lines, string(noise), good[:random.IntN(len(good))])
	}
	for _, line := range lines {
		if _, err := hearing(line).ask(t.Context(), workerRequest{}); !errors.Is(err, engine.ErrCrashed) {
			t.Errorf("%.100q: got %v, want %v", line, err, engine.ErrCrashed)
		}
	}
	for _, line := range []string{good + "\n", `{"id":1,"error":"damaged","text":"x"}` + "\n"} {
		if a, err := hearing(line).ask(t.Context(), workerRequest{}); err != nil || a.ID != 1 {
			t.Errorf("%s: got %v and %v, want the answer", line, a, err)
		}
	}
}

// hearing is a LibreOffice process whose worker says what it is given.
func hearing(lines string) *instance {
	r := &instance{worker: &engine.Daemon{Stdin: discard{io.Discard}}, answers: bufio.NewScanner(strings.NewReader(lines))}
	r.answers.Buffer(nil, maxAnswer)
	return r
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// TestWorkerAnswersItsOrder asks a real office for two documents, one of which fails.
func TestWorkerAnswersItsOrder(t *testing.T) {
	p, _ := only(t)
	for i := range 2 {
		text := fmt.Sprintf("text %d", i)
		if made, err := convert(t, p, []byte(text), "a.txt", "", ToPDF); err != nil || textOf(t, made) != text {
			t.Errorf("got %v, want the document", err)
		}
		var failed *Error
		if _, err := convert(t, p, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"+strings.Repeat("\x00", 2000)), "a.doc", "", ToPDF); !errors.As(err, &failed) || failed.Reason != Damaged {
			t.Errorf("got %v, want %s", err, Damaged)
		}
	}
}
