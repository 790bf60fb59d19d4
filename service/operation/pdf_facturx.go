package operation

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Invoice is an e-invoice as JSON, with every digit of its numbers.
type Invoice struct {
	schema.Object

	of *einvoice.Invoice // whose fields it has
}

// JSONSchema returns the schema of einvoice.Invoice.
func (Invoice) JSONSchema() *jsonschema.Schema {
	doc := schema.InputSchema(reflect.TypeFor[einvoice.Invoice]())
	doc.Format = schema.VerbatimFormat
	return doc
}

// invoiceOf returns an e-invoice as JSON.
func invoiceOf(invoice *einvoice.Invoice) (Invoice, error) {
	text, err := json.Marshal(invoice)
	return Invoice{Object: schema.Object{RawMessage: text}, of: invoice}, err
}

// FacturxOptions are an e-invoice for a PDF.
type FacturxOptions struct {
	Profile string  `json:"profile,omitempty" jsonschema:"enum=minimum,enum=basic-wl,enum=basic,enum=en16931,enum=extended,enum=xrechnung" jsonschema_extras:"x-common=true" jsonschema_description:"Profile of the e-invoice. Default: that of xml or of the field specification of invoice, or en16931."`
	Invoice Invoice `json:"invoice,omitzero" jsonschema_extras:"x-common=true" jsonschema_description:"Invoice as JSON: the business terms of EN 16931, at most 5 MiB. Amounts are numbers or strings such as \"19.00\"."`
	XML     *string `json:"xml,omitempty" jsonschema:"minLength=1,maxLength=10485760" jsonschema_description:"Invoice as XML: a Cross Industry Invoice (CII), at most 10 MiB. Send either invoice or xml."`
	Compare string  `json:"compare,omitempty" jsonschema:"enum=fail,enum=warn,enum=off,default=fail" jsonschema_extras:"x-common=true" jsonschema_description:"Comparison of the pages with the invoice. fail: a contradiction fails the call, at no charge. warn: it is a warning. off: do not compare."`

	written string   // the XML of Invoice
	dropped []string // the fields of Invoice that the profile does not have
	profile einvoice.Profile
}

// Values of FacturxOptions.Compare.
const (
	compareFail = "fail"
	compareOff  = "off"
)

// invoiceShape checks the JSON of an e-invoice.
var invoiceShape = sync.OnceValue(func() *schema.Shape[einvoice.Invoice] {
	shape, err := schema.NewShape[einvoice.Invoice]()
	if err != nil {
		panic(err) // for a wrong tag
	}
	return shape
})

// check faults an e-invoice that is not exactly one, or breaks the rules of its profile. at is the path before its
// fields, such as "options.facturx.". The rules of an XML are checked by readXML.
func (f *FacturxOptions) check(faults *schema.FieldErrors, at string) {
	const names = "invoice, xml"
	given := !f.Invoice.IsZero()

	switch {
	case given && f.XML != nil:
		addExclusive(faults, at+"invoice", at+"xml", names)
	case given && (f.Profile == "" || slices.Contains(einvoice.Profiles(), einvoice.Profile(f.Profile))):
		f.checkInvoice(faults, at+"invoice")
	case given: // the profile is faulted
	case f.XML == nil:
		others := at + "xml is given"
		if at != "" {
			others += ", or templateId with templateData"
		}
		faults.Add(at+"invoice", "is required unless %s", others)
	}
}

// checkInvoice faults the rules that the invoice breaks, and writes it as XML.
func (f *FacturxOptions) checkInvoice(faults *schema.FieldErrors, field string) {
	if wrong := errorsBelow(field, invoiceShape().Check(f.Invoice.RawMessage)); len(wrong) > 0 {
		faults.AddAll(wrong...)
		return
	}

	invoice := new(einvoice.Invoice)
	if err := json.Unmarshal(f.Invoice.RawMessage, invoice); err != nil {
		faults.Add(field, "cannot be read: %s", err)
		return
	}

	profile := einvoice.Profile(cmp.Or(f.Profile, string(einvoice.ProfileOf(invoice.Specification))))
	document, err := einvoice.New(invoice, einvoice.CII, profile)
	if err != nil {
		faults.Add(field, "cannot be written as XML: %s", err)
		return
	}

	document.Embedded = true
	f.Invoice.of = document.Invoice
	f.dropped = document.Dropped
	f.profile = profile

	findings := withoutRepetition(slices.Concat(document.Check(), document.Findings, einvoice.CheckAccounts(invoice)))
	broken := brokenRules(findings, field)
	if len(broken) > 0 && len(f.dropped) > 0 {
		broken[0].Message += fmt.Sprintf(" (the profile %s leaves out %s)", profile, strings.Join(f.dropped, ", "))
	}

	faults.AddAll(broken...)
	f.written = string(document.XML())
}

