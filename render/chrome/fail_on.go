package chrome

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Warning is an error inside a document that was rendered all the same.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	URL     string `json:"url,omitempty"`
	Parts   *Parts `json:"parts,omitempty"` // nil for most codes
}

// Parts are the parts of a message.
type Parts struct {
	Page      int // from 1; 0 is none
	Element   string
	Text      string // of the element
	Problem   string
	Remedy    string
	Standards []string // that the document breaks
}

func (w Warning) String() string {
	if w.URL == "" {
		return w.Message
	}
	return w.URL + " " + w.Message
}

// Bounded returns the warning with each part cut to its maximum length.
func (w Warning) Bounded() Warning {
	w.Message = cut(w.Message, maxMessageText)
	w.URL = cut(w.URL, maxMessageURL)
	if p := w.Parts; p != nil {
		w.Parts = &Parts{
			Page: p.Page, Element: cut(p.Element, maxMessageText), Text: cut(p.Text, maxMessageText),
			Problem: cut(p.Problem, maxMessageText), Remedy: cut(p.Remedy, maxMessageText), Standards: p.Standards,
		}
	}
	return w
}

// The values of Warning.Code.
const (
	ResourceFailed      = "resource_failed"
	ScriptError         = "script_error"
	FontMissing         = "font_missing"
	ContentClipped      = "content_clipped"
	AnimationUnfinished = "animation_unfinished"
	CSSUnsupported      = "css_unsupported"
	LayoutUnstable      = "layout_unstable"
	NetworkBusy         = "network_busy"
)

// FailOn selects the problems inside a document that fail its job.
type FailOn struct {
	// Statuses are statuses of HTTP responses, of the document itself or of the resources that it loads. A status
	// of the document of 400 or more always fails it.
	Statuses []StatusRange
	// Resources are all that could not be loaded, for whatever reason.
	Resources bool
	// Console are errors that scripts throw and do not catch, or write to the
	// console.
	Console bool
}

// StatusRange is the HTTP statuses from First to Last.
type StatusRange struct{ First, Last int }

// matches reports whether an answer of that status fails the job.
func (s FailOn) matches(status int) bool {
	return slices.ContainsFunc(s.Statuses, func(r StatusRange) bool { return r.First <= status && status <= r.Last })
}

const (
	// MaxWarnings bounds the warnings of a document: one that loads a thousand images from
	// a server that is down would return the same warning a thousand times.
	MaxWarnings = 50
	// maxMessageText and maxMessageURL bound each part of a warning, in bytes.
	maxMessageText = 500
	maxMessageURL  = 500
	// maxConsole is the maximum number of console messages that are read of a document. Further messages are
	// ignored.
	maxConsole = 200
	// maxStatuses bounds how many answers are remembered for Strict.Statuses.
	maxStatuses = 1000
)

// warningLog are the faults of the document being loaded.
type warningLog struct {
	list    []Warning
	more    int      // beyond MaxWarnings
	console int      // messages so far
	answers []answer // of the document's resources
}

// answer is one HTTP answer.
type answer struct {
	status int
	url    string
}

// add keeps a warning, once.
func (t *warningLog) add(w Warning) {
	w = w.Bounded()
	if slices.Contains(t.list, w) {
		return
	}
	if len(t.list) >= MaxWarnings {
		t.more++
		return
	}

	t.list = append(t.list, w)
}

// all returns the warnings, with how many more there were as the last one.
func (t *warningLog) all() []Warning {
	list := slices.Clone(t.list)
	if t.more > 0 {
		list[len(list)-1] = Warning{Code: list[len(list)-1].Code, Message: fmt.Sprintf("and %d more faults", t.more+1)}
	}
	return list
}

// answered takes in the status of something that the document loads.
func (t *warningLog) answered(f networkRequest, status int) {
	if len(t.answers) < maxStatuses {
		t.answers = append(t.answers, answer{status, f.url})
	}
	if status >= 400 {
		t.add(Warning{Code: ResourceFailed, Message: fmt.Sprintf("returned status %d", status), URL: f.url})
	}
}

