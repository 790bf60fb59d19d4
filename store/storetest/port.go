package storetest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// givenPorts are those that a test of this process has, and may not listen on yet.
var givenPorts sync.Map

// FreePort returns a port of 127.0.0.1 that nobody uses, for a program that has to be
// told one. It is below those that the system gives away: whoever asks for any port
// meanwhile, or dials, is given another.
func FreePort(t testing.TB) string {
	t.Helper()
	const first, given = 20_000, 32_768
	for range 100 {
		port := strconv.Itoa(first + rand.IntN(given-first))
		if _, taken := givenPorts.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return ""
}
