package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// progressPause is the interval of progress notifications: clients cancel calls that stay silent.
const progressPause = 2 * time.Second

// reportProgress notifies a client that asked for it of the time that its call has taken, until
// the returned function is called. It is for connections that stay open during a call.
func (s *service) reportProgress(ctx context.Context, q *sdk.CallToolRequest) (end func()) {
	token := q.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}

	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		guard.Log(s.log, "progress", func() { notifyProgress(ctx, q, token) })
	}()

	return func() {
		cancel()
		<-ended // No notification follows the response.
	}
}

func notifyProgress(ctx context.Context, q *sdk.CallToolRequest, token any) {
	for seconds := progressPause; ; seconds += progressPause {
		select {
		case <-ctx.Done():
			return
		case <-time.After(progressPause):
		}

		// A client that accepts no notification still gets its response.
		_ = q.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: seconds.Seconds(),
			Message: fmt.Sprintf("%s has run for %.0f s", q.Params.Name, seconds.Seconds()),
		})
	}
}
