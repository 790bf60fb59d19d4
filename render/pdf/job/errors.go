package job

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pagerange"
	"github.com/relaypdf/relaypdf/render/pdfsign"
)

// Kind is the reason why a PDF could not be processed.
type Kind string

// The kinds of an Error.
const (
	// NotPDF is a file that is something else.
	NotPDF Kind = "not_pdf"
	// Damaged is a PDF that cannot be read, and could not be repaired.
	Damaged Kind = "damaged"
	// PasswordRequired is an encrypted PDF without a password.
	PasswordRequired Kind = "password_required"
	// WrongPassword is an encrypted PDF that its password does not open.
	WrongPassword Kind = "wrong_password"
	// PageOutOfRange is a selection of pages that the document does not have. Pages is the number of its pages.
	PageOutOfRange Kind = "beyond_end"
	// AllPages is a selection that would leave no page. Pages is the number of pages of the document.
	AllPages Kind = "all_pages"
	// TooManyPages is a result, or an input, over the limit Max.
	TooManyPages Kind = "too_many_pages"
	// OverLimit is a document that is too large for the job. Text describes the limit.
	OverLimit Kind = "over_limit"
	// Exhausted is a document that needs more time, memory or disk space than a job may have, or that crashed a
	// tool.
	Exhausted Kind = "exhausted"
	// NoSelection is an invalid selection of pages. Text holds the reason.
	NoSelection Kind = "no_selection"
	// TooFine is a resolution at which the image of a Page would be over the
	// limits of MaxSide and MaxPixels: Width × Height.
	TooFine Kind = "too_fine"
	// OffPage is an area of a Page without content. Text describes it.
	OffPage Kind = "off_page"
	// NotAttached means that attachments with some names do not exist. Text lists the names.
	NotAttached Kind = "not_attached"
	// NoMatch is a document without the requested content. Text describes it.
	NoMatch Kind = "nothing"
	// NoLanguage is a language that is not installed. Text lists the installed ones.
	NoLanguage Kind = "no_language"
	// NoProgram is a program that the job needs and that is not installed. Text holds its purpose.
	NoProgram Kind = "no_program"
	// RedactionIncomplete is a document from which some content could not be removed. Text describes it.
	RedactionIncomplete Kind = "remains"
	// BrokenStructure is a document whose result would have structural errors. Text describes them.
	BrokenStructure Kind = "unsound"
	// NoArchive is a document that cannot be converted to PDF/A. Text holds the reason.
	NoArchive Kind = "no_archive"
	// NoSheets is a document whose pages cannot be put on sheets without a loss. Text holds the reason.
	NoSheets Kind = "no_sheets"
	// Unsplit is a document that cannot be split in the requested way. Text holds the reason.
	Unsplit Kind = "unsplit"
	// Unverified is a document whose signatures cannot be read. Text holds the reason.
	Unverified Kind = "unverified"
	// Unsigned is a document that cannot be signed as requested. About is the part of the request, and Text describes
	// it.
	Unsigned Kind = "unsigned"
	// NoCertificate is a certificate that cannot be read. Pages is its number, from 0, and Text describes it.
	NoCertificate Kind = "no_certificate"
	// NotInvoice is a file that cannot be read as the XML of an e-invoice. Text gives the reason.
	NotInvoice Kind = "not_invoice"
	// NotEmail is a file that cannot be read as an email. Text gives the reason.
	NotEmail Kind = "not_email"
)

// Error is the error of a job that is caused by the document or by the arguments.
type Error struct {
	Kind Kind
	// Input is the number of the input at fault, from 0.
	Input int `json:",omitempty"`
	Pages int `json:",omitempty"`
	Max   int `json:",omitempty"`
	// Bookmark is the way to the bookmark that is BeyondEnd: its number among
	// its siblings on each level, from 0.
	Bookmark []int `json:",omitempty"`
	// Page is the page of an OffPage error. Page, Width and Height describe a TooFine error, in pixels.
	Page   int     `json:",omitempty"`
	Width  float64 `json:",omitempty"`
	Height float64 `json:",omitempty"`
	// About is the part of the request that an Unsigned error is about.
	About pdfsign.Kind `json:",omitempty"`
	// Text describes the error. It continues a sentence that begins with the field's name.
	Text  string `json:",omitempty"`
	Cause error  `json:"-"`
}

func (e *Error) Error() string {
	text := fmt.Sprintf("pdf: input %d: %s", e.Input, e.Kind)
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause, which stays in the child.
func (e *Error) Unwrap() error { return e.Cause }

// jobCode marks an Error among an engine's errors.
const jobCode = "pdf"

// ToJob encodes an Error for the pipe; any other error is returned unchanged.
func ToJob(err error) error {
	var failed *Error
	if !errors.As(err, &failed) {
		return err
	}
	text, jsonErr := json.Marshal(failed)
	if jsonErr != nil {
		return errors.Join(err, jsonErr)
	}
	return &engine.JobError{Code: jobCode, Message: string(text)}
}

// FromJob returns the *Error that a job failed with, or else err itself.
func FromJob(err error) error {
	var wire *engine.JobError
	if errors.Is(err, engine.ErrCrashed) || errors.Is(err, engine.ErrDiskFull) {
		return &Error{Kind: Exhausted, Cause: err}
	}
	if !errors.As(err, &wire) || wire.Code != jobCode {
		return err
	}

	var failed Error
	if json.Unmarshal([]byte(wire.Message), &failed) != nil {
		return err
	}
	return &failed
}

// beyond turns the error of resolving a selection of pages into an *Error.
func beyond(input int, err error) error {
	var b *pagerange.BeyondError
	if errors.As(err, &b) {
		return &Error{Kind: PageOutOfRange, Input: input, Pages: b.Pages}
	}
	return err
}
