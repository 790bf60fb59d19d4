package chrome

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// quiet is the time for which no more than the allowed number of requests may be open before the network counts as
// idle. Chromium's own event takes up to a second even on a static page.
const quiet = 500 * time.Millisecond

// blankURL is the URL of documents that are given as HTML.
const blankURL = "about:blank"

// loadState is the state of the document being loaded.
type loadState struct {
	loader    string // of the main frame's document
	inits     map[string]bool
	dom, done bool
	inFlight  map[string]networkRequest // by request
	blocked   map[string]networkRequest // whose status was not reported yet, by request
	status    map[string]int            // HTTP status by loader
	kind      map[string]string         // content type by loader
	location  map[string]string         // where the last response redirects to, by loader
	awaited   map[string]int            // requests of the main document whose headers were not reported yet, by loader
	address   map[string]string         // URL of the main document by loader, after its redirects
	broken    string                    // the URL in whose place Chromium shows its own error page
	emptied   bool                      // the document left itself for about:blank
	reason    map[string]string
	moves     int            // documents that the main frame has requested, without redirects of servers
	linked    []string       // requests of style sheets
	numbering bool           // constructs of paged media are rewritten, and page numbers set
	asked     map[string]int // requests since the load event by URL without query
	polled    string         // the URL of a request that the document repeats
	shrunk    float64        // by what the document has to be shrunk to fit on its pages; 0 is not at all
	troubles  warningLog
}

// networkRequest is the origin and the purpose of an open request.
type networkRequest struct {
	loader, frame, kind, url string
	// status is the status of its response, 0 before the response arrives.
	status int
}

func newLoadState() loadState {
	return loadState{
		inits:    map[string]bool{},
		inFlight: map[string]networkRequest{},
		blocked:  map[string]networkRequest{},
		status:   map[string]int{},
		kind:     map[string]string{},
		location: map[string]string{},
		awaited:  map[string]int{},
		address:  map[string]string{},
		reason:   map[string]string{},
		asked:    map[string]int{},
	}
}

// loadEvent is the union of the events' fields that matter here.
type loadEvent struct {
	FrameID    string
	LoaderID   string
	RequestID  string
	Name       string
	Type       string
	ErrorText  string
	Canceled   bool
	StatusCode int
	Request    struct{ URL string }
	Headers    map[string]string
	Response   struct {
		Status   int
		URL      string
		MimeType string
	}
	Frame struct {
		ID, URL, UnreachableURL string
	}
}

// apply takes in one event; main is the id of the main frame.
func (s *loadState) apply(method string, e loadEvent, main string) {
	switch method {
	case "Page.lifecycleEvent":
		if e.FrameID == main {
			s.lifecycle(e)
		}
	case "Page.frameNavigated":
		if e.Frame.ID == main {
			s.broken = e.Frame.UnreachableURL
			s.emptied = e.Frame.URL == blankURL
		}

	case "Network.requestWillBeSent":
		if e.Type == "Document" && e.FrameID == main {
			if s.address[e.LoaderID] == "" {
				s.moves++
			}
			s.address[e.LoaderID] = e.Request.URL
			if strings.HasPrefix(e.Request.URL, "http") {
				s.awaited[e.LoaderID]++
			}
		}

		if e.Type == "Stylesheet" && len(s.linked) < maxSheets {
			s.linked = append(s.linked, e.RequestID)
		}

		if delaysLoad(e) {
			s.inFlight[e.RequestID] = networkRequest{loader: e.LoaderID, frame: e.FrameID, kind: e.Type, url: e.Request.URL}
			s.repeated(e.Request.URL)
		}

	case "Network.responseReceived":
		if e.Type == "Document" && e.FrameID == main {
			s.status[e.LoaderID] = e.Response.Status
			s.kind[e.LoaderID] = e.Response.MimeType
		} else if f, known := s.inFlight[e.RequestID]; known {
			s.troubles.answered(f, e.Response.Status)
		}
	case "Network.responseReceivedExtraInfo":
		s.onResponseExtraInfo(e)
	case "Page.frameDetached":
		// The frame was removed, or moved to another process, whose events do
		// not come here.
		s.drop(func(f networkRequest) bool { return f.frame == e.FrameID })
	case "Network.loadingFinished", "Network.loadingFailed":
		s.ended(e, main)
	}
}

