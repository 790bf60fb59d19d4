package store

import (
	"math/rand/v2"
	"time"
)

// MaxAttempts is the maximum number of attempts of a delivery.
const MaxAttempts = 8

const (
	// maxRetryAfter bounds for how long a receiver may put an attempt off.
	maxRetryAfter = 24 * time.Hour
	// failingPeriod is the period without a success after which a failing endpoint is disabled.
	failingPeriod = 5 * 24 * time.Hour
	// failingDays is the number of these days with failures: an endpoint with few events has not been down all the
	// time.
	failingDays = 3
)

// attemptWaits are the times before each attempt, counted from the end of the
// one before it.
var attemptWaits = [MaxAttempts]time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// nextWait returns the pause after the given number of attempts. It varies by a tenth either way, so that
// deliveries that failed together are not retried together; a receiver may ask for more time, up to a day.
func nextWait(attempts int, retryAfter time.Duration) time.Duration {
	planned := attemptWaits[attempts]
	share := rand.Float64()*0.2 - 0.1
	spread := time.Duration(share * float64(planned))
	return max(planned+spread, min(retryAfter, maxRetryAfter))
}