// withoutRepetition leaves out findings about the structure of fields that break a business rule: a missing number
// breaks BR-02, and the schema too.
func withoutRepetition(findings []einvoice.Finding) []einvoice.Finding {
	structural := func(f einvoice.Finding) bool {
		return f.Rule == einvoice.Structure || strings.HasPrefix(f.Rule, "FX-SCH-")
	}
	faulty := map[string]bool{}
	for _, f := range findings {
		if f.Severity == einvoice.Error && !structural(f) {
			faulty[f.JSONPath] = true
		}
	}
	return slices.DeleteFunc(findings, func(f einvoice.Finding) bool { return structural(f) && faulty[f.JSONPath] })
}

// errorsBelow returns an error of a JSON text as faults of the field that holds it.
func errorsBelow(field string, err error) (below schema.FieldErrors) {
	var faults schema.FieldErrors
	if err != nil && !errors.As(err, &faults) {
		return schema.FieldErrors{{Field: field, Message: "is too large: " + err.Error()}}
	}
	for _, fault := range faults {
		below = append(below, fault.Inside(field+"."))
	}
	return below
}

// brokenRules returns the errors among findings as faults. Field is the place of the invoice; an empty path is that of
// its XML.
func brokenRules(findings []einvoice.Finding, field string) (faults schema.FieldErrors) {
	for _, f := range findings {
		if f.Severity != einvoice.Error {
			continue
		}

		text := fmt.Sprintf("breaks the rule %s: %s", f.Rule, strings.TrimSuffix(f.Message, "."))
		place := field
		if f.JSONPath != "" {
			place += "." + f.JSONPath
		}

		if f.Expected != "" {
			text += "; expected " + f.Expected
		}
		if f.Actual != "" {
			text += "; got " + f.Actual
		}

		faults.Add(place, "%s", text)
	}
	return faults
}

// readInvoice reads and checks the e-invoice of a PDF, or of a file that is its XML.
func readInvoice(ctx context.Context, deps *Deps, file render.PDFFile) (pdf.InvoiceReport, error) {
	return render.RunValue(ctx, deps.Render, pdf.InvoiceReadJob, file.Input(), file.File())
}

// readXML returns the XML to attach. That of the request is read and checked first.
func (f *FacturxOptions) readXML(ctx context.Context, deps *Deps, at string) (string, error) {
	if f.XML == nil {
		return f.written, nil
	}

	field := at + "xml"
	report, err := readInvoice(ctx, deps, render.PDFFile{Content: spool.FromBytes([]byte(*f.XML))})
	var failed *job.Error

	switch {
	case errors.As(err, &failed) && (failed.Kind == job.NotInvoice || failed.Kind == job.NotPDF):
		return "", schema.FieldErrors{{Field: field, Message: cmp.Or(failed.Text, "is not XML")}}
	case err != nil:
		return "", err
	case report.Filename != "":
		return "", schema.FieldErrors{{Field: field, Message: "must be XML; got a PDF"}}
	case report.Syntax != einvoice.CII:
		return "", schema.FieldErrors{
			{Field: field, Message: "must be a Cross Industry Invoice; got UBL, which cannot be attached to a PDF"},
		}
	case f.Profile != "" && f.Profile != string(report.Profile):
		return "", schema.FieldErrors{{
			Field:   at + "profile",
			Message: fmt.Sprintf("must be %s, the profile of xml; got %s", report.Profile, f.Profile),
		}}
	}
	return *f.XML, failures(brokenXML(report.Findings, field))
}

// brokenXML is brokenRules for findings in XML.
func brokenXML(findings []einvoice.Finding, field string) schema.FieldErrors {
	for i := range findings {
		if at := findings[i].XMLPath; at != "" {
			findings[i].Message = strings.TrimSuffix(findings[i].Message, ".") + " (" + at + ")"
		}
		findings[i].JSONPath = ""
	}
	return brokenRules(findings, field)
}

// source is the field that the e-invoice comes from.
func (f *FacturxOptions) source() string {
	if f.XML != nil {
		return "xml"
	}
	return "invoice"
}

