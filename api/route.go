package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/invopop/jsonschema"
	"github.com/jinzhu/inflection"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// access defines who may call a route.
type access string

const (
	public  access = "public"
	withKey access = "key"
	// withFullKey is for routes of the whole account: a key that may not use all operations may not use them.
	withFullKey access = "full key"
	// withToken is for keys and for agents' tokens; the route identifies the caller itself.
	withToken access = "key or token"
)

// routeSpec describe a route of the table, besides its function.
type routeSpec struct {
	method, pattern string
	access          access
	summary         string
	// about describes behaviour and limits, and which other route to use, for the reference.
	about string
	// perAddress is set if the limit of rates counts by the caller's address, as for downloads.
	perAddress bool
	// takesKey is set if a key is optional and gives access to more.
	takesKey bool
	// verb is the last word of the route's operationId; empty is the method's.
	verb string
	// status is the status of a success; 0 means 200.
	status int
	// refused is the status of a negative answer of the same shape.
	refused int
	// body is the most that a request's may have, in bytes; 0 is maxPatch.
	body int64
	// content is the type of a response that is not JSON of the route's type, and headers are its headers.
	content string
	headers []string
	// others are further answers: by status, their description.
	others map[int]string
	// example is a JSON body that works, for the documentation; empty if a request needs no body.
	example string
	// upload describes a body that is not JSON, by content type.
	upload map[string]mediaType
	// codes are the errors that only this route may answer with.
	codes []wire.Code
}

// maxBody bounds the body of a request, in bytes.
func (f routeSpec) maxBody() int64 { return cmp.Or(f.body, maxPatch) }

// resource returns the noun, in the singular, to which the route's ID belongs.
func (f routeSpec) resource() string {
	before, _, _ := strings.Cut(f.pattern, "/{")
	name := before[strings.LastIndexByte(before, '/')+1:]
	return inflection.Singular(name)
}

// notFoundText is the message of a 404: the resource of the route's path that does not exist.
func (f routeSpec) notFoundText() string {
	names := pathParameters(f.pattern)
	if len(names) == 0 {
		return wire.NotFound.Text()
	}

	text := "No " + f.resource() + " with this " + names[0]
	for _, name := range names[1:] {
		text += ", or it has no such " + name
	}
	text += "."
	if f.resource() == "file" {
		text += " Files expire, after 24 hours by default."
	}
	return text
}

// wrapNotFound adds the kind of the missing object to a not-found error.
func (f routeSpec) wrapNotFound(err error) error {
	var known *wire.Error
	if errors.Is(err, store.ErrNotFound) && !errors.As(err, &known) {
		return &wire.Error{Code: wire.NotFound, Message: f.notFoundText(), Cause: err}
	}
	return err
}

// route is one route of the API.
type route struct {
	routeSpec
	handle func(http.ResponseWriter, *http.Request) error
	// params, body and answer describe the request and the response; body and answer are nil if there is none in
	// JSON.
	params []schema.Param
	body   *jsonschema.Schema
	answer reflect.Type
	// operation is set on the routes that the table of operations gives.
	operation *schema.Operation[*operation.Deps]
}

// maxPatch limits the body of a route that is not an operation, in bytes.
const maxPatch = 64 << 10

// noInput is the input of a route without parameters.
type noInput struct{}

// streamInput is an input that reads the rest of its request itself: a stream.
type streamInput interface {
	receive(a *API, w http.ResponseWriter, r *http.Request) error
}

// responder is a response that is not JSON: it writes itself.
type responder interface {
	send(w http.ResponseWriter, r *http.Request) error
}

// headerWriter is a response that has more than its JSON. A status of 0 is the route's own.
type headerWriter interface {
	head(h http.Header) (status int)
}

// jsonRoute makes a route of a function. The types In and Out are the route's documentation, and validate its
// requests.
func jsonRoute[In, Out any](a *API, f routeSpec, run func(context.Context, call.Caller, In) (Out, error)) route {
	request, err := schema.NewRequest[In]()
	if err != nil {
		panic(f.method + " " + f.pattern + ": " + err.Error()) // a mistake in the table, found by every test
	}

	answer := reflect.TypeFor[Out]()
	if f.content != "" {
		answer = nil
	}

	return route{
		routeSpec: f, params: request.Params, body: request.Body, answer: answer,
		handle: func(w http.ResponseWriter, r *http.Request) error {
			in, err := bindRequest(a, w, r, request, f)
			if err != nil {
				return err
			}
			out, err := run(r.Context(), callerFrom(r.Context()), *in)
			if err == nil {
				err = sendAnswer(w, r, f.status, out)
			}
			return f.wrapNotFound(err)
		},
	}
}

// bindRequest reads the input of a route.
func bindRequest[In any](
	a *API, w http.ResponseWriter, r *http.Request, request *schema.Request[In], f routeSpec,
) (*In, error) {
	values, faults := paramsOf(r, request.Params, f.access == public)

	var body io.Reader
	switch {
	case request.Body == nil:
	case r.ContentLength == 0 && len(request.Body.Required) == 0:
		body = strings.NewReader("{}") // a request without fields needs no body
	default:
		body = &httpBody{r: r, limit: newBody(w, r, f.maxBody())}
	}

	in, err := request.Bind(r.Context(), values, body)
	var found schema.FieldErrors
	if len(faults) > 0 && (err == nil || errors.As(err, &found)) {
		err = slices.Concat(faults, found)
	}
	if err != nil {
		return nil, err
	}

	if stream, ok := any(in).(streamInput); ok {
		return in, stream.receive(a, w, r)
	}
	return in, nil
}

// paramsOf returns a request's parameters and adds errors for unknown ones. Public URLs collect foreign parameters
// when they are shared: open ignores those.
func paramsOf(r *http.Request, params []schema.Param, open bool) (values []schema.Value, faults schema.FieldErrors) {
	for _, p := range params {
		switch p.In {
		case "path":
			values = append(values, schema.Value{Name: p.Name, Text: chi.URLParam(r, p.Name)})
		case "header":
			if text := r.Header.Get(p.Name); text != "" {
				values = append(values, schema.Value{Name: p.Name, Text: strings.ToValidUTF8(text, "\uFFFD")})
			}
		}
	}

	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		i := slices.IndexFunc(params, func(p schema.Param) bool { return p.Name == name && p.In == "query" })
		switch text := query.Get(name); {
		case i < 0 && open:
		case i < 0 && slices.ContainsFunc(params, func(p schema.Param) bool { return p.Name == name }):
			faults.Add(name, "is not a query parameter")
		case len(query[name]) > 1:
			faults.Add(name, "is given more than once")
		default:
			values = append(values, schema.Value{Name: name, Text: text})
		}
	}

	return values, faults
}

// sendAnswer sends the result of a route's function.
func sendAnswer(w http.ResponseWriter, r *http.Request, status int, out any) error {
	if stream, ok := out.(responder); ok {
		return stream.send(w, r)
	}

	if status == 0 {
		status = http.StatusOK
	}
	if state, ok := out.(interface{ ETag() string }); ok {
		w.Header().Set("ETag", state.ETag())
	}
	if special, ok := out.(headerWriter); ok {
		if own := special.head(w.Header()); own != 0 {
			status = own
		}
	}

	if _, shared := middleware.Keepable(r); shared {
		body, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return sendTagged(w, r, append(body, '\n'))
	}
	return writeJSON(w, status, out)
}

// sendTagged responds with JSON that is the same for all users, or with 304 to a client that has it.
func sendTagged(w http.ResponseWriter, r *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`

	h := w.Header()
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}

	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(body)
	return undelivered(err)
}
