package operation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"golang.org/x/net/http/httpguts"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/service/schema"
)

const (
	// maxText is the size in bytes that html and markdown may have each.
	maxText = 10 << 20
	// maxTimeout is the longest a render may take, in milliseconds.
	maxTimeout = 60_000
	// defaultTimeout is the time a render has besides waitForTimeout, in milliseconds: the
	// renderer's own without one.
	defaultTimeout = 30_000
	// maxCookie is the size of name and value above which Chromium drops a cookie.
	maxCookie = 4096
)

// LoadOptions control how a page is requested and when it counts as loaded.
type LoadOptions struct {
	WaitUntil        string         `json:"waitUntil,omitempty" jsonschema:"enum=load,enum=domcontentloaded,enum=networkidle0,enum=networkidle2" jsonschema_description:"Event that ends loading. networkidle0 and networkidle2: at most 0 or 2 requests for 500 ms. Default: networkidle0 for url, load otherwise."`
	WaitForSelector  string         `json:"waitForSelector,omitempty" jsonschema:"minLength=1,maxLength=1024" jsonschema_description:"CSS selector of an element to wait for after loading."`
	WaitForFunction  string         `json:"waitForFunction,omitempty" jsonschema:"minLength=1,maxLength=8192" jsonschema_description:"JavaScript expression that must become truthy, such as window.ready."`
	WaitForTimeout   int            `json:"waitForTimeout,omitempty" jsonschema:"minimum=0,maximum=30000,default=0" jsonschema_description:"Extra wait in milliseconds after all other waits, at most 30000."`
	Timeout          int            `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=60000" jsonschema_extras:"x-advanced=true" jsonschema_description:"Maximum time for loading and rendering in milliseconds, at most 60000. Default: 30000 plus waitForTimeout."`
	ExtraHTTPHeaders schema.Headers `json:"extraHTTPHeaders,omitempty" jsonschema_extras:"x-advanced=true" jsonschema_description:"Request headers by name. With url, relaypdf sends them to the page's own origin; otherwise to https sub-resources. At most 50 headers and 16 KiB. Host, Content-Length, hop-by-hop and Proxy- headers are rejected."`
	Animations       string         `json:"animations,omitempty" jsonschema:"enum=finish,enum=allow,default=finish" jsonschema_extras:"x-advanced=true" jsonschema_description:"Handling of animations. finish: end animations and wait for scripts that draw frame by frame, 4 s at most. allow: do not wait."`
	Cookies          []Cookie       `json:"cookies,omitempty" jsonschema:"maxItems=100" jsonschema_extras:"x-advanced=true" jsonschema_description:"Cookies set before the page loads, at most 100."`
	FailOnHTTPStatus Statuses       `json:"failOnHTTPStatus,omitzero" jsonschema_extras:"x-advanced=true" jsonschema_description:"HTTP statuses, such as 404 or 4xx, of any resource of the page that fail the call."`

	FailOnResourceError bool `json:"failOnResourceError,omitempty" jsonschema:"default=false" jsonschema_extras:"x-advanced=true" jsonschema_description:"If true, a resource that cannot be loaded fails the call. If false, it is a warning."`
	FailOnConsoleError  bool `json:"failOnConsoleError,omitempty" jsonschema:"default=false" jsonschema_extras:"x-advanced=true" jsonschema_description:"If true, a script error or console error fails the call. If false, it is a warning."`
}

// Statuses are HTTP statuses: codes, or classes such as 4xx.
type Statuses struct{ texts []string }

// maxStatuses is the maximum number of items of Statuses.
const maxStatuses = 100

// JSONSchema returns the schema of Statuses: an array of numbers and strings.
func (Statuses) JSONSchema() *jsonschema.Schema {
	short := uint64(3)
	many := uint64(maxStatuses)
	return &jsonschema.Schema{Type: "array", MaxItems: &many, Items: &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: "100", Maximum: "599"},
		{Type: "string", MaxLength: &short, Pattern: "^[1-5](xx|[0-9][0-9])$"},
	}}}
}

// SetJSON stores the items, which the schema has validated.
func (s *Statuses) SetJSON(v any) error {
	items, _ := v.([]any)
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			text = strconv.FormatInt(pageNumber(item), 10)
		}
		s.texts = append(s.texts, text)
	}
	return nil
}

// MarshalJSON writes the statuses as strings.
func (s Statuses) MarshalJSON() ([]byte, error) { return json.Marshal(s.texts) }

// IsZero reports whether no statuses are set.
func (s Statuses) IsZero() bool { return len(s.texts) == 0 }

// ranges returns the statuses in the renderer's type.
func (s Statuses) ranges() []chrome.StatusRange {
	var ranges []chrome.StatusRange
	for _, text := range s.texts {
		first, _ := strconv.Atoi(strings.ReplaceAll(text, "x", "0"))
		last, _ := strconv.Atoi(strings.ReplaceAll(text, "x", "9"))
		ranges = append(ranges, chrome.StatusRange{First: first, Last: last})
	}
	return ranges
}

