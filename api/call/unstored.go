package call

import (
	"cmp"
	"errors"

	"relaypdf/api/apierror"
)

// UnstoredError is the error of a call with store false. Its text may repeat a part of the input, so it is sent to the
// client and written nowhere.
type UnstoredError struct{ cause error }

func (e *UnstoredError) Error() string { return e.cause.Error() }
func (e *UnstoredError) Unwrap() error { return e.cause }

// Loggable returns the cause of an error as the server's log may show it: not if it may repeat the input of a call with
// store false.
func Loggable(err error) error {
	var unstored *UnstoredError
	if errors.As(err, &unstored) {
		return errors.New("not logged, because store is false")
	}
	return cmp.Or(Fault(err).Cause, err)
}

// Kept returns an error, whose Fault is failure, as the log of its account keeps it.
func Kept(err error, failure *apierror.Error) *apierror.Error {
	var unstored *UnstoredError
	if errors.As(err, &unstored) {
		return withoutInput(failure)
	}
	return failure
}

// noteUnstored notes that an input wants no copy of itself.
func (c *paidCall) noteUnstored(input any) {
	if keeping, ok := input.(interface{ Unstored() bool }); ok && keeping.Unstored() {
		c.unstored = true
	}
}

// withoutInput returns a failure whose text repeats nothing of the input.
func withoutInput(failure *apierror.Error) *apierror.Error {
	if failure.Code == apierror.DeliveryFailed { // It has the status of the destination.
		return failure
	}
	return &apierror.Error{Code: failure.Code}
}
