package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// editors measures users who type in the template editor, by links for frames of other sites, which ask for the same
// as members' own editor. After a pause the editor asks for the pages.
func (l *lab) editors(ctx context.Context) ([]Row, error) {
	typing := choose(l, 20, 3)
	users := make([]*editor, typing)
	for i := range users {
		var err error
		if users[i], err = l.newEditor(ctx, l.keys[1+i%inTurn], i); err != nil {
			return nil, err
		}
		if err := users[i].pause(ctx); err != nil { // Their accounts have browsers then.
			return nil, err
		}
	}
	next := 0
	preview := &side{do: func(ctx context.Context, _ int) error {
		next++
		return users[next%typing].pause(ctx)
	}}
	printing, err := l.floor.pages(ctx, 1, users[0].html(), false)
	if err != nil {
		return nil, err
	}
	page := &side{do: printing}
	if err := l.compare(ctx, 1, page, preview); err != nil {
		return nil, err
	}
	// In turn, so that a drift of the machine meets both.
	without := &side{do: l.own(pdfRequest(invoice()))}
	alongside := &side{do: l.own(pdfRequest(invoice()))}
	previews := &side{do: typeAndPause(users)}
	span := choose(l, 10*time.Second, 500*time.Millisecond)
	for range choose(l, 3, 1) {
		if err := without.round(ctx, 1, span); err != nil {
			return nil, err
		}
		left := make(chan error, 1)
		go func() { left <- previews.round(ctx, typing, span) }()
		err := alongside.round(ctx, 1, span)
		if err := errors.Join(err, <-left); err != nil {
			return nil, err
		}
	}
	return []Row{
		timeRow("preview of one page in the editor", "bare browser, a page printed", Goal{Plus: 400}, page, preview),
		{
			Name: fmt.Sprintf("invoices alongside %d editors typing", typing), Floor: "the same calls without editors", Unit: "ms p95", Goal: Goal{Times: 1.3},
			FloorFigure: without.percentile(95), OurFigure: alongside.percentile(95), Note: fmt.Sprintf("%d invoices, %d previews", len(alongside.latencies), len(previews.latencies)),
		},
	}, nil
}

// editor is one user who types.
type editor struct {
	*client

	path string
	text string // typed so far
}

// newEditor makes a template, and a link to its editor.
func (l *lab) newEditor(ctx context.Context, key string, i int) (*editor, error) {
	slug := fmt.Sprintf("typed-%d-%d", i, time.Now().UnixNano())
	if _, err := l.client.do(ctx, key, newRequest("/v1/templates", map[string]any{"name": "typed", "slug": slug, "html": "x"}, nil)); err != nil {
		return nil, err
	}
	answer, err := l.client.do(ctx, key, newRequest("/v1/templates/"+slug+"/sessions", map[string]any{
		"capabilities": []string{"edit", "data", "options", "preview"}, "origin": "https://app.example.com",
	}, nil))
	if err != nil {
		return nil, err
	}
	var made struct{ URL string }
	if err := json.Unmarshal(answer, &made); err != nil {
		return nil, err
	}
	link, err := url.Parse(made.URL)
	if err != nil {
		return nil, err
	}
	return &editor{client: l.client, path: link.EscapedPath(), text: fmt.Sprintf("Editor %d. ", i)}, nil
}

// typeAndPause is work in which a user types and thinks for 1.5 s, with the wait for the
// preview in it. The users begin one after the other.
func typeAndPause(users []*editor) work {
	const typingAndThinking = 1500 * time.Millisecond
	started := make([]bool, len(users))
	return func(ctx context.Context, i int) error {
		begin := time.Now()
		if !started[i] {
			begin = begin.Add(typingAndThinking * time.Duration(i) / time.Duration(len(users)))
			started[i] = true
		}
		<-time.After(time.Until(begin))
		err := users[i].pause(ctx)
		if errors.Is(err, errBusy) { // The page of before stays, and the user types on.
			err = nil
		}
		<-time.After(time.Until(begin.Add(typingAndThinking)))
		return err
	}
}

// pause sends the editor's requests after a pause in typing: whether the template is valid, and the preview of its
// page.
func (e *editor) pause(ctx context.Context) error {
	e.text += "ten more. "
	if len(e.text) > 2000 { // one page
		e.text = e.text[:12]
	}
	checked := make(chan error, 1)
	check := newRequest(e.path+"/check", map[string]any{"html": e.html()}, nil)
	go func() {
		_, err := e.do(ctx, "", check)
		checked <- err
	}()
	patient := map[string]any{"timeout": 60_000} // Previews step back behind all else on the machine.
	answer, err := e.do(ctx, "", newRequest(e.path+"/pages?scale=1", map[string]any{"html": e.html(), "sampleData": map[string]any{"name": "Ada"}, "options": patient}, nil))
	var drawn struct{ Pages int }
	if err == nil {
		err = json.Unmarshal(answer, &drawn)
	}
	if err == nil && drawn.Pages != 1 {
		err = fmt.Errorf("a preview has %d pages, want one", drawn.Pages)
	}
	return errors.Join(err, <-checked)
}

func (e *editor) html() string {
	return head + "<h1>Dear {{name}}</h1><p>" + e.text + "</p></body></html>"
}
