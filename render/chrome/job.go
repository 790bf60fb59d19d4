package chrome

import (
	"cmp"
	"errors"
	"net/url"
	"time"

	"github.com/relaypdf/relaypdf/render/spool"
)

// RenderMode is the render mode: it limits the state that a document shares with earlier ones.
type RenderMode int

const (
	// ModeInline is for documents without script and without any reference to the
	// network. They are set on the account's warm page, on which script
	// execution is disabled and no network exists.
	ModeInline RenderMode = iota
	// ModeRealm is for documents with script that do not use the network. Each
	// gets a new JavaScript realm on one of the account's pages, which has no
	// network either.
	ModeRealm
	// ModeOnce is for everything else: URLs, cookies, headers, documents with
	// network references. They get a browser context that is disposed
	// afterwards.
	ModeOnce
)

// String returns the name of the render mode, as used in metrics.
func (l RenderMode) String() string {
	switch l {
	case ModeInline:
		return "inline"
	case ModeRealm:
		return "realm"
	default:
		return "once"
	}
}

// Job describes the document to load and the conditions to wait for.
//
// The render mode is the caller's choice, and it is not trusted: a document of the modes Inline or Realm that
// touches the network after all is stopped and started again in the mode Once. Jobs with a URL, assets, cookies or
// headers always use Once.
type Job struct {
	Account    string // warm pages are shared within it only
	RenderMode RenderMode
	HTML       string // exactly one of HTML and URL
	URL        string // http or https
	// Assets are the files that the HTML refers to by relative links. The HTML is one of them itself, with the name
	// Index, which may be empty.
	Assets []Asset
	Index  string

	// Generated means that the caller did not write the HTML, so that its lines mean nothing to them.
	Generated bool

	// Timeout is the job's one deadline, counted from when it got a slot;
	// waiting in the queue is excluded. Zero means 30 seconds.
	Timeout time.Duration
	// Offline disables the network in every render mode, so that external resources are missing.
	Offline bool

	// WaitUntil is load (default), domcontentloaded, networkidle0 or networkidle2 (at most 0 or 2 open requests for
	// 500 ms).
	WaitUntil string
	// WaitForSelector waits until the CSS selector matches an element.
	WaitForSelector string
	// WaitForFunction waits until the JavaScript expression is truthy; a function
	// is called, and a promise awaited.
	WaitForFunction string
	// WaitForTimeout is an extra pause after everything else.
	WaitForTimeout time.Duration

	// Animate leaves animations as they are when the output is made. Otherwise they are finished first, and scripts
	// that draw frame by frame are awaited.
	Animate bool

	// Strict selects the problems inside the document that fail the job.
	Strict FailOn
	// Warnings are the problems of the document that are known before it is loaded.
	Warnings []Warning

	// Headers go to the page's own origin when URL is set, and to all https
	// sub-resources when HTML is set.
	Headers map[string]string
	Cookies []Cookie
	// Media is the CSS media type, print or screen. Empty means print for PDF
	// and screen for Screenshot.
	Media string
	// ColorScheme is light or dark, for pages that ask; empty is light.
	ColorScheme string
}

// Cookie is set before the page loads. An empty Domain means the host of
// Job.URL, and an empty Path means "/".
type Cookie struct{ Name, Value, Domain, Path string }

// Wait conditions for Job.WaitUntil.
const (
	waitLoad             = "load"
	waitDOMContentLoaded = "domcontentloaded"
	waitNetworkIdle0     = "networkidle0"
	waitNetworkIdle2     = "networkidle2"
)

// Times holds the time limits of a browser and its documents. Zero means the default for an ordinary machine.
type Times struct {
	// Start bounds the start of a browser, which takes 120 ms on an idle machine. Zero means 30 seconds. The first
	// start of a pool has at least two minutes.
	Start time.Duration
	// Job is the deadline of a job that names none; zero means 30 seconds.
	Job time.Duration
	// Settle bounds the wait for fonts and images after the load event: a document
	// whose font server hangs is printed with another font. Zero means 5 seconds.
	Settle time.Duration
	// Animation is the maximum time for which a document may continue to draw after it has loaded; zero means 4
	// seconds. Chart libraries take one second by default.
	Animation time.Duration
}

