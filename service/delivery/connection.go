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
	"unicode"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob/s3"
	"github.com/relaypdf/relaypdf/store/seal"
)

// connectionPrefix begins the IDs of connections.
const connectionPrefix = "conn_"

// testTimeout bounds the test of a connection, and testWindow the number of tests of an account, which log in to
// servers of its choice.
const testTimeout = 45 * time.Second

var testWindow = ratelimit.Window{Name: "connection tests", Limit: 30, Length: time.Hour}

// loginWindow bounds the failed logins of an account's deliveries, which would otherwise be guesses of passwords.
var loginWindow = ratelimit.Window{Name: "failed SFTP logins", Limit: 30, Length: time.Hour}

// LimitError means that an account has made too many tests.
type LimitError struct{ RetryAfter time.Duration }

func (e *LimitError) Error() string {
	return fmt.Sprintf("Connection test limit reached: %d of %[1]d an hour. Retry in %d minutes.", testWindow.Limit,
		int(e.RetryAfter.Minutes())+1)
}

// ErrNoHostKey means that an SFTP connection has no host key yet, so that nothing may be sent to its server.
var ErrNoHostKey = errors.New("the connection has no host key")

// Connections manages the connections of accounts for all APIs, records changes in the audit log, and sends results to
// them.
type Connections struct {
	Store *store.Store
	Box   *seal.Box
	// CheckURL refuses, by its text, a URL that is not https or not public, and CheckSSH a host or port that SSH may
	// not reach.
	CheckURL func(address string) error
	CheckSSH func(host string, port int) error
	// Transport and DialSSH reach only public addresses.
	Transport http.RoundTripper
	DialSSH   func(ctx context.Context, address string) (net.Conn, error)
	// Limiter counts tests and failed logins; nil counts none.
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

	SecretAccessKey string `json:"secretAccessKey,omitempty" jsonschema:"format=password,maxLength=1024" jsonschema_description:"Secret access key. It is encrypted and never shown. Required, except in an update with the same endpoint."`
}

// NewSFTP is an SFTP server with its secret: exactly one of Password and PrivateKey.
type NewSFTP struct {
	wire.SFTPConnection

	Password   string `json:"password,omitempty" jsonschema:"format=password,maxLength=1024" jsonschema_description:"Password. It is encrypted and never shown. Exactly one of password and privateKey, except in an update with the same host, port and host key."`
	PrivateKey string `json:"privateKey,omitempty" jsonschema:"format=password,maxLength=16384" jsonschema_description:"Private key in PEM or OpenSSH format, without a passphrase. It is encrypted and never shown."`
}

// ConnectionChange changes a connection. Absent members stay unchanged.
type ConnectionChange struct {
	Name *string  `json:"name,omitempty" jsonschema:"minLength=1,maxLength=100" jsonschema_description:"Name of the connection, unique in the account."`
	S3   *NewS3   `json:"s3,omitempty" jsonschema_description:"New settings of an S3 connection, which replace all settings. An absent secret stays unchanged for the same endpoint."`
	SFTP *NewSFTP `json:"sftp,omitempty" jsonschema_description:"New settings of an SFTP connection, which replace all settings. An absent secret stays unchanged for the same host, port and host key. An absent host key stays unchanged for the same host and port."`
}

// secret is the part of a connection that is encrypted.
type secret struct {
	SecretAccessKey string `json:"secretAccessKey,omitempty"`
	Password        string `json:"password,omitempty"`
	PrivateKey      string `json:"privateKey,omitempty"`
}

// Validate returns the errors of the fields, without their secrets.
func (n *NewConnection) Validate() error {
	var faults schema.FieldErrors
	if strings.TrimSpace(n.Name) != n.Name || strings.ContainsFunc(n.Name, unicode.IsControl) {
		faults.Add("name", "must not start or end with a space, and must not contain control characters")
	}

	switch {
	case (n.S3 == nil) == (n.SFTP == nil):
		faults.AddSentence("Send exactly one of s3 and sftp", "s3",
			"is required unless sftp is given. Send exactly one of s3 and sftp")
	case n.S3 != nil:
		n.S3.validate(&faults)
	default:
		n.SFTP.validate(&faults)
	}
	return faults.OrNil()
}

