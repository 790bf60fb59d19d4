package api_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"

	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const connections = "/v1/connections"

// newConnection creates a connection by its JSON body.
func newConnection(t *testing.T, s *apitest.Server, body string) wire.Connection {
	t.Helper()
	answer := s.Send(t, apitest.Request{Path: connections, Body: body})
	if answer.Status != http.StatusCreated {
		t.Fatalf("got status %d: %s, want 201", answer.Status, answer.Body)
	}
	return decode[wire.Connection](t, answer)
}

func testConnection(t *testing.T, s *apitest.Server, id string) wire.ConnectionTest {
	t.Helper()
	return decode[wire.ConnectionTest](t, s.Send(t, apitest.Request{Path: connections + "/" + id + "/test"}).OK(t))
}

func bucketBody(name, endpoint, key, secret string) string {
	return fmt.Sprintf(`{"name":%q,"s3":{"endpoint":%q,"bucket":"documents","accessKeyId":%q,"secretAccessKey":%q,"pathStyle":true,"prefix":"out/"}}`, name, endpoint, key, secret)
}

// deliverTo is the body of a call that delivers its result.
func deliverBody(response, destination string) string {
	return `{"text":"0123456789","filename":"invoice 7.txt","response":"` + response + `","deliverTo":` + destination + `}`
}

// TestDeliverToBucket sends results to a bucket in each kind of response, on both databases, and reports them.
func TestDeliverToBucket(t *testing.T) {
	t.Parallel()
	files := fakes3.Start(t)
	endpoint := files.TLS(t)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		s.Work(t)
		made := newConnection(t, s, bucketBody("archive", endpoint, fakes3.AccessKey, fakes3.SecretKey))
		if got := testConnection(t, s, made.ID); !got.OK {
			t.Fatalf("the test is %+v", got)
		}
		destination := func(response string) string {
			return `{"s3":{"connection":"` + made.ID + `","key":"` + response + `/{{date}}/{{ filename }}-{{operation}}.{{extension}}"}}`
		}
		for _, response := range []string{"binary", "url", "async"} {
			request := apitest.Request{Path: echo, Body: deliverBody(response, destination(response))}
			var delivered *wire.Delivered
			switch response {
			case "binary":
				if got := s.Send(t, request).OK(t); got.Header.Get("x-service-delivered") != "200" {
					t.Errorf("the response has %v", got.Header)
				}
			case "url":
				delivered = fileURL(t, s.Send(t, request)).Delivered
			default:
				delivered = s.Await(t, s.Enqueue(t, request).ID).Delivered
			}
			key := response + "/2026-03-10/invoice 7-test.echo.txt"
			if response != "binary" && (delivered == nil || delivered.Kind != "s3" || delivered.Host != "127.0.0.1" || delivered.ConnectionID != made.ID || delivered.Key != key || delivered.StatusCode != 200 || delivered.Attempts != 1) {
				t.Errorf("%s: delivered is %+v", response, delivered)
			}
			if content := objectOf(t, files, "out/"+key); content != "0123456789" {
				t.Errorf("%s: the object is %q", response, content)
			}
		}
	})
}

