package render

import (
	"errors"

	"relaypdf/render/chrome"
	"relaypdf/render/queue"
)

// Account is a Renderer as one account uses it. Its documents never meet those
// of another, and its work waits in a line of its own, so that no account keeps
// another from the slots. It is safe for concurrent use, and costs nothing to
// make.
type Account struct{ Tools }

// Tools is what engines do for an account: they work on files, and fill
// templates.
type Tools struct {
	render *Renderer
	id     string
}

// For returns the Renderer as an account uses it; nil for a nil Renderer.
func (r *Renderer) For(account string) *Account {
	if r == nil {
		return nil
	}
	return &Account{Tools{render: r, id: account}}
}

// Guests returns the Renderer as those use it who have no account, such as
// visitors of the pages: one document at a time, and only with what no account
// wants at that moment.
func (r *Renderer) Guests() *Account { return r.For(queue.Guests) }

// Admit returns the *chrome.BusyError that PDF and Screenshot would return at this
// moment because the queue is full, or nil.
func (a *Account) Admit() error { return a.render.browser.Admit(a.id) }

// AdmitTool returns the *chrome.BusyError that work on files would return at this
// moment because the queue is full, or nil.
func (t *Tools) AdmitTool() error {
	err := t.render.engines.Admit(t.id)
	if err != nil && !errors.Is(err, chrome.ErrBusy) {
		return chrome.ErrClosed
	}
	return err
}
