package chrome

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// writeTimeout bounds the wait for a browser that no longer reads its pipe. Its reader is its own thread, so this
// means that it hangs.
const writeTimeout = 10 * time.Second

// errConnClosed means that the browser is gone or no longer speaks the
// protocol.
var errConnClosed = errors.New("chrome: the connection to the browser is closed")

// eventOversize is sent to the session of an event that was too long to be read. It is
// followed by the name of that event.
const eventOversize = "oversize:"

// eventLost is sent to every session when the connection ends. It is not part of the
// protocol: a page that waits for an event would otherwise wait for ever.
const eventLost = "connectionLost"

// errMessage means that a message of the browser could not be read or taken in. The
// page that it was for is treated like one whose renderer has crashed.
var errMessage = fmt.Errorf("chrome: a message of the browser is broken: %w", errTargetCrashed)

// eventBroken is sent to the session of a message that could not be read, or whose handler
// panicked.
const eventBroken = "messageBroken"

// eventEnded is sent to a session whose target is gone. The browser reports that to its own
// session (Target.detachedFromTarget).
const eventEnded = "sessionEnded"

// request is a command of the DevTools protocol. The types of rod's proto
// package implement it.
type request interface{ ProtoReq() string }

// protocolError is the browser's refusal of a command.
type protocolError struct {
	Method  string `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data"`
}

func (e *protocolError) Error() string {
	return fmt.Sprintf("chrome: %s: %s %s (%d)", e.Method, e.Message, e.Data, e.Code)
}

// conn speaks the DevTools protocol over a pair of pipes: JSON messages, each ended by a NUL byte. It is used
// instead of rod's client, because that one panics on a message it cannot parse, and the messages come from a
// process that runs untrusted documents.
type conn struct {
	in, out *os.File
	log     *slog.Logger
	writeMu sync.Mutex
	posts   sync.WaitGroup

	mu       sync.Mutex
	lastID   int
	pending  map[int]waiting
	handlers map[string]func(method string, params json.RawMessage)
	closed   bool
	done     chan struct{}
	frames   *framer
}

// waiting is the receiver of a response, and the writer for its data; nil means that the data stays in the
// response.
type waiting struct {
	answer chan<- reply
	data   *sink
}

type reply struct {
	result json.RawMessage
	err    *protocolError
	fault  error // why the answer could not be read
}

// newConn starts reading from in. The connection owns both files.
func newConn(in, out *os.File, log *slog.Logger) *conn {
	c := &conn{
		in: in, out: out, log: log,
		pending:  map[int]waiting{},
		handlers: map[string]func(string, json.RawMessage){},
		done:     make(chan struct{}),
	}

	c.frames = newFramer(in, c.sinkFor)
	go c.readLoop()
	return c
}

// received returns how many bytes arrived so far: a browser from which some do
// is not hanging.
func (c *conn) received() int64 { return c.frames.total.Load() }

// sinkFor returns the sink for the data of a response with this beginning, or nil.
func (c *conn) sinkFor(head []byte) *sink {
	id := answers(head)
	if id == 0 || !bytes.Contains(head[:min(len(head), headSize)], dataMark) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending[id].data
}

// session returns a handle on the target with this session id; the empty id is
// the browser itself.
func (c *conn) session(id string) session { return session{conn: c, id: id} }

// handle routes the events of a session to fn until forget is called. The
// function runs on the reading goroutine and must not block.
func (c *conn) handle(sessionID string, fn func(method string, params json.RawMessage)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[sessionID] = fn
}

func (c *conn) forget(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handlers, sessionID)
}

// close ends the connection, which makes the browser leave by itself. It
// returns when the reading goroutine and all posts have ended.
func (c *conn) close() {
	c.shut()
	<-c.done
	c.posts.Wait()
}

func (c *conn) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}

	c.closed = true
	// Closing is all there is to do with these files; nothing is buffered.
	_ = c.in.Close()
	_ = c.out.Close()
}

// readLoop dispatches messages until the browser is gone. A message that is broken, or on which its handler panics,
// fails only the command or session to which it belongs.
func (c *conn) readLoop() {
	defer c.notifyLost()
	defer close(c.done)
	defer c.shut()

	for {
		f, err := c.frames.next()
		if err != nil {
			return
		}

		switch {
		case f.cut:
			c.fail(f, eventOversize+f.method(), errOversize)
		case !c.dispatch(f.data):
			c.log.Warn("message of the browser is broken", "bytes", len(f.data))
			f.tail = f.data[max(0, len(f.data)-messageTail):]
			c.fail(f, eventBroken, errMessage)
		}
	}
}

// fail reports an unreadable message to its receiver: to the caller of the command that it answers, or to its
// session as an event.
func (c *conn) fail(f frame, event string, fault error) {
	id := answers(f.data)

	c.mu.Lock()
	to := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()

	switch {
	case to.answer != nil:
		to.answer <- reply{fault: fault}
	case id == 0:
		c.deliver(f.session(), event, nil)
	}
}

// deliver passes an event to the handler of a session. If the handler panics, deliver sends
// it eventBroken, and the connection continues.
func (c *conn) deliver(session, event string, params json.RawMessage) {
	c.mu.Lock()
	fn := c.handlers[session]
	c.mu.Unlock()
	if fn == nil {
		return
	}

	err := guard.Do(func() { fn(event, params) })
	if err == nil {
		return
	}
	c.log.Error("event of the browser panicked", "event", event, "error", err)
	if err := guard.Do(func() { fn(eventBroken, nil) }); err != nil {
		c.log.Error("event of the browser panicked", "event", eventBroken, "error", err)
	}
}