// polls is the number of requests after the load event with which a document polls, and maxAsked that of the URLs that
// are counted.
const polls, maxAsked = 4, 1000

// repeated counts the requests of a URL after the load event.
func (s *loadState) repeated(address string) {
	address, _, _ = strings.Cut(address, "?")
	if _, known := s.asked[address]; !s.done || !known && len(s.asked) >= maxAsked {
		return
	}
	if s.asked[address]++; s.asked[address] >= polls {
		s.polled = address
	}
}

// ended takes in that a request has ended, well or not.
func (s *loadState) ended(e loadEvent, main string) {
	f, known := s.inFlight[e.RequestID]
	delete(s.inFlight, e.RequestID)
	if e.ErrorText == "" {
		return
	}

	s.reason[e.RequestID] = e.ErrorText
	if !known || e.Canceled || f.kind == "Document" && f.frame == main {
		return
	}

	switch {
	case f.status != 0:
		s.troubles.answered(f, f.status)
	case e.ErrorText == blockedByORB:
		s.blocked[e.RequestID] = f
	}
	if f.status < http.StatusBadRequest {
		s.troubles.failed(f, e.ErrorText)
	}
}

// blockedByORB is the error of a response that the browser keeps from the page, such as another
// site's 404 page instead of an image.
const blockedByORB = "net::ERR_BLOCKED_BY_ORB"

// onResponseExtraInfo handles the status of a response. Chromium reports the status of withheld responses
// too, before or after they have failed.
func (s *loadState) onResponseExtraInfo(e loadEvent) {
	if f, known := s.inFlight[e.RequestID]; known {
		if f.kind == "Document" {
			s.headers(f.loader, e)
		}
		f.status = e.StatusCode
		s.inFlight[e.RequestID] = f
	} else if f, known := s.blocked[e.RequestID]; known {
		delete(s.blocked, e.RequestID)
		if e.StatusCode >= http.StatusBadRequest {
			s.troubles.retract(f, blockedByORB)
		}
		s.troubles.answered(f, e.StatusCode)
	} else if s.awaited[e.RequestID] > 0 { // the request of the main document, which has the ID of its loader
		s.headers(e.RequestID, e)
	}
}

// headers takes in the status and the headers of the response to a document's request.
func (s *loadState) headers(loader string, e loadEvent) {
	s.awaited[loader]--
	s.status[loader] = e.StatusCode
	delete(s.location, loader)
	for name, value := range e.Headers {
		switch strings.ToLower(name) {
		case "content-type":
			s.kind[loader], _, _ = strings.Cut(value, ";")
		case "location":
			s.location[loader] = value
		}
	}
}

// delaysLoad reports whether the document waits for a request, and Chromium will report its
// end. A worker's script has no loader: its end is reported to the worker alone.
func delaysLoad(e loadEvent) bool {
	switch e.Type {
	case "EventSource", "Ping", "Prefetch":
		return false
	}
	return e.LoaderID != "" && !local(e.Request.URL)
}

// drop forgets requests under way.
func (s *loadState) drop(gone func(networkRequest) bool) {
	for id, f := range s.inFlight {
		if gone(f) {
			delete(s.inFlight, id)
		}
	}
}

func (s *loadState) lifecycle(e loadEvent) {
	switch e.Name {
	case "init":
		s.loader = e.LoaderID
		s.dom = false
		s.done = false
		s.inits[e.LoaderID] = true

		// The warnings were about the previous document.
		s.troubles = warningLog{}
		s.linked = nil
		clear(s.blocked)

		// Requests of the previous documents ended with them, and Chromium does not always
		// report it.
		s.drop(func(f networkRequest) bool { return f.loader != e.LoaderID })
	case "DOMContentLoaded":
		s.dom = true
	case "load":
		s.dom = true
		s.done = true
	}
}

