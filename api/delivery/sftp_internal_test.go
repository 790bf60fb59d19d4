package delivery

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// hanging never finishes a write.
type hanging struct{}

func (hanging) Filewrite(*sftp.Request) (io.WriterAt, error) { return hanging{}, nil }
func (hanging) WriteAt([]byte, int64) (int, error)           { select {} }

// TestHangingFileServer: a server that stops at any step holds a delivery no longer than its context.
func TestHangingFileServer(t *testing.T) {
	t.Parallel()
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	for name, serve := range map[string]func(net.Conn){
		"silent": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"without a session": func(conn net.Conn) {
			if server, _, _, err := ssh.NewServerConn(conn, config); err == nil {
				_ = server.Wait()
			}
		},
		"in a write": func(conn net.Conn) {
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
						_ = r.Reply(true, nil)
					}
				}()
				go func() { _ = sftp.NewRequestServer(channel, sftp.Handlers{FilePut: hanging{}}).Serve() }()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
			host, port, _ := net.SplitHostPort(listener.Addr().String())
			at := &NewSFTP{Password: "p"}
			at.Host, at.Username, at.HostKey = host, "maya", ssh.FingerprintSHA256(signer.PublicKey())
			if at.Port, err = strconv.Atoi(port); err != nil {
				t.Fatal(err)
			}
			server := &fileServer{at: at, dial: func(ctx context.Context, address string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", address)
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			begun := time.Now()
			_, err = Deliver(ctx, server.object("a.txt", "id"), testBody())
			var failure *Failure
			if !errors.As(err, &failure) || !strings.Contains(failure.Reason, "did not respond within") {
				t.Errorf("got %v, want that the server did not respond", err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("the delivery took %v", took)
			}
		})
	}
}
