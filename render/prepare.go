package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/email"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/markup"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/records"
	"github.com/relaypdf/relaypdf/render/template"
)

// lookupTimeout limits the DNS lookup of a host name.
const lookupTimeout = 10 * time.Second

// prepare turns a source into a job of the browser, whose deadline is the rest of the page's timeout. It checks
// where a URL leads, converts Markdown and chooses the render mode.
func (a *Account) prepare(
	ctx context.Context, src Source, page PageSettings, style markup.MarkdownOptions,
) (chrome.Job, error) {
	if page.Timeout <= 0 {
		page.Timeout = a.render.timeout
	}

	job := chrome.Job{
		RenderMode: chrome.ModeOnce, HTML: src.HTML, Timeout: page.Timeout,
		WaitUntil: page.WaitUntil, WaitForSelector: page.WaitForSelector, WaitForTimeout: page.WaitForTimeout,
		Headers: page.Headers, Cookies: page.Cookies, Media: page.Media, ColorScheme: page.ColorScheme,
		Offline: page.Offline, WaitForFunction: page.WaitForFunction, Strict: page.Strict, Animate: page.Animate,
		Assets: src.Assets, Index: src.Index,
	}

	start := time.Now()
	var err error
	var about markup.MarkdownDocument
	switch {
	case src.URL != "":
		job.URL, err = a.render.resolve(ctx, src.URL, page.Timeout)
	case src.Markdown != "":
		style.AllowHTML = src.AllowHTML
		style.Formulas = src.Formulas
		about, err = a.convert(ctx, src.Markdown, style, page.Timeout)
		job.HTML = string(about.HTML)
		job.Warnings = faultsOf(about)
		job.Generated = true
	}

	if err != nil {
		return chrome.Job{}, err
	}
	if job.URL == "" && !page.Offline && len(job.Assets) == 0 {
		job.RenderMode = modeOf(job.HTML)
	}

	if about.Diagrams {
		// Trusted scripts of relaypdf draw them, and they send no requests.
		job.RenderMode = max(job.RenderMode, chrome.ModeRealm)
		if job.HTML, err = markup.WithDiagrams(job.HTML); err != nil {
			return chrome.Job{}, err
		}
	}

	job.Timeout = max(page.Timeout-time.Since(start), time.Millisecond)
	return job, nil
}

// faultsOf returns the warnings of Markdown that cannot be shown as intended.
func faultsOf(doc markup.MarkdownDocument) (faults []chrome.Warning) {
	for _, f := range doc.Faults {
		faults = append(
			faults, chrome.Warning{Code: chrome.ScriptError, Message: fmt.Sprintf("line %d: %s", f.Line, f.Text)},
		)
	}
	if f := doc.Filtered; f != nil {
		faults = append(
			faults,
			chrome.Warning{
				Code:    htmlFiltered,
				Message: fmt.Sprintf(`line %d: %s; set options.html to "allow" to render them as HTML`, f.Line, f.Text),
			},
		)
	}
	return faults
}

// htmlFiltered is the code of the warning that tags in Markdown became text.
const htmlFiltered = "html_filtered"

// modeOf returns the fastest render mode that a document may use. Chromium does not have to trust this choice,
// because it really disables scripts and the network in that mode.
func modeOf(html string) chrome.RenderMode {
	traits := markup.Inspect(html)
	switch {
	case traits.Network:
		return chrome.ModeOnce
	case traits.Script, markup.PersistsState(html):
		return chrome.ModeRealm
	default:
		return chrome.ModeInline
	}
}

// resolve checks a URL before the browser loads it, both as text and in the DNS, and returns the checked text.
func (r *Renderer) resolve(ctx context.Context, raw string, timeout time.Duration) (string, error) {
	u, err := r.policy.CheckURL(raw, "https")
	if err != nil {
		return "", err
	}

	lookup, cancel := context.WithTimeout(ctx, min(timeout, lookupTimeout))
	defer cancel()

	err = r.policy.CheckTarget(lookup, u)
	var unknown *net.DNSError
	switch {
	case err == nil || errors.Is(err, egress.ErrRefused):
		return u.String(), err
	case ctx.Err() != nil:
		return "", ctx.Err()
	case lookup.Err() != nil && timeout < lookupTimeout:
		return "", &chrome.TimeoutError{Step: "looking up the host name", After: timeout}
	case errors.As(err, &unknown) || lookup.Err() != nil:
		return "", &chrome.LoadError{URL: u.String(), Reason: "net::ERR_NAME_NOT_RESOLVED"}
	}
	return "", err
}

