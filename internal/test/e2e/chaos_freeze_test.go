package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// browserFreeze and officeFreeze bound how long these are frozen in long runs: a page
	// has 30 s, and a conversion a minute, before its call fails.
	browserFreeze, officeFreeze = 15 * time.Second, 30 * time.Second
)

// freezeParts freezes the dependencies of the servers, one after the other, until ctx ends: the receiver,
// PostgreSQL, and the browser and LibreOffice of a server.
func (c *chaos) freezeParts(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		parts := []func(time.Duration) bool{c.freezeReceiver, c.freezePostgres, c.freezeBrowser, c.freezeOffice}
		random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, freeze := range parts {
			if freeze(longFreeze(*chaosTime, random)) {
				c.frozen.Add(1)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(200+random.IntN(1800)) * time.Millisecond):
			}
		}
	}
}

func (c *chaos) freezeReceiver(span time.Duration) bool {
	c.receiver.freeze(true)
	<-time.After(span)
	c.receiver.freeze(false)
	return true
}

func (c *chaos) freezePostgres(span time.Duration) bool {
	if c.cluster == nil || c.cluster.Signal(syscall.SIGSTOP) != nil {
		return false
	}
	<-time.After(span)
	if err := c.cluster.Signal(syscall.SIGCONT); err != nil {
		c.t.Errorf("PostgreSQL stays frozen: %v", err)
	}
	return true
}

func (c *chaos) freezeBrowser(span time.Duration) bool {
	return c.freezeChildren("chrome", min(span, browserFreeze))
}

func (c *chaos) freezeOffice(span time.Duration) bool {
	return c.freezeChildren("soffice", min(span, officeFreeze))
}

// freezeChildren freezes the children of all servers whose commands contain a word, and
// reports whether there were any.
func (c *chaos) freezeChildren(word string, span time.Duration) bool {
	var frozen []int
	for _, server := range c.servers {
		frozen = append(frozen, stopChildren(server.pid(), word)...)
	}
	if len(frozen) == 0 {
		return false
	}
	<-time.After(span)
	for _, pid := range frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT) // It may have been ended meanwhile.
	}
	return true
}

// stopChildren stops the descendants of a process whose commands contain a word, and
// returns them.
func stopChildren(pid int, word string) (stopped []int) {
	for _, child := range descendants(pid) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		if strings.Contains(string(command), word) && syscall.Kill(child, syscall.SIGSTOP) == nil {
			stopped = append(stopped, child)
		}
	}
	return stopped
}