// attach attaches the e-invoice to a PDF, which the caller closes. at is the path before the fields of the e-invoice.
func (f *FacturxOptions) attach(
	ctx context.Context, deps *Deps, file render.PDFFile, xml, at string, archived bool,
) (*spool.File, []schema.Warning, error) {
	how := pdf.InvoiceArgs{
		Compare:  f.Compare != compareOff,
		Strict:   cmp.Or(f.Compare, compareFail) == compareFail,
		Archived: archived,
	}
	made, attached, err := deps.Render.AttachInvoice(ctx, file, xml, how)

	var invalid *render.InvalidInvoiceError
	if errors.As(err, &invalid) {
		err = failures(brokenXML(invalid.Findings, at+f.source()))
	}

	var found []schema.Warning
	if len(f.dropped) > 0 {
		found = append(found, schema.Warning{Code: "content_changed", Message: fmt.Sprintf(
			"The profile %s of the e-invoice does not have %s, which the XML leaves out. Choose a larger profile to keep them.",
			f.profile,
			strings.Join(f.dropped, ", "),
		)})
	}

	for _, change := range attached.Changes {
		found = append(found, schema.Warning{Code: "content_changed", Message: change})
	}
	for _, d := range attached.Disagreements {
		found = append(found, schema.Warning{Code: mismatchCode, Message: mismatchText(d), Page: d.Page})
	}

	return made, found, err
}

// mismatchCode is the code of warnings, and the field of details, about pages that do not show the invoice.
const mismatchCode = "document_mismatch"

// mismatchText describes a disagreement.
func mismatchText(d einvoice.Mismatch) string {
	if d.Contradiction {
		return fmt.Sprintf("%s is %s in the invoice, but page %d shows %s.", d.Field, d.Expected, d.Page, d.Printed)
	}
	return fmt.Sprintf("%s is %s in the invoice, which no page shows.", d.Field, d.Expected)
}

// invoiceFailure returns the error for pages that contradict their invoice.
func invoiceFailure(err error) *wire.Error {
	var mismatch *render.MismatchError
	if !errors.As(err, &mismatch) {
		return nil
	}
	e := &wire.Error{Code: wire.InvalidRequest}
	for _, d := range mismatch.Disagreements {
		if d.Contradiction {
			e.Details = append(e.Details, wire.Detail{Field: mismatchCode, Message: mismatchText(d)})
		}
	}
	e.Message = "The pages contradict the invoice: " + strings.TrimSuffix(
		e.Details[0].Message, ".",
	) + ". Correct the page or the invoice, or set compare to warn."
	return e
}

// facturxInput is the input of pdf.facturx.
type facturxInput struct {
	schema.Common
	PDFSource
	FacturxOptions
}

// JSONSchemaExtend adds rules of several members to the schema.
func (in facturxInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.ExactlyOne("invoice", "xml"))
}

// Validate checks the rules that the schema cannot express.
func (in *facturxInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.check(&faults, "")
	return failures(faults)
}

func runFacturx(ctx context.Context, deps *Deps, in *facturxInput) (schema.Result, error) {
	xml, err := in.readXML(ctx, deps, "")
	if err != nil {
		return schema.Result{}, err
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		made, found, err := in.attach(ctx, deps, file, xml, "", false)
		result, err := pdfResult("invoice")(made, err)
		result.Warnings = found
		return result, err
	})
}

// withInvoice attaches the e-invoice of options.facturx to a document, and closes the document.
func (f *FacturxOptions) withInvoice(
	ctx context.Context, deps *Deps, made schema.Result, xml string,
) (_ schema.Result, err error) {
	document := made.Body
	defer func() { err = errors.Join(err, document.Close()) }()
	body, found, err := f.attach(ctx, deps, render.PDFFile{Content: document}, xml, "options.facturx.", true)
	if err != nil {
		return schema.Result{}, err
	}
	made.Body, made.Warnings = body, append(found, made.Warnings...)
	return made, nil
}

// archival returns the standards of a PDF with an e-invoice: PDF/A-3 besides others.
func archival(standards []pdffile.Standard) []pdffile.Standard {
	if slices.ContainsFunc(standards, func(s pdffile.Standard) bool { return s.Part() > 0 }) {
		return standards
	}
	return append(slices.Clone(standards), pdffile.A3B)
}

// FacturxAnswer is the result of pdf.facturx.read.
type FacturxAnswer struct {
	Profile  einvoice.Profile `json:"profile" jsonschema:"required" jsonschema_description:"Profile: minimum, basic-wl, basic, en16931, extended or xrechnung."`
	Syntax   einvoice.Syntax  `json:"syntax" jsonschema:"required" jsonschema_description:"Syntax of the XML: cii (Cross Industry Invoice) or ubl."`
	Filename *string          `json:"filename" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Name of the XML in the PDF; null if the source is XML."`
	Invoice  Invoice          `json:"invoice" jsonschema:"required" jsonschema_description:"Invoice as JSON. Fields that the XML lacks are absent."`
	XML      string           `json:"xml" jsonschema:"required" jsonschema_description:"Invoice as XML, as it is in the source."`
}