// refusal returns a refusal if a page did not load because its URL, or the URL of a redirect, is not allowed.
// Chromium only knows that the proxy did not connect.
func (r *Renderer) refusal(ctx context.Context, err error) error {
	var load *chrome.LoadError
	if !errors.As(err, &load) {
		return err
	}

	u, refused := r.policy.CheckURL(load.URL, "https", "http")
	if refused != nil {
		return refused
	}

	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if refused := r.policy.CheckTarget(lookup, u); errors.Is(refused, egress.ErrRefused) {
		return refused
	}
	return err
}

// markdownJob is the name of the engines' job that converts Markdown.
const markdownJob = "markdown"

// convert turns Markdown into a document in a separate process, because some short inputs never finish.
func (a *Account) convert(
	ctx context.Context, source string, style markup.MarkdownOptions, timeout time.Duration,
) (doc markup.MarkdownDocument, err error) {
	defer func(start time.Time) { a.render.seen(ctx, "markdown", time.Since(start)) }(time.Now())
	// A shorter limit would count as the account's overload. What the conversion takes is not left for the browser.
	answer, err := a.runMarkup(
		ctx, engine.Job{Name: markdownJob, Args: style, Body: []byte(source), Time: max(timeout, MinTimeout)},
	)

	var late *engine.TimeoutError
	switch {
	case err == nil:
		about, html, _ := bytes.Cut(answer, []byte("\n"))
		if err := json.Unmarshal(about, &doc); err != nil {
			return doc, fmt.Errorf("convert Markdown: %w", err)
		}
		doc.HTML = html
		return doc, nil
	case ctx.Err() != nil:
		return doc, ctx.Err()
	case errors.As(err, &late):
		return doc, &chrome.TimeoutError{Step: "converting Markdown", After: timeout, Slowed: late.Slowed}
	case errors.Is(err, chrome.ErrBusy):
		return doc, err
	case errors.Is(err, engine.ErrCrashed):
		return doc, fmt.Errorf("convert Markdown: %w: %w", chrome.ErrCrashed, err)
	}
	return doc, fmt.Errorf("convert Markdown: %w", err)
}

// runMarkup runs a job that makes a document of text, such as Markdown or a template. These jobs have their own
// children: they take milliseconds and never wait behind work on files. Errors are those of engine.Pool.Run.
func (e *Engines) runMarkup(ctx context.Context, job engine.Job) ([]byte, error) {
	job.Account = e.id
	return e.render.markup.Do(ctx, job)
}

// ExecBrowser turns this process into a browser that is confined from outside. The engine's command runs it if its
// first argument is "browser"; args are the arguments after that. It returns only an error.
func ExecBrowser(args []string) error { return engine.ExecBrowser(args) }

// ServeEngine is the main function of an engine process. It runs the jobs that arrive on in, and returns when in
// ends. See engine.Serve.
func ServeEngine(in io.Reader, out io.Writer) error {
	handlers := job.Handlers()
	maps.Copy(handlers, office.Handlers())
	maps.Copy(handlers, template.Handlers())
	maps.Copy(handlers, email.Handlers())
	maps.Copy(handlers, records.Handlers())
	handlers[markdownJob] = engine.Handle(func(_ context.Context, _ *engine.Work, style markup.MarkdownOptions, source []byte) ([]byte, error) {
		doc, err := markup.Markdown(source, style)
		if err != nil {
			return nil, err
		}
		about, err := json.Marshal(doc)
		return slices.Concat(about, []byte("\n"), doc.HTML), err
	})
	return engine.Serve(in, out, pdf.CheckResults(handlers))
}
