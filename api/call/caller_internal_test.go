package call

import (
	"testing"
	"time"

	"relaypdf/api/ratelimit"
)

func TestWhatIsSpentOfAWindow(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		window ratelimit.Window
		wait   time.Duration
		want   string
	}{
		{burstWindow, time.Millisecond, "5 things in 10 seconds; 5 of them are spent, and the next is free in 1 second"},
		{trialWindow, 59*time.Second + 1, "20 things in 60 seconds; 20 of them are spent, and the next is free in 60 seconds"},
		{previewWindow, 2*time.Minute + 1, "2000 things in 24 hours; 2000 of them are spent, and the next is free in 3 minutes"},
		{filledWindow, 23*time.Hour + time.Second, "10000 things in 24 hours; 10000 of them are spent, and the next is free in 24 hours"},
	} {
		other := ratelimit.WindowState{Window: ratelimit.Window{Name: "other", Limit: 1, Length: time.Second}, Remaining: 1}
		verdict := ratelimit.Verdict{Refused: q.window.Name, RetryAfter: q.wait, States: []ratelimit.WindowState{other, {Window: q.window}}}
		if got := spentOf(verdict, "things"); got != q.want {
			t.Errorf("got %q, want %q", got, q.want)
		}
	}
	if got := spentOf(ratelimit.Verdict{Allowed: true, States: []ratelimit.WindowState{{Window: burstWindow}}}, "things"); got != "" {
		t.Errorf("of what nothing refused it tells %q", got)
	}
}