// WithDefaults replaces zero values with the defaults.
func (t Times) WithDefaults() Times {
	return Times{
		Start:     cmp.Or(t.Start, 30*time.Second),
		Job:       cmp.Or(t.Job, 30*time.Second),
		Settle:    cmp.Or(t.Settle, 5*time.Second),
		Animation: cmp.Or(t.Animation, 4*time.Second),
	}
}

// normalized checks the job and fills in its defaults.
func (j Job) normalized(times Times) (Job, error) {
	if (j.HTML == "") == (j.URL == "") {
		return j, errors.New("chrome: a job needs exactly one of HTML and URL")
	}

	if j.URL != "" {
		u, err := url.Parse(j.URL)
		// Page.navigate would also open file: and view-source:.
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return j, &LoadError{URL: j.URL, Reason: "only http and https URLs can be loaded"}
		}
		j.URL = u.String()
	}

	if len(j.Assets) > 0 && j.URL != "" {
		return j, errors.New("chrome: only a job with HTML has assets")
	}

	if j.URL != "" || len(j.Assets) > 0 || len(j.Cookies) > 0 || len(j.Headers) > 0 {
		j.RenderMode = ModeOnce
	}
	if j.WaitForFunction != "" && j.RenderMode == ModeInline {
		j.RenderMode = ModeRealm // if there are scripts
	}
	if j.Timeout <= 0 {
		j.Timeout = times.Job
	}

	switch j.WaitUntil {
	case "":
		j.WaitUntil = waitLoad
	case waitLoad, waitDOMContentLoaded, waitNetworkIdle0, waitNetworkIdle2:
	default:
		return j, errors.New("chrome: unknown wait condition " + j.WaitUntil)
	}

	return j, nil
}

// PDF holds the print settings. Lengths are in inches.
type PDF struct {
	Width, Height                                    float64 // paper; zero means Letter, 8.5 × 11
	MarginTop, MarginRight, MarginBottom, MarginLeft float64
	Landscape                                        bool
	PrintBackground                                  bool
	PreferCSSPageSize                                bool
	Scale                                            float64 // 0.1 to 2; zero means 1
	// Header and Footer are HTML templates with the placeholder classes
	// pageNumber, totalPages, date and title. Empty means none.
	Header, Footer string
	// PageRanges selects pages: 1-3,5 · 7- · -3 · even · odd · last. Pages are in document order, each once.
	PageRanges      string
	Tagged, Outline bool
	// Untagged lists the texts that tags leave out in PrintedPDF.Untagged, and those of the whole document in
	// PrintedPDF.Texts.
	Untagged bool
	MaxPages int   // zero means no limit
	MaxBytes int64 // zero means no limit
}

// PrintedPDF is a printed PDF. Its Body must be closed.
type PrintedPDF struct {
	Body     *spool.File
	Pages    int
	Warnings []Warning
	Untagged []Untagged
	// Texts are the texts of the document as JSON: a list of objects with element (a selector), text, visible (readers
	// see all of it) and repeats (it may be on several pages). It is empty or null if only selected pages are printed,
	// or there are too many.
	Texts []byte
}

// Screenshot holds the settings of an image. Lengths are in CSS pixels.
type Screenshot struct {
	Type                  string // png (default), jpeg or webp
	FullPage              bool
	OmitBackground        bool // png and webp only; jpeg has no transparency
	CaptureBeyondViewport bool
	Quality               int // 1 to 100 for jpeg and webp; zero means Chromium's default
	Viewport              Viewport
	Clip                  *Rect // relative to the document's top left corner
	// Selector is a CSS selector: the first element that it matches is captured.
	Selector  string
	MaxSide   int   // device pixels; zero means 16,384
	MaxPixels int   // device pixels; zero means 100 million
	MaxBytes  int64 // zero means no limit
}

// Viewport is the size of the window. The zero value is 800 × 600 at scale 1.
type Viewport struct {
	Width, Height int
	Scale         float64 // device pixels per CSS pixel; zero means 1
	Mobile        bool    // uses the page's own viewport meta tag, and touch instead of a mouse
}

// Rect is an area in CSS pixels.
type Rect struct{ X, Y, Width, Height float64 }

// Image is a screenshot. Its Body must be closed; Width and Height are in
// pixels.
type Image struct {
	Body          *spool.File
	Width, Height int
	Warnings      []Warning
}
