package pdfsign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"relaypdf/render/pdf/pdftest"
)

// authority is a root, an authority below it, a timestamp authority, and their servers: timestamps and the state of
// certificates are by openssl.
type authority struct {
	t            testing.TB
	dir          string
	root, issuer identity
	tsa          identity
	server       *httptest.Server
	mu           sync.Mutex
	revoked      map[string]time.Time // by serial number in hexadecimal digits
	issued       []*x509.Certificate
	calls        int
}

type identity struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

var serials = struct {
	sync.Mutex
	next int64
}{next: 4096}

const years = 365 * 24 * time.Hour

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), revoked: map[string]time.Time{}}
	a.server = httptest.NewServer(a)
	t.Cleanup(a.server.Close)
	ca := func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign|x509.KeyUsageDigitalSignature
	}
	a.root = a.identity("Root", newKey(t, "P-256"), nil, 30*years, ca)
	a.issuer = a.identity("Issuer", newKey(t, "P-256"), &a.root, 25*years, ca, a.listed)
	a.tsa = a.identity("Timestamps", newKey(t, "RSA"), &a.issuer, 20*years, a.listed, func(c *x509.Certificate) {
		c.KeyUsage = x509.KeyUsageDigitalSignature
		c.ExtraExtensions = timestamping()
	})
	a.save("tsa", a.tsa)
	a.save("issuer", a.issuer)
	a.save("root", a.root)
	chain := append(pemOf(a.issuer.certificate), pemOf(a.root.certificate)...)
	a.write("chain.pem", chain)
	a.write("serial", []byte("01\n"))
	a.write("ts.cnf", []byte("[tsa]\ndefault_tsa=one\n[one]\nserial="+a.path("serial")+"\ncrypto_device=builtin\nsigner_digest=sha256\ndefault_policy=1.2.3.4.1\n"+
		"digests=sha256,sha384,sha512\naccuracy=secs:1\nordering=no\ntsa_name=no\ness_cert_id_chain=no\ness_cert_id_alg=sha256\n"))
	return a
}

// timestamping is the critical purpose of timestamps.
func timestamping() []pkix.Extension {
	return []pkix.Extension{{Id: []int{2, 5, 29, 37}, Critical: true, Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 6, 1, 5, 5, 7, 3, 8}}}
}

// listed adds the list of revoked certificates to a certificate.
func (a *authority) listed(c *x509.Certificate) {
	c.CRLDistributionPoints = []string{a.server.URL + "/crl/" + c.Issuer.CommonName}
}

// answered adds the OCSP server to a certificate.
func (a *authority) answered(c *x509.Certificate) { c.OCSPServer = []string{a.server.URL + "/ocsp"} }

func newKey(t testing.TB, kind string) crypto.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch kind {
	case "P-256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "P-384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "RSA-4096":
		key, err = rsa.GenerateKey(rand.Reader, 4096)
	default:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) identity(name string, key crypto.Signer, by *identity, life time.Duration, options ...func(*x509.Certificate)) identity {
	a.t.Helper()
	serials.Lock()
	serials.next++
	number := serials.next
	serials.Unlock()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name, Organization: []string{"relaypdf"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life), KeyUsage: x509.KeyUsageContentCommitment,
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.certificate, by.key
		c.Issuer = parent.Subject
	}
	for _, option := range options {
		option(c)
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	a.issued = append(a.issued, made)
	return identity{made, key}
}

