package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/llm"
)

// describesPerMinute is the maximum number of a user's requests to a model, or for a price, per minute.
const describesPerMinute = 20

// describeDraft asks for the price of a template from a description, which is free, or has it written for an
// accepted price. Nothing is saved: the editor shows the result.
func (w *Web) describeDraft(v *pageRequest, body []byte) error {
	if _, ok := w.allow(v.ctx(), "describe:"+v.person.ID, describesPerMinute, time.Minute); !ok {
		return errTooMany
	}

	found, err := v.template()
	if err != nil {
		return err
	}

	var order struct{ QuoteID, Response string }
	if err := json.Unmarshal(body, &order); err != nil || order.Response != "" {
		return errForm
	}

	request := call.Request{Caller: v.caller(), Body: bytes.NewReader(body), RequestID: middleware.RequestID(v.ctx())}
	if order.QuoteID != "" {
		// If a paid response was lost on its way, the retry returns it again without a second charge.
		request.SetIdempotencyKey("editor " + order.QuoteID)
	}

	stream := newTextStream(v)
	var written json.RawMessage
	ctx := llm.Listen(v.ctx(), stream.add)
	err = w.templates.Run(ctx, "templates.generate", request, func(made *call.Outcome) error {
		return json.NewDecoder(made.Body.Open()).Decode(&written)
	})
	started, broken := stream.end()
	if err == nil && order.QuoteID != "" {
		err = v.record("template.described", found.Name, found.Slug)
	}
	if !started {
		return v.answerScript(written, errors.Join(err, broken))
	}

	// No page can be shown in the editor any more: it sees the response break off.
	if broken == nil {
		broken = stream.finish(v.scriptAnswer(written, err))
	}
	if broken != nil && v.ctx().Err() == nil {
		w.log.LogAttrs(v.ctx(), slog.LevelWarn, "description not delivered", slog.Any("error", broken))
	}
	return nil
}

// textStream streams a model's text to the editor while the model writes it: lines of JSON, each with the text since
// the previous one. The response follows the line with its status. Without any text, nothing is sent.
type textStream struct {
	v *pageRequest

	mu      sync.Mutex
	parts   part
	ended   bool
	more    chan struct{}
	work    *guard.Group
	started bool // something was sent
}

// part is one line of a model's text.
type part struct {
	Text  string `json:"text"`
	First bool   `json:"first,omitempty"` // a new answer begins with it
}

// writtenType is the media type of the progress stream.
const writtenType = "application/x-ndjson"

func newTextStream(v *pageRequest) *textStream {
	t := &textStream{v: v, more: make(chan struct{}, 1), work: guard.NewGroup()}
	t.work.Go(t.run)
	return t
}

// add takes new text of the model without making it wait for the editor.
func (t *textStream) add(text string, first bool) {
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

func (t *textStream) take() part {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.parts
	t.parts = part{}
	return taken
}

// run forwards the text until end, or until the editor has left.
func (t *textStream) run() error {
	for range t.more {
		line, err := json.Marshal(t.take())
		if err != nil {
			return err
		}

		if !t.started {
			t.started = true
			t.v.w.Header().Set("Content-Type", writtenType)
			t.v.w.Header().Set("X-Accel-Buffering", "no") // Proxies pass it on as it comes.
			t.v.w.WriteHeader(http.StatusOK)
		}

		_, err = t.v.w.Write(append(line, '\n'))
		if err == nil {
			err = http.NewResponseController(t.v.w).Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end stops it, and returns whether anything was sent, and the error.
func (t *textStream) end() (started bool, err error) {
	t.mu.Lock()
	t.ended = true
	close(t.more)
	t.mu.Unlock()
	err = t.work.Wait()
	return t.started, err
}

// finish sends the response after the progress stream.
func (t *textStream) finish(status int, answer []byte) error {
	_, err := fmt.Fprintf(t.v.w, `{"status":%d}`+"\n%s", status, answer)
	return err
}