func (c *conn) notifyLost() {
	c.mu.Lock()
	sessions := slices.Collect(maps.Keys(c.handlers))
	c.mu.Unlock()
	for _, session := range sessions {
		c.deliver(session, eventLost, nil)
	}
}

// dispatch delivers one message and reports whether it was well-formed. The
// parts handed on are copies, because data is reused for the next message.
func (c *conn) dispatch(data []byte) bool {
	var msg struct {
		ID        int             `json:"id"`
		SessionID string          `json:"sessionId"`
		Method    string          `json:"method"`
		Params    json.RawMessage `json:"params"`
		Result    json.RawMessage `json:"result"`
		Error     *protocolError  `json:"error"`
	}
	if json.Unmarshal(data, &msg) != nil {
		return false
	}

	if msg.ID == 0 {
		if msg.SessionID == "" && msg.Method == "Target.detachedFromTarget" {
			var gone struct {
				SessionID string `json:"sessionId"`
			}
			if json.Unmarshal(msg.Params, &gone) != nil {
				return false
			}
			msg.SessionID = gone.SessionID
			msg.Method = eventEnded
		}
		c.deliver(msg.SessionID, msg.Method, msg.Params)
		return true
	}

	c.mu.Lock()
	to := c.pending[msg.ID]
	delete(c.pending, msg.ID)
	c.mu.Unlock()
	if to.answer != nil {
		to.answer <- reply{result: msg.Result, err: msg.Error}
	}

	return true
}

// pendingCall is a command under way.
type pendingCall struct {
	conn   *conn
	id     int
	method string
	answer <-chan reply
}

// send writes a command without waiting for its answer.
func (c *conn) send(sessionID string, req request) (pendingCall, error) {
	return c.sendInto(sessionID, req, nil)
}

// sendInto is send for a command whose answer holds data for a sink.
func (c *conn) sendInto(sessionID string, req request, data *sink) (pendingCall, error) {
	answer := make(chan reply, 1)

	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.pending[id] = waiting{answer: answer, data: data}
	c.mu.Unlock()
	call := pendingCall{conn: c, id: id, method: req.ProtoReq(), answer: answer}

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // "<" as \u003c would double a document's size.
	err := enc.Encode(struct {
		ID        int     `json:"id"`
		SessionID string  `json:"sessionId,omitempty"`
		Method    string  `json:"method"`
		Params    request `json:"params"`
	}{id, sessionID, call.method, req})
	if err == nil {
		buf.Bytes()[buf.Len()-1] = 0 // The encoder's newline becomes the separator.
		err = c.write(buf.Bytes())
	}

	if err != nil {
		call.abandon()
		return pendingCall{}, err
	}
	return call, nil
}

func (c *conn) write(data []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if err := c.out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return errConnClosed
	}
	if _, err := c.out.Write(data); err != nil {
		// Half a message may be in the pipe: nothing sensible can follow it.
		c.shut()
		return errConnClosed
	}
	return nil
}

// wait returns the answer in result, which may be nil. When ctx ends first it
// returns the cause of that.
func (p pendingCall) wait(ctx context.Context, result any) error {
	select {
	case r := <-p.answer:
		return p.read(r, result)
	case <-ctx.Done():
		p.abandon()
		return context.Cause(ctx)
	case <-p.conn.done:
		select { // The answer may have come just before the end.
		case r := <-p.answer:
			return p.read(r, result)
		default:
			p.abandon()
			return errConnClosed
		}
	}
}

func (p pendingCall) read(r reply, result any) error {
	if r.fault != nil {
		return fmt.Errorf("%w (%s)", r.fault, p.method)
	}
	if r.err != nil {
		r.err.Method = p.method
		return r.err
	}

	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.result, result); err != nil {
		return fmt.Errorf("chrome: %s: %w", p.method, err)
	}
	return nil
}

func (p pendingCall) abandon() {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	delete(p.conn.pending, p.id)
}

// session is one target's command channel.
type session struct {
	conn *conn
	id   string
}

// call sends a command and waits for its answer, stored in result unless nil.
func (s session) call(ctx context.Context, req request, result any) error {
	p, err := s.conn.send(s.id, req)
	if err != nil {
		return err
	}
	return p.wait(ctx, result)
}

// callData sends a command whose answer is data in Base64, and writes that to w
// as it arrives. w is not used after the return.
func (s session) callData(ctx context.Context, req request, w io.Writer) error {
	data := &sink{w: w}
	p, err := s.conn.sendInto(s.id, req, data)
	if err != nil {
		return err
	}

	var out struct {
		Data []byte `json:"data"`
	}
	err = p.wait(ctx, &out)

	poured, fault := data.close()
	if err != nil || poured {
		return errors.Join(err, fault)
	}
	_, err = w.Write(out.Data)
	return err
}

// batch sends commands together and waits for all: the browser works through
// them in order, without a round trip between them. It returns the first error.
func (s session) batch(ctx context.Context, reqs ...request) error {
	calls := make([]pendingCall, 0, len(reqs))
	for _, r := range reqs {
		p, err := s.conn.send(s.id, r)
		if err != nil {
			return err
		}
		calls = append(calls, p)
	}

	var first error
	for _, p := range calls {
		if err := p.wait(ctx, nil); err != nil && first == nil {
			first = err
		}
	}

	return first
}

// post sends a command whose response is not needed, without blocking the caller. Event handlers use it.
func (s session) post(req request) {
	s.conn.posts.Go(func() {
		guard.Log(s.conn.log, "send to browser", func() {
			if p, err := s.conn.send(s.id, req); err == nil {
				p.abandon()
			}
		})
	})
}
