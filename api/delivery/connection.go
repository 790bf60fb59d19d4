package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"relaypdf/api/ratelimit"
	"relaypdf/api/schema"
	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/store/blob/s3"
	"relaypdf/store/seal"
)

// connectionPrefix begins the IDs of connections.
const connectionPrefix = "conn_"

// testTimeout bounds the test of a connection, and testWindow the number of tests of an account, which log in to servers
// of its choice.
const testTimeout = 45 * time.Second

var testWindow = ratelimit.Window{Name: "connection tests", Limit: 30, Length: time.Hour}

// LimitError means that an account has made too many tests.
type LimitError struct{ RetryAfter time.Duration }

func (e *LimitError) Error() string {
	return fmt.Sprintf("Connection test limit reached: %d of %[1]d an hour.", testWindow.Limit)
}

// ErrNoHostKey means that an SFTP connection has no host key yet, so that nothing may be sent to its server.
var ErrNoHostKey = errors.New("the connection has no host key")

// Connections manages the connections of accounts for all APIs, and sends results to them.
type Connections struct {
	Store *store.Store
	Box   *seal.Box
	// CheckURL refuses, by its text, a URL that is not https or not public.
	CheckURL func(address string) error
	// Transport and DialSSH reach only public addresses.
	Transport http.RoundTripper
	DialSSH   func(ctx context.Context, address string) (net.Conn, error)
	// Limiter counts tests; nil counts none.
	Limiter ratelimit.Limiter
}

// NewConnection asks for a connection. Exactly one of S3 and SFTP is set.
type NewConnection struct {
	Name string   `json:"name" jsonschema:"required,minLength=1,maxLength=100" jsonschema_description:"Name of the connection, unique in the account."`
	S3   *NewS3   `json:"s3,omitempty" jsonschema_description:"Bucket of S3 or of a compatible service. Exactly one of s3 and sftp."`
	SFTP *NewSFTP `json:"sftp,omitempty" jsonschema_description:"Folder on an SFTP server. Exactly one of s3 and sftp."`
}

// NewS3 is a bucket with its secret.
type NewS3 struct {
	wire.S3Connection

	SecretAccessKey string `json:"secretAccessKey,omitempty" jsonschema:"maxLength=1024" jsonschema_description:"Secret access key. It is encrypted and never shown. Required, except in an update with the same endpoint."`
}

// NewSFTP is an SFTP server with its secret: exactly one of Password and PrivateKey.
type NewSFTP struct {
	wire.SFTPConnection

	Password   string `json:"password,omitempty" jsonschema:"maxLength=1024" jsonschema_description:"Password. It is encrypted and never shown. Exactly one of password and privateKey, except in an update with the same host and port."`
	PrivateKey string `json:"privateKey,omitempty" jsonschema:"maxLength=16384" jsonschema_description:"Private key in PEM or OpenSSH format, without a passphrase. It is encrypted and never shown."`
}

// ConnectionChange changes a connection. Absent members stay unchanged.
type ConnectionChange struct {
	Name *string  `json:"name,omitempty" jsonschema:"minLength=1,maxLength=100" jsonschema_description:"Name of the connection, unique in the account."`
	S3   *NewS3   `json:"s3,omitempty" jsonschema_description:"New settings of an S3 connection, which replace all settings. An absent secret stays unchanged."`
	SFTP *NewSFTP `json:"sftp,omitempty" jsonschema_description:"New settings of an SFTP connection, which replace all settings. An absent secret and an absent host key stay unchanged."`
}

// secret is the part of a connection that is encrypted.
type secret struct {
	SecretAccessKey string `json:"secretAccessKey,omitempty"`
	Password        string `json:"password,omitempty"`
	PrivateKey      string `json:"privateKey,omitempty"`
}