// open loads the job's document and waits for the condition that it names.
func (t *tab) open(ctx context.Context, job Job) error {
	loader, err := t.setDocument(ctx, job)
	if err != nil {
		return err
	}

	err = t.await(ctx, func(s *loadState) bool {
		started := len(s.inits) > 0 && (loader == "" || s.inits[loader])
		return started && (s.done || s.dom && job.WaitUntil != waitLoad)
	})
	if err != nil {
		return err
	}

	switch job.WaitUntil {
	case waitNetworkIdle0:
		err = t.awaitQuiet(ctx, 0)
	case waitNetworkIdle2:
		err = t.awaitQuiet(ctx, 2)
	}

	if err != nil || job.URL == "" {
		return err
	}
	return t.loadError(job.URL)
}

// setDocument starts the load, and returns the loader's id for a URL.
func (t *tab) setDocument(ctx context.Context, job Job) (loader string, err error) {
	if job.URL == "" && len(job.Assets) == 0 {
		if err := t.awaitRealm(ctx); err != nil {
			return "", err
		}
		return "", t.call(ctx, proto.PageSetDocumentContent{FrameID: t.frame, HTML: job.HTML}, nil)
	}

	address := job.URL
	if address == "" {
		address = AssetOrigin + "/" + (&url.URL{Path: job.Index}).EscapedPath()
	}

	var nav proto.PageNavigateResult
	if err := t.call(ctx, proto.PageNavigate{URL: address}, &nav); err != nil {
		return "", err
	}
	if nav.ErrorText != "" {
		return "", t.navigationError(ctx, job.URL, nav)
	}
	return string(nav.LoaderID), nil
}

// awaitRealm waits until the navigation that renew began is done, and makes
// the page forget the documents before it.
func (t *tab) awaitRealm(ctx context.Context) error {
	if t.blank == nil {
		return nil
	}

	call := t.blank
	t.blank = nil
	var nav proto.PageNavigateResult
	if err := call.wait(ctx, &nav); err != nil {
		return err
	}

	err := t.await(ctx, func(s *loadState) bool { return s.inits[string(nav.LoaderID)] && s.done })
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.load = newLoadState()
	t.mu.Unlock()

	// These belong to the tab and outlive the realm.
	return t.batch(ctx,
		proto.PageResetNavigationHistory{},
		proto.RuntimeEvaluate{Expression: "window.name = ''"},
		proto.BrowserSetWindowBounds{WindowID: t.window.WindowID, Bounds: t.window.Bounds},
	)
}

const (
	// pollTimeout is the time for which a document that polls is awaited, and quietShare the share of the time that
	// is left for which other documents are.
	pollTimeout = 10 * time.Second
	quietShare  = 0.75
)

