package web

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/relaypdf/relaypdf/service/ratelimit"
)

const (
	// defaultForms is the maximum memory of the forms of all pages at once, in bytes. A form takes about three
	// times its length while it is read.
	defaultForms = 96 << 20
	// maxLargeForms is the maximum number of forms longer than maxStranger that one member may send at once.
	// formWait is the maximum time that a form waits for its bytes.
	maxLargeForms = 4
	formWait      = 10 * time.Second
)

// errFormsBusy means that other forms take all the memory there is for them.
var errFormsBusy = errors.New("too many large forms at once")

// formBudget bounds the bytes of forms in memory.
type formBudget struct {
	bytes  *semaphore.Weighted
	actors *ratelimit.Gate
	total  int64
	wait   time.Duration
}

func newFormBudget(total int64, wait time.Duration) *formBudget {
	return &formBudget{semaphore.NewWeighted(total), ratelimit.NewGate(maxLargeForms), total, wait}
}

// enter reserves bytes of the budget until leave is called. It waits for them for a while, then returns
// errFormsBusy.
func (b *formBudget) enter(ctx context.Context, actor string, bytes int64) (leave func(), err error) {
	left, ok := b.actors.Enter(actor)
	if !ok {
		return nil, errFormsBusy
	}

	bytes = min(bytes, b.total)
	if !b.bytes.TryAcquire(bytes) {
		bounded, cancel := context.WithTimeout(ctx, b.wait)
		defer cancel()
		if err := b.bytes.Acquire(bounded, bytes); err != nil {
			left()
			return nil, cmp.Or(ctx.Err(), errFormsBusy)
		}
	}

	return func() {
		b.bytes.Release(bytes)
		left()
	}, nil
}
