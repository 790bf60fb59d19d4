package template

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/dop251/goja"
)

// maxCached is the maximum size of the sources whose compiled programs a process retains. A program takes about
// twenty times its source.
const maxCached = 4 << 20

// digest identifies a program by everything it depends on, and by its account. The account is part of it, so that
// timing does not reveal to one account that another has the same template.
type digest [sha256.Size]byte

func digestOf(account, source string, strict bool) digest {
	h := sha256.New()
	var size [9]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(account)))
	if strict {
		size[8] = 1
	}

	_, _ = h.Write(size[:])
	_, _ = h.Write([]byte(account))
	_, _ = h.Write([]byte(source))
	return digest(h.Sum(nil))
}

// cache keeps the programs that were used last.
type cache struct {
	realms realms

	once  sync.Once // see serve
	mu    sync.Mutex
	size  int
	order list.List // of *cached, the last used first
	items map[digest]*list.Element
}

type cached struct {
	key     digest
	size    int
	program *goja.Program
}

func newCache() *cache {
	return &cache{realms: realms{native: nativeHelpers}, items: map[digest]*list.Element{}}
}

func (c *cache) get(key digest) *goja.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.items[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(found)
	return found.Value.(*cached).program //nolint:errcheck // put makes them
}

func (c *cache) put(key digest, size int, program *goja.Program) {
	const minSize = 16 << 10 // size of the smallest program, in the same measure
	size = max(size, minSize)

	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[key]; ok || size > maxCached/2 {
		return
	}

	c.items[key] = c.order.PushFront(&cached{key, size, program})
	c.size += size
	for c.size > maxCached {
		oldest := c.order.Back()
		item := c.order.Remove(oldest).(*cached) //nolint:errcheck // put makes them
		delete(c.items, item.key)
		c.size -= item.size
	}
}
