package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// MaxTestRecords is the maximum number of records of a bulk job with a test key.
const MaxTestRecords = 50

// maxFailRecords is the maximum number of records of a bulk job with onError fail, which is free if its last record
// fails.
const maxFailRecords = 1000

// BulkInput is the input of pdf.bulk: one document for each record. Each is a call of pdf.create or of pdf.form.fill.
type BulkInput struct {
	schema.Common

	TemplateID      *string    `json:"templateId,omitempty" jsonschema:"minLength=1,maxLength=100" jsonschema_description:"ID or slug of the published template that each record fills. Send exactly one of templateId and form."`
	TemplateVersion int        `json:"templateVersion,omitempty" jsonschema:"minimum=0,maximum=1000000,default=0" jsonschema_extras:"x-requires=templateId" jsonschema_description:"Version of the template; 0 for the latest."`
	Strict          bool       `json:"strict,omitempty" jsonschema:"default=false" jsonschema_extras:"x-requires=templateId" jsonschema_description:"If true, a record fails if it lacks a value that the template uses."`
	Form            *BulkForm  `json:"form,omitempty" jsonschema_description:"PDF form that each record fills. The members of a record are named after the form fields."`
	Options         PDFOptions `json:"options,omitzero" jsonschema_extras:"x-requires=templateId" jsonschema_description:"Options of POST /v1/pdf, the same for all records."`

	Records         []schema.Object `json:"records,omitempty" jsonschema:"minItems=1,maxItems=10000" jsonschema_description:"Data of the documents, 1 to 10,000 objects. Send exactly one of records and fileId."`
	FileID          *string         `json:"fileId,omitempty" jsonschema:"minLength=1,maxLength=255" jsonschema_description:"ID of an uploaded file with the records: a JSON array, JSON Lines, CSV or XLSX. The first row of a table names paths, such as customer.name or items.0.price."`
	Output          string          `json:"output,omitempty" jsonschema:"enum=zip,enum=merged,enum=files,default=zip" jsonschema_description:"Result. zip: an archive of the documents. merged: one PDF. files: a JSON object with the URL of each document."`
	FilenamePattern string          `json:"filenamePattern,omitempty" jsonschema:"maxLength=255" jsonschema_description:"Handlebars template of a document's name, such as invoice-{{number}}. Not allowed with output merged. Default: document-0001 and so on."`
	OnError         string          `json:"onError,omitempty" jsonschema:"enum=continue,enum=fail,default=continue" jsonschema_description:"Effect of a record that fails. continue: it is reported, and the others are processed. fail: the job fails and is free; at most 1,000 records."`
	Quote           bool            `json:"quote,omitempty" jsonschema:"default=false" jsonschema_description:"If true, return the exact price and the number of records, free of charge, instead of a job."`
}

