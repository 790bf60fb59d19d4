package middleware

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// entry is the request in the log of its account.
type entry struct {
	mu      sync.Mutex
	request store.Request
}

// Describe adds to the entry of ctx's request in the log of its account. A request without an account is not logged.
// Parts of a request may describe it concurrently.
func Describe(ctx context.Context, add func(*store.Request)) {
	if e := identityOf(ctx).entry; e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		add(&e.request)
	}
}

// DescribeError adds an error with its body to the entry of ctx's request. The first one of an agent's messages counts.
func DescribeError(ctx context.Context, code, message string, body []byte) {
	Describe(ctx, func(q *store.Request) {
		if q.AccountID != "" && q.Body == "" {
			q.Code = code
			q.Message = message
			q.Body = string(body[:min(len(body), store.MaxErrorBody)])
		}
	})
}

// record passes a request that has ended to the log of its account.
func record(r *http.Request, status int, took time.Duration, log func(store.Request)) {
	Describe(r.Context(), func(q *store.Request) {
		if q.AccountID == "" || log == nil {
			return
		}
		q.RequestID = RequestID(r.Context())
		q.Method = methodLabel(r.Method)
		q.Path = r.URL.EscapedPath()
		q.Status = status
		q.Duration = took
		log(*q)
	})
}
