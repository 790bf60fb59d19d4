package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressPause is how long a call goes on before its client is told so, and again
// after that: clients give up what they hear nothing of.
const progressPause = 2 * time.Second

// tellProgress tells a client that asked for it how long its call has gone on, until
// done is called. It is for lines that stay open while a call goes on.
func tellProgress(ctx context.Context, q *sdk.CallToolRequest) (done func()) {
	token := q.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for seconds := progressPause; ; seconds += progressPause {
			select {
			case <-ctx.Done():
				return
			case <-time.After(progressPause):
			}
			// A client that does not take it misses a courtesy, not its answer.
			_ = q.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token, Progress: seconds.Seconds(), Message: fmt.Sprintf("%s goes on for %.0f s", q.Params.Name, seconds.Seconds()),
			})
		}
	}()
	return func() {
		cancel()
		<-ended // Nothing is told of a call after its answer.
	}
}
