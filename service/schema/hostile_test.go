package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

type hostileInput struct {
	Common

	HTML    string            `json:"html,omitempty" jsonschema:"maxLength=10485760" jsonschema_description:"Text."`
	Headers map[string]string `json:"headers,omitempty" jsonschema_description:"Map."`
	Parts   []samplePart      `json:"parts,omitempty" jsonschema_description:"List."`
	Data    map[string]any    `json:"data,omitempty" jsonschema_description:"Free."`
	File    File              `json:"file,omitzero" jsonschema_description:"Content."`
}

func hostileShape(t testing.TB) *Shape[hostileInput] {
	t.Helper()
	shape, err := NewShape[hostileInput]()
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// wrongHeaders is a map of n members with wrong values.
func wrongHeaders(n int) string {
	var b strings.Builder
	b.WriteString(`{"headers":{`)
	for i := range n {
		fmt.Fprintf(&b, `"x-%06d":%d,`, i, i%10)
	}
	return b.String() + `"x":"y"}}`
}

func TestFaultsAreBounded(t *testing.T) {
	for name, body := range map[string]string{
		"wrong values":   wrongHeaders(60_000),
		"unknown fields": strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(wrongHeaders(60_000), `{"headers":`), "}"), `:"y"`, `:null`),
		"wrong items":    `{"parts":[` + strings.Repeat(`{"page":0},`, 60_000) + `{"page":1}]}`,
		"lacking fields": `{"parts":[` + strings.Repeat(`{},`, 200_000) + `{"page":1}]}`,
		"long names":     `{"` + strings.Repeat("n", 400_000) + `":1,"data":1}`,
	} {
		begin := time.Now()
		_, err := hostileShape(t).Bind(t.Context(), strings.NewReader(body))
		took := time.Since(begin)
		var faults FieldErrors
		if !errors.As(err, &faults) || len(faults) > 101 {
			t.Errorf("%s: %d faults of %T, want a list of 101 at most", name, len(faults), err)
			continue
		}
		size := 0
		for _, fault := range faults {
			size += len(fault.Field) + len(fault.Message)
		}
		if size > 32<<10 || len(err.Error()) > 4<<10 {
			t.Errorf("%s: answered with faults of %d bytes and a message of %d", name, size, len(err.Error()))
		}
		if last := faults[len(faults)-1]; len(faults) == 101 && !regexp.MustCompile(`^has (at least )?[1-9]\d* more validation errors after the first 100$`).MatchString(last.Message) {
			t.Errorf("%s: the last fault is %v, want one that says that there are more", name, last)
		}
		// The square of the faults took 36 s; a slow machine needs far less than this.
		if took > 20*time.Second {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
}

func TestStructureIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ begin, part, end string }{
		"small objects": {`{"data":{"a":[`, `{"":0},`, `0]}}`},
		"small arrays":  {`{"data":{"a":[`, `[],`, `0]}}`},
		"nested":        {`{"data":{"a":[`, `[[[[0]]]],`, `0]}}`},
		"numbers":       {`{"data":{"a":[`, `1234567.5,`, `0]}}`},
		"unknown":       {`{"unknown":[`, `{"":0},`, `0]}`},
		"a long string": {`{"data":{"a":"`, `aaaaaaaaaaaaaaaa`, `"}}`},
		"a long name":   {`{"`, `aaaaaaaaaaaaaaaa`, `":null}`},
		"white space":   {`{`, `                `, `}`},
		"a long number": {`{"data":{"a":`, `1111111111111111`, `}}`},
	} {
		peak := watchHeap(t, func() {
			body := io.MultiReader(strings.NewReader(c.begin), repeated(c.part, 31<<20), strings.NewReader(c.end))
			_, err := hostileShape(t).Bind(t.Context(), body)
			var size *SizeError
			if !errors.As(err, &size) || size.Field != "request" || !size.ExcludesFiles {
				t.Errorf("%s: %v, want a SizeError", name, err)
			}
		})
		if peak > 64<<20 {
			t.Errorf("%s: took %d MiB", name, peak>>20)
		}
	}
}

func TestALongUnknownFieldIsNamed(t *testing.T) {
	peak := watchHeap(t, func() {
		body := io.MultiReader(strings.NewReader(`{"fiel":"`), repeated("QUJD", 31<<20), strings.NewReader(`"}`))
		_, err := hostileShape(t).Bind(t.Context(), body)
		var faults FieldErrors
		if !errors.As(err, &faults) || faults.Error() != "fiel is not a known field; did you mean file?" {
			t.Errorf("error %v, want a fault of the field", err)
		}
	})
	if peak > 16<<20 {
		t.Errorf("took %d MiB", peak>>20)
	}
}

// repeated reads part over and over, size bytes in all.
func repeated(part string, size int) io.Reader {
	block := strings.Repeat(part, 64<<10/len(part)+1)
	var readers []io.Reader
	for n := 0; n < size; n += len(block) {
		readers = append(readers, strings.NewReader(block))
	}
	return io.MultiReader(readers...)
}

