package queue

import (
	"errors"
	"strconv"
	"testing"
	"time"
)

// FuzzQueue carries out any sequence of arrivals, departures, ends and passing
// time, and checks after each that nothing was lost; in the end everything that
// waits is served.
func FuzzQueue(f *testing.F) {
	f.Add(uint8(2), uint8(1), uint8(6), []byte{0, 0, 0, 4, 8, 1, 2, 3, 64, 65, 66, 67, 12, 255, 2, 2, 2})
	f.Add(uint8(1), uint8(0), uint8(1), []byte("heavy light heavy light"))
	f.Add(uint8(3), uint8(2), uint8(40), []byte{2, 2, 2, 3, 3, 3, 7, 7, 7, 11, 11, 11, 3, 3, 3, 3, 0, 0, 0, 0, 1, 1, 1})
	f.Fuzz(func(t *testing.T, slots, extra, limit uint8, script []byte) {
		now := time.Unix(0, 0)
		q := New(Config{
			Slots: 1 + int(slots%5), Extra: int(extra % 3), Limit: 1 + int(limit%50),
			Now: func() time.Time { return now },
		})
		var waiting, running []*simulated
		settle := func() {
			var kept []*simulated
			for _, job := range waiting {
				select {
				case <-job.ticket.done:
					if job.ticket.err == nil {
						running = append(running, job)
					} else if !errors.Is(job.ticket.err, ErrBusy) {
						t.Fatalf("turned away with %v", job.ticket.err)
					}
				default:
					kept = append(kept, job)
				}
			}
			waiting = kept
			check(t, q)
			if len(running) != q.busy || len(waiting) != q.waiting {
				t.Fatalf("%d jobs run and %d wait; the queue says %d and %d", len(running), len(waiting), q.busy, q.waiting)
			}
		}
		for _, b := range script {
			argument := int(b >> 2)
			switch b & 3 {
			case 0, 1: // Somebody comes.
				account := strconv.Itoa(argument % 7)
				refused := q.Admit(account)
				l, ticket, err := q.enter(account)
				if (err == nil) != (refused == nil) {
					t.Fatalf("Admit said %v, and then: %v", refused, err)
				}
				if err == nil {
					waiting = append(waiting, &simulated{line: l, ticket: ticket, start: now})
				}
			case 2: // Somebody leaves, or a job ends, late or not.
				switch {
				case argument%2 == 0 && len(waiting) > 0:
					i := argument % len(waiting)
					if !q.leave(waiting[i].line, waiting[i].ticket) {
						t.Fatal("a waiting job was not in its line")
					}
					waiting = append(waiting[:i:i], waiting[i+1:]...)
				case len(running) > 0:
					i := argument % len(running)
					q.release(running[i].line, running[i].start, argument%3 == 0)
					running = append(running[:i:i], running[i+1:]...)
				}
			case 3:
				now = now.Add(time.Duration(argument) * time.Second)
				// Slots that become free by time alone are granted at the next end.
				q.mu.Lock()
				q.dispatch()
				q.mu.Unlock()
			}
			settle()
		}
		for len(running) > 0 {
			job := running[0]
			running = running[1:]
			q.release(job.line, job.start, false)
			settle()
		}
		if q.waiting != 0 {
			t.Fatalf("%d jobs wait for ever", q.waiting)
		}
	})
}
