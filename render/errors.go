package render

import (
	"relaypdf/render/chrome"
	"relaypdf/render/egress"
	"relaypdf/render/engine"
	"relaypdf/render/pagerange"
)

// The errors of a render. Each is matched with errors.Is; those that carry
// more have a type beside them, reached with errors.As.
var (
	// ErrRefused means that an address may not be reached; see RefusedError.
	ErrRefused = egress.ErrRefused
	// ErrBusy means that the queue is full; see BusyError.
	ErrBusy = chrome.ErrBusy
	// ErrTimeout means that the deadline passed; see TimeoutError.
	ErrTimeout = chrome.ErrTimeout
	// ErrCrashed means that the browser or an engine died on the document, a
	// second time after one retry; see HarmError.
	ErrCrashed = chrome.ErrCrashed
	// ErrTooLarge means that the result is over a limit; see LimitError.
	ErrTooLarge = chrome.ErrTooLarge
	// ErrNoElement means that Screenshot.Selector matches nothing that has a size.
	ErrNoElement = chrome.ErrNoElement
	// ErrSelector means that Page.WaitForSelector is not a valid CSS selector.
	ErrSelector = chrome.ErrSelector
	// ErrFunction means that Page.WaitForFunction cannot be evaluated; see
	// FunctionError.
	ErrFunction = chrome.ErrFunction
	// ErrNoContentArea means that the margins leave no room on the paper.
	ErrNoContentArea = chrome.ErrNoContentArea
	// ErrClosed means that the Renderer was closed.
	ErrClosed = chrome.ErrClosed
)

type (
	// RefusedError says that an address may not be reached. Its text is fit
	// for the customer; its fields are for the log.
	RefusedError = egress.RefusedError
	// BusyError says when to come back.
	BusyError = chrome.BusyError
	// HarmError says what the document did that no document may.
	HarmError = chrome.HarmError
	// TimeoutError says what was being done when the deadline passed.
	TimeoutError = chrome.TimeoutError
	// ToolTimeoutError says how long the work on a file was given.
	ToolTimeoutError = engine.TimeoutError
	// FunctionError says why the function to wait for cannot be evaluated.
	FunctionError = chrome.FunctionError
	// FaultError lists the faults of a page that Page.Strict forbids.
	FaultError = chrome.FaultError
	// LoadError says why the main document did not load: Status is the HTTP
	// status of an answer of 400 or more, Reason Chromium's name of a network
	// error otherwise.
	LoadError = chrome.LoadError
	// PageRangeError says how many pages the document has.
	PageRangeError = chrome.PageRangeError
	// HeaderError names the header or footer that would load something.
	HeaderError = chrome.HeaderError
	// LimitError names the limit that the result is over.
	LimitError = chrome.LimitError
	// SizeError gives the size of an image that is not possible, in pixels.
	SizeError = chrome.SizeError
)

// ReasonText words LoadError.Reason for the customer, who never reads Chromium's names.
func ReasonText(reason string) string { return chrome.ReasonText(reason) }

// PageRangesSyntax describes page ranges in a few words.
const PageRangesSyntax = pagerange.Syntax

// CheckPageRanges says what is wrong with page ranges, in words that go on from
// the name of the field that holds them. Whether the pages exist is found out
// by printing.
func CheckPageRanges(ranges string) error {
	_, err := pagerange.Parse(ranges)
	return err
}
