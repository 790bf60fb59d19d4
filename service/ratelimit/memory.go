package ratelimit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// maxKeys bounds how many keys a process remembers. The one that was counted longest ago is forgotten for a new one:
// a client that floods it with addresses gains no more than with those addresses.
const maxKeys = 100_000

// memory keeps the time of every counted event of this process.
type memory struct {
	now     func() time.Time
	maxKeys int
	mu      sync.Mutex
	keys    map[string]*list.Element
	// recent has the logs, the one that was counted last in front.
	recent *list.List
	added  uint64 // how many events there have been
}

// event is a counted event. order is the order of counting. name is its name in Redis, which is assigned before.
type event struct {
	at          time.Time
	name, order uint64
}

// events are the remembered events of one key.
type events struct {
	key string
	at  []event
	// kept is the longest window in which the key was counted.
	kept time.Duration
}

// NewMemory returns a Limiter for one process. now may be nil.
func NewMemory(now func() time.Time) Limiter { return newMemory(now, maxKeys) }

func newMemory(now func() time.Time, maxKeys int) *memory {
	if now == nil {
		now = time.Now
	}
	return &memory{now: now, maxKeys: maxKeys, keys: map[string]*list.Element{}, recent: list.New()}
}

func (m *memory) Take(_ context.Context, key string, windows ...Window) (Verdict, error) {
	return m.evaluate(key, windows, count, 0), nil
}

func (m *memory) Peek(_ context.Context, key string, windows ...Window) (Verdict, error) {
	return m.evaluate(key, windows, look, 0), nil
}

// Actions of judge on the event.
const (
	look   = iota // only reports
	count         // counts it if it is allowed
	record        // counts it in any case: it was allowed elsewhere
)

func (m *memory) evaluate(key string, windows []Window, do int, name uint64) Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.forget(now)
	var log []event
	if found := m.keys[key]; found != nil {
		log = eventsOf(found).at
	}

	verdict := Verdict{Allowed: true}
	for _, w := range windows {
		// The event that must leave the window before another may enter.
		inside := since(log, now.Add(-w.Length))
		if len(inside) >= w.Limit {
			verdict.refuse(w, inside[len(inside)-w.Limit].at.Add(w.Length).Sub(now))
		}
	}

	if do == record || do == count && verdict.Allowed {
		log = m.add(key, event{at: now, name: name}, longest(windows))
	}

	for _, w := range windows {
		inside := since(log, now.Add(-w.Length))
		state := WindowState{Window: w, Remaining: max(0, w.Limit-len(inside))}
		if len(inside) > 0 {
			state.Reset = inside[0].at.Add(w.Length).Sub(now)
		}
		verdict.States = append(verdict.States, state)
	}
	return verdict
}

// add counts an event and returns the key's log.
func (m *memory) add(key string, e event, length time.Duration) []event {
	found := m.keys[key]
	if found == nil {
		if len(m.keys) >= m.maxKeys {
			m.drop(m.recent.Back())
		}
		found = m.recent.PushFront(&events{key: key})
		m.keys[key] = found
	}

	m.recent.MoveToFront(found)
	log := eventsOf(found)
	log.kept = max(log.kept, length)
	inside := since(log.at, e.at.Add(-log.kept))

	m.added++
	e.order = m.added
	// Older events are removed, not only skipped.
	log.at = append(log.at[:copy(log.at, inside)], e)
	return log.at
}

// forget drops keys that no window remembers.
func (m *memory) forget(now time.Time) {
	for back := m.recent.Back(); back != nil; back = m.recent.Back() {
		log := eventsOf(back)
		if now.Sub(log.at[len(log.at)-1].at) < max(log.kept, time.Minute) {
			return
		}
		m.drop(back)
	}
}

// remembered are the events of a key's log that were counted after others.
type remembered struct {
	key    string
	kept   time.Duration
	events []event
}

// after returns the events that were counted after the given order and are still in their windows, the order of the
// last one, and the time.
func (m *memory) after(order uint64) (logs []remembered, last uint64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now = m.now()

	for e := m.recent.Front(); e != nil; e = e.Next() {
		log := eventsOf(e)
		newest := log.at[len(log.at)-1]
		if newest.order <= order {
			break // The others were counted before.
		}

		r := remembered{key: log.key, kept: log.kept}
		for _, counted := range since(log.at, now.Add(-log.kept)) {
			if counted.order > order {
				r.events = append(r.events, counted)
			}
		}
		if len(r.events) > 0 {
			logs = append(logs, r)
		}
	}
	return logs, m.added, now
}

func (m *memory) drop(e *list.Element) {
	delete(m.keys, eventsOf(e).key)
	m.recent.Remove(e)
}

// eventsOf returns the value that add has put into the list.
func eventsOf(e *list.Element) *events {
	return e.Value.(*events) //nolint:errcheck // add puts nothing else there
}

// since returns the events after start. An event exactly a window's length old
// is out of it, so that waiting RetryAfter out succeeds.
func since(events []event, start time.Time) []event {
	for i, e := range events {
		if e.at.After(start) {
			return events[i:]
		}
	}
	return nil
}
