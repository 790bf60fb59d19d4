package storetest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// givenPorts holds the ports that a test of this process has reserved, and may not listen on yet.
var givenPorts sync.Map

// FreePort returns an unused port of 127.0.0.1, for a process that needs a fixed port. It is below the range of
// ephemeral ports, so listeners on any port and outgoing connections do not get it meanwhile.
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