// awaitQuiet waits until at most limit requests were under way for a while. A document that has loaded and never gets
// there is rendered as it is, with a warning.
func (t *tab) awaitQuiet(ctx context.Context, limit int) error {
	timer := time.NewTimer(quiet)
	defer timer.Stop()

	began := time.Now()
	since := began
	whole := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		whole = time.Until(deadline)
	}

	for {
		t.mu.Lock()
		busy := len(t.load.inFlight) > limit
		loaded := t.load.done
		polled := t.load.polled
		t.mu.Unlock()

		if busy {
			since = time.Now()
		}
		left := quiet - time.Since(since)
		if left <= 0 {
			return nil
		}

		waited := time.Since(began)
		tooLong := float64(waited) > float64(whole)*quietShare || polled != "" && waited > min(pollTimeout, whole/2)
		if loaded && tooLong {
			t.warnBusy(polled, waited)
			return nil
		}

		timer.Reset(left)
		select {
		case <-t.changed:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// warnBusy warns that the network was not idle.
func (t *tab) warnBusy(polled string, waited time.Duration) {
	address := polled
	if open := openRequests(t); address == "" && len(open) > 0 {
		address = open[0]
	}
	warn(t, Warning{Code: NetworkBusy, URL: address, Message: fmt.Sprintf(
		"is still requested after %v, so the network never became idle. "+
			"The page was rendered as it was; set waitUntil to load to render it sooner",
		waited.Round(time.Second/10))})
}

// maxMoves is the number of documents after which a page counts as one that leads on without end: as many redirects of
// a server end a navigation.
const maxMoves = 20

// endless is the reason why such a page is not loaded.
var endless = fmt.Sprintf("it leads on by script or refresh without end, more than %d times", maxMoves)

// maxHeaderDelay is how long the headers of a response are awaited after its navigation has failed: Chromium reports
// both in any order.
const maxHeaderDelay = time.Second

// navigationError returns the error of a failed navigation. Its URL is the target of the redirects, which could not
// be loaded.
func (t *tab) navigationError(ctx context.Context, url string, nav proto.PageNavigateResult) error {
	loader := string(nav.LoaderID)
	if nav.ErrorText == aborted || nav.ErrorText == unsafeRedirect {
		delayed, cancel := context.WithTimeout(ctx, maxHeaderDelay)
		defer cancel()
		_ = t.await(delayed, func(s *loadState) bool { return s.awaited[loader] <= 0 })
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	failed := &LoadError{URL: t.load.addressOf(loader, url), Reason: nav.ErrorText}
	status := t.load.status[loader]
	switch scheme := t.load.redirectScheme(loader); {
	case status >= http.StatusBadRequest:
		failed.Status = status
		failed.Reason = ""
	case scheme != "":
		failed.Reason = fmt.Sprintf(
			"its server redirects to a URL with the scheme %q, and only http and https are allowed", scheme)
	case nav.ErrorText == aborted:
		failed.Reason = abortedText(status, t.load.kind[loader])
	}

	return failed
}

const (
	aborted        = "net::ERR_ABORTED"
	unsafeRedirect = "net::ERR_UNSAFE_REDIRECT"
)

// redirectScheme returns the scheme of the URL that a document was redirected to, if it is not http or https.
func (s *loadState) redirectScheme(loader string) string {
	scheme, _, absolute := strings.Cut(s.location[loader], ":")
	scheme = strings.ToLower(strings.TrimSpace(scheme))
	if !absolute || len(scheme) > maxScheme || !schemes.MatchString(scheme) || scheme == "http" || scheme == "https" {
		return ""
	}
	return scheme
}

// maxScheme is the maximum length of a scheme that an error names.
const maxScheme = 20

var schemes = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// abortedText returns why the browser shows no page for a response.
func abortedText(status int, kind string) string {
	const text = "its server returned "
	switch kind = strings.TrimSpace(kind); {
	case status == http.StatusNoContent || status == http.StatusResetContent:
		return fmt.Sprintf("%sstatus %d, which has no content", text, status)
	case kind == "application/pdf":
		return text + "a PDF (application/pdf) instead of a page. " +
			"Send its URL to an operation for PDFs, such as /v1/pdf/info"
	case status == http.StatusOK && kind == "text/html":
		return text + "its page as a download (Content-Disposition: attachment)"
	case kind != "" && kind != "text/html":
		return fmt.Sprintf("%sa file of the type %s instead of a page", text, cut(kind, maxNameText))
	}
	return aborted
}

// loadError returns an error if the current document is an error page: the response to the job's URL, or to the
// target of a redirect, script or refresh.
func (t *tab) loadError(url string) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.load.broken != "" {
		reason := t.load.reason[t.load.loader]
		if reason == "" {
			reason = "net::ERR_FAILED"
		}
		return &LoadError{URL: t.load.broken, Reason: reason}
	}

	if status := t.load.status[t.load.loader]; status >= 400 {
		return &LoadError{URL: t.load.addressOf(t.load.loader, url), Status: status}
	}
	if t.load.emptied {
		return &DocumentCrashError{What: "reloads itself, or navigates to " + blankURL + ", and is empty"}
	}

	return nil
}

// addressOf returns the target of a loader's redirects, or url if it is unknown.
func (s *loadState) addressOf(loader, url string) string {
	if address := s.address[loader]; address != "" {
		return address
	}
	return url
}

// credentials sets the job's cookies and headers on a page in ModeOnce.
func (t *tab) credentials(ctx context.Context, job Job) error {
	var reqs []request
	if len(job.Cookies) > 0 {
		reqs = append(reqs, proto.NetworkSetCookies{Cookies: cookieParams(job)})
	}

	if len(job.Headers) > 0 {
		t.mu.Lock()
		t.headers = newHeaderRule(job)
		t.mu.Unlock()
		// Every request is looked at, because Chromium carries added headers
		// over a redirect to another origin unless they are taken off there.
		reqs = append(reqs, proto.FetchEnable{})
	}

	if len(job.Assets) > 0 {
		t.mu.Lock()
		t.assets = &job
		t.mu.Unlock()
		if len(job.Headers) == 0 {
			assets := &proto.FetchRequestPattern{URLPattern: AssetOrigin + "/*"}
			reqs = append(reqs, proto.FetchEnable{Patterns: []*proto.FetchRequestPattern{assets}})
		}
	}

	if len(reqs) == 0 {
		return nil
	}
	return t.batch(ctx, reqs...)
}

func cookieParams(job Job) []*proto.NetworkCookieParam {
	params := make([]*proto.NetworkCookieParam, 0, len(job.Cookies))
	for _, c := range job.Cookies {
		param := &proto.NetworkCookieParam{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path}
		if c.Domain == "" {
			param.URL = job.URL
		}
		if param.Path == "" {
			param.Path = "/"
		}

		if job.URL == "" {
			// To an inline document every host is a foreign site, and foreign
			// sites get only cookies marked like this.
			param.SameSite = proto.NetworkCookieSameSiteNone
			param.Secure = true
		}
		params = append(params, param)
	}
	return params
}

// headerRule decides which requests get the job's extra headers.
type headerRule struct {
	headers map[string]string
	origin  string // of the page; empty for an inline document
}

func newHeaderRule(job Job) *headerRule {
	r := &headerRule{headers: job.Headers}
	if job.URL != "" {
		r.origin = originOf(job.URL)
	}
	return r
}

// originOf returns scheme://host[:port] without a default port, or "" for
// anything that has none.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}

	scheme := strings.ToLower(u.Scheme)
	host := strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}

	return scheme + "://" + host
}

func (r *headerRule) covers(raw string) bool {
	if r.origin == "" {
		return strings.HasPrefix(raw, "https://")
	}
	return originOf(raw) == r.origin
}

// resume continues a paused request, with the extra headers for their origin and without them for others.
func (t *tab) resume(e proto.FetchRequestPaused) {
	next := proto.FetchContinueRequest{RequestID: e.RequestID}
	if t.headers != nil && e.Request != nil {
		next.Headers = t.headers.apply(e.Request)
	}
	t.post(next)
}

// apply returns the request's headers after the rule, sorted by name.
func (r *headerRule) apply(req *proto.NetworkRequest) []*proto.FetchHeaderEntry {
	merged := make(map[string]string, len(req.Headers)+len(r.headers))
	for name, value := range req.Headers {
		merged[http.CanonicalHeaderKey(name)] = value.String()
	}

	covered := r.covers(req.URL)
	for name, value := range r.headers {
		name = http.CanonicalHeaderKey(name)
		if covered {
			merged[name] = value
		} else if merged[name] == value {
			delete(merged, name)
		}
	}

	entries := make([]*proto.FetchHeaderEntry, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		entries = append(entries, &proto.FetchHeaderEntry{Name: name, Value: merged[name]})
	}
	return entries
}
