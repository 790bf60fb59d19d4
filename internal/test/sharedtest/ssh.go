package sharedtest

import (
	"crypto/ed25519"
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

// ServerConfig returns the configuration of an SSH server that lets everyone in, and the fingerprint of its key.
func ServerConfig(t testing.TB) (config *ssh.ServerConfig, hostKey string) {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	config = &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	return config, ssh.FingerprintSHA256(signer.PublicKey())
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
