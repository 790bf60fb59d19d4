package render

import (
	"errors"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/queue"
)

// Account is a Renderer as one account uses it. Its documents are isolated from those of other accounts, and its
// jobs have their own queue, so that one account cannot occupy all slots. An Account is safe for concurrent use and
// cheap to create.
type Account struct{ Engines }

// Engines holds the functions that engines run for an account: work on files, and filling templates.
type Engines struct {
	render *Renderer
	id     string
}

// For returns the Renderer as an account uses it; nil for a nil Renderer.
func (r *Renderer) For(account string) *Account {
	if r == nil {
		return nil
	}
	return &Account{Engines{render: r, id: account}}
}

// ForTrial is For for an account that has never paid: all of these share the slots so that others find one.
func (r *Renderer) ForTrial(account string) *Account { return r.For(queue.Trial(account)) }

// Guests returns the Renderer for users without an account, such as visitors of the public pages. It renders one
// document at a time, and only when no account waits for a slot.
func (r *Renderer) Guests() *Account { return r.For(queue.Anonymous) }

// Admit returns the *chrome.BusyError that PDF and Screenshot would return now because the queue is full, or nil.
func (a *Account) Admit() error { return a.render.browser.Admit(a.id) }

// AdmitEngine returns the *chrome.BusyError that work on files would return now because the queue is full, or nil.
func (e *Engines) AdmitEngine() error {
	err := e.render.engines.Admit(e.id)
	if err != nil && !errors.Is(err, chrome.ErrBusy) {
		return chrome.ErrClosed
	}
	return err
}