// objectOf returns the content of an object.
func objectOf(t *testing.T, files *fakes3.Server, key string) string {
	t.Helper()
	object, _, _, err := files.Client(t).GetObject(t.Context(), "documents", key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestDeliverPipelineToBucket: the output of a pipeline and the last step of a call reach the bucket, and nothing else.
func TestDeliverPipelineToBucket(t *testing.T) {
	t.Parallel()
	files := fakes3.Start(t)
	s := apitest.New(t, apitest.Options{Operations: operation.Rows, Change: quiet})
	made := newConnection(t, s, bucketBody("archive", files.TLS(t), fakes3.AccessKey, fakes3.SecretKey))
	to := `"deliverTo":{"s3":{"connection":"` + made.ID + `","key":"{{operation}}.{{extension}}"}}`
	for key, request := range map[string]apitest.Request{
		"pipelines.create.zip": {Path: pipelines, Body: `{"steps":[{"id":"a","op":"barcodes.create","input":{"type":"qr","text":"a"}},{"id":"b","op":"zip.create","input":{"files":[{"step":"a","filename":"a.png"}]}}],"output":"b",` + to + `}`},
		"barcodes.create.zip":  {Path: "/v1/barcodes", Body: `{"type":"qr","text":"b","then":[{"op":"zip.create","input":{"files":[{"step":"previous","filename":"b.png"}]}}],` + to + `}`},
	} {
		got := s.Send(t, request).OK(t)
		if object := objectOf(t, files, "out/"+key); object != got.Body || !strings.HasPrefix(object, "PK") {
			t.Errorf("%s: the object has %d bytes", key, len(object))
		}
	}
}

// TestDeliverAgainToBucket: the repeat of a call reports the delivery, also if the connection was deleted. store: false
// keeps nothing of it.
func TestDeliverAgainToBucket(t *testing.T) {
	t.Parallel()
	files := fakes3.Start(t)
	s := apitest.New(t, apitest.Options{Change: quiet})
	if err := s.Store.SetKeepInputs(t.Context(), s.Account.ID, true); err != nil {
		t.Fatal(err)
	}
	made := newConnection(t, s, bucketBody("archive", files.TLS(t), fakes3.AccessKey, fakes3.SecretKey))
	to := `{"s3":{"connection":"` + made.ID + `","key":"{{id}}"}}`
	body := deliverBody("url", to)
	first := withKey(t, s, "k", echo, body).OK(t)
	unstored := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"0123456789","store":false,"deliverTo":` + to + `}`}).OK(t)
	id := unstored.Header.Get("x-service-id")
	if got := objectOf(t, files, "out/"+id); got != "0123456789" {
		t.Errorf("without a copy, the object is %q", got)
	}
	if d, err := s.Store.Delivered(t.Context(), id); err != nil || d.Key != "" || d.ConnectionID != made.ID {
		t.Errorf("without a copy, delivered is %+v, %v", d, err)
	}
	s.Send(t, apitest.Request{Method: http.MethodDelete, Path: connections + "/" + made.ID}).OK(t)
	again := withKey(t, s, "k", echo, body).OK(t)
	if d := fileURL(t, again).Delivered; again.Body != first.Body || d == nil || d.ConnectionID != made.ID {
		t.Errorf("the repeat is %s, the first was %s", again.Body, first.Body)
	}
	file, err := s.Store.PublicFile(t.Context(), fileURL(t, first).ID)
	if err != nil {
		t.Fatal(err)
	}
	if input, err := s.API.Calls.Input(t.Context(), s.Store, s.Account.ID, file.CallID); err != nil || strings.Contains(string(input), made.ID) {
		t.Errorf("the stored input is %s, %v", input, err)
	}
}

// TestBucketTestNamesTheStep that fails, and repeats no text of the server.
func TestBucketTestNamesTheStep(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	files := fakes3.Start(t)
	endpoint := files.TLS(t)
	s := apitest.New(t, apitest.Options{Change: quiet})
	broken := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, endpoint, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(broken.Close)
	dead := httptest.NewTLSServer(nil)
	dead.Close()
	for name, test := range map[string]struct{ body, step, message string }{
		"wrong secret": {bucketBody("a", endpoint, fakes3.AccessKey, "canary-secret"), "authenticate", "status 403 (SignatureDoesNotMatch)"},
		"wrong bucket": {strings.Replace(bucketBody("b", endpoint, fakes3.AccessKey, fakes3.SecretKey), `"documents"`, `"missing"`, 1), "write", "status 404 (NoSuchBucket)"},
		"redirected":   {bucketBody("c", broken.URL, fakes3.AccessKey, fakes3.SecretKey), "write", "Redirects are not followed"},
		"unreachable":  {bucketBody("d", dead.URL, fakes3.AccessKey, fakes3.SecretKey), "connect", "refused or closed"},
	} {
		made := newConnection(t, s, test.body)
		if got := testConnection(t, s, made.ID); got.OK || got.FailedStep != test.step || !strings.Contains(got.Message, test.message) {
			t.Errorf("%s: the test is %+v", name, got)
		}
		f := s.Send(t, apitest.Request{Path: echo, Body: deliverBody("binary", `{"s3":{"connection":"`+made.ID+`","key":"a"}}`)})
		if name != "unreachable" { // which is tried again
			if f := f.Refused(t, wire.DeliveryFailed); len(f.Details) != 1 || f.Details[0].Field != "deliverTo.s3.connection" || !strings.Contains(f.Message, "not charged. Test the connection "+made.ID) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	expectBalance(t, s, apitest.Trial)
}

// fileServer is an SFTP server in this process, in a folder of its own.
type fileServer struct {
	host, port, folder, hostKey string
	sessions                    atomic.Int64
}

const filePassword = "canary-password"

// newFileServer starts a server with a key for each seed.
func newFileServer(t *testing.T, seeds ...byte) *fileServer {
	t.Helper()
	f := &fileServer{folder: t.TempDir()}
	config := &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
		if c.User() != "maya" || string(password) != filePassword {
			return nil, fmt.Errorf("canary: no such user")
		}
		return nil, nil
	}, PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if ssh.FingerprintSHA256(key) != ssh.FingerprintSHA256(signerOf(t, 9).PublicKey()) {
			return nil, fmt.Errorf("no such key")
		}
		return nil, nil
	}}
	for _, seed := range seeds {
		signer := signerOf(t, seed)
		config.AddHostKey(signer)
		f.hostKey = ssh.FingerprintSHA256(signer.PublicKey())
	}
	f.host, f.port = sharedtest.Listen(t, func(conn net.Conn) { f.serve(conn, config) })
	return f
}

func signerOf(t *testing.T, seed byte) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize))))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func (f *fileServer) serve(conn net.Conn, config *ssh.ServerConfig) {
	sharedtest.ServeSSH(conn, config, func(channel ssh.Channel) {
		f.sessions.Add(1)
		if server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(f.folder)); err == nil {
			_ = server.Serve()
		}
	})
}

// body is the JSON of a connection to the server.
func (f *fileServer) body(name, more string) string {
	return fmt.Sprintf(`{"name":%q,"sftp":{"host":%q,"port":%s,"username":"maya","folder":"in"%s}}`, name, f.host, f.port, more)
}

// TestDeliverToFileServer: the first test learns the host key, and results arrive whole under their names.
func TestDeliverToFileServer(t *testing.T) {
	t.Parallel()
	server := newFileServer(t, 1)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		s.Work(t)
		made := newConnection(t, s, server.body("files", `,"password":"`+filePassword+`"`))
		destination := `{"sftp":{"connection":"` + made.ID + `","path":"{{date}}/{{id}}.{{extension}}"}}`
		f := s.Send(t, apitest.Request{Path: echo, Body: deliverBody("url", destination)}).Refused(t, wire.InvalidRequest)
		if len(f.Details) != 1 || f.Details[0].Field != "deliverTo.sftp.connection" || !strings.Contains(f.Message, "without a host key") {
			t.Errorf("before the test: %+v", f)
		}
		if got := testConnection(t, s, made.ID); !got.OK || got.HostKey != server.hostKey {
			t.Fatalf("the test is %+v", got)
		}
		got := decode[wire.Connection](t, s.Send(t, apitest.Request{Method: http.MethodGet, Path: connections + "/" + made.ID}).OK(t))
		if got.SFTP == nil || got.SFTP.HostKey != server.hostKey || got.Kind != "sftp" {
			t.Errorf("the connection is %+v", got)
		}
		for range 2 { // the second time into the same folder
			link := fileURL(t, s.Send(t, apitest.Request{Path: echo, Body: deliverBody("url", destination)}))
			d := link.Delivered
			if d == nil || d.Kind != "sftp" || d.ConnectionID != made.ID || d.Key != "2026-03-10/"+link.ID+".txt" || d.StatusCode != 0 {
				t.Fatalf("delivered is %+v", d)
			}
			content, err := os.ReadFile(filepath.Join(server.folder, "in", d.Key))
			if err != nil || string(content) != "0123456789" {
				t.Errorf("the file is %q, %v", content, err)
			}
		}
		job := s.Await(t, s.Enqueue(t, apitest.Request{Path: echo, Body: deliverBody("async", `{"sftp":{"connection":"`+made.ID+`","path":"same.txt"}}`)}).ID)
		if job.Status != wire.JobCompleted || job.Delivered == nil || job.Delivered.Key != "same.txt" {
			t.Errorf("the job is %+v", job)
		}
		if left, err := filepath.Glob(filepath.Join(server.folder, "in", ".relaypdf-*")); err != nil || len(left) != 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
}

// TestFileServerTestNamesTheStep for servers that refuse, change their key, or close the connection.
func TestFileServerTestNamesTheStep(t *testing.T) {
	t.Parallel()
	server, other := newFileServer(t, 1), newFileServer(t, 2)
	closing := &fileServer{}
	closing.host, closing.port = sharedtest.Listen(t, func(conn net.Conn) { _ = conn.Close() })
	block, err := ssh.MarshalPrivateKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat("\t", ed25519.SeedSize))), "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := json.Marshal(string(pem.EncodeToMemory(block)))
	if err != nil {
		t.Fatal(err)
	}
	s := apitest.New(t, apitest.Options{Change: quiet})
	for name, test := range map[string]struct{ body, step, message string }{
		"password":       {server.body("a", `,"password":"canary-wrong"`), "authenticate", "rejected the user name"},
		"private key":    {server.body("b", `,"privateKey":`+string(key)), "", ""},
		"host key":       {other.body("c", `,"password":"`+filePassword+`","hostKey":"`+server.hostKey+`"`), "hostKey", other.hostKey},
		"right host key": {server.body("d", `,"password":"`+filePassword+`","hostKey":"`+server.hostKey+`"`), "", ""},
		"closed":         {closing.body("e", `,"password":"`+filePassword+`"`), "connect", "closed the connection"},
	} {
		made := newConnection(t, s, test.body)
		got := testConnection(t, s, made.ID)
		if got.OK != (test.step == "") || got.FailedStep != test.step || !strings.Contains(got.Message, test.message) || strings.Contains(got.Message, "canary") {
			t.Errorf("%s: the test is %+v", name, got)
		}
	}
}

// TestConnectionFaults: invalid connections and destinations are refused by name, and secrets are not repeated.
func TestConnectionFaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	bucket := newConnection(t, s, bucketBody("taken", "https://s3.example.com", "k", "canary"))
	server := newConnection(t, s, `{"name":"server","sftp":{"host":"files.example.com","username":"maya","password":"canary"}}`)
	for body, want := range map[string]string{
		`{"name":"a"}`: "Send exactly one of s3 and sftp",
		bucketBody("taken", "https://s3.example.com", "k", "canary"):                                                                             "name must be unique",
		bucketBody("a", "https://s3.example.com/path", "k", "canary"):                                                                            "s3.endpoint must be an https URL without a path",
		`{"name":"a","s3":{"bucket":"A_","accessKeyId":"k","secretAccessKey":"canary"}}`:                                                         "s3.bucket must have 3 to 63",
		`{"name":"a","s3":{"bucket":"abc","accessKeyId":"k"}}`:                                                                                   "s3.secretAccessKey is required",
		`{"name":"a","s3":{"bucket":"abc","accessKeyId":"k","secretAccessKey":"canary","prefix":"a/../b"}}`:                                      "s3.prefix must not contain the path segments . and ..",
		`{"name":"a","sftp":{"host":"files.example.com","username":"u"}}`:                                                                        "Send exactly one of sftp.password and sftp.privateKey",
		`{"name":"a","sftp":{"host":"files.example.com","username":"u","privateKey":"canary"}}`:                                                  "sftp.privateKey must be a private key",
		`{"name":"a","sftp":{"host":"files.example.com/x","username":"u","password":"canary"}}`:                                                  "sftp.host must be a host name",
		`{"name":"a","sftp":{"host":"files.example.com","username":"u","password":"canary","hostKey":"MD5:00"}}`:                                 "sftp.hostKey must be a SHA-256 fingerprint",
		`{"name":"a","sftp":{"host":"files.example.com","username":"u","password":"canary","port":0}}`:                                           "sftp.port must be",
		`{"name":"a","s3":{"bucket":"abc","accessKeyId":"k","secretAccessKey":"canary"},"sftp":{"host":"h","username":"u","password":"canary"}}`: "Send exactly one of s3 and sftp",
	} {
		if f := s.Send(t, apitest.Request{Path: connections, Body: body}).Refused(t, wire.InvalidRequest); !strings.Contains(f.Message, want) || strings.Contains(f.Message, "canary") {
			t.Errorf("%s: got %q, want %q", body, f.Message, want)
		}
	}
	for body, field := range map[string]string{
		bucketBody("a", "http://s3.example.com", "k", "canary"):                             "s3.endpoint",
		bucketBody("a", "https://10.0.0.1", "k", "canary"):                                  "s3.endpoint",
		`{"name":"a","sftp":{"host":"localhost","username":"u","password":"canary"}}`:       "sftp.host",
		`{"name":"a","sftp":{"host":"192.168.1.1","username":"u","password":"canary"}}`:     "sftp.host",
		`{"name":"a","sftp":{"host":"::1","username":"u","password":"canary"}}`:             "sftp.host",
		`{"name":"a","sftp":{"host":"169.254.169.254","username":"u","password":"canary"}}`: "sftp.host",
	} {
		if f := s.Send(t, apitest.Request{Path: connections, Body: body}).Refused(t, wire.URLNotAllowed); len(f.Details) != 1 || f.Details[0].Field != field {
			t.Errorf("%s: got %+v", body, f)
		}
	}
	key := func(pattern string) string {
		return `{"s3":{"connection":"` + bucket.ID + `","key":"` + pattern + `"}}`
	}
	for destination, want := range map[string]string{
		`{}`: "deliverTo must have exactly one of url, s3 and sftp",
		`{"url":"https://127.0.0.1/","s3":{"connection":"x","key":"a"}}`:            "deliverTo must have exactly one of",
		`{"headers":{"X-A":"1"},"s3":{"connection":"` + bucket.ID + `","key":"a"}}`: "deliverTo.headers is allowed with url only",
		`{"s3":{"connection":"conn_missing","key":"a"}}`:                            "deliverTo.s3.connection must be the ID of a connection of kind s3",
		`{"s3":{"connection":"` + server.ID + `","key":"a"}}`:                       "deliverTo.s3.connection must be the ID of a connection of kind s3",
		`{"sftp":{"connection":"` + server.ID + `","path":"a"}}`:                    "deliverTo.sftp.connection names a connection without a host key",
		key("{{user}}.pdf"):           "deliverTo.s3.key has the unknown variable \"user\". Valid: date, time, id, operation, filename, extension",
		key("{{date.pdf"):             "deliverTo.s3.key has an incomplete variable",
		key("/a"):                     "deliverTo.s3.key must not start or end with /",
		key("a/"):                     "deliverTo.s3.key must not start or end with /",
		key("a/../b"):                 "deliverTo.s3.key must not contain the path segments . and ..",
		key(`a\\..\\b`):               "deliverTo.s3.key must not contain the path segments . and ..",
		key(`a\u0007b`):               "deliverTo.s3.key must be UTF-8 without control characters",
		key(strings.Repeat("ä", 513)): "deliverTo.s3.key must be at most 1024 bytes; got 1026",
		`{"sftp":{"connection":"` + server.ID + `","path":"../a"}}`: "deliverTo.sftp.path must not contain the path segments . and ..",
	} {
		if f := s.Send(t, apitest.Request{Path: echo, Body: deliverBody("binary", destination)}).Refused(t, wire.InvalidRequest); !strings.Contains(f.Message, want) {
			t.Errorf("%s: got %q, want %q", destination, f.Message, want)
		}
	}
}

// TestConnections lists, limits and deletes them; other accounts and restricted keys do not reach them. A job whose
// connection was deleted fails by name, and is free.
func TestConnections(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		list := apitest.Request{Method: http.MethodGet, Path: connections}
		if got := strings.TrimSpace(s.Send(t, list).OK(t).Body); got != `{"connections":[]}` {
			t.Errorf("at first the list is %s", got)
		}
		first := newConnection(t, s, bucketBody("0", "https://s3.example.com", "k", "canary"))
		for n := 1; n < 20; n++ {
			newConnection(t, s, bucketBody(fmt.Sprint(n), "https://s3.example.com", "k", "canary"))
		}
		f := s.Send(t, apitest.Request{Path: connections, Body: bucketBody("20", "https://s3.example.com", "k", "canary")}).Refused(t, wire.InvalidRequest)
		if f.Message != "Connection limit reached: 20 of 20. Delete an unused connection first." {
			t.Errorf("the limit is %q", f.Message)
		}
		if got := s.Send(t, list).OK(t); len(decode[wire.ConnectionList](t, got).Connections) != 20 || strings.Contains(got.Body, "canary") {
			t.Errorf("the list is %s", got.Body)
		}
		_, _, secret := s.NewAccount(t, "other@example.com")
		other := http.Header{"Authorization": {"Bearer " + secret}}
		one := connections + "/" + first.ID
		for _, r := range []apitest.Request{{Method: http.MethodGet, Path: one}, {Method: http.MethodDelete, Path: one}, {Path: one + "/test"}} {
			r.Header = other
			s.Send(t, r).Refused(t, wire.NotFound)
		}
		f = s.Send(t, apitest.Request{Path: echo, Header: other, Body: deliverBody("binary", `{"s3":{"connection":"`+first.ID+`","key":"a"}}`)}).Refused(t, wire.InvalidRequest)
		if len(f.Details) != 1 || f.Details[0].Field != "deliverTo.s3.connection" {
			t.Errorf("the connection of another account: %+v", f)
		}
		id := s.Enqueue(t, apitest.Request{Path: echo, Body: deliverBody("async", `{"s3":{"connection":"`+first.ID+`","key":"a"}}`)}).ID
		s.Send(t, apitest.Request{Method: http.MethodDelete, Path: one}).OK(t)
		s.Send(t, apitest.Request{Method: http.MethodDelete, Path: one}).Refused(t, wire.NotFound)
		s.Work(t)
		job := s.Await(t, id)
		if job.Status != wire.JobFailed || job.Error.Code != string(wire.DeliveryFailed) || !strings.Contains(job.Error.Message, "The connection "+first.ID+" was deleted.") {
			t.Errorf("the job is %+v, %+v", job, job.Error)
		}
		expectBalance(t, s, apitest.Trial)
	})
}

// TestConnectionUpdate changes settings without the secret, which stays with its server.
func TestConnectionUpdate(t *testing.T) {
	t.Parallel()
	server := newFileServer(t, 1)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		made := newConnection(t, s, server.body("files", `,"password":"`+filePassword+`"`))
		newConnection(t, s, bucketBody("taken", "https://s3.example.com", "k", "canary"))
		update := func(body string) apitest.Response {
			return s.Send(t, apitest.Request{Method: http.MethodPatch, Path: connections + "/" + made.ID, Body: body})
		}
		if got := decode[wire.Connection](t, update(`{"name":"new"}`).OK(t)); got.Name != "new" || got.SFTP == nil || got.SFTP.Folder != "in" {
			t.Errorf("with a new name, the connection is %+v", got)
		}
		if got := testConnection(t, s, made.ID); !got.OK {
			t.Errorf("with a new name, the test is %+v", got)
		}
		at := fmt.Sprintf(`"host":%q,"port":%s,"username":"maya"`, server.host, server.port)
		got := decode[wire.Connection](t, update(`{"sftp":{`+at+`,"folder":"other"}}`).OK(t))
		if got.SFTP.Folder != "other" || got.SFTP.HostKey != server.hostKey {
			t.Errorf("in another folder, the connection is %+v", got.SFTP)
		}
		if got := testConnection(t, s, made.ID); !got.OK {
			t.Errorf("in another folder, the test is %+v", got)
		}
		for body, want := range map[string]string{
			`{"name":"taken"}`: "name must be unique",
			`{"sftp":{"host":"files.example.com","username":"maya"}}`:                    "Send exactly one of sftp.password and sftp.privateKey",
			`{"sftp":{` + at + `,"hostKey":"SHA256:` + strings.Repeat("A", 43) + `"}}`:   "Send exactly one of sftp.password and sftp.privateKey",
			`{"s3":{"bucket":"abc","accessKeyId":"k","secretAccessKey":"canary"}}`:       "s3 must be absent, because this is a connection of kind sftp",
			`{"sftp":{"host":"files.example.com/x","username":"u","password":"canary"}}`: "sftp.host must be a host name",
		} {
			if f := update(body).Refused(t, wire.InvalidRequest); !strings.Contains(f.Message, want) || strings.Contains(f.Message, "canary") {
				t.Errorf("%s: got %q, want %q", body, f.Message, want)
			}
		}
		update(`{"sftp":{"host":"10.0.0.1","username":"u","password":"canary"}}`).Refused(t, wire.URLNotAllowed)
		moved := decode[wire.Connection](t, update(`{"sftp":{"host":"files.example.com","username":"u","password":"canary"}}`).OK(t))
		if moved.SFTP.Host != "files.example.com" || moved.SFTP.HostKey != "" {
			t.Errorf("on another server, the connection is %+v", moved.SFTP)
		}
		_, _, secret := s.NewAccount(t, "other@example.com")
		s.Send(t, apitest.Request{Method: http.MethodPatch, Path: connections + "/" + made.ID, Body: `{"name":"x"}`, Header: http.Header{"Authorization": {"Bearer " + secret}}}).Refused(t, wire.NotFound)
	})
}

// TestConnectionToPrivateName: a name that resolves to a private address is refused on connection.
func TestConnectionToPrivateName(t *testing.T) {
	t.Parallel()
	policy, err := egress.New(egress.Config{Resolver: inwards{}})
	if err != nil {
		t.Fatal(err)
	}
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		cfg.Outbound = inwardOutbound{outbound{cfg.Outbound, policy.Client(egress.ClientConfig{})}, policy}
	}})
	for _, body := range []string{
		bucketBody("a", "https://inwards.example.com", "k", "canary"),
		`{"name":"b","sftp":{"host":"inwards.example.com","username":"maya","password":"canary","hostKey":"SHA256:` + strings.Repeat("A", 43) + `"}}`,
	} {
		made := newConnection(t, s, body)
		if got := testConnection(t, s, made.ID); got.OK || got.FailedStep != "connect" || got.Message != "The host or port is not allowed. Use a public host, and a port that is not reserved for a different protocol." {
			t.Errorf("%s: the test is %+v", made.Kind, got)
		}
		to := `{"s3":{"connection":"` + made.ID + `","key":"a"}}`
		if made.SFTP != nil {
			to = `{"sftp":{"connection":"` + made.ID + `","path":"a"}}`
		}
		s.Send(t, apitest.Request{Path: echo, Body: deliverBody("binary", to)}).Refused(t, wire.URLNotAllowed)
	}
}

// TestConnectionTestsAreLimited, because they log in to servers of the user's choice.
func TestConnectionTestsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	closing := &fileServer{}
	closing.host, closing.port = sharedtest.Listen(t, func(conn net.Conn) { _ = conn.Close() })
	made := newConnection(t, s, closing.body("a", `,"password":"canary"`))
	s.API.Connections.Limiter = ratelimit.NewMemory(nil)
	for range 30 {
		testConnection(t, s, made.ID)
	}
	f := s.Send(t, apitest.Request{Path: connections + "/" + made.ID + "/test"}).Refused(t, wire.RateLimited)
	if !strings.HasPrefix(f.Message, "Connection test limit reached: 30 of 30 an hour. Retry in ") {
		t.Errorf("got %q", f.Message)
	}
}

// TestLostSecretIsReplaced: a connection whose secret cannot be decrypted any more works with a new one.
func TestLostSecretIsReplaced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	server := newFileServer(t, 1)
	made := newConnection(t, s, server.body("files", `,"password":"`+filePassword+`","hostKey":"`+server.hostKey+`"`))
	row, err := s.Store.Connection(t.Context(), s.Account.ID, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	lost := row
	lost.Secret = []byte("of another key")
	if err := s.Store.UpdateConnection(t.Context(), row, lost); err != nil {
		t.Fatal(err)
	}
	update := func(body string) apitest.Response {
		return s.Send(t, apitest.Request{Method: http.MethodPatch, Path: connections + "/" + made.ID, Body: body})
	}
	update(`{"name":"other"}`).Refused(t, wire.InternalError)
	update(`{"sftp":{"host":"` + server.host + `","port":` + server.port + `,"username":"maya","folder":"in","password":"` + filePassword + `"}}`).OK(t)
	if got := testConnection(t, s, made.ID); !got.OK {
		t.Errorf("the test is %+v", got)
	}
}

// TestConnectionsChangedAtOnce: a change of the name, and one of the secret meanwhile, both apply.
func TestConnectionsChangedAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		server := newFileServer(t, 1)
		made := newConnection(t, s, server.body("files", `,"password":"wrong","hostKey":"`+server.hostKey+`"`))
		var all sync.WaitGroup
		for _, body := range []string{
			`{"name":"renamed"}`, `{"sftp":{"host":"` + server.host + `","port":` + server.port + `,"username":"maya","folder":"in","password":"` + filePassword + `"}}`,
		} {
			all.Go(func() {
				s.Send(t, apitest.Request{Method: http.MethodPatch, Path: connections + "/" + made.ID, Body: body}).OK(t)
			})
		}
		all.Wait()
		got := decode[wire.Connection](t, s.Send(t, apitest.Request{Method: http.MethodGet, Path: connections + "/" + made.ID}).OK(t))
		if test := testConnection(t, s, made.ID); got.Name != "renamed" || !test.OK {
			t.Errorf("got %+v, the test is %+v", got, test)
		}
	})
}

// TestFailedLoginsAreLimited, because a delivery that cannot log in is free.
func TestFailedLoginsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	server := newFileServer(t, 1)
	wrong := newConnection(t, s, server.body("wrong", `,"password":"guess","hostKey":"`+server.hostKey+`"`))
	right := newConnection(t, s, server.body("right", `,"password":"`+filePassword+`","hostKey":"`+server.hostKey+`"`))
	sends := func(id string) apitest.Response {
		s.Clock.Advance(10 * time.Second) // within the rate limit
		return s.Send(t, apitest.Request{Path: echo, Body: deliverBody("binary", `{"sftp":{"connection":"`+id+`","path":"a"}}`)})
	}
	sends(right.ID).OK(t)
	for range 30 {
		if f := sends(wrong.ID).Refused(t, wire.DeliveryFailed); !strings.Contains(f.Message, "rejected the user name") {
			t.Fatalf("got %q", f.Message)
		}
	}
	for _, id := range []string{wrong.ID, right.ID} {
		if f := sends(id).Refused(t, wire.DeliveryFailed); !strings.Contains(f.Message, "30 failed SFTP logins within an hour") {
			t.Errorf("got %q", f.Message)
		}
	}
}

// TestConnectionsOfSecretsThatAreNumbers: an error does not repeat them.
func TestConnectionsOfSecretsThatAreNumbers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	f := s.Send(t, apitest.Request{Path: connections, Body: `{"name":"a","sftp":{"host":"files.example.com","username":"u","password":12345678}}`}).Refused(t, wire.InvalidRequest)
	if len(f.Details) != 1 || f.Details[0].Field != "sftp.password" || strings.Contains(f.Message, "1234") {
		t.Errorf("got %+v", f)
	}
}

// inwardOutbound resolves all names to private addresses.
type inwardOutbound struct {
	outbound
	policy *egress.Policy
}

func (o inwardOutbound) DialSSH(ctx context.Context, address string) (net.Conn, error) {
	return o.policy.DialSSH(ctx, address)
}

// watchedOutbound closes a channel when it connects by SSH for the first time.
type watchedOutbound struct {
	service.Outbound
	dialed chan struct{}
}

func (o watchedOutbound) DialSSH(ctx context.Context, address string) (net.Conn, error) {
	close(o.dialed)
	return o.Outbound.DialSSH(ctx, address)
}

// TestClientLeavesDuringFileDelivery: a server that says nothing does not hold the call, which ends unpaid.
func TestClientLeavesDuringFileDelivery(t *testing.T) {
	t.Parallel()
	dialed := make(chan struct{})
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) {
		quiet(cfg)
		cfg.Outbound = watchedOutbound{cfg.Outbound, dialed}
	}})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-dialed
		leave()
	}()
	silent := &fileServer{}
	silent.host, silent.port = sharedtest.Listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }) // until the other side closes it
	made := newConnection(t, s, silent.body("silent", `,"password":"canary","hostKey":"SHA256:`+strings.Repeat("A", 43)+`"`))
	input := map[string]any{"text": "a", "deliverTo": map[string]any{"sftp": map[string]any{"connection": made.ID, "path": "a"}}}
	if _, err := s.Client().Do(ctx, "test.echo", input, client.CallOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left got %v", err)
	}
	<-dialed
	waitForCalls(t, s)
	expectBalance(t, s, apitest.Trial)
}

// TestConnectionSecretIsEncrypted: it is not in the database, and not in responses.
func TestConnectionSecretIsEncrypted(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	for n, body := range []string{
		bucketBody("a", "https://s3.example.com", "k", "canary-secret"),
		`{"name":"b","sftp":{"host":"files.example.com","username":"maya","password":"canary-password"}}`,
	} {
		answer := s.Send(t, apitest.Request{Path: connections, Body: body})
		if answer.Status != http.StatusCreated || strings.Contains(answer.Body, "canary") {
			t.Errorf("connection %d: %d %s", n, answer.Status, answer.Body)
		}
	}
	file := strings.TrimPrefix(db.URL, "sqlite://")
	for _, path := range []string{file, file + "-wal"} {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), "canary") {
			t.Errorf("%s contains a secret", path)
		}
	}
}
