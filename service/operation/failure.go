package operation

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Failure returns the API error for an error of an input or a run. It returns nil for any other error.
func Failure(err error) *wire.Error {
	for _, classify := range []func(error) *wire.Error{inputError, templateError, fileError, convertFailure, aiFailure, standardsFailure, invoiceFailure, renderError} {
		if e := classify(err); e != nil {
			return e
		}
	}
	return nil
}

func inputError(err error) *wire.Error {
	var faults schema.FieldErrors
	var size *schema.SizeError
	var body *http.MaxBytesError
	var address *URLError
	var full *schema.BusyError

	switch {
	case errors.As(err, &faults):
		return faults.APIError()
	case errors.As(err, &size):
		text := "must be at most " + megabytes(size.Limit)
		if size.ExcludesFiles {
			text += ", not counting long texts and files"
		}
		return &wire.Error{
			Code:    wire.PayloadTooLarge,
			Message: size.Field + " " + text + ".",
			Details: []wire.Detail{{Field: size.Field, Message: text}},
		}
	case errors.As(err, &body):
		return &wire.Error{
			Code:    wire.PayloadTooLarge,
			Message: "The request body must be at most " + megabytes(body.Limit) + ".",
		}
	case errors.As(err, &full):
		return &wire.Error{
			Code:       wire.RateLimited,
			Message:    "Too many large requests are in progress. Retry in a few seconds.",
			RetryAfter: wire.Seconds(full.RetryAfter),
		}
	case errors.As(err, &address):
		return address.failure()
	}

	return nil
}

