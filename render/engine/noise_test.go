package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
)

// noise is an engine that greets, and then sends what no engine may: random bytes,
// messages that break off, and answers that nobody asked for.
func noise(seed string) {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		panic(err)
	}
	random := rand.New(rand.NewPCG(n, n)) // the same at each run
	out := frames(`{"private":true}`, "")
	switch n % 4 {
	case 0: // random from the start
		out = nil
		for range random.IntN(5000) {
			out = append(out, byte(random.IntN(256)))
		}
	case 1: // an answer that breaks off
		answer := frames(`{"files":[{"name":"a","size":3}]}`, "body")
		out = append(out, answer[:random.IntN(len(answer))]...)
	case 2: // answers before any job, and more than one
		for range 3 {
			out = append(out, frames(`{"last":false}`, "stale")...)
		}
		out = append(out, frames(`{"files":7}`, "")...)
	case 3: // a header that is something else
		headers := []string{"", "null", "[]", `{"err":[]}`, `{"files":[{}]}`, `{"err":{"code":1}}`, "{", "\x00"}
		out = append(out, frames(headers[random.IntN(len(headers))], "")...)
	}
	_, _ = os.Stdout.Write(out) // the pool may have had enough
	if n%2 == 0 {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(0)
}

// frames is a message as engines write it.
func frames(header, body string) (out []byte) {
	for _, part := range []string{header, body} {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(part))), part...)
	}
	return out
}

// TestPoolSurvivesAnyEngine runs engines that send anything: each job ends, and so does
// the pool.
func TestPoolSurvivesAnyEngine(t *testing.T) {
	t.Parallel()
	for seed := range 12 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			pool := start(t, engine.Config{Command: []string{"/proc/self/exe", "noise", fmt.Sprint(seed)}})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for range 2 {
				result, err := pool.Run(ctx, engine.Job{Name: "echo"})
				if ctx.Err() != nil {
					t.Fatalf("a job has no end: %v", err)
				}
				if err := result.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// brokenFile is an input whose reader panics.
type brokenFile struct{}

func (brokenFile) Size() int64         { return 1 }
func (brokenFile) Open() io.ReadSeeker { panic("a bug in what reads an input") }

// TestWorkerThatPanicsFailsOneJob has a bug meet one job: the next one is done.
func TestWorkerThatPanicsFailsOneJob(t *testing.T) {
	pool := start(t, engine.Config{})
	_, err := pool.Run(t.Context(), engine.Job{Name: "echo", Files: []engine.File{{Name: "a", Content: brokenFile{}}}})
	if !errors.Is(err, engine.ErrCrashed) {
		t.Errorf("the job of the panic: %v, want ErrCrashed", err)
	}
	if got, err := pool.Do(t.Context(), engine.Job{Name: "echo", Body: []byte("x")}); err != nil || string(got) != "x" {
		t.Errorf("the next job: %q, %v", got, err)
	}
}
