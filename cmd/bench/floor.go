package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"relaypdf/render/chrome"
)

// leaveTime is how long a browser may take to leave after its pipe closed.
const leaveTime = 5 * time.Second

// floor is a browser that is spoken to with bare commands.
type floor struct {
	*cdp
	cmd     *exec.Cmd
	exited  chan struct{}
	remove  func() error
	product string // name and version
}

// startFloor starts the browser as the service starts its own. Nothing listens
// on its proxy: the documents of the floor are complete in themselves.
func startFloor(ctx context.Context) (*floor, error) {
	cmd, remove, err := chrome.Command(ctx, chrome.Config{Proxy: "http://127.0.0.1:0"})
	if err != nil {
		return nil, err
	}
	f := &floor{cmd: cmd, exited: make(chan struct{}), remove: remove}
	if err := f.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the floor's browser: %w", err), remove())
	}
	var version struct{ Product string }
	if err := f.call(ctx, "", "Browser.getVersion", nil, &version); err != nil {
		return nil, errors.Join(err, f.stop())
	}
	f.product = version.Product
	return f, nil
}

func (f *floor) start() error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirIn.Close()
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, ourOut.Close())
	}
	defer theirOut.Close()
	f.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := f.cmd.Start(); err != nil {
		return errors.Join(err, ourIn.Close(), ourOut.Close())
	}
	f.cdp = newCDP(ourIn, ourOut)
	go func() {
		defer close(f.exited)
		_ = f.cmd.Wait() // How it ended does not matter.
	}()
	return nil
}

// stop ends the browser and removes its folders.
func (f *floor) stop() error {
	f.close()
	select {
	case <-f.exited:
	case <-time.After(leaveTime):
	}
	_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // Helpers, if any are left.
	<-f.exited
	return f.remove()
}

// floorPage is a tab.
type floorPage struct {
	*floor
	context, target, session string
	loaded                   chan struct{}
}

// open makes a tab in a browser context of its own.
func (f *floor) open(ctx context.Context) (*floorPage, error) {
	p := &floorPage{floor: f, loaded: make(chan struct{}, 1)}
	var made struct{ BrowserContextID string }
	if err := f.call(ctx, "", "Target.createBrowserContext", nil, &made); err != nil {
		return nil, err
	}
	p.context = made.BrowserContextID
	var target struct{ TargetID string }
	create := params{"url": "about:blank", "browserContextId": p.context}
	if err := f.call(ctx, "", "Target.createTarget", create, &target); err != nil {
		return nil, err
	}
	p.target = target.TargetID
	var attached struct{ SessionID string }
	if err := f.call(ctx, "", "Target.attachToTarget", params{"targetId": p.target, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p.session = attached.SessionID
	f.onLoad(p.session, p.loaded)
	return p, f.call(ctx, p.session, "Page.enable", nil, nil)
}

// dispose removes the context without waiting for that.
func (p *floorPage) dispose() {
	p.onLoad(p.session, nil)
	// A browser that is gone has no context either.
	_, _ = p.send("", "Target.disposeBrowserContext", params{"browserContextId": p.context})
}

// renew gives the page a new realm.
func (p *floorPage) renew(ctx context.Context) error {
	if err := p.call(ctx, p.session, "Page.navigate", params{"url": "about:blank"}, nil); err != nil {
		return err
	}
	return p.awaitLoad(ctx)
}

// printPDF sets the document and prints it, as the service does by default.
func (p *floorPage) printPDF(ctx context.Context, html string) error {
	// The main frame of a target has the target's id.
	set := params{"frameId": p.target, "html": html}
	if err := p.call(ctx, p.session, "Page.setDocumentContent", set, nil); err != nil {
		return err
	}
	if err := p.awaitLoad(ctx); err != nil {
		return err
	}
	var out struct{ Data []byte }
	err := p.call(ctx, p.session, "Page.printToPDF", params{
		"paperWidth": 8.5, "paperHeight": 11, "marginTop": 0, "marginRight": 0, "marginBottom": 0, "marginLeft": 0,
		"printBackground": true, "generateTaggedPDF": false, "generateDocumentOutline": false, "transferMode": "ReturnAsBase64",
	}, &out)
	if err == nil && !bytes.HasPrefix(out.Data, pdfMagic) {
		err = errors.New("floor: what was printed is no PDF")
	}
	return err
}

// pdfMagic is how every PDF begins.
var pdfMagic = []byte("%PDF-")

func (p *floorPage) awaitLoad(ctx context.Context) error {
	select {
	case <-p.loaded:
		return nil
	case <-p.done:
		return errBrowserGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
