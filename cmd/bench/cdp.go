package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

// cdp is a client of the DevTools protocol over a pipe with nothing in it that
// a measurement of the floor does not need.
type cdp struct {
	in, out *os.File
	done    chan struct{} // closed when the browser's end is

	mu      sync.Mutex
	last    int
	pending map[int]chan<- message
	loaded  map[string]chan<- struct{} // by session
}

type message struct {
	ID        int             `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Result    json.RawMessage `json:"result"`
	Error     *cdpError       `json:"error"`
}

type cdpError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *cdpError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func newCDP(in, out *os.File) *cdp {
	c := &cdp{in: in, out: out, done: make(chan struct{}), pending: map[int]chan<- message{}, loaded: map[string]chan<- struct{}{}}
	go c.read()
	return c
}

// close ends the connection, which makes the browser leave.
func (c *cdp) close() {
	_ = c.out.Close()
	_ = c.in.Close()
	<-c.done
}

func (c *cdp) read() {
	defer close(c.done)
	r := bufio.NewReaderSize(c.in, 1<<20)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m) == nil {
			c.deliver(m)
		}
	}
}

func (c *cdp) deliver(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.pending[m.ID]; ch != nil {
		delete(c.pending, m.ID)
		ch <- m
	} else if ch := c.loaded[m.SessionID]; ch != nil && m.Method == "Page.loadEventFired" {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// onLoad sends the load events of a session to ch, or to nobody when it is nil.
func (c *cdp) onLoad(session string, ch chan<- struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch == nil {
		delete(c.loaded, session)
		return
	}
	c.loaded[session] = ch
}

// params are the parameters of a command.
type params map[string]any

// send writes a command and returns where its answer arrives.
func (c *cdp) send(session, method string, p params) (<-chan message, error) {
	answer := make(chan message, 1)
	command := map[string]any{"method": method, "params": p}
	if session != "" {
		command["sessionId"] = session
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	command["id"] = c.last
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(command); err != nil {
		return nil, err
	}
	buf.Bytes()[buf.Len()-1] = 0
	c.pending[c.last] = answer
	_, err := c.out.Write(buf.Bytes())
	return answer, err
}

var errBrowserGone = errors.New("the browser of the floor ended")

// call sends a command and waits for its answer, which goes to result unless
// that is nil.
func (c *cdp) call(ctx context.Context, session, method string, p params, result any) error {
	answer, err := c.send(session, method, p)
	if err != nil {
		return fmt.Errorf("floor: %s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("floor: %s: %w", method, m.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-c.done:
		return errBrowserGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