// BulkForm is a PDF form that is filled.
type BulkForm struct {
	FileID   string `json:"fileId" jsonschema:"required,minLength=1,maxLength=255" jsonschema_description:"ID of an upload of the PDF."`
	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"Password that opens the PDF, if it is encrypted."`
	Flatten  bool   `json:"flatten,omitempty" jsonschema:"default=false" jsonschema_description:"If true, draw the values on the pages and remove the form."`
}

// The values of BulkInput.Output except its default "zip", and of BulkInput.OnError.
const (
	BulkMerged = "merged"
	BulkFiles  = "files"
	BulkFail   = "fail"
)

// JSONSchemaExtend adds rules of several members to the schema.
func (BulkInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("templateId", "form"), schema.ExactlyOne("records", "fileId"))
}

// Validate checks the rules that the schema cannot express, and makes the call a job unless it asks for its price.
func (in *BulkInput) Validate() error {
	var faults schema.FieldErrors
	switch {
	case in.TemplateID == nil && in.Form == nil:
		faults.Add("templateId", "is required unless form is given")
	case in.TemplateID != nil && in.Form != nil:
		addExclusive(&faults, "templateId", "form", "templateId, form")
	case in.Form != nil:
		checkPassword(&faults, "form.password", in.Form.Password)
		if in.TemplateVersion != 0 || in.Strict {
			faults.Add("form", "cannot be combined with templateVersion or strict")
		}
	}

	switch {
	case in.Records == nil && in.FileID == nil:
		faults.Add("records", "is required unless fileId is given")
	case in.Records != nil && in.FileID != nil:
		addExclusive(&faults, "records", "fileId", "records, fileId")
	}

	if in.Output == BulkMerged && in.FilenamePattern != "" {
		faults.Add("filenamePattern", "requires output zip or files")
	}

	switch {
	case in.Quote && in.Response == schema.Async:
		in.Response = schema.Binary // A price needs no job.
	case in.Quote:
	case in.Response == "":
		in.Response = schema.Async
	case in.Response != schema.Async:
		faults.Add("response", "must be async or absent; got %q. A bulk call is always a job", in.Response)
	}

	if in.Unstored() {
		faults.Add("store", "must be true; got false. A bulk job stores its documents while it runs")
	}

	in.Options.check(&faults, false)
	return failures(faults)
}

// Produces is the type of the documents, which get the test mark.
func (in *BulkInput) Produces() string { return "application/pdf" }

// Each returns the operation that makes the documents.
func (in *BulkInput) Each() string {
	if in.Form != nil {
		return "pdf.form.fill"
	}
	return "pdf.create"
}

// Pin fixes the template's version.
func (in *BulkInput) Pin(ctx context.Context, deps *Deps, input map[string]any) (changed bool, err error) {
	template := TemplateInput{TemplateID: in.TemplateID, TemplateVersion: in.TemplateVersion}
	return template.pin(ctx, deps, input, anyOption)
}

// Read returns the records. Each is an object, or a record with a RecordFault.
func (in *BulkInput) Read(ctx context.Context, deps *Deps) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if in.FileID == nil {
		total := 0
		for _, record := range in.Records {
			list = append(list, record.RawMessage)
			total += len(record.RawMessage)
		}
		if total > render.MaxRecordsTotal {
			return nil, &schema.SizeError{Field: "records", Limit: render.MaxRecordsTotal}
		}
		return list, nil
	}

	if deps.Render == nil {
		return nil, &wire.Error{
			Code:       wire.ConvertUnavailable,
			RetryAfter: 5,
			Message:    "Reading files of records is unavailable. Retry in 5 seconds, or send records instead of fileId.",
		}
	}

	file, err := deps.openStored(ctx, "fileId", *in.FileID)
	if err != nil {
		return nil, err
	}

	list, err = deps.Render.ReadRecords(ctx, file, in.Form != nil)
	var refused *render.RecordsError
	if errors.As(err, &refused) {
		err = schema.FieldErrors{{Field: "fileId", Message: refused.Text}}
	}
	return list, errors.Join(err, file.Close())
}

// RecordFault returns why a record of a file cannot be read, or nil.
func RecordFault(record json.RawMessage, index int) error {
	var reason string
	if err := json.Unmarshal(record, &reason); err == nil {
		return wire.Invalid(fmt.Sprintf("records[%d]", index), "cannot be read: "+reason)
	}
	return nil
}

// bulkPrice returns the price of a bulk call and the number of its records.
func (in *BulkInput) bulkPrice(ctx context.Context, deps *Deps, call *Call) (each credit.Amount, count int, err error) {
	each = deps.Prices[in.Each()]
	last := in.Produces()
	signs := false

	for _, step := range call.Steps {
		each += deps.Prices[step.Operation.Name]
		last, signs = step.ContentType(), signs || step.Operation.Signs
	}

	if in.Output == BulkMerged && last != "application/pdf" {
		return 0, 0, wire.Invalid("output", "must be zip or files, because the last step does not make a PDF")
	}
	if in.Output == BulkMerged && signs {
		return 0, 0, wire.Invalid(
			"output", "must be zip or files, because merging would break the signatures of the documents",
		)
	}

	list, err := in.Read(ctx, deps)
	if err != nil {
		return each, 0, err
	}

	if in.OnError == BulkFail && len(list) > maxFailRecords {
		return 0, 0, wire.Invalid(
			"onError",
			fmt.Sprintf("must be continue for more than %d records; got %d records", maxFailRecords, len(list)),
		)
	}

	first := slices.IndexFunc(list, func(record json.RawMessage) bool { return RecordFault(record, 0) == nil })
	if first >= 0 && deps.Render != nil {
		_, err = in.Name(ctx, deps, list[first], first, len(list), ".pdf")
	}
	return each, len(list), err
}

// BulkQuote is the result of pdf.bulk with quote.
type BulkQuote struct {
	Records            int           `json:"records" jsonschema:"required" jsonschema_description:"Number of records."`
	AmountMicrodollars credit.Amount `json:"amountMicrodollars" jsonschema:"required" jsonschema_description:"Price of the job if no record fails, in microdollars."`
}

// quoteBulk returns the price of a bulk call as its result.
func quoteBulk(ctx context.Context, deps *Deps, call *Call, in *BulkInput) (schema.Result, error) {
	each, count, err := in.bulkPrice(ctx, deps, call)
	quote := BulkQuote{Records: count, AmountMicrodollars: each * credit.Amount(count)}
	return schema.Result{Stem: "quote", JSON: quote, Charge: new(credit.Amount(0))}, err
}

// Name returns the name of a record's document.
func (in *BulkInput) Name(
	ctx context.Context, deps *Deps, record json.RawMessage, index, total int, extension string,
) (string, error) {
	stem := fmt.Sprintf("document-%0*d", max(4, len(strconv.Itoa(total))), index+1)
	if in.FilenamePattern == "" {
		return Filename("", stem, extension), nil
	}

	text, err := deps.Render.FillTemplate(ctx, template.Call{
		Template: template.Template{HTML: in.FilenamePattern}, Data: record,
		Locale: in.Options.Locale, Zone: in.Options.TimeZone,
	}, nil)
	var wrong *template.Error
	if errors.As(err, &wrong) {
		return "", wire.Invalid("filenamePattern", "is not a valid template: "+strings.TrimSuffix(wrong.Error(), "."))
	}
	return Filename(html.UnescapeString(text), stem, extension), err
}

// BulkCalls makes the input of each record's call.
type BulkCalls struct {
	member string // that holds the record
	shared []byte // the other members, as an object
}

// Calls returns the inputs of the records' calls. The call is that of the whole job.
func (in *BulkInput) Calls(call *Call) (BulkCalls, error) {
	var text bytes.Buffer
	if err := call.WriteInput(&text); err != nil {
		return BulkCalls{}, err
	}

	var given map[string]json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &given); err != nil {
		return BulkCalls{}, err
	}

	shared := map[string]json.RawMessage{}
	member := "templateData"
	names := []string{"templateId", "templateVersion", "strict", "options", "then"}
	if in.Form != nil {
		form := map[string]json.RawMessage{}
		if err := json.Unmarshal(given["form"], &form); err != nil {
			return BulkCalls{}, err
		}
		form["then"] = given["then"]
		given = form
		member = "fields"
		names = []string{"fileId", "password", "flatten", "then"}
	}

	for _, name := range names {
		if value := given[name]; value != nil {
			shared[name] = value
		}
	}

	made, err := json.Marshal(shared)
	return BulkCalls{member, made}, err
}

// Of returns the input of a record's call.
func (c BulkCalls) Of(record json.RawMessage) []byte {
	text := append(bytes.Clone(c.shared[:len(c.shared)-1]), `,"`+c.member+`":`...)
	return append(append(text, record...), '}')
}

// Renamed returns a message of a record's call that names the fields of the record as those of the job.
func (c BulkCalls) Renamed(text string, index int) string {
	place := fmt.Sprintf("records[%d]", index)
	if rest, ok := strings.CutPrefix(text, "templateData "); ok {
		text = place + " " + rest
	} else if rest, ok := strings.CutPrefix(text, "fields "); ok {
		text = "form " + rest // It has no fields.
	}
	return strings.ReplaceAll(text, c.member+".", place+".")
}

// BulkDocument is a document of a job, as its result lists it.
type BulkDocument struct {
	Index     int    `json:"index"`
	Filename  string `json:"filename"`
	ID        string `json:"id"`
	URL       string `json:"url"`
	SizeBytes int64  `json:"sizeBytes"`
}

// BulkReport is the result of a job whose output is files, and a file of its archive if records have failed.
type BulkReport struct {
	Documents []BulkDocument     `json:"documents,omitempty"`
	Errors    []wire.RecordError `json:"errors"`
}

// bulkErrorsName is the name of the report in an archive.
const bulkErrorsName = "errors.json"

// JoinBulk makes the result of a job with the output zip or merged. The parts of merged are PDFs of many documents.
func JoinBulk(
	ctx context.Context, deps *Deps, output string, parts []render.ZipEntry, failed []wire.RecordError,
) (schema.Result, error) {
	if output == BulkMerged {
		var inputs []render.MergeInput
		for _, part := range parts {
			inputs = append(inputs, render.MergeInput{PDFFile: render.PDFFile{Content: part.Content}})
		}

		ctx, engines := render.Warned(ctx)
		made, changed, err := deps.Render.MergePDFs(ctx, inputs)
		result, err := changedResult("documents")(made, changed, err)
		result.Warnings = append(result.Warnings, warnings(engines.All())...)
		return result, err
	}

	if len(failed) > 0 {
		text, err := json.MarshalIndent(BulkReport{Errors: failed}, "", "  ")
		if err != nil {
			return schema.Result{}, err
		}
		parts = append([]render.ZipEntry{{Name: bulkErrorsName, Content: jsonBody(text)}}, parts...)
	}

	archive, err := render.Zip(ctx, parts)
	if err != nil {
		return schema.Result{}, err
	}
	return zipResult("documents", archive), nil
}

// ListBulk makes the result of a job with the output files.
func ListBulk(report BulkReport) (schema.Result, error) {
	if report.Errors == nil {
		report.Errors = []wire.RecordError{}
	}
	text, err := json.Marshal(report)
	return schema.Result{
		Stem:        "documents",
		Extension:   ".json",
		ContentType: "application/json",
		Body:        jsonBody(text),
	}, err
}

// runBulk is never called: service/call runs the records of a job, and Run quotes.
func runBulk(context.Context, *Deps, *BulkInput) (schema.Result, error) {
	return schema.Result{}, errors.New("a bulk call is run by its records")
}
