package chrome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-rod/rod/lib/proto"
)

// pageEvents are the events that a page takes in, as a browser would write them.
var pageEvents = []string{
	`{"method":"Page.lifecycleEvent","params":{"frameId":"F","loaderId":"L","name":"init"},"sessionId":"S"}`,
	`{"method":"Page.lifecycleEvent","params":{"frameId":"F","loaderId":"L","name":"load"},"sessionId":"S"}`,
	`{"method":"Page.frameNavigated","params":{"frame":{"id":"F","url":"about:blank","unreachableUrl":""}},"sessionId":"S"}`,
	`{"method":"Page.frameDetached","params":{"frameId":"G"},"sessionId":"S"}`,
	`{"method":"Page.javascriptDialogOpening","params":{},"sessionId":"S"}`,
	`{"method":"Network.requestWillBeSent","params":{"requestId":"R","frameId":"F","loaderId":"L","type":"Document","request":{"url":"http://a.test"}},"sessionId":"S"}`,
	`{"method":"Network.requestWillBeSent","params":{"requestId":"Q","frameId":"F","loaderId":"L","type":"Image","request":{"url":"http://a.test/i"}},"sessionId":"S"}`,
	`{"method":"Network.responseReceived","params":{"requestId":"R","frameId":"F","loaderId":"L","type":"Document","response":{"status":404}},"sessionId":"S"}`,
	`{"method":"Network.responseReceivedExtraInfo","params":{"requestId":"Q","statusCode":500},"sessionId":"S"}`,
	`{"method":"Network.loadingFinished","params":{"requestId":"R"},"sessionId":"S"}`,
	`{"method":"Network.loadingFailed","params":{"requestId":"Q","errorText":"net::ERR_BLOCKED_BY_ORB"},"sessionId":"S"}`,
	`{"method":"Runtime.exceptionThrown","params":{"exceptionDetails":{"text":"x","exception":{"description":"Error"}}},"sessionId":"S"}`,
	`{"method":"Runtime.consoleAPICalled","params":{"type":"error","args":[{"value":"x"}]},"sessionId":"S"}`,
	`{"method":"Fetch.requestPaused","params":{"requestId":"R","request":{"url":"http://assets.invalid/a"}},"sessionId":"S"}`,
	`{"method":"Fetch.requestPaused","params":{"requestId":"R"},"sessionId":"S"}`,
	`{"method":"Inspector.targetCrashed","params":{},"sessionId":"S"}`,
	`{"method":"Target.detachedFromTarget","params":{"sessionId":"S"}}`,
	`{"id":1,"result":{}}`, `{"id":1,"error":{"code":-1,"message":"no"}}`, `{"id":99}`, `{"id":"x"}`, `[]`, `null`, `{`, ``,
}

// fakePage is a page as newPage makes it, whose browser is the test.
func fakePage(t *testing.T) (p *tab, answers *os.File) {
	t.Helper()
	c, commands, answers := pipes(t)
	go func() { // The browser reads whatever it is sent.
		buffer := make([]byte, 4096)
		for {
			if _, err := commands.Read(buffer); err != nil {
				return
			}
		}
	}()
	return preparePage(c.session("S"), kind{mode: ModeOnce}, "F", ""), answers
}

// stillReads fails the test unless the connection hands on what comes now.
func stillReads(t *testing.T, c *conn, answers *os.File) {
	t.Helper()
	arrived := make(chan struct{})
	c.handle("later", func(string, json.RawMessage) { close(arrived) })
	write(t, answers, "\x00", `{"method":"Page.loadEventFired","params":{},"sessionId":"later"}`, "\x00")
	select {
	case <-arrived:
	case <-c.done:
		t.Fatal("the connection has ended")
	}
}

// TestPageTakesEventsFromItsBirth sends each event first to a page that has no job yet.
func TestPageTakesEventsFromItsBirth(t *testing.T) {
	for _, message := range pageEvents {
		p, answers := fakePage(t)
		var log lockedBuffer
		p.conn.log = slog.New(slog.NewTextHandler(&log, nil))
		write(t, answers, message, "\x00")
		stillReads(t, p.conn, answers)
		if text := log.String(); strings.Contains(text, "panic") {
			t.Errorf("%s: %s", message, text)
		}
	}
}