// Cookie is one cookie of a page.
type Cookie struct {
	Name   string `json:"name" jsonschema:"required,maxLength=4096" jsonschema_description:"Name of the cookie."`
	Value  string `json:"value" jsonschema:"required,maxLength=4096" jsonschema_description:"Value of the cookie. Name and value together: at most 4096 bytes."`
	Domain string `json:"domain,omitempty" jsonschema:"maxLength=253" jsonschema_description:"Host that receives the cookie. A leading dot includes subdomains. Default: the host of url; required without url."`
	Path   string `json:"path,omitempty" jsonschema:"maxLength=1024,default=/" jsonschema_description:"Path prefix that receives the cookie."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (Cookie) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.SetPatterns(doc, map[string]string{
		"name": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", "value": `^[ -:<-~]*$`, "path": `^/[!-:<-~]*$`,
		"domain": `^\.?[-_0-9A-Za-z]{1,63}(\.[-_0-9A-Za-z]{1,63})*$`,
	})
}

// validate adds the errors in the options of a request that renders a URL or an inline document.
func (o *LoadOptions) validate(faults *schema.FieldErrors, hasURL bool) {
	if o.Timeout > 0 && o.WaitForTimeout >= o.Timeout {
		faults.Add(
			"options.waitForTimeout", "must be shorter than options.timeout (%d ms); got %d",
			o.Timeout, o.WaitForTimeout,
		)
	}
	o.ExtraHTTPHeaders.Check(faults, "options.extraHTTPHeaders", "browser")
	for i := range o.Cookies {
		o.Cookies[i].validate(faults, fmt.Sprintf("options.cookies[%d]", i), hasURL)
	}
}

// page returns the options in the renderer's type.
func (o *LoadOptions) page(hasURL bool) render.PageSettings {
	page := render.PageSettings{
		WaitUntil:       o.WaitUntil,
		WaitForSelector: o.WaitForSelector,
		WaitForFunction: o.WaitForFunction,
		WaitForTimeout:  milliseconds(o.WaitForTimeout),
		Animate:         o.Animations == "allow",
		Strict: chrome.FailOn{
			Statuses:  o.FailOnHTTPStatus.ranges(),
			Resources: o.FailOnResourceError,
			Console:   o.FailOnConsoleError,
		},
		Timeout: milliseconds(o.Timeout),
		Headers: o.ExtraHTTPHeaders,
	}

	if page.WaitUntil == "" {
		page.WaitUntil = "load"
		if hasURL {
			page.WaitUntil = "networkidle0"
		}
	}

	if o.Timeout == 0 && o.WaitForTimeout > 0 {
		page.Timeout = milliseconds(min(maxTimeout, defaultTimeout+o.WaitForTimeout))
	}

	for _, c := range o.Cookies {
		page.Cookies = append(page.Cookies, chrome.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path})
	}

	return page
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (c *Cookie) validate(faults *schema.FieldErrors, field string, hasURL bool) {
	switch {
	case !httpguts.ValidHeaderFieldName(c.Name):
		faults.Add(field+".name", "must be one or more letters, digits and !#$%%&'*+-.^_`|~")
	case len(c.Name)+len(c.Value) > maxCookie:
		faults.Add(field+".value", "is too long: name and value together have at most %d bytes", maxCookie)
	}

	if strings.ContainsFunc(c.Value, func(r rune) bool { return r < ' ' || r > '~' || r == ';' }) {
		faults.Add(field+".value", "must be printable ASCII without semicolons. Percent-encode other characters")
	}

	switch {
	case c.Domain == "" && !hasURL:
		faults.Add(field+".domain", "is required when the document is not loaded from url")
	case c.Domain != "" && !validDomain(c.Domain):
		faults.Add(field+".domain", "must be a host name such as example.com or .example.com")
	}
	if c.Path != "" &&
		(c.Path[0] != '/' || strings.ContainsFunc(c.Path, func(r rune) bool { return r <= ' ' || r > '~' || r == ';' })) {
		faults.Add(field+".path", "must start with / and be printable ASCII without spaces and semicolons")
	}
}

// validDomain accepts host names and IPv4 addresses in ASCII, with one dot
// before them or without.
func validDomain(domain string) bool {
	for label := range strings.SplitSeq(strings.TrimPrefix(domain, "."), ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return false
		}
	}
	return true
}

// source is one field that can hold a document.
type source struct {
	field string
	value *string
}

// addExclusive adds the error of two fields of which a request must have one. all lists the fields to choose from.
func addExclusive(faults *schema.FieldErrors, first, second, all string) {
	faults.AddSentence(fmt.Sprintf("%s and %s are mutually exclusive. Send exactly one of %s", first, second, all),
		second, fmt.Sprintf("is mutually exclusive with %s. Send exactly one of %s", first, all))
}

// checkSources faults a request that does not have exactly one source with
// something in it. Its error is a *schema.SizeError for a text over maxText.
func checkSources(faults *schema.FieldErrors, sources ...source) error {
	var names, given []string
	for _, s := range sources {
		names = append(names, s.field)
		if s.value == nil {
			continue
		}
		given = append(given, s.field)
		if *s.value == "" {
			faults.Add(s.field, "must not be empty")
		}
		if len(*s.value) > maxText {
			return &schema.SizeError{Field: s.field, Limit: maxText}
		}
	}
	all := strings.Join(names, ", ")
	switch {
	case len(given) == 0:
		faults.AddSentence(
			"No source given. Send exactly one of "+all,
			names[0], "is required unless another source is given. Send exactly one of "+all,
		)
	case len(given) > 1:
		for _, field := range given[1:] {
			addExclusive(faults, given[0], field, all)
		}
	}
	return nil
}

// failures returns the faults as an error, or nil if there is none.
func failures(faults schema.FieldErrors) error {
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// text returns the string that s points to, or the empty one.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// either returns the value that v points to, or the default in its absence.
func either[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// nonZero returns a pointer to v, or nil if it is zero and so was not given.
func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
