package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/egress"
)

const (
	sftpPort = 22
	// handshakeTimeout, sessionTimeout and stepTimeout bound how long a server may take for the steps of a session
	// besides the content, which has the time of the attempt.
	handshakeTimeout = 15 * time.Second
	sessionTimeout   = 10 * time.Second
	stepTimeout      = 10 * time.Second
)

// fingerprint is the form of a host key, as ssh-keygen -l prints it.
var fingerprint = regexp.MustCompile(`^SHA256:[A-Za-z0-9+/]{43}$`)

// keyFault describes a private key that cannot be used; empty if it can. It repeats nothing of the key.
func keyFault(text string) string {
	_, err := ssh.ParsePrivateKey([]byte(text))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return "is encrypted with a passphrase. Send a key without a passphrase"
	case err != nil:
		return "must be a private key in PEM or OpenSSH format"
	}
	return ""
}

// fileServer is the SFTP server of a connection.
type fileServer struct {
	at   *NewSFTP
	dial func(ctx context.Context, address string) (net.Conn, error)
}

func (s *fileServer) object(key, id string) Destination { return file{s, key, id} }

// file is a file on the server of a connection.
type file struct {
	server   *fileServer
	path, id string
}

func (f file) send(ctx context.Context, content Content) (Receipt, *Failure) {
	n, failure := f.server.open(ctx)
	if failure != nil {
		return Receipt{}, failure
	}

	longer, end := n.outlast(ctx)
	defer end()
	content.Open = untilReserve(ctx, content)
	if failure := n.write(longer, path.Join(f.server.at.Folder, f.path), f.id, content); failure != nil {
		return Receipt{}, failure
	}
	return Receipt{Host: f.server.at.Host}, nil
}

func (s *fileServer) test(ctx context.Context, id string) (string, *Failure) {
	n, failure := s.open(ctx)
	if failure != nil {
		return n.hostKey, failure
	}
	defer n.close()

	name := path.Join(s.at.Folder, testName(id))
	if failure := n.write(ctx, name, id, testBody()); failure != nil {
		return n.hostKey, failure
	}
	return n.hostKey, n.step(ctx, stepDelete, stepTimeout, func() error { return n.files.Remove(name) })
}

// session is a connection to a server under way.
type session struct {
	net.Conn

	stop    func() bool
	hostKey string // that the server has shown
	keyType string
	files   *sftp.Client
	cause   error // of the last failure
	// received counts the bytes from the server.
	received atomic.Int64
}

// maxReceived is the maximum of bytes that a server may send in a session, in which it receives one file.
const maxReceived = 8 << 20

// boundedConn is a connection that ends after maxReceived bytes.
type boundedConn struct {
	net.Conn

	received *atomic.Int64
}

func (c boundedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.received.Add(int64(n)) > maxReceived {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// outlast has the session continue for a step after ctx is cancelled, but not beyond the deadline of ctx, which attempt
// has set. end closes it.
func (n *session) outlast(ctx context.Context) (longer context.Context, end func()) {
	n.stop()
	deadline, _ := ctx.Deadline()
	longer, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(stepTimeout, cancel) })
	n.stop = context.AfterFunc(longer, func() { _ = n.Close() })

	return longer, func() {
		stop()
		n.close()
		cancel()
	}
}

// untilReserve returns the content as a reader that fails when ctx is cancelled, or has only the time left that it
// takes to remove an unfinished file.
func untilReserve(ctx context.Context, content Content) func() io.ReadSeeker {
	end, _ := ctx.Deadline()
	end = end.Add(-min(stepTimeout, time.Until(end)/6))
	return func() io.ReadSeeker {
		return endingReader{
			content.Open(), content.Size, func() bool { return ctx.Err() != nil || time.Now().After(end) },
		}
	}
}

// endingReader is a reader that may fail before its end.
type endingReader struct {
	io.ReadSeeker

	size  int64
	ended func() bool
}

// Size is the number of bytes, from which package sftp derives how many it writes at once.
func (r endingReader) Size() int64 { return r.size }

func (r endingReader) Read(p []byte) (int, error) {
	if r.ended() {
		return 0, os.ErrDeadlineExceeded
	}
	return r.ReadSeeker.Read(p)
}

func (n *session) close() {
	n.stop()
	_ = n.Close() // ends the rest, too
}

