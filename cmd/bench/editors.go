package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"relaypdf/api/embedding"
	"relaypdf/api/wire"
)

const (
	editorsTyping = 20
	// editorsGoal bounds the p95 of calls beside them, in p95s without them.
	editorsGoal = 1.3
	// previewGoal bounds the p95 of a preview of one page, in milliseconds.
	previewGoal = 400
	// A person types ten characters in a second, and thinks. The editor takes it for
	// a pause when nothing was typed for some time, and asks for the pages then.
	typingTime, thinkingTime = time.Second, 500 * time.Millisecond
	pauseTime                = 300 * time.Millisecond
)

// editors measures people in the template editor, by links for frames of other
// sites: what those ask for is what the editor of members asks for.
type editors struct{ *lab }

// typing measures how soon pages come, and what calls of another account pay for it.
func (l editors) typing(ctx context.Context, r *report) error {
	l.say("%d editors typing", editorsTyping)
	people := make([]*editor, editorsTyping)
	for i := range people {
		link, err := l.link(ctx, l.keys[1+i%inTurn], i)
		if err != nil {
			return err
		}
		people[i] = &editor{http: l.client.http, link: link, text: fmt.Sprintf("Editor %d. ", i)}
	}
	for _, e := range people { // Their accounts have browsers then.
		if err := e.pause(ctx); err != nil {
			return err
		}
	}
	// One account, but many links: nobody types so fast that one of them is enough.
	fast := make([]*editor, 8)
	for i := range fast {
		link, err := l.link(ctx, l.keys[1], editorsTyping+i)
		if err != nil {
			return err
		}
		fast[i] = &editor{http: l.client.http, link: link, text: "Alone. "}
	}
	next := 0
	alone := func(ctx context.Context, _ int) error {
		next++
		return fast[next%len(fast)].pause(ctx)
	}
	if err := repeat(ctx, 1, choose(l.lab, 10, 2), alone); err != nil {
		return err
	}
	one, err := closedLoop(ctx, 1, choose(l.lab, 15*time.Second, time.Second), alone)
	if err != nil {
		return err
	}
	r.reach(goalFigures{
		Name: "preview of one page after a pause, p95", Got: ms(percentile(one.latencies, 95)), Goal: previewGoal, Unit: "ms",
		Beside: fmt.Sprintf("%d previews over HTTP, p50 %.1f ms; the %v by which the editor knows a pause come before", len(one.latencies), ms(percentile(one.latencies, 50)), pauseTime),
	})

	// In turn, so that a drift of the machine meets both.
	var without, beside, previews []time.Duration
	call := l.own(pdfRequest(invoice()))
	span := choose(l.lab, 20*time.Second, 3*time.Second)
	for range choose(l.lab, 3, 1) {
		s, err := closedLoop(ctx, 1, span, call)
		if err != nil {
			return err
		}
		without = append(without, s.latencies...)
		seen, stop := typeAll(ctx, people)
		s, err = closedLoop(ctx, 1, span, call)
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
		beside, previews = append(beside, s.latencies...), append(previews, *seen...)
	}
	before, after := percentile(without, 95), percentile(beside, 95)
	r.reach(goalFigures{
		Name: fmt.Sprintf("calls beside %d editors typing, p95 against without", editorsTyping), Got: ms(after) / ms(before), Goal: editorsGoal, Unit: "x",
		Beside: fmt.Sprintf("p95 %.1f ms of %d, %.1f ms without; %d previews, p95 %.1f ms", ms(after), len(beside), ms(before), len(previews), ms(percentile(previews, 95))),
	})
	return nil
}

// link makes a template, and a link to the editor of it.
func (l editors) link(ctx context.Context, key string, i int) (string, error) {
	slug := fmt.Sprintf("typed-%d-%d", i, time.Now().UnixNano())
	if err := l.client.sendJSON(ctx, key, "/v1/templates", map[string]any{"name": "typed", "slug": slug, "html": "x"}, nil); err != nil {
		return "", err
	}
	var made wire.TemplateSession
	err := l.client.sendJSON(ctx, key, "/v1/templates/"+slug+"/sessions", map[string]any{
		"capabilities": []embedding.Capability{embedding.Edit, embedding.Data, embedding.Preview}, "origin": "https://app.example.com",
	}, &made)
	_, token, _ := strings.Cut(made.URL, embedding.Path)
	return l.server.url + embedding.Path + token, err
}

// editor is one person who types.
type editor struct {
	http *http.Client
	link string
	text string // typed so far
}

// typeAll has all of them type until stop is called, which returns when they have
// left. Then seen are the times in which pages came.
func typeAll(ctx context.Context, people []*editor) (seen *[]time.Duration, stop func() error) {
	ctx, leave := context.WithCancelCause(ctx)
	var mu sync.Mutex
	var typing sync.WaitGroup
	seen = new([]time.Duration)
	left := errors.New("they have left")
	for i, e := range people {
		typing.Go(func() {
			// They did not all come in the same moment.
			wait := (typingTime + thinkingTime) * time.Duration(i) / time.Duration(len(people))
			for {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return
				}
				begin := time.Now()
				if err := e.pause(ctx); err != nil {
					leave(err)
					return
				}
				took := time.Since(begin)
				mu.Lock()
				*seen = append(*seen, took)
				mu.Unlock()
				wait = max(0, typingTime+thinkingTime-took)
			}
		})
	}
	return seen, func() error {
		leave(left)
		typing.Wait()
		if err := context.Cause(ctx); !errors.Is(err, left) {
			return err
		}
		return nil
	}
}

// pause is what the editor asks for when somebody has typed and pauses: whether the
// template is right, and what its page looks like.
func (e *editor) pause(ctx context.Context) error {
	e.text += "ten more. "
	if len(e.text) > 2000 { // one page
		e.text = e.text[:12]
	}
	checked := make(chan error, 1)
	go func() { checked <- e.ask(ctx, "/check", map[string]any{"html": e.html()}, nil) }()
	var pages struct{ Pages int }
	err := e.ask(ctx, "/pages?scale=1", map[string]any{"html": e.html(), "sampleData": map[string]any{"name": "Ada"}}, &pages)
	if err == nil && pages.Pages != 1 {
		err = fmt.Errorf("a preview has %d pages, want one", pages.Pages)
	}
	return errors.Join(err, <-checked)
}

func (e *editor) html() string {
	return head + "<h1>Dear {{name}}</h1><p>" + e.text + "</p></body></html>"
}

func (e *editor) ask(ctx context.Context, below string, in, out any) error {
	return sendJSON(ctx, e.http, http.Header{}, e.link+below, in, out)
}

// sendJSON posts JSON and reads the answer's, where it is wanted.
func (c *client) sendJSON(ctx context.Context, key, path string, in, out any) error {
	return sendJSON(ctx, c.http, http.Header{"Authorization": {"Bearer " + key}}, c.url+path, in, out)
}

func sendJSON(ctx context.Context, client *http.Client, header http.Header, address string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s: status %d: %.300s", request.URL.Path, response.StatusCode, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}
