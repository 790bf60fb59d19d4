package render

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/markup"
	"github.com/relaypdf/relaypdf/render/pdffile"

	"github.com/relaypdf/relaypdf/render/spool"
)

// The limits of one result. A larger document could hardly be opened, and would occupy a slot for minutes.
const (
	MaxBytes = 200 << 20
	MaxPages = 2000
)

// Source is the source of a document. Exactly one of its fields is set.
type Source struct {
	HTML     string
	URL      string // https
	Markdown string
	// AllowHTML retains the tags of Markdown that GitHub's tag filter escapes.
	AllowHTML bool
	// Formulas is false if Markdown has none. Nil means the choice of its front matter.
	Formulas *bool
	// Assets are the files that HTML and Markdown refer to by relative links. Index is the name of the HTML file
	// among them.
	Assets []chrome.Asset
	Index  string
}

// PageSettings holds the settings for loading a page.
type PageSettings struct {
	// Timeout is the deadline for everything that is done for the page, from the moment it gets a slot. Zero means
	// 30 seconds.
	Timeout time.Duration
	// WaitUntil is load (when empty), domcontentloaded, networkidle0 or
	// networkidle2.
	WaitUntil string
	// WaitForSelector is a CSS selector that must match after loading.
	WaitForSelector string
	// WaitForFunction is a JavaScript expression that must become truthy after
	// that.
	WaitForFunction string
	// WaitForTimeout is a pause after all other conditions.
	WaitForTimeout time.Duration
	// Animate leaves animations as they are; otherwise they are finished.
	Animate bool
	// Strict selects the problems inside the page that fail it. Others are warnings.
	Strict chrome.FailOn
	// Headers are sent to the origin of a URL, or for other sources to https sub-resources.
	Headers map[string]string
	Cookies []chrome.Cookie
	// Media is the CSS media type, print or screen. Empty means print for a
	// PDF and screen for an image.
	Media string
	// ColorScheme is light or dark, for pages that query it; empty means light.
	ColorScheme string
	// Offline disables the network for the document, so that external resources are missing. The document also
	// shares no state with documents before or after it, even of the same account.
	Offline bool
}

// PDF holds the settings of a printed document. Lengths are in inches.
type PDF struct {
	Width, Height     float64 // paper; zero means Letter, 8.5 by 11
	Margin            Margin
	Landscape         bool
	Scale             float64 // 0.1 to 2; zero means 1
	PrintBackground   bool
	PreferCSSPageSize bool
	// Header and Footer are HTML templates; empty means none.
	Header, Footer string
	// PageRanges selects pages, in the grammar of CheckPageRanges; empty means all.
	PageRanges      string
	Tagged, Outline bool
	Metadata        pdffile.Info
	// Standards are the ones that the document is to conform to, which makes it tagged. Without StandardsStrict, it
	// claims those that it can, and warnings name the faults; with it, PDF returns a *StandardError.
	Standards       []pdffile.Standard
	StandardsStrict bool
	// Archival returns a *StandardError too if the document cannot claim its level of PDF/A.
	Archival bool
}

// Margin holds the page margins in inches. Nil means the source's own: none, or for Markdown those of its style
// sheet.
type Margin struct{ Top, Right, Bottom, Left *float64 }

func (m Margin) sides() markup.Sides {
	return markup.Sides{Top: m.Top != nil, Right: m.Right != nil, Bottom: m.Bottom != nil, Left: m.Left != nil}
}