// hostKeyTypes are the kinds of host keys. A server has several, and shows the one that is asked for.
var hostKeyTypes = [][]string{
	{ssh.KeyAlgoED25519},
	{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521},
	{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
}

// errHostKey means that a server has another host key than the connection.
var errHostKey = errors.New("other host key")

// open connects to the server and begins a session. It returns the session in any case, for its host key.
func (s *fileServer) open(ctx context.Context) (*session, *Failure) {
	n, failure := s.handshake(ctx, slices.Concat(hostKeyTypes...))
	if failure != nil && failure.Step == stepHostKey {
		// The fingerprint may be that of another of the server's keys.
		for _, types := range hostKeyTypes {
			if slices.Contains(types, n.keyType) || n.keyType == ssh.KeyAlgoRSA && types[0] == ssh.KeyAlgoRSASHA512 {
				continue
			}
			again, failed := s.handshake(ctx, types)
			if again.hostKey == s.at.HostKey || failed != nil && failed.passing {
				return again, failed
			}
		}
	}

	return n, failure
}

// handshake connects, checks the server, and logs in.
func (s *fileServer) handshake(ctx context.Context, types []string) (*session, *Failure) {
	n := &session{}
	begun := time.Now()
	address := net.JoinHostPort(s.at.Host, strconv.Itoa(cmp.Or(s.at.Port, sftpPort)))
	conn, err := s.dial(ctx, address)
	switch {
	case errors.Is(err, egress.ErrRefused):
		return n, notPublic
	case err != nil:
		return n, &Failure{
			Step: stepConnect, Reason: sendFailure(err, "server", time.Since(begun).Round(time.Second)),
			passing: true,
		}
	}

	n.Conn = boundedConn{conn, &n.received}
	n.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	shown := &shownKey{}
	client, failure := stepOf(ctx, n, stepConnect, handshakeTimeout, func() (*ssh.Client, error) {
		c, channels, requests, err := ssh.NewClientConn(n.Conn, address, s.config(shown, types))
		if err != nil {
			return nil, err
		}
		return ssh.NewClient(c, channels, requests), nil
	})

	n.hostKey, n.keyType = shown.get()
	switch {
	case failure == nil:
	case n.hostKey != "" && n.hostKey != cmp.Or(s.at.HostKey, n.hostKey):
		failure = &Failure{
			Step: stepHostKey,
			Reason: "The host key of the server is " + n.hostKey +
				", not the stored one. If the server has a new key, update the hostKey of the connection and send its secret again.",
		}
	case refusesLogin(n.cause):
		failure = &Failure{
			Step: stepAuthenticate, Reason: "The server rejected the user name, the password or the key.",
		}
	}

	if failure == nil {
		n.files, failure = stepOf(ctx, n, stepConnect, sessionTimeout,
			func() (*sftp.Client, error) { return openFiles(client) })
	}
	if failure != nil {
		n.close()
	}
	return n, failure
}

// refusesLogin reports whether a handshake failed because the server accepts no login.
func refusesLogin(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "unable to authenticate") ||
		strings.Contains(err.Error(), "Too many authentication failures"))
}

// openFiles begins the SFTP subsystem. Unlike a session of package ssh, its channel is read whatever the server sends.
func openFiles(client *ssh.Client) (*sftp.Client, error) {
	channel, requests, err := client.OpenChannel("session", nil)
	if err != nil {
		return nil, err
	}

	go guard.Log(slog.Default(), "SFTP requests", func() { ssh.DiscardRequests(requests) })
	go guard.Log(slog.Default(), "SFTP errors", func() { _, _ = io.Copy(io.Discard, channel.Stderr()) })

	ok, err := channel.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	if err == nil && !ok {
		err = errNoFiles
	}
	if err != nil {
		return nil, err
	}
	return sftp.NewClientPipe(channel, channel, sftp.UseConcurrentWrites(true))
}

var errNoFiles = errors.New("the server has no SFTP")

// shownKey is the first host key that a server has shown.
type shownKey struct {
	mu           sync.Mutex
	text, format string
}

func (k *shownKey) get() (text, format string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text, k.format
}

// set sets the key, unless there is one, and returns the one that is set.
func (k *shownKey) set(key ssh.PublicKey) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.text == "" { // A session exchanges keys again, which does not change what it has shown.
		k.text, k.format = ssh.FingerprintSHA256(key), key.Type()
	}
	return k.text
}

func (s *fileServer) config(shown *shownKey, types []string) *ssh.ClientConfig {
	config := &ssh.ClientConfig{
		User: s.at.Username, ClientVersion: "SSH-2.0-relaypdf", HostKeyAlgorithms: types,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if first := shown.set(key); ssh.FingerprintSHA256(key) != cmp.Or(s.at.HostKey, first) {
				return errHostKey
			}
			return nil
		},
	}

	if s.at.PrivateKey != "" {
		config.Auth = []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			signer, err := ssh.ParsePrivateKey([]byte(s.at.PrivateKey))
			return []ssh.Signer{signer}, err
		})}
		return config
	}

	interactive := func(_, _ string, questions []string, echoes []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i, echo := range echoes {
			if !echo {
				answers[i] = s.at.Password
			}
		}
		return answers, nil
	}
	config.Auth = []ssh.AuthMethod{ssh.Password(s.at.Password), ssh.KeyboardInteractive(interactive)}
	return config
}

