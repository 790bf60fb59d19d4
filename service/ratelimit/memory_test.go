package ratelimit

import (
	"strconv"
	"testing"
	"time"
)

func TestMemoryIsBounded(t *testing.T) {
	clock := time.Unix(1e9, 0)
	m := newMemory(func() time.Time { return clock }, 100)
	window := Window{"minute", 2, time.Minute}
	for i := range 1000 {
		clock = clock.Add(time.Millisecond)
		m.evaluate(strconv.Itoa(i), []Window{window}, count, 0)
		m.evaluate("busy", []Window{window}, count, 0) // is refused from the third on, and so ages
	}
	if len(m.keys) > 100 || m.recent.Len() != len(m.keys) {
		t.Errorf("%d keys are remembered, want 100 at most", len(m.keys))
	}
	clock = clock.Add(time.Hour)
	m.evaluate("new", []Window{window}, count, 0)
	if len(m.keys) != 1 {
		t.Errorf("%d keys are remembered after an hour, want 1", len(m.keys))
	}
	for range 1000 {
		clock = clock.Add(40 * time.Second)
		m.evaluate("new", []Window{window}, count, 0)
	}
	log := m.keys["new"].Value.(*events)
	if len(log.at) > 2 || cap(log.at) > 8 {
		t.Errorf("%d events are remembered in room for %d, want 2", len(log.at), cap(log.at))
	}
}

// TestAShortWindowForgetsNothing counts a key in windows of different lengths.
func TestAShortWindowForgetsNothing(t *testing.T) {
	clock := time.Unix(1e9, 0)
	m := newMemory(func() time.Time { return clock }, 100)
	short, long := Window{"burst", 9, time.Second}, Window{"minute", 2, time.Minute}
	m.evaluate("a", []Window{long}, count, 0)
	clock = clock.Add(30 * time.Second)
	m.evaluate("a", []Window{short}, count, 0)
	if verdict := m.evaluate("a", []Window{short, long}, count, 0); verdict.Allowed || verdict.Refused != "minute" || verdict.RetryAfter != 30*time.Second {
		t.Errorf("got %+v, want a refusal by the minute for 30 s", verdict)
	}
}

func TestGate(t *testing.T) {
	gate := NewGate(2)
	first, ok := gate.Enter("a")
	_, ok2 := gate.Enter("a")
	if !ok || !ok2 {
		t.Fatal("two requests of a key may not run at once")
	}
	if _, ok := gate.Enter("a"); ok {
		t.Error("a third may run")
	}
	if _, ok := gate.Enter("b"); !ok {
		t.Error("another key may not run")
	}
	first()
	first() // again does nothing
	if _, ok := gate.Enter("a"); !ok {
		t.Error("none may run after one has ended")
	}
	if _, ok := gate.Enter("a"); ok {
		t.Error("a third may run after one has ended twice")
	}
}