// failed takes in that something could not be loaded.
func (t *warningLog) failed(f networkRequest, reason string) {
	t.add(failedToLoad(f, reason))
}

func failedToLoad(f networkRequest, reason string) Warning {
	return Warning{Code: ResourceFailed, Message: "could not be loaded: " + ReasonText(reason), URL: f.url}.Bounded()
}

// retract takes back that something could not be loaded, where more is known of it now.
func (t *warningLog) retract(f networkRequest, reason string) {
	failure := failedToLoad(f, reason)
	t.list = slices.DeleteFunc(t.list, func(w Warning) bool { return w == failure })
}

// unfinished records the requests that are still open when the output is made.
func (t *warningLog) unfinished(open map[string]networkRequest) {
	for _, f := range open {
		switch f.kind {
		case "Image", "Stylesheet", "Font", "Script", "Media", "Document":
			t.add(Warning{
				Code: ResourceFailed, Message: "was still loading when the document was rendered", URL: f.url,
			})
		}
	}
}

// strict returns the faults that fail a job.
func (t *warningLog) strict(rule FailOn) (faults []Warning) {
	for _, w := range t.all() {
		if rule.Resources && w.Code == ResourceFailed || rule.Console && w.Code == ScriptError {
			faults = append(faults, w)
		}
	}

	for _, a := range t.answers {
		w := Warning{Code: ResourceFailed, Message: fmt.Sprintf("returned status %d", a.status), URL: a.url}.Bounded()
		if rule.matches(a.status) && !slices.Contains(faults, w) && len(faults) < MaxWarnings {
			faults = append(faults, w)
		}
	}
	return faults
}

// consoleEvent is the union of the fields of scripts' reports.
type consoleEvent struct {
	Type             string // of a message
	Args             []remote
	ExceptionDetails struct {
		Text         string
		URL          string
		LineNumber   int
		ColumnNumber int
		Exception    remote
	}
	StackTrace struct {
		CallFrames []struct {
			URL        string
			LineNumber int
		}
	}
}

// remote is a value of a script.
type remote struct {
	Description string
	Value       json.RawMessage
}

func (r remote) String() string {
	var text string
	switch {
	case r.Description != "":
		return r.Description
	case json.Unmarshal(r.Value, &text) == nil:
		return text
	}
	return string(r.Value)
}

// reported records an exception or a console message of a script.
func (t *warningLog) reported(method string, params json.RawMessage) {
	var e consoleEvent
	if json.Unmarshal(params, &e) != nil {
		return
	}

	w := Warning{Code: ScriptError}
	switch {
	case method == "Runtime.exceptionThrown":
		d := e.ExceptionDetails
		text, _, _ := strings.Cut(d.Exception.String(), "\n    at ")
		if text == "" {
			text = d.Text
		}
		w.Message = fmt.Sprintf("%s (line %d)", cut(text, maxMessageText-40), d.LineNumber+1)
		w.URL = httpOnly(d.URL)
	case e.Type == "error" || e.Type == "assert":
		var words []string
		for _, arg := range e.Args {
			words = append(words, cut(arg.String(), maxMessageText))
		}
		w.Message = "console." + e.Type + ": " + strings.Join(words, " ")
		if frames := e.StackTrace.CallFrames; len(frames) > 0 {
			w.URL = httpOnly(frames[0].URL)
		}
	default:
		return
	}

	t.add(w)
}

// httpOnly returns a URL if it is one that any reader can open, without its private parts.
func httpOnly(url string) string {
	if strings.HasPrefix(url, "http") {
		return url
	}
	return ""
}

// cut returns the beginning of a text, without characters that are not text.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)

	if len(text) <= limit {
		return text
	}

	limit -= len("…")
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