// PDF prints a source. Besides the errors of this package, it returns the error of ctx if the caller cancelled.
func (a *Account) PDF(ctx context.Context, src Source, page PageSettings, opt PDF) (chrome.PrintedPDF, error) {
	style := markup.MarkdownOptions{Title: opt.Metadata.Title, Own: opt.Margin.sides()}
	if src.Markdown != "" {
		about, _ := markup.ReadFrontMatter(src.Markdown) // its options are the caller's responsibility
		opt.Metadata.Author = cmp.Or(opt.Metadata.Author, about.Author)
		opt.Metadata.Subject = cmp.Or(opt.Metadata.Subject, about.Description)
		opt.Metadata.Keywords = cmp.Or(opt.Metadata.Keywords, about.Keywords)
	}

	job, err := a.prepare(ctx, src, page, style)
	if err != nil {
		return chrome.PrintedPDF{}, a.failure(ctx, page, err)
	}

	job.Account = a.id
	lacking, err := letterheads(ctx, a, src, page, &opt)
	if err != nil {
		return chrome.PrintedPDF{}, err
	}

	doc, err := a.render.browser.PDF(ctx, job, opt.print())
	if err != nil {
		return chrome.PrintedPDF{}, a.failure(ctx, page, err)
	}

	doc.Warnings = append(lacking, doc.Warnings...)
	if err := pdffile.DescribeChromium(doc.Body, opt.Metadata); err != nil {
		return chrome.PrintedPDF{}, errors.Join(tooLarge(err), doc.Body.Close())
	}

	if len(opt.Standards) > 0 {
		return a.applyStandards(ctx, doc, opt, src.URL != "" || markup.Language(job.HTML) != "")
	}
	return doc, nil
}

// Screenshot captures a source. It returns the same errors as PDF.
func (a *Account) Screenshot(
	ctx context.Context, src Source, page PageSettings, opt chrome.Screenshot,
) (chrome.Image, error) {
	job, err := a.prepare(ctx, src, page, markup.MarkdownOptions{})
	if err != nil {
		return chrome.Image{}, a.failure(ctx, page, err)
	}
	job.Account = a.id
	opt.MaxBytes = MaxBytes
	image, err := a.render.browser.Screenshot(ctx, job, opt)
	return image, a.failure(ctx, page, err)
}

// MinTimeout is a timeout that is long enough for most documents. A job that runs into a shorter one returns a
// *chrome.TimeoutError that is Short.
const MinTimeout = time.Second

// failure completes the error of a job of the browser with what only the caller's settings show.
func (a *Account) failure(ctx context.Context, page PageSettings, err error) error {
	var late *chrome.TimeoutError
	if errors.As(err, &late) && page.Timeout > 0 && page.Timeout < MinTimeout {
		late.Short = true
		late.Unstarted = false
		late.After = page.Timeout
	}
	return a.render.refusal(ctx, err)
}

// print returns the settings in the browser's type.
func (o PDF) print() chrome.PDF {
	inches := func(n *float64) float64 {
		if n == nil {
			return 0
		}
		return *n
	}
	return chrome.PDF{
		Width: o.Width, Height: o.Height, Landscape: o.Landscape,
		MarginTop: inches(o.Margin.Top), MarginRight: inches(o.Margin.Right),
		MarginBottom: inches(o.Margin.Bottom), MarginLeft: inches(o.Margin.Left),
		Scale: o.Scale, PrintBackground: o.PrintBackground, PreferCSSPageSize: o.PreferCSSPageSize,
		Header: o.Header, Footer: o.Footer, PageRanges: o.PageRanges, Tagged: o.Tagged || len(o.Standards) > 0, Outline: o.Outline, Untagged: len(o.Standards) > 0,
		MaxPages: MaxPages, MaxBytes: MaxBytes,
	}
}

// tooLarge replaces the spool's error with one that names the limit.
func tooLarge(err error) error {
	if errors.Is(err, spool.ErrTooLarge) {
		return &chrome.LimitError{What: "bytes", Max: MaxBytes}
	}
	return err
}

// NewFile returns an empty file for bytes that arrive piece by piece: in memory
// while small, on disk when large.
func NewFile() *spool.File { return spool.New("", 0) }

// ReadFrontMatter reads the front matter of Markdown. An error names the option that cannot be read.
func ReadFrontMatter(markdown string) (markup.FrontMatter, error) {
	return markup.ReadFrontMatter(markdown)
}
