package delivery

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// hanging never finishes a write.
type hanging struct{}

func (hanging) Filewrite(*sftp.Request) (io.WriterAt, error) { return hanging{}, nil }
func (hanging) WriteAt([]byte, int64) (int, error)           { select {} }

// TestHangingFileServer: a server that stops at any step holds a delivery no longer than its context.
func TestHangingFileServer(t *testing.T) {
	t.Parallel()
	config, hostKey := sharedtest.ServerConfig(t)
	for name, serve := range map[string]func(net.Conn){
		"silent": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"without a session": func(conn net.Conn) {
			if server, _, _, err := ssh.NewServerConn(conn, config); err == nil {
				_ = server.Wait()
			}
		},
		"in a write": func(conn net.Conn) {
			sharedtest.ServeSSH(conn, config, func(channel ssh.Channel) {
				_ = sftp.NewRequestServer(channel, sftp.Handlers{FilePut: hanging{}}).Serve()
			})
		},
		// Package ssh stops reading the requests of a session after a malformed exit status.
		"in requests that nobody reads": func(conn net.Conn) {
			sharedtest.ServeSSH(conn, config, func(channel ssh.Channel) {
				hello := make([]byte, 9)
				if _, err := io.ReadFull(channel, hello); err != nil {
					return
				}
				_, _ = channel.Write([]byte{0, 0, 0, 5, 2, 0, 0, 0, 3}) // version 3
				_, _ = channel.SendRequest("exit-status", false, nil)
				for range 100 {
					_, _ = channel.SendRequest("keepalive", false, nil)
				}
				_, _ = io.Copy(io.Discard, channel)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := listens(t, hostKey, serve)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			begun := time.Now()
			_, err := Deliver(ctx, server.object("a.txt", "id"), testBody())
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

// slow writes files at less speed than a delivery needs. It reports the first write, and that files are removed.
type slow struct {
	begun   chan struct{}
	removed chan string
}

func (s slow) Filewrite(*sftp.Request) (io.WriterAt, error) { return s, nil }

func (s slow) WriteAt(p []byte, _ int64) (int, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-time.After(10 * time.Millisecond)
	return len(p), nil
}

func (s slow) Filecmd(r *sftp.Request) error {
	if r.Method == "Remove" {
		s.removed <- r.Filepath
	}
	return nil
}

// endless is content without an end.
type endless struct{ zeros }

func (endless) Seek(int64, int) (int64, error) { return 0, nil }

// TestUnfinishedFileIsRemoved: a delivery that has no more time, or that is cancelled, leaves no part on the server.
func TestUnfinishedFileIsRemoved(t *testing.T) {
	t.Parallel()
	config, hostKey := sharedtest.ServerConfig(t)
	for name, limit := range map[string]time.Duration{"late": 10 * time.Second, "cancelled": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := slow{make(chan struct{}, 1), make(chan string, 1)}
			server := listens(t, hostKey, func(conn net.Conn) {
				sharedtest.ServeSSH(conn, config, func(channel ssh.Channel) {
					_ = sftp.NewRequestServer(channel, sftp.Handlers{FilePut: files, FileCmd: files}).Serve()
				})
			})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if name == "cancelled" {
				go func() {
					select {
					case <-files.begun:
						cancel()
					case <-ctx.Done():
					}
				}()
			}

			begun := time.Now()
			_, err := Deliver(ctx, server.object("a.txt", "id"), Content{Size: 1 << 40, Open: func() io.ReadSeeker { return endless{} }})
			var failure *Failure
			if late := errors.As(err, &failure) && strings.Contains(failure.Reason, "did not respond within"); late != (name == "late") || err == nil {
				t.Errorf("got %v", err)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("the delivery took %v", took)
			}
			select {
			case got := <-files.removed:
				if got != "/.relaypdf-id.part" {
					t.Errorf("it removed %s", got)
				}
			case <-time.After(time.Minute):
				t.Error("the part is left")
			}
		})
	}
}

// TestFloodingFileServer: a session ends when the server has sent more than any transfer needs.
func TestFloodingFileServer(t *testing.T) {
	t.Parallel()
	config, hostKey := sharedtest.ServerConfig(t)
	sent := make(chan int64, 1)
	server := listens(t, hostKey, func(conn net.Conn) {
		sharedtest.ServeSSH(conn, config, func(channel ssh.Channel) {
			n, _ := io.Copy(channel.Stderr(), io.LimitReader(zeros{}, 1<<30))
			sent <- n
		})
	})
	_, failure := server.object("a.txt", "id").send(t.Context(), testBody())
	if failure == nil || failure.passing || !strings.Contains(failure.Reason, "sent more than") {
		t.Errorf("got %+v", failure)
	}
	if n := <-sent; n > 4*maxReceived {
		t.Errorf("the server has sent %d bytes", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// listens returns the server of a connection, to which serve responds.
func listens(t *testing.T, hostKey string, serve func(net.Conn)) *fileServer {
	t.Helper()
	host, port := sharedtest.Listen(t, serve)
	at := &NewSFTP{Password: "p"}
	at.Host, at.Username, at.HostKey = host, "maya", hostKey
	at.Port, _ = strconv.Atoi(port)
	return &fileServer{at: at, dial: func(ctx context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}}
}