// lockedBuffer takes a log that other goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestEventThatPanicsFailsItsPageOnly panics in a handler: the connection stays open, and
// the session is notified.
func TestEventThatPanicsFailsItsPageOnly(t *testing.T) {
	c, _, answers := pipes(t)
	var log lockedBuffer
	c.log = slog.New(slog.NewTextHandler(&log, nil))
	told := make(chan string, 9)
	c.handle("S", func(method string, _ json.RawMessage) {
		told <- method
		if method == "Page.x" {
			panic("a bug")
		}
	})
	write(t, answers, `{"method":"Page.x","params":{},"sessionId":"S"}`, "\x00")
	stillReads(t, c, answers)
	if first, second := <-told, <-told; first != "Page.x" || second != eventBroken {
		t.Errorf("the session was told %s and %s, want %s at last", first, second, eventBroken)
	}
	if text := log.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "conn_test.go") {
		t.Errorf("logged %q, want the panic with its stack", text)
	}
}

// TestBrokenAnswerFailsItsCommandOnly sends an answer that is not valid JSON.
func TestBrokenAnswerFailsItsCommandOnly(t *testing.T) {
	p, answers := fakePage(t)
	call, err := p.conn.send("S", proto.PageEnable{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, answers, fmt.Sprintf(`{"id":%d,"result":{"trunca`, call.id), "\x00")
	if err := call.wait(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the command: %v, want that its answer is broken", err)
	}
	stillReads(t, p.conn, answers)
}

// TestConnSurvivesAnyMessages sends what no browser would: random bytes, messages that
// break off, and events in any order.
func TestConnSurvivesAnyMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var stream []byte
		for range 30 {
			message := []byte(pageEvents[random.IntN(len(pageEvents))])
			switch random.IntN(3) {
			case 0:
				message = message[:random.IntN(len(message)+1)]
			case 1:
				for range random.IntN(8) {
					if len(message) > 0 {
						message[random.IntN(len(message))] = byte(random.IntN(256))
					}
				}
			}
			stream = append(append(stream, message...), 0)
		}
		surviveStream(t, stream)
	}
}

func FuzzConn(f *testing.F) {
	for _, message := range pageEvents {
		f.Add([]byte(message + "\x00"))
	}
	f.Add([]byte(strings.Join(pageEvents, "\x00") + "\x00"))
	backwards := slices.Clone(pageEvents)
	slices.Reverse(backwards)
	f.Add([]byte(strings.Join(backwards, "\x00") + "\x00"))
	f.Fuzz(func(t *testing.T, stream []byte) { surviveStream(t, stream) })
}

// surviveStream fails the test when a page panics on a stream, or the connection ends.
func surviveStream(t *testing.T, stream []byte) {
	t.Helper()
	p, answers := fakePage(t)
	var log lockedBuffer
	p.conn.log = slog.New(slog.NewTextHandler(&log, nil))
	_, cancel := p.begin(t.Context())
	defer cancel(nil)
	write(t, answers, string(stream))
	stillReads(t, p.conn, answers)
	if text := log.String(); strings.Contains(text, "panic") {
		t.Errorf("%q: %s", stream, text)
	}
	p.conn.close()
	answers.Close()
}

// TestPageWhoseRendererCrashesAtItsBirthFailsAtOnce has a browser that answers nothing
// more of a target but that it has crashed.
func TestPageWhoseRendererCrashesAtItsBirthFailsAtOnce(t *testing.T) {
	p, answers := fakePage(t)
	prepared := make(chan error, 1)
	go func() { prepared <- p.prepare(t.Context()) }()
	write(t, answers, `{"method":"Network.loadingFailed","params":{"requestId":"R","errorText":"net::ERR_ABORTED","canceled":true},"sessionId":"S"}`, "\x00",
		`{"method":"Inspector.targetCrashed","params":{},"sessionId":"S"}`, "\x00")
	if err := <-prepared; !errors.Is(err, errTargetCrashed) {
		t.Errorf("%v, want errTargetCrashed", err)
	}
}

// TestBoundIsWholeMiB holds because renderers crash with others.
func TestBoundIsWholeMiB(t *testing.T) {
	for _, held := range []int64{256 << 20, 300e6, 500e6, 1e9, 1<<30 + 1, 2 << 30} {
		if maximum := (Config{RendererBytes: held}).maxMemory(); maximum%(1<<20) != 0 || maximum < held {
			t.Errorf("with renderers of %d bytes the bound is %d, want whole MiB", held, maximum)
		}
	}
}
