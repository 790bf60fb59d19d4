// Package schema defines an operation: one row of the product's table. It knows nothing of HTTP, agents, databases or
// browsers; everything that those show of an operation derives from its row.
package schema

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Info is the part of a row that is text and numbers.
type Info struct {
	// Name is the identifier all spellings derive from: lower-case words
	// joined by dots, such as "pdf.merge" or "pdf.form.fill".
	Name string
	// Summary is one line in the imperative: "Merge PDFs in order".
	Summary string
	// Details are behaviour and limits that no field describes, for the reference. Empty if there are none.
	Details string
	// Use is when to use the operation, and which other one to use otherwise, for the reference and for models:
	// "Use when several PDFs become one. Not for images: use pdf_from_images."
	Use string
	// Toolset is the group of tools that agents list it with; empty is the first word of the name. Default means that
	// the default toolset has it, too.
	Toolset string
	Default bool
	// Price is the price of one successful call; the maximum if its result has its own.
	Price credit.Amount
	// Unbilled marks an operation whose price is 0.
	Unbilled bool
	// PriceNote describes the scope of the price, if that is not obvious.
	PriceNote string
	// Produces lists the content types of a result, the usual one first.
	Produces []string
	// Signs means that the result has a signature, which operations without Signs break when they make another PDF of
	// it.
	Signs bool
	// Flow marks an operation that has no work but that of its steps. Its price is added to theirs.
	Flow bool
	// Bulk marks an operation whose work is calls of others, one for each record. It is always a job, and costs the sum
	// of the calls.
	Bulk bool
	// Engine is the heavy program that it needs, and that a server may run without.
	Engine string
	// Codes are the errors that only this operation may return.
	Codes []string
	// Answer is an example of a JSON result, if its type is known: a struct whose tags are its documentation.
	Answer any
}

// Composite reports whether the operation's work is that of others, and its price that of theirs.
func (i Info) Composite() bool { return i.Flow || i.Bulk }