func megabytes(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// slowedText returns the message for an account with fewer slots after repeated timeouts, with the time that is left.
func slowedText(left time.Duration) string {
	if left <= 0 {
		return ""
	}
	return fmt.Sprintf(" After repeated timeouts this account has half of its slots for %v.",
		max(left.Round(time.Second), time.Second))
}

// Unstarted reports whether a browser or an engine, and not the document, is the cause of a failure: a browser that was
// not ready in time, an engine that did not start or hung.
func Unstarted(err error) bool {
	var late *chrome.TimeoutError
	return errors.As(err, &late) && late.Unstarted || errors.Is(err, engine.ErrUnavailable)
}

// Passing reports whether another try in new processes may succeed: a browser or an engine was not ready, did not
// start, hung, crashed, or was ended for its memory. The document may still be the cause.
func Passing(err error) bool {
	var harm *chrome.DocumentCrashError
	var file *job.Error
	var document *office.Error
	switch {
	case errors.As(err, &harm):
		return harm.Memory
	case errors.As(err, &file):
		return file.Kind == job.Exhausted
	case errors.As(err, &document):
		return document.Reason == office.Exhausted
	}
	return Unstarted(err) || errors.Is(err, chrome.ErrCrashed) || errors.Is(err, engine.ErrCrashed)
}

// renderError returns the API error for a failed render: what failed, why, and the remedy if there is one.
func renderError(err error) *wire.Error {
	var busy *chrome.BusyError
	var load *chrome.LoadError
	var limit *chrome.LimitError
	var size *chrome.SizeError
	var timeout *chrome.TimeoutError
	var harm *chrome.DocumentCrashError
	var faults *chrome.WarningsError

	switch {
	case errors.As(err, &busy):
		return &wire.Error{
			Code: wire.RateLimited, Message: "The server is at capacity and the queue is full. Wait for the number of seconds in Retry-After." + slowedText(busy.Slowed), RetryAfter: wire.Seconds(busy.RetryAfter),
		}
	case errors.As(err, &timeout) && timeout.Still:
		return &wire.Error{Code: wire.RenderFailed, Message: fmt.Sprintf(
			"waitForSelector%s matched no element, and the page runs no script that could add one. Check the selector.",
			wantText(timeout),
		)}
	case errors.As(err, &timeout) && timeout.Short:
		return &wire.Error{Code: wire.RenderFailed, Message: fmt.Sprintf(
			"Rendering timed out after %v while %s: options.timeout is too short. Set at least %d ms, at most %d ms.",
			timeout.After, timeout.Step.Doing(), render.MinTimeout.Milliseconds(), maxTimeout)}
	case errors.As(err, &timeout) && timeout.Unstarted:
		return &wire.Error{Code: wire.RenderFailed, Message: fmt.Sprintf(
			"Rendering did not start within %v because the server is overloaded. Retry the request.",
			timeout.After.Round(100*time.Millisecond),
		)}
	case errors.As(err, &timeout):
		return &wire.Error{Code: wire.RenderFailed, Message: fmt.Sprintf(
			"Rendering timed out after %v while %s%s.%s Raise options.timeout (at most 60000 ms), or simplify the document.",
			timeout.After.Round(100*time.Millisecond),
			timeout.Step.Doing(),
			wantText(timeout),
			openText(timeout),
		) + slowedText(timeout.Slowed)}
	case errors.As(err, &faults):
		return faultsError(faults.Faults)
	case errors.As(err, &load) && load.Status != 0:
		return &wire.Error{
			Code: wire.RenderFailed,
			Message: fmt.Sprintf(
				"The page could not be loaded: its server returned status %d. Check the URL.",
				load.Status,
			),
		}
	case errors.As(err, &load):
		return &wire.Error{
			Code:    wire.RenderFailed,
			Message: fmt.Sprintf("The page could not be loaded: %s.", render.ReasonText(load.Reason)),
		}
	case errors.As(err, &harm):
		return &wire.Error{
			Code:    wire.RenderFailed,
			Message: fmt.Sprintf("The document could not be rendered: it %s.", harm.What),
		}
	case errors.Is(err, chrome.ErrCrashed):
		return &wire.Error{
			Code:    wire.RenderFailed,
			Message: "The document crashed the browser twice. Simplify the document.",
		}
	case errors.As(err, &limit):
		return &wire.Error{
			Code: wire.ProcessingFailed,
			Message: fmt.Sprintf(
				"The result exceeds the limit of %d %s. Send a smaller document.",
				limit.Max, limit.What,
			),
		}
	case errors.As(err, &size):
		return &wire.Error{Code: wire.ProcessingFailed, Message: fmt.Sprintf(
			"The image would have %d × %d pixels; the limit is %d per side and %d in total.",
			size.Width,
			size.Height,
			size.MaxSide,
			size.MaxPixels,
		) + largerText(size)}
	case errors.Is(err, chrome.ErrTooLarge):
		return &wire.Error{
			Code:    wire.ProcessingFailed,
			Message: "The result exceeds its size limit. Send a smaller document.",
		}
	}

	return nil
}

// shownWant is the maximum length of the awaited function in the message, in bytes.
const shownWant = 200

// wantText names the condition that was not met.
func wantText(timeout *chrome.TimeoutError) string {
	if timeout.Want == "" {
		return ""
	}
	return fmt.Sprintf(" %.*q", shownWant, timeout.Want)
}

// openText names requests that were under way when time ran out.
func openText(timeout *chrome.TimeoutError) string {
	if len(timeout.Open) == 0 {
		return ""
	}
	return " Still loading: " + strings.Join(timeout.Open, ", ") + "."
}

// faultsError returns the error for warnings of a page that the options turn into failures.
func faultsError(faults []chrome.Warning) *wire.Error {
	e := &wire.Error{
		Code:    wire.RenderFailed,
		Message: "The document failed a failOn option: " + faults[0].String() + ".",
	}
	if len(faults) > 1 {
		e.Message = fmt.Sprintf(
			"The document has %d errors that failOn options reject. First: %s.",
			len(faults), faults[0],
		)
	}

	for _, found := range faults {
		e.Details = append(e.Details, wire.Detail{Field: found.Code, Message: found.String()})
	}

	return e
}

// largerText returns advice to use another type, if the type or the memory that it needs limits an image.
func largerText(size *chrome.SizeError) string {
	if size.MaxSide == maxWebPSide && size.Width*size.Height <= size.MaxPixels {
		return fmt.Sprintf(" The WebP format has this limit: png and jpeg can have %d per side.", maxSide)
	}
	if size.MaxPixels >= maxPixels {
		return ""
	}
	return fmt.Sprintf(" For jpeg and webp the total is %d.", maxPixels)
}

// fieldError returns an error of the renderer with the field of the request that caused it, if any.
func fieldError(err error) error {
	var beyond *chrome.PageRangeError
	var header *chrome.HeaderError
	var function *chrome.FunctionError
	switch {
	case errors.As(err, &header):
		return schema.FieldErrors{{Field: "options." + header.Name + "Template", Message: "must not load resources with escaped @import or url()"}}
	case errors.Is(err, egress.ErrRefused):
		return RefuseURL("url", NotAllowed, err)
	case errors.As(err, &beyond):
		return schema.FieldErrors{{Field: "options.pageRanges", Message: fmt.Sprintf("must select pages of the document, which has %d", beyond.Pages)}}
	case errors.Is(err, chrome.ErrNoContentArea):
		// The size in the page's own @page rule, which only Chromium knows.
		return schema.FieldErrors{{Field: "options.margin", Message: "is too large: it leaves no space for content on the page"}}
	case errors.Is(err, chrome.ErrWaitForSelector):
		return schema.FieldErrors{{Field: "options.waitForSelector", Message: "is not a valid CSS selector"}}
	case errors.As(err, &function):
		return schema.FieldErrors{{Field: "options.waitForFunction", Message: "is not a JavaScript expression: " + function.Text}}
	}
	return err
}
