package call

import (
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/service/ratelimit"
)

func TestSpentPartOfAWindow(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		window ratelimit.Window
		wait   time.Duration
		want   string
	}{
		{burstWindow, time.Millisecond, "Limit reached: 5 things per 10 seconds. Retry in 1 second."},
		{trialWindow, 59*time.Second + 1, "Limit reached: 20 things per 60 seconds. Retry in 60 seconds."},
		{previewWindow, 2*time.Minute + 1, "Limit reached: 2000 things per 24 hours. Retry in 3 minutes."},
		{filledWindow, 23*time.Hour + time.Second, "Limit reached: 10000 things per 24 hours. Retry in 24 hours."},
	} {
		other := ratelimit.WindowState{Window: ratelimit.Window{Name: "other", Limit: 1, Length: time.Second}, Remaining: 1}
		verdict := ratelimit.Verdict{Refused: q.window.Name, RetryAfter: q.wait, States: []ratelimit.WindowState{other, {Window: q.window}}}
		if got := exceeded("Limit reached", verdict, "things"); got != q.want {
			t.Errorf("got %q, want %q", got, q.want)
		}
	}
	if got := allowance(ratelimit.Verdict{Allowed: true, States: []ratelimit.WindowState{{Window: burstWindow}}}, "things"); got != "" {
		t.Errorf("got %q without a refusal", got)
	}
}