// Description is the operation's text in the reference. It does not repeat the summary.
func (i Info) Description(price credit.Amount) string {
	costs := fmt.Sprintf("Costs %v per successful call.", price)
	if i.Composite() {
		costs = ""
	}
	parts := []string{i.Details, i.Use, costs, i.PriceNote}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// Path returns the operation's HTTP path: "pdf.merge" is "/v1/pdf/merge", and
// a final "create" is left out, so that "pdf.create" is "/v1/pdf".
func (i Info) Path() string {
	return wire.OperationPath(i.Name)
}

// Tool returns the operation's name as an agent's tool: "pdf_merge".
func (i Info) Tool() string { return strings.NewReplacer(".", "_", "-", "_").Replace(i.Name) }

// Words returns the operation's words on the command line: "pdf", "merge".
func (i Info) Words() []string { return strings.Split(i.Name, ".") }

// TypedDefinition is one row: the facts, a valid example and the code. Env is the environment of a run; In is the input struct,
// which embeds Common and whose tags are the input's documentation and its rules.
type TypedDefinition[Env, In any] struct {
	Info    Info // not embedded: its methods would be compiled once for each In
	Example In
	Run     func(context.Context, Env, *In) (Result, error)
}

// Definition is a Spec whose input type is erased, so that one slice holds them all.
type Definition[Env any] interface {
	compile(*Table[Env]) (*Operation[Env], error)
}

// Spec is the part of an operation that its clients know, without the code.
type Spec struct {
	Info
	// Schema describes the input, in JSON Schema 2020-12, without references.
	Schema *jsonschema.Schema
	// Example is a valid input.
	Example any
}

// Operation is a row made ready for use by NewTable.
type Operation[Env any] struct {
	Spec

	// Input is the type that the schema was made from.
	Input reflect.Type
	// Off means that this server runs without its Engine.
	Off bool
	// Varies means that the price of a call may differ from the operation's price.
	Varies bool

	bind func(context.Context, io.Reader, Files) (*Call[Env], error)
}

// Chains reports whether calls may have operations on their result.
func (o *Operation[Env]) Chains() bool {
	_, ok := o.Schema.Properties.Get(thenField)
	return ok
}

// WhyOff returns the reason why this server does not offer the operation, and the remedy; empty if it does.
func (o *Operation[Env]) WhyOff() string {
	if !o.Off {
		return ""
	}
	return fmt.Sprintf("%[2]s is disabled on this server because it needs %[1]s. Operator: add %[1]q to RELAYPDF_ENGINES.", o.Engine, o.Name)
}

// Bind reads one JSON object and returns its call, which must be closed. Its error is a Faults with the failing
// fields, a *SizeError, a *BusyError, or an error of the context, of the reader or of a file's sink.
func (o *Operation[Env]) Bind(ctx context.Context, body io.Reader, files Files) (*Call[Env], error) {
	return o.bind(ctx, body, files)
}

// Call is one valid request for an operation.
type Call[Env any] struct {
	Common

	// Steps are the calls that follow this one, or that it consists of if it is a Flow.
	Steps []Step[Env]
	Flow  bool

	schema *jsonschema.Schema
	name   string // of the operation
	input  any    // as decoded, with its files in place
	in     any    // the same as a pointer to the operation's input type
	run    func(context.Context, Env) (Result, error)
	admit  func(Env) error
	pin    func(context.Context, Env) error
	price  func(context.Context, Env) (Price, error)
	close  func() error
	// media is the content type of the result.
	media string
}

// ContentType returns the content type of the result, as far as the input determines it: that of the operation's usual
// result otherwise.
func (c *Call[Env]) ContentType() string { return c.media }

// Admit returns the error with which Run would be turned away at this moment,
// or nil. It costs nothing, unlike a hold that has to be released.
func (c *Call[Env]) Admit(env Env) error {
	if c.Flow {
		return c.Steps[0].Admit(env)
	}
	return c.admit(env)
}

// Digest identifies the operation and its decoded input: two requests with one
// digest ask for the same thing, however they were spelled. It reads the input's
// files, and is asked for before Pin.
func (c *Call[Env]) Digest() ([]byte, error) { return digest(c.name, c.input) }

// Pin fixes the meaning of names in the input that may change later, such as the latest version of a template.
func (c *Call[Env]) Pin(ctx context.Context, env Env) error {
	var faults FieldErrors
	for _, call := range c.Calls() {
		if err := merge(&faults, At(call.Place, call.pin(ctx, env))); err != nil {
			return err
		}
	}
	return faults.OrNil()
}

// Price is the maximum price of one call, if that depends on its input.
type Price struct {
	Amount credit.Amount
	// QuoteID names the promise of that price; empty if there is none.
	QuoteID string
	// Records is the number of records of a bulk call.
	Records int
}

// Price returns the call's own price, or nil if the operation's price applies.
func (c *Call[Env]) Price(ctx context.Context, env Env) (*Price, error) {
	if c.price == nil {
		return nil, nil
	}
	price, err := c.price(ctx, env)
	return &price, err
}

// Input returns the input as a pointer to the operation's input type.
func (c *Call[Env]) Input() any { return c.in }

// Run carries the call out.
func (c *Call[Env]) Run(ctx context.Context, env Env) (Result, error) { return c.run(ctx, env) }

// Close frees the files that came with the call.
func (c *Call[Env]) Close() error { return c.close() }

// Common holds the fields that every operation accepts.
type Common struct {
	Filename string `json:"filename,omitempty" jsonschema:"maxLength=255" jsonschema_description:"Name of the result. relaypdf removes paths and control characters, and adds a missing extension."`
	Response string `json:"response,omitempty" jsonschema:"enum=binary,enum=url,enum=async,default=binary" jsonschema_description:"Form of the response. binary: the bytes of the result. url: a JSON object with a public URL of the result. async: a job to poll."`
	// ExpiresIn and MaxDownloads limit the public URL of the result; 0 is the default.
	ExpiresIn    int `json:"expiresIn,omitempty" jsonschema:"minimum=60,maximum=2592000" jsonschema_extras:"x-advanced=true" jsonschema_description:"Seconds for which the URL of the result works, from 60 to 2592000 (30 days). More than 86400 requires a live key and a wallet with a payment, and counts towards the storage quota. Default: 86400."`
	MaxDownloads int `json:"maxDownloads,omitempty" jsonschema:"minimum=1,maximum=1000000" jsonschema_extras:"x-advanced=true" jsonschema_description:"Maximum number of downloads by the URL of the result. After the last one, the URL returns 404. Each GET counts, even if it is interrupted. Default: no maximum."`
	// CallbackURL has been checked by the service when an operation runs.
	CallbackURL string `json:"callbackUrl,omitempty" jsonschema:"format=uri,maxLength=8192" jsonschema_description:"Public https URL that receives a POST when the call ends, with the JSON of GET /v1/jobs/{id}. It works with every value of response. The request is not signed; use a webhook endpoint for signed events."`
	// DeliverTo has been checked in the same way; its URL and headers contain secrets.
	DeliverTo *Destination `json:"deliverTo,omitempty" jsonschema_extras:"x-advanced=true" jsonschema_description:"Destination that receives the result before the call is charged: exactly one of url, s3 and sftp. If it does not accept the result, the call fails with delivery_failed and is not charged."`
	Store     *bool        `json:"store,omitempty" jsonschema:"default=true" jsonschema_extras:"x-advanced=true" jsonschema_description:"If false, relaypdf stores no copy of the input and the result after the call. The response must be binary, or async with deliverTo. A result that does not reach the client is lost, and a repeat with the same Idempotency-Key does not return it."`
	Then      []ThenStep   `json:"then,omitempty" jsonschema:"maxItems=20" jsonschema_description:"Steps to run on the result in this call, in order, at most 20. Each step makes a file, and its source is the result before it. In a step with several sources, {\"step\":\"previous\"} is that result. The response is the last result. The call costs the sum of the prices."`
}

func (c *Common) common() *Common { return c }

// LimitsLink reports whether the input limits the URL of the result.
func (c *Common) LimitsLink() bool { return c.ExpiresIn != 0 || c.MaxDownloads != 0 }

// Unstored reports whether no copy of the input and of the result is kept after the call.
func (c *Common) Unstored() bool { return c.Store != nil && !*c.Store }

// validate checks that only responses with a URL limit it, that a result without a copy reaches someone, and the
// destination.
func (c *Common) validate() error {
	var faults FieldErrors
	for _, limit := range []struct {
		name  string
		given int
	}{{"expiresIn", c.ExpiresIn}, {"maxDownloads", c.MaxDownloads}} {
		switch {
		case limit.given == 0:
		case c.Response == "" || c.Response == Binary:
			faults.Add(limit.name, "requires response url or async")
		case c.Unstored():
			faults.Add(limit.name, "is not allowed, because store is false: the result has no URL")
		}
	}

	switch {
	case c.Unstored() && c.Response == URL:
		faults.Add("response", "must be binary, or async with deliverTo, because store is false; got url")
	case c.Unstored() && c.Response == Async && c.DeliverTo == nil:
		faults.Add(DeliverField, "is required, because store is false and response is async")
	}

	c.DeliverTo.validate(&faults)
	return faults.OrNil()
}

// Callback is the callbackUrl of the input.
func (c *Common) Callback() string { return c.CallbackURL }

// The values of Common.Response.
const (
	Binary = "binary"
	URL    = "url"
	Async  = "async"
)

// Warning is a problem in the sources of a result.
type Warning = wire.Warning

// Result is the result of a run: a Body, or JSON instead.
type Result struct {
	// Stem is the result's name if the request has none: "document".
	Stem string
	// Extension starts with a dot: ".pdf".
	Extension   string
	ContentType string
	Body        Body
	// JSON is a struct or map that marshals to an object.
	JSON any
	// Pages is the page count of a printed document; 0 if the pages were not counted.
	Pages int
	// Warnings are the warnings about the source of the result.
	Warnings []Warning
	// Marked means that the run has put the test mark of calls with test keys on the result.
	Marked bool
	// Charge is the price of the call, at most its quote; nil is the quote.
	Charge *credit.Amount
}

// Body is the content of a result. It is read through Open, any number of
// times, until Close frees it.
type Body interface {
	Size() int64
	Open() io.ReadSeeker
	Close() error
}
