package call

import (
	"context"
	"time"

	"relaypdf/api/apierror"
	"relaypdf/api/ratelimit"
)

// MaxTests is the maximum number of calls with test keys per account and day. They are free, and data in JSON has no
// test mark.
const MaxTests = 500

var testWindow = ratelimit.Window{Name: "tests", Limit: MaxTests, Length: 24 * time.Hour}

// test reports whether the call is free and its result has a test mark.
func (c *paidCall) test() bool { return c.Caller.Test && !c.dev }

// limitTests counts a call with a test key in its account's window.
func (c *paidCall) limitTests(ctx context.Context) error {
	if !c.rateLimits {
		return nil
	}
	verdict, err := c.limiter.Take(ctx, c.LimitKey(testWindow.Name, c.Caller.Account.ID), testWindow)
	if err != nil || verdict.Allowed {
		return err
	}
	return &apierror.Error{
		Code: apierror.RateLimited, RetryAfter: apierror.Seconds(verdict.RetryAfter), Cause: &RateError{verdict},
		Message: exceeded("Test limit reached", verdict, "calls with test keys"),
	}
}