// step does a step of a session within a time, and within that of ctx.
func (n *session) step(ctx context.Context, name string, limit time.Duration, do func() error) *Failure {
	_, failure := stepOf(ctx, n, name, limit, func() (struct{}, error) { return struct{}{}, do() })
	return failure
}

// stepOf does a step that makes a T. It returns in time even if the step does not.
func stepOf[T any](
	ctx context.Context, n *session, name string, limit time.Duration, do func() (T, error),
) (T, *Failure) {
	begun := time.Now()
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, end.Sub(begun))
	}
	_ = n.SetDeadline(begun.Add(limit)) // If the connection is closed, the step fails.

	type outcome struct {
		made T
		err  error
	}

	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		err := guard.Try(func() (err error) {
			o.made, err = do()
			return err
		})
		ended <- outcome{o.made, err}
	}()

	late := time.NewTimer(limit + time.Second)
	defer late.Stop()
	var o outcome
	select {
	case o = <-ended:
	case <-late.C:
		_ = n.Close()
		o.err = os.ErrDeadlineExceeded
	case <-ctx.Done():
		_ = n.Close()
		o.err = ctx.Err()
	}

	n.cause = o.err
	return o.made, n.failed(ctx, name, limit, begun)
}

// failed describes the failure of a step; nil if there was none. The texts of the server are not repeated.
func (n *session) failed(ctx context.Context, name string, limit time.Duration, begun time.Time) *Failure {
	err := n.cause
	var refusal *sftp.StatusError

	switch failure := (&Failure{Step: name}); {
	case err == nil:
		return nil
	case n.received.Load() > maxReceived:
		failure.Reason = "The server sent more than a file transfer needs."
		return failure
	case errors.Is(err, os.ErrDeadlineExceeded), time.Since(begun) >= limit, ctx.Err() != nil:
		failure.Reason = fmt.Sprintf("The server did not respond within %d seconds.",
			int(min(limit, time.Since(begun)).Round(time.Second).Seconds()))
		failure.passing = true
		return failure
	case errors.Is(err, errNoFiles):
		failure.Reason = "The server does not offer SFTP."
		return failure
	case errors.Is(err, syscall.ENOTDIR):
		failure.Reason = "A part of the path is a file, not a folder."
		return failure
	case errors.Is(err, fs.ErrPermission):
		failure.Reason = "The server denied permission."
		return failure
	case errors.Is(err, fs.ErrNotExist):
		failure.Reason = "The folder does not exist on the server."
		return failure
	case errors.As(err, &refusal):
		failure.Reason = fmt.Sprintf("The server refused the step with SFTP status %d.", refusal.Code)
		return failure
	default:
		var differ *ssh.AlgorithmNegotiationError
		failure.Reason = "The server closed the connection."
		failure.passing = true
		if errors.As(err, &differ) {
			failure.Reason = "The server supports no algorithm that relaypdf supports."
			failure.passing = false
		}
		return failure
	}
}

// write uploads a file under a temporary name, and renames it when it is whole. The name is the same for each attempt
// with the ID, so that an attempt replaces a part that an interrupted one has left.
func (n *session) write(ctx context.Context, name, id string, content Content) *Failure {
	folder := path.Dir(name)
	part := path.Join(folder, ".relaypdf-"+id+".part")

	if folder != "." && folder != "/" {
		failure := n.step(ctx, stepWrite, stepTimeout, func() error { return n.files.MkdirAll(folder) })
		if failure != nil {
			return failure
		}
	}

	to, failure := stepOf(ctx, n, stepWrite, stepTimeout, func() (*sftp.File, error) {
		// Some servers refuse to open a file for both.
		return n.files.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	})
	if failure != nil {
		return failure
	}

	failure = n.step(ctx, stepWrite, putTimeout, func() error {
		_, err := to.ReadFrom(content.Open())
		return errors.Join(err, to.Close())
	})
	if failure == nil {
		failure = n.step(ctx, stepWrite, stepTimeout, func() error { return n.rename(part, name) })
	}
	if failure != nil && ctx.Err() == nil {
		_ = n.step(ctx, stepWrite, stepTimeout, func() error { return n.files.Remove(part) })
	}
	return failure
}

// rename replaces a file. Servers without OpenSSH's extension may not replace one, so it is removed before.
func (n *session) rename(part, name string) error {
	if _, known := n.files.HasExtension("posix-rename@openssh.com"); known {
		return n.files.PosixRename(part, name)
	}

	err := n.files.Rename(part, name)
	if err == nil {
		return nil
	}

	if old, statErr := n.files.Lstat(name); statErr != nil || !old.Mode().IsRegular() {
		return err
	}
	if err := n.files.Remove(name); err != nil {
		return err
	}
	return n.files.Rename(part, name)
}