// Validate returns the errors of the fields, without their secrets.
func (n *NewConnection) Validate() error {
	var faults schema.Faults
	if strings.TrimSpace(n.Name) != n.Name || strings.ContainsFunc(n.Name, isControl) {
		faults.Add("name", "must not start or end with a space, and must not contain control characters")
	}
	switch {
	case (n.S3 == nil) == (n.SFTP == nil):
		faults.AddSentence("Send exactly one of s3 and sftp", "s3", "is required unless sftp is given. Send exactly one of s3 and sftp")
	case n.S3 != nil:
		n.S3.validate(&faults)
	default:
		n.SFTP.validate(&faults)
	}
	return faults.OrNil()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func (n *NewS3) validate(faults *schema.Faults) {
	if n.SecretAccessKey == "" {
		faults.Add("s3.secretAccessKey", "is required")
	}
	if !s3.ValidBucket(n.Bucket) {
		faults.Add("s3.bucket", "must be 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	if n.Region != "" && !s3.ValidRegion(n.Region) {
		faults.Add("s3.region", "must be made of lower-case letters, digits and hyphens")
	}
	if _, err := s3.Server(n.Endpoint); n.Endpoint != "" && err != nil {
		faults.Add("s3.endpoint", "must be an https URL without a path, such as https://s3.example.com")
	}
	if strings.HasPrefix(n.Prefix, "/") {
		faults.Add("s3.prefix", "must not start with /")
	}
	schema.CheckPath(faults, "s3.prefix", n.Prefix)
}

func (n *NewSFTP) validate(faults *schema.Faults) {
	if strings.ContainsAny(n.Host, "/?#@\\[]% \t\r\n") {
		faults.Add("sftp.host", "must be a host name or an IP address")
	}
	if n.HostKey != "" && !fingerprint.MatchString(n.HostKey) {
		faults.Add("sftp.hostKey", "must be a SHA-256 fingerprint, SHA256: and 43 characters, as ssh-keygen -l prints it")
	}
	schema.CheckPath(faults, "sftp.folder", n.Folder)
	switch {
	case (n.Password == "") == (n.PrivateKey == ""):
		faults.AddSentence("Send exactly one of sftp.password and sftp.privateKey", "sftp.password", "is required unless sftp.privateKey is given. Send exactly one of them")
	case n.PrivateKey != "":
		if why := keyFault(n.PrivateKey); why != "" {
			faults.Add("sftp.privateKey", "%s", why)
		}
	}
}

// AddressError refuses the address of a connection.
type AddressError struct {
	Field string
	Cause error
}

func (e *AddressError) Error() string { return e.Field + ": " + e.Cause.Error() }

// Unwrap returns the policy's refusal.
func (e *AddressError) Unwrap() error { return e.Cause }

// Create adds a connection, which is valid. The error is an *AddressError, store.ErrTooManyConnections, or
// store.ErrExists for a name that is taken.
func (c Connections) Create(ctx context.Context, accountID string, n NewConnection) (wire.Connection, error) {
	row := store.Connection{ID: c.Store.NewID(strings.TrimSuffix(connectionPrefix, "_")), AccountID: accountID}
	err := c.fill(&row, n)
	if err == nil {
		row, err = c.Store.CreateConnection(ctx, row)
	}
	if err != nil {
		return wire.Connection{}, err
	}
	return ShowConnection(row)
}

// Update changes a connection. The error is schema.Faults, an *AddressError, store.ErrNotFound, or store.ErrExists for a
// name that is taken. A secret is sent only to the server that it was stored for: a new server needs it again.
func (c Connections) Update(ctx context.Context, accountID, id string, change ConnectionChange) (wire.Connection, error) {
	row, err := c.Store.Connection(ctx, accountID, id)
	if err != nil {
		return wire.Connection{}, err
	}
	n, err := c.stored(row)
	if err != nil {
		return wire.Connection{}, err
	}
	if change.Name != nil {
		n.Name = *change.Name
	}
	var faults schema.Faults
	switch {
	case change.S3 != nil && n.S3 == nil, change.SFTP != nil && n.SFTP == nil:
		faults.Add(row.Kind, "is the kind of this connection. Create another connection instead")
		return wire.Connection{}, faults
	case change.S3 != nil:
		n.S3 = change.S3.after(n.S3)
	case change.SFTP != nil:
		n.SFTP = change.SFTP.after(n.SFTP)
	}
	if err := n.Validate(); err != nil {
		return wire.Connection{}, err
	}
	if err = c.fill(&row, n); err == nil {
		err = c.Store.UpdateConnection(ctx, row)
	}
	if err != nil {
		return wire.Connection{}, err
	}
	return ShowConnection(row)
}

// after returns the settings with the secret that was stored before, unless they have one, or another server.
func (n *NewS3) after(before *NewS3) *NewS3 {
	if n.SecretAccessKey == "" && n.Endpoint == before.Endpoint {
		n.SecretAccessKey = before.SecretAccessKey
	}
	return n
}

// after returns the settings with the secret and the host key that were stored before, unless they have them, or another
// server.
func (n *NewSFTP) after(before *NewSFTP) *NewSFTP {
	if n.Host != before.Host || cmp.Or(n.Port, sftpPort) != cmp.Or(before.Port, sftpPort) {
		return n
	}
	if n.Password == "" && n.PrivateKey == "" && (n.HostKey == "" || n.HostKey == before.HostKey) {
		n.Password, n.PrivateKey = before.Password, before.PrivateKey
	}
	n.HostKey = cmp.Or(n.HostKey, before.HostKey)
	return n
}

// fill sets the name, the settings and the encrypted secret of a connection with an ID.
func (c Connections) fill(row *store.Connection, n NewConnection) error {
	var settings any
	var hidden secret
	var field, address string
	if n.S3 != nil {
		row.Kind, settings, hidden.SecretAccessKey = schema.KindS3, n.S3.S3Connection, n.S3.SecretAccessKey
		field, address = "s3.endpoint", n.S3.Endpoint
	} else {
		row.Kind, row.HostKey = schema.KindSFTP, n.SFTP.HostKey
		public := n.SFTP.SFTPConnection
		public.HostKey = ""
		settings, hidden.Password, hidden.PrivateKey = public, n.SFTP.Password, n.SFTP.PrivateKey
		field, address = "sftp.host", "https://"+net.JoinHostPort(public.Host, "443")
	}
	if address != "" {
		if err := c.CheckURL(address); err != nil {
			return &AddressError{field, err}
		}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	row.Name, row.Settings = n.Name, string(text)
	if text, err = json.Marshal(hidden); err == nil { //nolint:gosec // it is encrypted
		row.Secret, err = c.Box.Seal(SecretPurpose(row.ID), text)
	}
	return err
}

// ShowConnection returns a connection as its owner sees it.
func ShowConnection(row store.Connection) (wire.Connection, error) {
	shown := wire.Connection{ID: row.ID, Name: row.Name, Kind: row.Kind, CreatedAt: row.CreatedAt.Truncate(time.Millisecond)}
	var err error
	switch row.Kind {
	case schema.KindS3:
		shown.S3 = &wire.S3Connection{}
		err = json.Unmarshal([]byte(row.Settings), shown.S3)
	case schema.KindSFTP:
		shown.SFTP = &wire.SFTPConnection{}
		err = json.Unmarshal([]byte(row.Settings), shown.SFTP)
		shown.SFTP.HostKey = row.HostKey
	default:
		err = fmt.Errorf("connection %s of kind %q", row.ID, row.Kind)
	}
	return shown, err
}

// target is the server of a connection, with its secret.
type target interface {
	// object returns the destination of a result. Work on it is done under the ID.
	object(key, id string) Destination
	// test writes and deletes a file.
	test(ctx context.Context, id string) (hostKey string, failure *Failure)
}

// stored decrypts a connection.
func (c Connections) stored(row store.Connection) (NewConnection, error) {
	n := NewConnection{Name: row.Name}
	shown, err := ShowConnection(row)
	if err != nil {
		return n, err
	}
	text, err := c.Box.Open(SecretPurpose(row.ID), row.Secret)
	if err != nil {
		return n, err
	}
	var hidden secret
	err = json.Unmarshal(text, &hidden)
	if shown.S3 != nil {
		n.S3 = &NewS3{*shown.S3, hidden.SecretAccessKey}
	} else {
		n.SFTP = &NewSFTP{*shown.SFTP, hidden.Password, hidden.PrivateKey}
	}
	return n, err
}

// open returns the server of a connection.
func (c Connections) open(row store.Connection) (target, error) {
	n, err := c.stored(row)
	switch {
	case err != nil:
		return nil, err
	case n.S3 != nil:
		return newBucket(n.S3, c.Transport)
	}
	return &fileServer{at: n.SFTP, dial: c.DialSSH}, nil
}

// Check returns store.ErrNotFound if the account has no connection of the kind with the ID, or ErrNoHostKey.
func (c Connections) Check(ctx context.Context, accountID, id, kind string) error {
	_, err := c.find(ctx, accountID, id, kind)
	return err
}

func (c Connections) find(ctx context.Context, accountID, id, kind string) (store.Connection, error) {
	row, err := c.Store.Connection(ctx, accountID, id)
	switch {
	case err != nil:
		return row, err
	case row.Kind != kind:
		return row, store.ErrNotFound
	case kind == schema.KindSFTP && row.HostKey == "":
		return row, ErrNoHostKey
	}
	return row, nil
}

// Destination returns the place of a key in a connection, for the result with the ID. The errors are those of Check.
func (c Connections) Destination(ctx context.Context, accountID, id, kind, key, resultID string) (Destination, error) {
	row, err := c.find(ctx, accountID, id, kind)
	if err != nil {
		return nil, err
	}
	to, err := c.open(row)
	if err != nil {
		return nil, err
	}
	return to.object(key, resultID), nil
}

// Test writes a small file and deletes it. If it succeeds, it stores the host key of a connection without one. The error
// is store.ErrNotFound or a *LimitError.
func (c Connections) Test(ctx context.Context, accountID, id string) (wire.ConnectionTest, error) {
	row, err := c.Store.Connection(ctx, accountID, id)
	if err != nil {
		return wire.ConnectionTest{}, err
	}
	to, err := c.open(row)
	if err != nil {
		return wire.ConnectionTest{}, err
	}
	if c.Limiter != nil {
		verdict, err := c.Limiter.Take(ctx, "connection tests of "+accountID, testWindow)
		if err != nil {
			return wire.ConnectionTest{}, err
		}
		if !verdict.Allowed {
			return wire.ConnectionTest{}, &LimitError{verdict.RetryAfter}
		}
	}
	bounded, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	hostKey, failure := to.test(bounded, c.Store.NewID("test"))
	switch {
	case ctx.Err() != nil:
		return wire.ConnectionTest{}, ctx.Err()
	case failure != nil:
		return wire.ConnectionTest{FailedStep: failure.Step, Message: failure.Reason, HostKey: hostKey}, nil
	}
	if hostKey != "" && row.HostKey == "" {
		err = c.Store.LearnHostKey(ctx, accountID, id, hostKey)
	}
	return wire.ConnectionTest{OK: true, HostKey: hostKey}, err
}

// testContent is the file that a test writes.
const testContent = "relaypdf wrote this file to test a connection, and deletes it.\n"

// testName is the name of that file.
func testName(id string) string { return "relaypdf-" + id + ".txt" }

// The steps of a connection.
const (
	stepConnect      = "connect"
	stepHostKey      = "hostKey"
	stepAuthenticate = "authenticate"
	stepWrite        = "write"
	stepDelete       = "delete"
)

// notPublic is the failure of an address that is refused on connection.
var notPublic = &Failure{Refused: true, Step: stepConnect, Reason: "The address is not allowed. Use a public host."}

func testBody() Content {
	return Content{ContentType: "text/plain; charset=utf-8", Size: int64(len(testContent)), Open: func() io.ReadSeeker { return strings.NewReader(testContent) }}
}
