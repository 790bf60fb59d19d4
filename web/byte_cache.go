package web

import "sync"

// byteCache holds values by name, up to a number of bytes. A value that finds no room empties it first.
type byteCache[Value any] struct {
	maximum int

	mu   sync.Mutex
	kept map[string]Value
	size int
}

func newByteCache[Value any](maximum int) *byteCache[Value] {
	return &byteCache[Value]{maximum: maximum, kept: map[string]Value{}}
}

func (c *byteCache[Value]) find(name string) (Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.kept[name]
	return value, ok
}

func (c *byteCache[Value]) store(name string, value Value, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+size > c.maximum {
		clear(c.kept)
		c.size = 0
	}
	c.kept[name] = value
	c.size += size
}