// signer issues a certificate and returns its signer.
func (a *authority) signer(name, kind string) *Signer {
	a.t.Helper()
	id := a.identity(name, newKey(a.t, kind), &a.issuer, years, a.answered)
	s, err := NewSigner(id.key, []*x509.Certificate{id.certificate, a.issuer.certificate})
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

func (a *authority) job(s *Signer, level Level) Job {
	return Job{
		Options: Options{Time: time.Now(), Reason: "Agreed"}, Level: level, Key: s, Chain: s.Chain, Hash: s.Hash,
		Trust: []*x509.Certificate{a.root.certificate, a.issuer.certificate}, Network: a.network(),
	}
}

func (a *authority) trust() Trust { return Trust{Roots: []*x509.Certificate{a.root.certificate}} }

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name string, content []byte) {
	if err := os.WriteFile(a.path(name), content, 0o600); err != nil {
		a.t.Error(err)
	}
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func (a *authority) save(name string, id identity) {
	raw, err := x509.MarshalPKCS8PrivateKey(id.key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", pemOf(id.certificate))
	a.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// network sends the requests to the servers.
func (a *authority) network() Network {
	send := func(ctx context.Context, url, kind string, body []byte) ([]byte, error) {
		method := http.MethodPost
		if body == nil {
			method = http.MethodGet
		}
		r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", kind)
		response, err := a.server.Client().Do(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("status %d", response.StatusCode)
		}
		return io.ReadAll(response.Body)
	}
	return Network{
		Timestamp: func(ctx context.Context, request []byte) ([]byte, error) {
			return send(ctx, a.server.URL+"/tsa", "application/timestamp-query", request)
		},
		Fetch: func(ctx context.Context, r Request) ([]byte, error) {
			return send(ctx, r.URL, "application/ocsp-request", r.Body)
		},
	}
}

// ServeHTTP is the timestamp authority, the OCSP server, and the lists of revoked certificates.
func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	body, _ := io.ReadAll(r.Body)
	a.write("query", body)
	switch {
	case r.URL.Path == "/tsa":
		a.openssl(w, "ts", "-reply", "-config", a.path("ts.cnf"), "-queryfile", a.path("query"), "-signer", a.path("tsa.pem"), "-inkey", a.path("tsa.key"), "-out", a.path("reply"))
	case r.URL.Path == "/ocsp":
		a.write("index.txt", a.index())
		a.write("index.txt.attr", nil)
		a.openssl(w, "ocsp", "-index", a.path("index.txt"), "-CA", a.path("issuer.pem"), "-rsigner", a.path("issuer.pem"), "-rkey", a.path("issuer.key"),
			"-reqin", a.path("query"), "-respout", a.path("reply"), "-ndays", "7")
	case strings.HasPrefix(r.URL.Path, "/crl/"):
		by := a.issuer
		if strings.HasSuffix(r.URL.Path, "Root") {
			by = a.root
		}
		a.list(w, by)
	default:
		http.NotFound(w, r)
	}
}

func (a *authority) openssl(w http.ResponseWriter, args ...string) {
	if out, err := exec.Command("openssl", args...).CombinedOutput(); err != nil {
		http.Error(w, string(out), http.StatusInternalServerError)
		return
	}
	reply, err := os.ReadFile(a.path("reply"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(reply)
}

// index is the list of certificates as openssl ca has it.
func (a *authority) index() []byte {
	const layout = "060102150405Z"
	var out bytes.Buffer
	for _, c := range a.issued {
		serial := fmt.Sprintf("%04X", c.SerialNumber)
		state, revoked := "V", ""
		if at, ok := a.revoked[serial]; ok {
			state, revoked = "R", at.UTC().Format(layout)
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\tunknown\t/CN=%s\n", state, c.NotAfter.UTC().Format(layout), revoked, serial, c.Subject.CommonName)
	}
	return out.Bytes()
}

func (a *authority) list(w http.ResponseWriter, by identity) {
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(24 * time.Hour)}
	for serial, at := range a.revoked {
		number, _ := new(big.Int).SetString(serial, 16)
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: number, RevocationTime: at})
	}
	raw, err := x509.CreateRevocationList(rand.Reader, list, by.certificate, by.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(raw)
}

// pdfsig returns what poppler reports about the signatures of a document.
func pdfsig(t testing.TB, content []byte) string {
	t.Helper()
	return pdftest.Tool(t, "pdfsig", pdftest.Save(t, content))
}
