package cli

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// lookEvery is the interval at which the files are checked.
	lookEvery = 300 * time.Millisecond
	// liveRetries is the number of retries if a user saves faster than the limits allow.
	liveRetries = 3
)

// follow shows a folder's document in a browser, until the command is ended.
func (r *templateRender) follow(cmd *cobra.Command, folder *templateFolder) error {
	service, err := connect(cmd, liveRetries)
	if err != nil {
		return err
	}
	if _, err := r.input(folder); err != nil {
		return err
	}

	listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)))
	if err != nil {
		return console.Usagef("--port: %w", err)
	}

	page := newLivePage((&templatePush{}).newName(folder), listener.Addr().String())
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	address := "http://" + listener.Addr().String() + "/"
	fmt.Fprintf(cmd.ErrOrStderr(), "%s shows the document and updates when you save a file. Stop with Ctrl-C.\n",
		address)
	if !r.noBrowser {
		openAddress(cmd.Context(), address)
	}

	r.watchFiles(cmd, service, folder, page)
	err = server.Close()
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// watchFiles makes the document, and again when a file has changed.
func (r *templateRender) watchFiles(cmd *cobra.Command, service *client.Client, folder *templateFolder, page *livePage) {
	var seen map[string]string
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()

	for {
		if now := r.stamps(folder); !maps.Equal(now, seen) {
			seen = now
			r.show(cmd, service, folder, page)
		}

		select {
		case <-cmd.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// stamps returns the sizes and times of the folder's files, to detect changes.
func (r *templateRender) stamps(folder *templateFolder) map[string]string {
	stamps := map[string]string{}
	note := func(path string, info fs.FileInfo, err error) {
		if err == nil {
			stamps[path] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
	}

	names := []string{templateSource, templateData, templateOptions}
	entries, err := os.ReadDir(filepath.Join(folder.path, templatePartials))
	if err == nil {
		for _, entry := range entries {
			names = append(names, filepath.Join(templatePartials, entry.Name()))
		}
	}

	for _, name := range names {
		path := filepath.Join(folder.path, name)
		info, err := os.Stat(path)
		note(path, info, err)
	}

	if r.data != "" {
		info, err := os.Stat(r.data)
		note(r.data, info, err)
	}
	return stamps
}

// show makes the document once, or prints why there is none.
func (r *templateRender) show(cmd *cobra.Command, service *client.Client, folder *templateFolder, page *livePage) {
	begin := time.Now()
	document, charged, err := r.make(cmd.Context(), service, folder)
	if cmd.Context().Err() != nil {
		return
	}

	if err != nil {
		var text strings.Builder
		explain(&text, unreached(service.BaseURL, err))
		fmt.Fprint(cmd.ErrOrStderr(), text.String())
		page.fail(text.String())
		return
	}

	r.spent += charged
	page.put(document)
	fmt.Fprintf(cmd.ErrOrStderr(), "%s  %s  %.1f s  %v, total %v\n", begin.Format(time.TimeOnly),
		setting.SizeText(int64(len(document))), time.Since(begin).Seconds(), charged, r.spent)
}

func (r *templateRender) make(
	ctx context.Context, service *client.Client, folder *templateFolder,
) ([]byte, credit.Amount, error) {
	input, err := r.input(folder)
	if err != nil {
		return nil, 0, err
	}

	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	result, err := service.Do(ctx, "templates.preview", input, client.CallOptions{})
	if err != nil {
		return nil, 0, err
	}

	defer result.Body.Close()
	document, err := io.ReadAll(result.Body)
	return document, credit.Amount(result.Charged), err
}

// livePage is a page on this machine that shows the current state of the document.
type livePage struct {
	title, host string
	mux         *http.ServeMux

	mu       sync.Mutex
	document []byte
	wrong    string        // why the document is outdated
	version  int           // of the preview
	newer    chan struct{} // closed with the next version
}

func newLivePage(title, host string) *livePage {
	p := &livePage{title: title, host: host, mux: http.NewServeMux(), newer: make(chan struct{})}
	p.mux.HandleFunc("GET /{$}", p.page)
	p.mux.HandleFunc("GET /document.pdf", p.pdf)
	p.mux.HandleFunc("GET /wait", p.wait)
	return p
}

// ServeHTTP answers to this machine's own names only, so that no page of another
// site can read the document.
func (p *livePage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, port, _ := net.SplitHostPort(p.host)
	if r.Host != p.host && r.Host != "localhost:"+port {
		http.Error(w, "this page is shown at http://"+p.host+"/ only", http.StatusForbidden)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	p.mux.ServeHTTP(w, r)
}

func (p *livePage) put(document []byte) {
	p.change(func() {
		p.document = document
		p.wrong = ""
	})
}

func (p *livePage) fail(text string) { p.change(func() { p.wrong = text }) }

func (p *livePage) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	p.version++
	close(p.newer)
	p.newer = make(chan struct{})
}

// livePatience is the maximum time that the page waits for a change before it asks again.
const livePatience = 25 * time.Second

// wait answers when there is something else to show than the version that the page
// has.
func (p *livePage) wait(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	newer := p.newer
	current := p.version
	p.mu.Unlock()

	if r.FormValue("version") == strconv.Itoa(current) {
		select {
		case <-newer:
		case <-r.Context().Done():
			return
		case <-time.After(livePatience):
		}
	}

	p.mu.Lock()
	answer := map[string]any{"version": p.version, "wrong": p.wrong, "there": p.document != nil}
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = console.PrintJSON(w, answer) // who asked may have gone
}

func (p *livePage) pdf(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	document := p.document
	p.mu.Unlock()
	if document == nil {
		http.Error(w, "there is no document yet", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document))
}

func (p *livePage) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'")
	_ = liveTemplate.Execute(w, p.title)
}

// liveHTML keeps the document that is there while a new one cannot be made.
//
//go:embed live.html
var liveHTML string

var liveTemplate = template.Must(template.New("live").Parse(liveHTML))