func (n *NewS3) validate(faults *schema.FieldErrors) {
	if n.SecretAccessKey == "" {
		faults.Add("s3.secretAccessKey", "is required")
	}
	if !s3.ValidBucket(n.Bucket) {
		faults.Add("s3.bucket", "must have 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	if n.Region != "" && !s3.ValidRegion(n.Region) {
		faults.Add("s3.region", "must have only lower-case letters, digits and hyphens")
	}

	if _, err := s3.Server(n.Endpoint); n.Endpoint != "" && err != nil {
		faults.Add("s3.endpoint", "must be an https URL without a path, such as https://s3.example.com")
	} else if _, err := newBucket(n, nil); err != nil {
		faults.Add("s3.endpoint", "must be the URL of the service without the bucket, such as https://s3.example.com")
	}

	keys := map[string]string{"s3.accessKeyId": n.AccessKeyID, "s3.secretAccessKey": n.SecretAccessKey}
	for field, text := range keys {
		if strings.ContainsFunc(text, unicode.IsControl) {
			faults.Add(field, "must not contain control characters")
		}
	}
	if strings.HasPrefix(n.Prefix, "/") {
		faults.Add("s3.prefix", "must not start with /")
	}
	schema.CheckPath(faults, "s3.prefix", n.Prefix)
}

func (n *NewSFTP) validate(faults *schema.FieldErrors) {
	if strings.ContainsAny(n.Host, "/?#@\\[]% \t\r\n") || strings.Contains(n.Host, ":") && net.ParseIP(n.Host) == nil {
		faults.Add("sftp.host", "must be a host name or an IP address, without a port")
	}
	if n.HostKey != "" && !fingerprint.MatchString(n.HostKey) {
		faults.Add("sftp.hostKey",
			"must be a SHA-256 fingerprint, SHA256: and 43 characters, as ssh-keygen -l prints it")
	}

	schema.CheckPath(faults, "sftp.folder", n.Folder)
	switch {
	case (n.Password == "") == (n.PrivateKey == ""):
		faults.AddSentence("Send exactly one of sftp.password and sftp.privateKey", "sftp.password",
			"is required unless sftp.privateKey is given. Send exactly one of them")
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

// inField returns the refusal of the address in a field; nil if there is none.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	return &AddressError{field, err}
}

// Unwrap returns the policy's refusal.
func (e *AddressError) Unwrap() error { return e.Cause }

// Create adds a connection, which is valid. The error is an *AddressError, store.ErrTooManyConnections, or
// store.ErrExists for a name that is taken.
func (c Connections) Create(ctx context.Context, by store.Author, n NewConnection) (wire.Connection, error) {
	row := store.Connection{ID: c.Store.NewID(strings.TrimSuffix(connectionPrefix, "_")), AccountID: by.AccountID}
	err := c.fill(&row, n)
	if err == nil {
		row, err = c.Store.CreateConnection(ctx, row)
	}
	if err == nil {
		err = c.record(ctx, by, "connection.made", row)
	}
	if err != nil {
		return wire.Connection{}, err
	}

	return shown(row)
}

func (c Connections) record(ctx context.Context, by store.Author, action string, row store.Connection) error {
	return c.Store.AddAuditEntry(ctx, by.Entry(action, row.Name, ""))
}

// List returns the connections of an account, the oldest first.
func (c Connections) List(ctx context.Context, accountID string) ([]wire.Connection, error) {
	rows, err := c.Store.Connections(ctx, accountID)
	list := make([]wire.Connection, len(rows))
	for i, row := range rows {
		if list[i], err = shown(row); err != nil {
			return nil, err
		}
	}
	return list, err
}

// Get returns a connection of an account, or store.ErrNotFound.
func (c Connections) Get(ctx context.Context, accountID, id string) (wire.Connection, error) {
	row, err := c.Store.Connection(ctx, accountID, id)
	if err != nil {
		return wire.Connection{}, err
	}
	return shown(row)
}

// updateAttempts is the maximum number of attempts to update a connection that others change meanwhile.
const updateAttempts = 3

// Update changes a connection. The error is schema.FieldErrors, an *AddressError, store.ErrNotFound, or store.ErrExists for
// a name that is taken. A secret is sent only to the server that it was stored for: a new server needs it again.
func (c Connections) Update(
	ctx context.Context, by store.Author, id string, change ConnectionChange,
) (changed wire.Connection, err error) {
	for range updateAttempts {
		if changed, err = c.update(ctx, by, id, change); !errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	return changed, err
}

func (c Connections) update(
	ctx context.Context, by store.Author, id string, change ConnectionChange,
) (wire.Connection, error) {
	row, err := c.Store.Connection(ctx, by.AccountID, id)
	if err != nil {
		return wire.Connection{}, err
	}

	before := row
	n, err := c.stored(row)
	if err != nil && !change.hasSecret() { // A new secret replaces one that cannot be decrypted.
		return wire.Connection{}, err
	}
	if change.Name != nil {
		n.Name = *change.Name
	}

	var faults schema.FieldErrors
	switch {
	case change.S3 != nil && n.S3 == nil, change.SFTP != nil && n.SFTP == nil:
		other := map[string]string{schema.KindS3: schema.KindSFTP, schema.KindSFTP: schema.KindS3}[row.Kind]
		faults.Add(other, "must be absent, because this is a connection of kind %s. Create another connection instead",
			row.Kind)
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
		err = c.Store.UpdateConnection(ctx, before, row)
	}
	if err == nil {
		err = c.record(ctx, by, "connection.changed", row)
	}
	if err != nil {
		return wire.Connection{}, err
	}

	return shown(row)
}

// Delete deletes a connection and its secret, and returns the name. The error is store.ErrNotFound.
func (c Connections) Delete(ctx context.Context, by store.Author, id string) (name string, err error) {
	row, err := c.Store.Connection(ctx, by.AccountID, id)
	if err == nil {
		err = c.Store.DeleteConnection(ctx, by.AccountID, id)
	}
	if err == nil {
		err = c.record(ctx, by, "connection.deleted", row)
	}
	return row.Name, err
}

func (c *ConnectionChange) hasSecret() bool {
	return c.S3 != nil && c.S3.SecretAccessKey != "" || c.SFTP != nil && c.SFTP.Password+c.SFTP.PrivateKey != ""
}

// after returns the settings with the secret that was stored before, unless they have one, or another server.
func (n NewS3) after(before *NewS3) *NewS3 {
	if n.SecretAccessKey == "" && n.Endpoint == before.Endpoint {
		n.SecretAccessKey = before.SecretAccessKey
	}
	return &n
}

// after returns the settings with the secret and the host key that were stored before, unless they have them, or
// another server.
func (n NewSFTP) after(before *NewSFTP) *NewSFTP {
	if n.Host != before.Host || cmp.Or(n.Port, sftpPort) != cmp.Or(before.Port, sftpPort) {
		return &n
	}

	if n.Password == "" && n.PrivateKey == "" && (n.HostKey == "" || n.HostKey == before.HostKey) {
		n.Password = before.Password
		n.PrivateKey = before.PrivateKey
	}
	n.HostKey = cmp.Or(n.HostKey, before.HostKey)
	return &n
}

// fill sets the name, the settings and the encrypted secret of a connection with an ID.
func (c Connections) fill(row *store.Connection, n NewConnection) error {
	var settings any
	var hidden secret
	var err error

	if n.S3 != nil {
		row.Kind = schema.KindS3
		settings = n.S3.S3Connection
		hidden.SecretAccessKey = n.S3.SecretAccessKey
		if n.S3.Endpoint != "" {
			err = inField("s3.endpoint", c.CheckURL(n.S3.Endpoint))
		}
	} else {
		row.Kind = schema.KindSFTP
		row.HostKey = n.SFTP.HostKey
		public := n.SFTP.SFTPConnection
		public.HostKey = ""
		settings = public
		hidden.Password = n.SFTP.Password
		hidden.PrivateKey = n.SFTP.PrivateKey
		err = inField("sftp.host", c.CheckSSH(public.Host, cmp.Or(public.Port, sftpPort)))
	}
	if err != nil {
		return err
	}

	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}

	row.Name = n.Name
	row.Settings = string(text)
	if text, err = json.Marshal(hidden); err == nil { //nolint:gosec // it is encrypted
		row.Secret, err = c.Box.Seal(SecretPurpose(row.ID), text)
	}
	return err
}

// shown returns a connection as its owner sees it.
func shown(row store.Connection) (wire.Connection, error) {
	c := wire.Connection{
		ID: row.ID, Name: row.Name, Kind: row.Kind, CreatedAt: row.CreatedAt.Truncate(time.Millisecond),
	}

	var err error
	switch row.Kind {
	case schema.KindS3:
		c.S3 = &wire.S3Connection{}
		err = json.Unmarshal([]byte(row.Settings), c.S3)
	case schema.KindSFTP:
		c.SFTP = &wire.SFTPConnection{}
		err = json.Unmarshal([]byte(row.Settings), c.SFTP)
		c.SFTP.HostKey = row.HostKey
	default:
		err = fmt.Errorf("connection %s of kind %q", row.ID, row.Kind)
	}
	return c, err
}

// target is the server of a connection, with its secret.
type target interface {
	// object returns the destination of a result. Work on it is done under the ID.
	object(key, id string) Destination
	// test writes and deletes a file.
	test(ctx context.Context, id string) (hostKey string, failure *Failure)
}

// stored returns a connection with its secret. If the secret cannot be decrypted, the rest is returned with the error.
func (c Connections) stored(row store.Connection) (NewConnection, error) {
	n := NewConnection{Name: row.Name}
	public, err := shown(row)
	if err != nil {
		return n, err
	}

	var hidden secret
	text, err := c.Box.Open(SecretPurpose(row.ID), row.Secret)
	if err == nil {
		err = json.Unmarshal(text, &hidden)
	}

	if public.S3 != nil {
		n.S3 = &NewS3{*public.S3, hidden.SecretAccessKey}
	} else {
		n.SFTP = &NewSFTP{*public.SFTP, hidden.Password, hidden.PrivateKey}
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

	if kind == schema.KindSFTP && c.Limiter != nil {
		return loggedIn{to.object(key, resultID), c.Limiter, accountID}, nil
	}
	return to.object(key, resultID), nil
}

// loggedIn is a destination that logs in to a server, which counts the failed logins of its account.
type loggedIn struct {
	Destination

	limiter   ratelimit.Limiter
	accountID string
}

func (d loggedIn) send(ctx context.Context, content Content) (Receipt, *Failure) {
	of := "failed logins of " + d.accountID
	// Without its counter, the login is made.
	if verdict, err := d.limiter.Peek(ctx, of, loginWindow); err == nil && !verdict.Allowed {
		return Receipt{}, &Failure{Step: stepAuthenticate, Reason: fmt.Sprintf(
			"The account had %d failed SFTP logins within an hour. Correct the connection, and send the call again "+
				"in %d minutes.", loginWindow.Limit, int(verdict.RetryAfter.Minutes())+1)}
	}

	receipt, failure := d.Destination.send(ctx, content)
	if failure != nil && (failure.Step == stepAuthenticate || failure.Step == stepHostKey) {
		_, _ = d.limiter.Take(context.WithoutCancel(ctx), of, loginWindow)
	}
	return receipt, failure
}

// Test writes a small file and deletes it. If it succeeds, it stores the host key of a connection without one. The
// error is store.ErrNotFound or a *LimitError.
func (c Connections) Test(ctx context.Context, by store.Author, id string) (wire.ConnectionTest, error) {
	row, err := c.Store.Connection(ctx, by.AccountID, id)
	if err != nil {
		return wire.ConnectionTest{}, err
	}
	to, err := c.open(row)
	if err != nil {
		return wire.ConnectionTest{}, err
	}

	if c.Limiter != nil {
		verdict, err := c.Limiter.Take(ctx, "connection tests of "+by.AccountID, testWindow)
		if err != nil {
			return wire.ConnectionTest{}, err
		}
		if !verdict.Allowed {
			return wire.ConnectionTest{}, &LimitError{verdict.RetryAfter}
		}
	}
	if err := c.record(ctx, by, "connection.tested", row); err != nil {
		return wire.ConnectionTest{}, err
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
		err = c.Store.LearnHostKey(ctx, row, hostKey)
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
var notPublic = &Failure{
	Refused: true, Step: stepConnect,
	Reason: "The host or port is not allowed. Use a public host, and a port that is not reserved for a different protocol.",
}

func testBody() Content {
	return Content{
		ContentType: "text/plain; charset=utf-8", Size: int64(len(testContent)),
		Open: func() io.ReadSeeker { return strings.NewReader(testContent) },
	}
}
