package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"relaypdf/api/llm"
)

// describesPerMinute bounds how often a person asks a model for something, or
// what that costs.
const describesPerMinute = 20

// describeDraft asks what a template of a description would cost, which is free,
// or has it written for a price that was accepted. Nothing is saved: what comes
// back is the editor's to show.
func (w *Web) describeDraft(v *visit) error {
	if _, ok := w.allow(v.ctx(), "describe:"+v.person.ID, describesPerMinute, time.Minute); !ok {
		return errTooMany
	}
	found, _, err := v.template()
	if err != nil {
		return err
	}
	body, err := v.sent()
	if err != nil {
		return err
	}
	var order struct{ QuoteID string }
	if err := json.Unmarshal(body, &order); err != nil {
		return errForm
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if order.QuoteID != "" {
		// What was paid for and got lost on its way comes again, and is not paid twice.
		header.Set("Idempotency-Key", "editor "+order.QuoteID)
	}
	told := tell(v)
	v.r = v.r.WithContext(llm.Listen(v.ctx(), told.hear))
	answer, err := v.send(http.MethodPost, templatesRoutes+"/generate", bytes.NewReader(body), header)
	begun := told.end()
	switch {
	case err != nil && begun:
		return nil // The editor has left, or sees the answer break off: no page can be shown in it any more.
	case err != nil:
	case begun:
		err = told.finish(answer)
	default:
		err = w.forward(v, answer)
	}
	if err != nil || answer.Status != http.StatusOK || order.QuoteID == "" {
		return err
	}
	return v.record("template.described", found.Name, found.Slug)
}

// telling passes on to the editor what a model writes, while it writes: lines of
// JSON with what came since the last one. The answer follows the line that has its
// status. Where nothing was heard, nothing is sent.
type telling struct {
	v *visit

	mu    sync.Mutex
	parts part
	ended bool
	more  chan struct{}
	done  chan bool // whether anything was sent
}

// part is one line of what a model writes.
type part struct {
	Text  string `json:"text"`
	First bool   `json:"first,omitempty"` // a new answer begins with it
}

// writtenType is the kind of what is told.
const writtenType = "application/x-ndjson"

func tell(v *visit) *telling {
	t := &telling{v: v, more: make(chan struct{}, 1), done: make(chan bool, 1)}
	go t.run()
	return t
}

// hear takes what the model has written, and keeps it from waiting for the editor.
func (t *telling) hear(text string, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	if first {
		t.parts = part{First: true}
	}
	t.parts.Text += text
	select {
	case t.more <- struct{}{}:
	default: // It will be seen.
	}
}

func (t *telling) take() part {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.parts
	t.parts = part{}
	return taken
}

func (t *telling) run() {
	begun, broken := false, false
	for range t.more {
		line, err := json.Marshal(t.take())
		if err != nil || broken {
			continue // A text always marshals; whoever has left hears nothing.
		}
		if !begun {
			begun = true
			t.v.w.Header().Set("Content-Type", writtenType)
			t.v.w.Header().Set("X-Accel-Buffering", "no") // Proxies pass it on as it comes.
			t.v.w.WriteHeader(http.StatusOK)
		}
		_, err = t.v.w.Write(append(line, '\n'))
		if err == nil {
			err = http.NewResponseController(t.v.w).Flush()
		}
		broken = err != nil
	}
	t.done <- begun
}

// end stops it, and tells whether anything was sent.
func (t *telling) end() bool {
	t.mu.Lock()
	t.ended = true
	close(t.more)
	t.mu.Unlock()
	return <-t.done
}

// finish sends the answer after what was told.
func (t *telling) finish(answer *heard) error {
	if _, err := fmt.Fprintf(t.v.w, `{"status":%d}`+"\n", answer.Status); err != nil {
		return err
	}
	_, err := t.v.w.Write(answer.Body.Bytes())
	return err
}
