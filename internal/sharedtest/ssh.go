package sharedtest

import (
	"net"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Listen passes each connection to a new address of this machine to serve, until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) (host, port string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	host, port, _ = net.SplitHostPort(listener.Addr().String())
	return host, port
}

// ServeSSH accepts the SSH sessions of a connection, with a subsystem, and passes the channel of each to serve. It
// returns when the connection ends.
func ServeSSH(conn net.Conn, config *ssh.ServerConfig, serve func(ssh.Channel)) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for opened := range channels {
		channel, asked, err := opened.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				_ = r.Reply(r.Type == "subsystem", nil)
			}
		}()
		go func() {
			serve(channel)
			_ = channel.Close()
		}()
	}
}
