package call

import (
	"context"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
)

// MaxTests is the maximum number of calls with test keys per account and day. They are free, and data in JSON has no
// test mark.
const MaxTests = 500

var testWindow = ratelimit.Window{Name: "tests", Limit: MaxTests, Length: 24 * time.Hour}

// test reports whether the call is free and its result has a test mark.
func (c *paidCall) test() bool { return c.Caller.Test && !c.dev }

// limitTests counts the operations of a call with a test key in its account's window: its own and its steps, once for
// each record. Tests are free: their work is limited, and not their requests.
func (c *paidCall) limitTests(ctx context.Context, records int) error {
	if !c.rateLimits {
		return nil
	}
	for range records * len(c.call.Calls()) {
		if err := c.countTest(ctx); err != nil {
			return err
		}
	}

	return nil
}

func (c *paidCall) countTest(ctx context.Context) error {
	verdict, err := c.limiter.Take(ctx, c.LimitKey(testWindow.Name, c.Caller.Account.ID), testWindow)
	if err != nil || verdict.Allowed {
		return err
	}
	return &wire.Error{
		Code: wire.RateLimited, RetryAfter: wire.Seconds(verdict.RetryAfter), Cause: &RateError{verdict},
		Message: exceeded("Test limit reached", verdict, "calls with test keys"),
	}
}

// limitTestRecords limits the records of a bulk call with a test key. Its quote counts as one.
func (c *paidCall) limitTestRecords(ctx context.Context) error {
	if c.records > operation.MaxTestRecords {
		return wire.Invalid("records",
			fmt.Sprintf("must be at most %d with a test key; got %d. Use a live key (pdf_live_…)",
				operation.MaxTestRecords, c.records))
	}
	return c.limitTests(ctx, max(c.records, 1))
}
