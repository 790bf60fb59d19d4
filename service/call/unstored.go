package call

import (
	"cmp"
	"errors"

	"github.com/relaypdf/relaypdf/api/wire"
)

// unstoredError is the error of a call with store false. Its text may repeat a part of the input, so it is sent to the
// client and written nowhere.
type unstoredError struct{ cause error }

func (e *unstoredError) Error() string { return e.cause.Error() }
func (e *unstoredError) Unwrap() error { return e.cause }

// Loggable returns the cause of an error as the server's log may show it: not if it may repeat the input of a call with
// store false.
func Loggable(err error) error {
	var unstored *unstoredError
	if errors.As(err, &unstored) {
		return errors.New("not logged, because store is false")
	}
	return cmp.Or(APIError(err).Cause, err)
}

// StorableError returns an error, whose Fault is failure, as the log of its account keeps it.
func StorableError(err error, failure *wire.Error) *wire.Error {
	var unstored *unstoredError
	var unread *unreadError

	switch {
	case errors.As(err, &unstored):
		return withoutInput(failure)
	case errors.As(err, &unread):
		return withoutNames(failure)
	}
	return failure
}

// unreadError is the error of a call whose input was not read to its end, for example because a field is given twice.
// The input may have store false.
type unreadError struct{ cause error }

func (e *unreadError) Error() string { return e.cause.Error() }
func (e *unreadError) Unwrap() error { return e.cause }

// withoutNames returns the failure of an unread input without the names of its fields, which may be those of the
// client's data.
func withoutNames(failure *wire.Error) *wire.Error {
	switch {
	case failure.Code != wire.InvalidRequest && failure.Code != wire.PayloadTooLarge, len(failure.Details) == 0:
		return failure
	case len(failure.Details) > 1:
		return withoutInput(failure)
	}

	subject := "The request "
	if failure.Details[0].Field != "" {
		subject = "A field of the request "
	}
	return &wire.Error{Code: failure.Code, Message: subject + failure.Details[0].Message + "."}
}

// noteUnstored notes that an input wants no copy of itself.
func (c *paidCall) noteUnstored(input any) {
	if keeping, ok := input.(interface{ Unstored() bool }); ok && keeping.Unstored() {
		c.unstored = true
	}
}

// withoutInput returns a failure whose text repeats nothing of the input.
func withoutInput(failure *wire.Error) *wire.Error {
	if failure.Code == wire.DeliveryFailed { // It has the status of the destination.
		return failure
	}
	return &wire.Error{Code: failure.Code}
}
