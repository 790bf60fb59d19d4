package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"relaypdf/render/egress"
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
	defer n.close()
	if failure := n.write(ctx, path.Join(f.server.at.Folder, f.path), f.id, content); failure != nil {
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
			if again, failed := s.handshake(ctx, types); again.hostKey == s.at.HostKey {
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
		return n, &Failure{Step: stepConnect, Reason: sendFailure(err, "server", time.Since(begun).Round(time.Second)), passing: true}
	}
	n.Conn, n.stop = conn, context.AfterFunc(ctx, func() { _ = conn.Close() })
	var client *ssh.Client
	failure := n.step(ctx, stepConnect, handshakeTimeout, func() error {
		c, channels, requests, err := ssh.NewClientConn(conn, address, s.config(n, types))
		if err == nil {
			client = ssh.NewClient(c, channels, requests)
		}
		return err
	})
	switch {
	case failure == nil:
	case n.hostKey != "" && n.hostKey != cmp.Or(s.at.HostKey, n.hostKey):
		failure = &Failure{Step: stepHostKey, Reason: "The host key of the server is " + n.hostKey + ", not the one of the connection. If the server has a new key, update the hostKey of the connection."}
	case n.hostKey != "" && !failure.passing:
		failure = &Failure{Step: stepAuthenticate, Reason: "The server does not accept the user name with this password or key."}
	}
	if failure == nil {
		failure = n.step(ctx, stepConnect, sessionTimeout, func() (err error) {
			n.files, err = sftp.NewClient(client, sftp.UseConcurrentWrites(true))
			return err
		})
	}
	if failure != nil {
		n.close()
	}
	return n, failure
}

func (s *fileServer) config(n *session, types []string) *ssh.ClientConfig {
	config := &ssh.ClientConfig{
		User: s.at.Username, ClientVersion: "SSH-2.0-relaypdf", HostKeyAlgorithms: types,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			shown := ssh.FingerprintSHA256(key)
			if n.hostKey == "" { // A session exchanges keys again, which does not change what it has shown.
				n.hostKey, n.keyType = shown, key.Type()
			}
			if shown != cmp.Or(s.at.HostKey, n.hostKey) {
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
	config.Auth = []ssh.AuthMethod{ssh.Password(s.at.Password), ssh.KeyboardInteractive(func(_, _ string, questions []string, echoes []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i, echo := range echoes {
			if !echo {
				answers[i] = s.at.Password
			}
		}
		return answers, nil
	})}
	return config
}

// step does a step of a session within a time, and within that of ctx.
func (n *session) step(ctx context.Context, name string, limit time.Duration, do func() error) *Failure {
	begun := time.Now()
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, end.Sub(begun))
	}
	err := n.SetDeadline(begun.Add(limit))
	if err == nil {
		err = do()
	}
	var refusal *sftp.StatusError
	switch failure := (&Failure{Step: name}); {
	case err == nil:
		return nil
	case time.Since(begun) >= limit, ctx.Err() != nil:
		failure.Reason, failure.passing = fmt.Sprintf("The server did not respond within %d seconds.", int(limit.Round(time.Second).Seconds())), true
		return failure
	case errors.Is(err, fs.ErrPermission):
		failure.Reason = "The server denied the permission."
		return failure
	case errors.Is(err, fs.ErrNotExist):
		failure.Reason = "The folder does not exist on the server."
		return failure
	case errors.As(err, &refusal):
		failure.Reason = fmt.Sprintf("The server refused with the SFTP status %d.", refusal.Code)
		return failure
	default:
		failure.Reason = "The server closed the connection."
		failure.passing = n.hostKey == "" || n.files != nil || isTimeout(err)
		return failure
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// write uploads a file under a temporary name, and renames it when it is whole.
func (n *session) write(ctx context.Context, name, id string, content Content) (failure *Failure) {
	folder := path.Dir(name)
	part := path.Join(folder, ".relaypdf-"+id+".part")
	if folder != "." && folder != "/" {
		if failure := n.step(ctx, stepWrite, stepTimeout, func() error { return n.files.MkdirAll(folder) }); failure != nil {
			return failure
		}
	}
	var to *sftp.File
	failure = n.step(ctx, stepWrite, stepTimeout, func() (err error) {
		to, err = n.files.Create(part)
		return err
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

// rename replaces a file. Servers without OpenSSH's extension do not replace one, so it is removed before.
func (n *session) rename(part, name string) error {
	if _, known := n.files.HasExtension("posix-rename@openssh.com"); known {
		return n.files.PosixRename(part, name)
	}
	if err := n.files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return n.files.Rename(part, name)
}
