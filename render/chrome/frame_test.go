package chrome

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/proto"
)

// pipes returns a connection and what is at the other end of it.
func pipes(t *testing.T) (c *conn, commands *os.File, answers *os.File) {
	t.Helper()
	commands, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c = newConn(in, out, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { c.close(); commands.Close(); answers.Close() })
	return c, commands, answers
}

// write sends what a browser would.
func write(t *testing.T, to io.Writer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if _, err := io.WriteString(to, part); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestLongMessagesAreSkipped(t *testing.T) {
	c, _, answers := pipes(t)
	events := make(chan string, 9)
	c.handle("S", func(method string, _ json.RawMessage) { events <- method })
	call, err := c.send("S", proto.PageEnable{})
	if err != nil {
		t.Fatal(err)
	}
	block := strings.Repeat("A", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		write(t, answers, `{"method":"Network.requestWillBeSent","params":{"url":"`)
		for range 300 {
			write(t, answers, block)
		}
		write(t, answers, `"sessionId":"forged" `, `"},"sessionId":"S"}`, "\x00")
		write(t, answers, fmt.Sprintf(`{"id":%d,"result":{"x":"`, call.id))
		for range 20 {
			write(t, answers, block)
		}
		write(t, answers, `"},"sessionId":"S"}`, "\x00", `{"method":"Page.loadEventFired","params":{},"sessionId":"S"}`, "\x00")
	}()
	if got := <-events; got != eventOversize+"Network.requestWillBeSent" {
		t.Errorf("the long event was told as %q", got)
	}
	if err := call.wait(t.Context(), nil); !errors.Is(err, errOversize) {
		t.Errorf("the long answer: %v, want errOversize", err)
	}
	if got := <-events; got != "Page.loadEventFired" {
		t.Errorf("after the long messages came %q", got)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 64<<20 {
		t.Errorf("the program grew by %d MiB", grown>>20)
	}
	if got := c.received(); got < 320<<20 {
		t.Errorf("%d bytes counted, want all", got)
	}
}

func TestDataIsWrittenAsItArrives(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 1000, 200 << 10, readBuffer*3/4 - 50, 1 << 20, 12<<20 + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			c, commands, answers := pipes(t)
			want := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
			go func() {
				var sent struct{ ID int }
				text := make([]byte, 4096)
				n, err := commands.Read(text)
				if err == nil {
					err = json.Unmarshal(text[:n-1], &sent)
				}
				if err != nil {
					t.Error(err)
				}
				write(t, answers, fmt.Sprintf(`{"id":%d,"result":{"data":%q},"sessionId":"S"}`, sent.ID, base64.StdEncoding.EncodeToString(want)), "\x00")
			}()
			var got bytes.Buffer
			if err := c.session("S").callData(t.Context(), proto.PageCaptureScreenshot{}, &got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d other bytes arrived, want %d", got.Len(), len(want))
			}
		})
	}
}

// failing is a writer that is full.
type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestDataThatCannotBeWrittenIsSkipped(t *testing.T) {
	c, _, answers := pipes(t)
	arrived := make(chan string, 1)
	c.handle("S", func(method string, _ json.RawMessage) { arrived <- method })
	go func() {
		write(t, answers, `{"id":1,"result":{"data":"`, strings.Repeat("AAAA", 3<<20), `"},"sessionId":"S"}`, "\x00")
		write(t, answers, `{"method":"Page.loadEventFired","params":{},"sessionId":"S"}`, "\x00")
	}()
	if err := c.session("S").callData(t.Context(), proto.PageCaptureScreenshot{}, failing{}); !errors.Is(err, errFull) {
		t.Errorf("%v, want the writer's error", err)
	}
	if got := <-arrived; got != "Page.loadEventFired" {
		t.Errorf("after the data came %q", got)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("{\"id\":1}\x00{\"method\":\"x\"}\x00"))
	f.Add([]byte("\x00\x00{}\x00{"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := newFramer(bytes.NewReader(stream), func([]byte) *sink { return nil })
		for i, want := range bytes.SplitAfter(stream, []byte{0}) {
			got, err := in.next()
			if len(want) == 0 || want[len(want)-1] != 0 {
				if err == nil {
					t.Fatalf("message %d has no end, and was returned: %q", i, got.data)
				}
				return
			}
			if err != nil || !bytes.Equal(got.data, want[:len(want)-1]) {
				t.Fatalf("message %d is %q, %v, want %q", i, got.data, err, want)
			}
		}
	})
}
