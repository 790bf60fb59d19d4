package engine

import (
	"io"
	"strings"
	"sync"
)

// excerptSize is the maximum number of bytes that an excerpt holds of the start, and of the end.
const excerptSize = 2 << 10

// excerpt is a writer that stores the first and the last bytes written to it. A program's reason for a crash is in
// one of them.
type excerpt struct {
	mu         sync.Mutex
	head, tail []byte
	cut        bool
}

var _ io.Writer = (*excerpt)(nil)

func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(p), excerptSize-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail = append(e.tail, p[max(n, len(p)-excerptSize):]...)
	e.cut = e.cut || len(p)-n > excerptSize || len(e.tail) > excerptSize
	e.tail = e.tail[max(0, len(e.tail)-excerptSize):]
	return len(p), nil
}

func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var between string
	if e.cut {
		between = "\n[…]\n"
	}
	return strings.ToValidUTF8(string(e.head)+between+string(e.tail), "\ufffd")
}
