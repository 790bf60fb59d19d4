package office

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

var (
	// ErrUnavailable means that the programs are not installed, or do not
	// start. Nothing is wrong with the document.
	ErrUnavailable = errors.New("office: not available")
	// ErrClosed means that the Pool is closed.
	ErrClosed = errors.New("office: the pool is closed")
)

// Reason is the reason why a document could not be converted.
type Reason string

// The reasons of an Error.
const (
	// Unknown is a file of no kind that this package knows.
	Unknown Reason = "unknown"
	// NotHTML is a file that cannot be HTML, for a conversion that accepts only HTML.
	NotHTML Reason = "not_html"
	// Damaged is a document that cannot be read.
	Damaged Reason = "damaged"
	// PasswordRequired is a protected document without a password.
	PasswordRequired Reason = "password_required"
	// WrongPassword is a protected document that its password does not open.
	WrongPassword Reason = "wrong_password"
	// CostlyKey is a protected document whose keys need more work than Max, as officefile.MaxKeyWork counts it.
	CostlyKey Reason = "costly_key"
	// NoSuchSheet is a spreadsheet that lacks a sheet which was asked for. Detail
	// is JSON: {"sheet": …, "sheets": […]}.
	NoSuchSheet Reason = "no_such_sheet"
	// NotOffice is a document that LibreOffice does not read, for a conversion that needs LibreOffice.
	NotOffice Reason = "not_office"
	// Unstructured is a document without a structure, for a PDF that must have one.
	Unstructured Reason = "unstructured"
	// NotPage is a document that is not a web page but has files for one.
	NotPage Reason = "not_page"
	// TooManyPages is a result of more pages than Max.
	TooManyPages Reason = "too_many_pages"
	// Unsound is a document whose PDF would have structural errors.
	Unsound Reason = "unsound"
	// Exhausted is a document that needs more memory or disk space than a job may have, or that crashed the
	// converter twice.
	Exhausted Reason = "exhausted"
)

// Error means that a document could not be converted for a reason in the document itself.
type Error struct {
	Reason Reason
	Max    int `json:",omitempty"`
	// Detail is for the log. It may quote the document.
	Detail string `json:",omitempty"`
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return "office: " + string(e.Reason)
	}
	return "office: " + string(e.Reason) + ": " + e.Detail
}

// PairError means that documents of a kind cannot be converted to a target.
type PairError struct {
	Kind Kind
	To   Target
	// Possible are the targets that Kind can be converted to.
	Possible []Target
}

func (e *PairError) Error() string {
	var possible []string
	for _, t := range e.Possible {
		possible = append(possible, string(t))
	}
	return fmt.Sprintf("office: %s to %s is not possible; only %s is", e.Kind, e.To, strings.Join(possible, ", "))
}

// The codes of this package's errors among an engine's.
const (
	codeError = "office"
	codePair  = "office_pair"
)

// toJob encodes errors of this package for the pipe; any other is returned unchanged.
func toJob(err error) error {
	var failed *Error
	var pair *PairError
	switch {
	case errors.As(err, &failed):
		return wired(codeError, failed)
	case errors.As(err, &pair):
		return wired(codePair, pair)
	}
	return err
}

func wired(code string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return &engine.JobError{Code: code, Message: string(text)}
}

// FromJob returns the error of this package that a job failed with, or else
// err itself.
func FromJob(err error) error {
	var wire *engine.JobError
	switch {
	case errors.Is(err, engine.ErrNoProgram), errors.Is(err, engine.ErrUnavailable):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, engine.ErrCrashed), errors.Is(err, engine.ErrDiskFull):
		return &Error{Reason: Exhausted, Detail: err.Error()}
	case errors.Is(err, engine.ErrClosed):
		return ErrClosed
	case !errors.As(err, &wire):
		return err
	}

	switch wire.Code {
	case codeError:
		return unwired(wire, new(Error))
	case codePair:
		return unwired(wire, new(PairError))
	}
	return err
}

// unwired reads the output of wired into e.
func unwired(wire *engine.JobError, e error) error {
	if json.Unmarshal([]byte(wire.Message), e) != nil {
		return wire
	}
	return e
}
