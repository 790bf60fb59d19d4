package storetest

import (
	"bytes"
	"strings"
	"sync"
)

// Log collects log lines. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often a text is in the log.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Lines returns the lines that contain a text.
func (l *Log) Lines(text string) string {
	var found strings.Builder
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			found.WriteString(line)
		}
	}
	return found.String()
}