// watchHeap runs work and returns by how much the heap in use was greater
// than before, at its most.
func watchHeap(t *testing.T, work func()) int64 {
	t.Helper()
	runtime.GC()
	// Unlike runtime.ReadMemStats this does not stop the world.
	held := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() int64 {
		metrics.Read(held)
		return int64(held[0].Value.Uint64())
	}
	before, peak := heap(), int64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return peak
		case <-ticker.C:
			peak = max(peak, heap()-before)
		}
	}
}

func TestMemoryOfInputs(t *testing.T) {
	sharedtest.Slow(t)
	// Maximum memory of one and of eight requests at once, in MiB. Files stream: whatever their size, they use almost
	// no memory.
	bodies := map[string]struct {
		one, eight int64
		open       func() io.Reader
	}{
		"a text of 10 MiB": {100, 300, func() io.Reader {
			return io.MultiReader(strings.NewReader(`{"html":"`), repeated("abcdefg\\n", 11<<20), strings.NewReader(`"}`))
		}},
		"the most objects": {100, 300, func() io.Reader {
			return io.MultiReader(strings.NewReader(`{"data":{"a":[`), repeated(`{"":0},`, 200<<10), strings.NewReader(`0]}}`))
		}},
		"a file of 15 MiB": {10, 40, func() io.Reader {
			return io.MultiReader(strings.NewReader(`{"file":"`), repeated("QUJD", 20<<20), strings.NewReader(`"}`))
		}},
	}
	shape := hostileShape(t)
	disk := Files{Limit: 1 << 30, Open: func() Sink { return new(nowhere) }}
	for name, body := range bodies {
		for calls, maximum := range map[int]int64{1: body.one, 8: body.eight} {
			peak := watchHeap(t, func() {
				bind := make(chan error)
				for range calls {
					go func() {
						bound, err := shape.bind(t.Context(), body.open(), disk, nil)
						if err == nil {
							_, err = digest("hostile", bound.tree)
						}
						bind <- err
					}()
				}
				for range calls {
					if err := <-bind; err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
			t.Logf("%s, %d at once: %d MiB", name, calls, peak>>20)
			if peak>>20 > maximum {
				t.Errorf("%s, %d at once: %d MiB above rest, want at most %d", name, calls, peak>>20, maximum)
			}
		}
	}
}

// nowhere is a Sink that keeps its size.
type nowhere struct{ size int64 }

func (n *nowhere) Write(p []byte) (int, error) { n.size += int64(len(p)); return len(p), nil }
func (n *nowhere) Size() int64                 { return n.size }
func (n *nowhere) Open() io.ReadSeeker         { return bytes.NewReader(nil) }
func (n *nowhere) Close() error                { return nil }

func TestDecodingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	body := &cancelling{cancel: cancel, r: repeated("QUJD", 100<<20)}
	_, err := hostileShape(t).Bind(ctx, io.MultiReader(strings.NewReader(`{"file":"`), body, strings.NewReader(`"}`)))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if body.read > 1<<20 {
		t.Errorf("%d bytes were read after the client had gone", body.read)
	}
}

// cancelling ends a context at the first read.
type cancelling struct {
	cancel context.CancelFunc
	r      io.Reader
	read   int
}

func (c *cancelling) Read(p []byte) (int, error) {
	c.cancel()
	n, err := c.r.Read(p)
	c.read += n
	return n, err
}

func TestBudgetIsShared(t *testing.T) {
	budget := NewBudget(16 << 20)
	shape := hostileShape(t)
	bind := func(owner string, size int) (func() error, error) {
		share := budget.Share(owner)
		bound, err := shape.bind(t.Context(), strings.NewReader(`{"html":"`+strings.Repeat("x", size)+`"}`), Files{Share: share}, nil)
		if err != nil {
			return nil, err
		}
		return bound.close, nil
	}
	busy := func(owner string, size int) {
		t.Helper()
		_, err := bind(owner, size)
		var full *BusyError
		if !errors.As(err, &full) || full.RetryAfter <= 0 {
			t.Errorf("%d bytes of %s: %v, want a BusyError", size, owner, err)
		}
	}
	first, err := bind("a", 7<<20)
	if err != nil {
		t.Fatal(err)
	}
	busy("a", 3<<20) // would be more than half of the budget
	second, err := bind("b", 7<<20)
	if err != nil {
		t.Fatalf("another account is kept out: %v", err)
	}
	busy("c", 3<<20)
	if _, err := bind("c", 30<<10); err != nil {
		t.Errorf("a small input is refused: %v", err)
	}
	if err := errors.Join(first(), second()); err != nil {
		t.Fatal(err)
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are taken after all calls have ended", used)
	}
	third, err := bind("a", 7<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := third(); err != nil {
		t.Fatal(err)
	}
}

// TestDigestIsStable holds the digest to the one that earlier releases made, by
// which repeated requests are known.
func TestDigestIsStable(t *testing.T) {
	long := strings.Repeat("aé€😀<&>\u2028\"\\\n", 9000)
	tree := map[string]any{"b": []any{int64(1), 2.5, 1e21, nil, true, "x"}, "a": long, "": map[string]any{}, "file": NewFile([]byte("hello")).Inline}
	got, err := digest("pdf.create", tree)
	if err != nil {
		t.Fatal(err)
	}
	if want := plainDigest(t, "pdf.create", tree); [32]byte(got) != want {
		t.Errorf("the digest is %x, want %x", got, want)
	}
}
