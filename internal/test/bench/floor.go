package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/go-rod/rod/lib/cdp"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/priority"
)

// floor is a browser with the binary, flags, user and sandbox of the service's own,
// driven by bare commands of rod's client over its pipe.
type floor struct {
	*cdp.Client

	cmd     *exec.Cmd
	remove  func() error
	product string // name and version
	in, out *os.File
	loads   sync.Map // session → chan struct{}
}

// pipe is the transport of the DevTools protocol in which a zero byte ends a message.
type pipe struct {
	*bufio.Reader

	out *os.File
}

func (p pipe) Read() ([]byte, error) {
	data, err := p.ReadBytes(0)
	return bytes.TrimSuffix(data, []byte{0}), err
}

func (p pipe) Send(data []byte) error {
	_, err := p.out.Write(append(data, 0))
	return err
}

// startFloor starts the browser. Nothing listens on its proxy: the documents of the floor are complete in themselves.
func startFloor(ctx context.Context) (*floor, error) {
	cmd, remove, err := chrome.Command(ctx, chrome.Config{Proxy: "http://127.0.0.1:0"})
	if err != nil {
		return nil, err
	}
	f := &floor{Client: cdp.New(), cmd: cmd, remove: remove}
	if err := f.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the floor's browser: %w", err), remove())
	}
	go func() {
		for event := range f.Event() {
			page, _ := f.loads.Load(event.SessionID)
			if loaded, ok := page.(chan struct{}); ok && event.Method == "Page.loadEventFired" {
				select {
				case loaded <- struct{}{}:
				default:
				}
			}
		}
	}()
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
	// Alongside other work on the machine both sides have the same share of it (ADR 39).
	new(priority.Share).Set(f.cmd.Process.Pid, priority.Work)
	f.in = ourIn
	f.out = ourOut
	f.Start(pipe{bufio.NewReaderSize(ourIn, 1<<20), ourOut})
	return nil
}

// stop closes the pipe, upon which the browser leaves, and removes its folders.
func (f *floor) stop() error {
	_, _ = f.out.Close(), f.in.Close()
	kill := time.AfterFunc(5*time.Second, func() { _ = f.cmd.Process.Kill() })
	defer kill.Stop()
	_ = f.cmd.Wait()                                      // The exit status does not matter.
	_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // Helpers, if any are left.
	return f.remove()
}

// params are the parameters of a command.
type params map[string]any

// call sends a command and decodes its response into result unless that is nil.
func (f *floor) call(ctx context.Context, session, method string, p params, result any) error {
	response, err := f.Call(ctx, session, method, p)
	if err == nil && result != nil {
		err = json.Unmarshal(response, result)
	}
	if err != nil {
		return fmt.Errorf("floor: %s: %w", method, err)
	}
	return nil
}

// floorPage is a tab.
type floorPage struct {
	*floor

	context, target, session string
	loaded                   chan struct{}
}

// open opens a tab in its own browser context.
func (f *floor) open(ctx context.Context) (*floorPage, error) {
	var made struct{ BrowserContextID, TargetID, SessionID string }
	err := f.call(ctx, "", "Target.createBrowserContext", params{}, &made)
	if err == nil {
		err = f.call(ctx, "", "Target.createTarget", params{"url": "about:blank", "browserContextId": made.BrowserContextID}, &made)
	}
	if err == nil {
		err = f.call(ctx, "", "Target.attachToTarget", params{"targetId": made.TargetID, "flatten": true}, &made)
	}
	if err != nil {
		return nil, err
	}
	p := &floorPage{floor: f, context: made.BrowserContextID, target: made.TargetID, session: made.SessionID, loaded: make(chan struct{}, 1)}
	f.loads.Store(p.session, p.loaded)
	return p, f.call(ctx, p.session, "Page.enable", params{}, nil)
}

// dispose removes the context. A browser that is gone has none either.
func (p *floorPage) dispose(ctx context.Context) {
	p.loads.Delete(p.session)
	_ = p.call(ctx, "", "Target.disposeBrowserContext", params{"browserContextId": p.context}, nil)
}

// load sends a command that loads a document, and waits for that.
func (p *floorPage) load(ctx context.Context, method string, with params) error {
	if err := p.call(ctx, p.session, method, with, nil); err != nil {
		return err
	}
	select {
	case <-p.loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// printPDF sets the document and prints it, as the service does by default.
func (p *floorPage) printPDF(ctx context.Context, html string) error {
	// The main frame of a target has the target's ID.
	if err := p.load(ctx, "Page.setDocumentContent", params{"frameId": p.target, "html": html}); err != nil {
		return err
	}
	var out struct{ Data []byte }
	err := p.call(ctx, p.session, "Page.printToPDF", params{
		"paperWidth": 8.5, "paperHeight": 11, "marginTop": 0, "marginRight": 0, "marginBottom": 0, "marginLeft": 0,
		"printBackground": true, "generateTaggedPDF": false, "generateDocumentOutline": false, "transferMode": "ReturnAsBase64",
	}, &out)
	if err == nil && !bytes.HasPrefix(out.Data, pdfMagic) {
		err = errors.New("floor: the printed document is not a PDF")
	}
	return err
}

// pages returns work that prints on one page for each caller, which is used again and
// again, with a new realm for each document where renew is set.
func (f *floor) pages(ctx context.Context, atOnce int, html string, renew bool) (work, error) {
	var pages []*floorPage
	for range atOnce {
		p, err := f.open(ctx)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return func(ctx context.Context, caller int) error {
		if renew {
			if err := pages[caller].load(ctx, "Page.navigate", params{"url": "about:blank"}); err != nil {
				return err
			}
		}
		return pages[caller].printPDF(ctx, html)
	}, nil
}

// newContext prints in a browser context for each document, as for many accounts.
func (f *floor) newContext(html string) work {
	return func(ctx context.Context, _ int) error {
		p, err := f.open(ctx)
		if err != nil {
			return err
		}
		defer p.dispose(ctx)
		return p.printPDF(ctx, html)
	}
}
