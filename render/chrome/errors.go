package chrome

import (
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/render/queue"
	"github.com/relaypdf/relaypdf/render/spool"
)

var (
	// ErrBusy means that the queue is full. The error is a *BusyError.
	ErrBusy = queue.ErrBusy
	// ErrTimeout means that the job's deadline passed. The error is a
	// *TimeoutError.
	ErrTimeout = errors.New("chrome: the deadline passed")
	// ErrCrashed means that the renderer or the browser crashed twice on the job, or that the document did
	// something forbidden; then the error is a *DocumentCrashError.
	ErrCrashed = errors.New("chrome: the browser crashed on this document")
	// ErrTooLarge means that the result is over one of its limits. The error
	// is a *LimitError.
	ErrTooLarge = spool.ErrTooLarge
	// ErrNoElement means that Screenshot.Selector matches nothing that has a size.
	ErrNoElement = errors.New("chrome: no element to capture")
	// ErrWaitForSelector means that Job.WaitForSelector is not a valid CSS selector.
	ErrWaitForSelector = errors.New("chrome: the selector to wait for is not valid CSS")
	// ErrFunction means that Job.WaitForFunction cannot be evaluated. The error is
	// a *FunctionError.
	ErrFunction = errors.New("chrome: the function to wait for fails")
	// ErrNoContentArea means that the margins leave no room on the paper.
	ErrNoContentArea = errors.New("chrome: the margins leave no room for content on the paper")
	// ErrClosed means that the Pool was closed.
	ErrClosed = errors.New("chrome: the pool is closed")
)

// Reasons why an attempt ended that the caller of the package never sees.
var (
	errTargetCrashed = errors.New("chrome: the renderer crashed")
	errWorn          = errors.New("chrome: a process that had served other documents held too much memory")
	errNeedsNetwork  = errors.New("chrome: a document in a mode without network uses the network")
	errOversize      = fmt.Errorf("chrome: a message of the browser is over %d MiB", maxMessage>>20)
	errWindowClosed  = errors.New("chrome: the document closed its window")
	errDeadline      = errors.New("chrome: deadline")
	errStill         = fmt.Errorf("chrome: nothing in the document changes: %w", errDeadline)
)

// BusyError is ErrBusy with an estimate of when to come back.
type BusyError = queue.BusyError

// DocumentCrashError is ErrCrashed with the action of the document.
type DocumentCrashError struct {
	What string // continues "the document"
	// Memory is true if the document's process was ended for the memory that it held.
	Memory bool
}

func (e *DocumentCrashError) Error() string { return "chrome: the document " + e.What }

// Is reports that the error is an ErrCrashed.
func (e *DocumentCrashError) Is(target error) bool { return target == ErrCrashed }

// TimeoutError is ErrTimeout with the step of the job.
type TimeoutError struct {
	Step  Step
	After time.Duration
	// Unstarted is true if no page was ready in time, so nothing of the document was loaded.
	Unstarted bool
	// Short is true if the caller's timeout is too short for most documents, so that the timeout is the cause.
	Short bool
	// Want is the selector or the function that was waited for in that step.
	Want string
	// Still is true if the job did not wait, because the document lacks the wanted element and has no script that
	// could add it.
	Still bool
	// Open lists the URLs of open requests, at most a few.
	Open []string
	// Slowed is for how long the account has fewer slots now, because its jobs keep running into their deadlines;
	// zero if it has not.
	Slowed time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("chrome: the deadline of %s passed while %s", e.After, e.Step.Doing())
}

// Is reports that the error is an ErrTimeout.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// FunctionError is the error of the function to wait for.
type FunctionError struct{ Text string }

func (e *FunctionError) Error() string { return "chrome: the function to wait for fails: " + e.Text }

// Is reports that the error is an ErrFunction.
func (e *FunctionError) Is(target error) bool { return target == ErrFunction }

// WarningsError means that the document has warnings that Job.Strict forbids. There is
// at least one.
type WarningsError struct{ Faults []Warning }

func (e *WarningsError) Error() string {
	return fmt.Sprintf("chrome: the document has %d faults, the first: %s", len(e.Faults), e.Faults[0])
}

// LoadError means that the main document could not be loaded: Status is the
// HTTP status when the server responded with 400 or more, and Reason is
// Chromium's name of a network error (net::ERR_…) otherwise.
type LoadError struct {
	URL    string
	Reason string
	Status int
}

func (e *LoadError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("chrome: %s answered with status %d", e.URL, e.Status)
	}
	return fmt.Sprintf("chrome: %s did not load: %s", e.URL, e.Reason)
}

// PageRangeError means that PDF.PageRanges is malformed or reaches beyond the
// end of the document, which has Pages pages (zero when malformed).
type PageRangeError struct {
	Ranges string
	Pages  int
}

func (e *PageRangeError) Error() string {
	if e.Pages == 0 {
		return fmt.Sprintf("chrome: page ranges %q are malformed", e.Ranges)
	}
	return fmt.Sprintf("chrome: page ranges %q reach beyond the end; the document has %d pages", e.Ranges, e.Pages)
}

// HeaderError means that a header or footer loads something in a spelling that
// is only there to hide it: Chromium's renderer would crash on it.
type HeaderError struct{ Name string } // header or footer

func (e *HeaderError) Error() string {
	return "chrome: the " + e.Name + " loads something, with @import or url() spelled by escapes"
}

// LimitError is ErrTooLarge with the name of the limit.
type LimitError struct {
	What string // "pages" or "bytes"
	Max  int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("chrome: the result has more than %d %s", e.Max, e.What)
}

// Is reports that the error is an ErrTooLarge.
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// SizeError means that a screenshot would be larger than allowed, or empty.
// Width and Height are in device pixels.
type SizeError struct{ Width, Height, MaxSide, MaxPixels int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("chrome: a screenshot of %d × %d pixels is not possible: at most %d a side and %d in all",
		e.Width, e.Height, e.MaxSide, e.MaxPixels)
}