func runFacturxRead(ctx context.Context, deps *Deps, in *PDFFileInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		report, err := readInvoice(ctx, deps, file)
		if err != nil {
			return schema.Result{}, err
		}
		answer := FacturxAnswer{
			Profile:  report.Profile,
			Syntax:   report.Syntax,
			XML:      report.XML,
			Filename: nonZero(report.Filename),
		}
		answer.Invoice, err = invoiceOf(report.Invoice)
		return schema.Result{Stem: "invoice", JSON: answer, Warnings: unread(report.Findings)}, err
	})
}

// unread returns a warning about the parts of an XML that the JSON of its invoice does not have.
func unread(findings []einvoice.Finding) []schema.Warning {
	var places []string
	for _, f := range findings {
		if f.Unread {
			places = append(places, f.XMLPath)
		}
	}

	if len(places) == 0 {
		return nil
	}

	const maximum = 5
	listed := strings.Join(places[:min(maximum, len(places))], ", ")
	message := "EN 16931 has no business term for parts of the XML, which invoice leaves out: " + listed
	if len(places) > maximum {
		message += fmt.Sprintf(" and %d more", len(places)-maximum)
	}

	return []schema.Warning{{Code: "content_unread", Message: message + ". The field xml has all parts."}}
}

// FacturxReport is the result of pdf.facturx.check.
type FacturxReport struct {
	Valid    bool             `json:"valid" jsonschema:"required" jsonschema_description:"True if findings contains no error."`
	Profile  einvoice.Profile `json:"profile" jsonschema:"required" jsonschema_description:"Profile whose rules apply: minimum, basic-wl, basic, en16931, extended or xrechnung."`
	Syntax   einvoice.Syntax  `json:"syntax" jsonschema:"required" jsonschema_description:"Syntax of the XML: cii (Cross Industry Invoice) or ubl."`
	Findings []FacturxFinding `json:"findings" jsonschema:"required" jsonschema_description:"Broken rules."`
}

// FacturxFinding is a broken rule.
type FacturxFinding struct {
	Rule     string            `json:"rule" jsonschema:"required" jsonschema_description:"ID of the rule, such as BR-CO-10, or XSD for XML that the profile does not have."`
	Severity einvoice.Severity `json:"severity" jsonschema:"required" jsonschema_description:"error: the invoice is invalid. warning: it does not follow a recommendation."`
	Message  string            `json:"message" jsonschema:"required" jsonschema_description:"The rule."`
	JSONPath *string           `json:"jsonPath" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Place in the JSON of the invoice, such as lines[0].netAmount."`
	XMLPath  *string           `json:"xmlPath" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Place in the XML as XPath."`
	Expected *string           `json:"expected" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Value that follows the rule, if the rule computes one."`
	Actual   *string           `json:"actual" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Value of the invoice."`
}

func runFacturxCheck(ctx context.Context, deps *Deps, in *PDFFileInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		found, err := readInvoice(ctx, deps, file)
		report := FacturxReport{Valid: true, Profile: found.Profile, Syntax: found.Syntax, Findings: []FacturxFinding{}}
		for _, f := range found.Findings {
			report.Valid = report.Valid && f.Severity != einvoice.Error
			report.Findings = append(report.Findings, FacturxFinding{
				Rule: f.Rule, Severity: f.Severity, Message: f.Message, JSONPath: nonZero(f.JSONPath), XMLPath: nonZero(f.XMLPath),
				Expected: nonZero(f.Expected), Actual: nonZero(f.Actual),
			})
		}
		return schema.Result{Stem: "check", JSON: report}, err
	})
}

var (
	//go:embed example/invoice.json
	invoiceJSON []byte
	//go:embed example/invoice.xml
	invoiceXML []byte
)

// exampleInvoice is the invoice of exampleText as JSON.
func exampleInvoice() Invoice { return Invoice{Object: schema.Object{RawMessage: invoiceJSON}} }

// exampleEInvoice is the same as XML, without indentation.
func exampleEInvoice() PDFSource {
	return exampleOf(regexp.MustCompile(`>\s+<`).ReplaceAll(invoiceXML, []byte("><")))
}
