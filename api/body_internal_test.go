package api

import (
	"testing"
	"time"
)

func TestBodyDeadlineFollowsTheBody(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, c := range []struct {
		read int64
		now  time.Duration
		want time.Duration
	}{
		{0, 0, 30 * time.Second},                      // nothing has come
		{0, 20 * time.Second, 30 * time.Second},       // a byte now and then is not enough
		{1 << 20, 10 * time.Second, 40 * time.Second}, // a quick sender may not stall
		{1 << 20, 55 * time.Second, 62 * time.Second}, // 32 KiB a second after the grace
	} {
		b := &pacedBody{start: start, read: c.read}
		if got := b.deadline(start.Add(c.now)).Sub(start); got != c.want {
			t.Errorf("%d bytes after %v: the deadline is after %v, want %v", c.read, c.now, got, c.want)
		}
	}
}
