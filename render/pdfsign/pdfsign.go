// Package pdfsign signs PDFs (PAdES B-B to B-LTA), adds timestamps to them, and verifies their signatures (ADR 50).
//
// Signing has steps that exchange small values, so that the process that has the key reads no PDF and has no network,
// and the process with the network sees neither:
//
//	prepared, err := prepare(content, options)    // reads the PDF
//	cms, err := signer.Sign(prepared.digest(signer.Hash)) // has the key
//	signed, err := prepared.complete(cms)
//
// Sign does all steps for a level. Its Network is the only part that may wait.
package pdfsign

import (
	"errors"
	"fmt"
)

// Level is a level of PAdES. Each contains the ones before.
type Level string

// The levels.
const (
	LevelB   Level = "B-B"   // a signature
	LevelT   Level = "B-T"   // with a timestamp
	LevelLT  Level = "B-LT"  // with the certificates and their state in the document
	LevelLTA Level = "B-LTA" // with a timestamp of the whole document
)

// Permission is what may change after a certification.
type Permission int

// The permissions, with the numbers of the standard.
const (
	NotCertified Permission = iota
	NoChanges
	FormFilling // and signing
	Annotations // and form filling
)

// Error is a property of the document, the key or a response that prevents the signature.
type Error struct {
	Kind Kind
	// Text continues a sentence that begins with the name of what the kind is about.
	Text string
}

// Kind is the reason of an Error.
type Kind string

// The kinds of errors.
const (
	Encrypted   Kind = "encrypted"    // the encryption of the document is unsupported
	Unreadable  Kind = "unreadable"   // its structure is damaged or out of the ordinary
	BadField    Kind = "bad-field"    // the field is missing, signed or of another type
	BadPage     Kind = "bad-page"     // the page is missing
	BadText     Kind = "bad-text"     // the text cannot be shown
	NotAllowed  Kind = "not-allowed"  // an earlier certification forbids it
	BadKey      Kind = "bad-key"      // the key or its certificate cannot be used
	BadPassword Kind = "bad-password" // the password does not open the key
	BadResponse Kind = "bad-response" // of a timestamp authority
	NoState     Kind = "no-state"     // the state of a certificate is not to be had
)

// ErrPending is the error of a Key or a Network whose response comes later. The work ends with it, and is done again
// with the response: the same document, options, time and seed lead to the same requests.
var ErrPending = errors.New("pdfsign: a response is pending")

func (e *Error) Error() string { return "pdfsign: " + e.Text }

func fail(kind Kind, format string, args ...any) error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}

// Is reports whether an error is of a kind.
func Is(err error, kind Kind) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Kind == kind
}
