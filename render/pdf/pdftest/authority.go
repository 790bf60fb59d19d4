package pdftest

import (
	"bytes"
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
)

// Authority is a root, an authority below it, a timestamp authority, and their servers, which are an http.Handler:
// timestamps and the state of certificates are by openssl.
type Authority struct {
	T            testing.TB
	URL          string
	dir          string
	Root, Issuer Identity
	TSA          Identity
	mu           sync.Mutex
	revoked      map[string]time.Time // by serial number in hexadecimal digits
	issued       []*x509.Certificate
}

// Identity is a key and its certificate.
type Identity struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// serials are shared by all authorities.
var serials = struct {
	sync.Mutex
	next int64
}{next: 4096}

// Years is a year, for lives of certificates.
const Years = 365 * 24 * time.Hour

// NewAuthority returns an authority whose servers are at a URL; empty is a server of its own.
func NewAuthority(t testing.TB, url string) *Authority {
	t.Helper()
	a := &Authority{T: t, URL: url, dir: t.TempDir(), revoked: map[string]time.Time{}}
	if url == "" {
		server := httptest.NewServer(a)
		t.Cleanup(server.Close)
		a.URL = server.URL
	}
	ca := func(c *x509.Certificate) {
		c.IsCA = true
		c.BasicConstraintsValid = true
		c.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	}
	a.Root = a.Identity("Root", NewKey(t, "P-256"), nil, 30*Years, ca)
	a.Issuer = a.Identity("Issuer", NewKey(t, "P-256"), &a.Root, 25*Years, ca, a.Listed)
	a.TSA = a.Identity("Timestamps", NewKey(t, "RSA"), &a.Issuer, 20*Years, a.Listed, func(c *x509.Certificate) {
		c.KeyUsage = x509.KeyUsageDigitalSignature
		c.ExtraExtensions = Timestamping()
	})
	a.Save("tsa", a.TSA)
	a.Save("issuer", a.Issuer)
	a.Save("root", a.Root)
	chain := append(pemOf(a.Issuer.Certificate), pemOf(a.Root.Certificate)...)
	a.write("chain.pem", chain)
	a.write("serial", []byte("01\n"))
	a.write("ts.cnf", []byte("[tsa]\ndefault_tsa=one\n[one]\nserial="+a.Path("serial")+"\ncrypto_device=builtin\nsigner_digest=sha256\ndefault_policy=1.2.3.4.1\n"+
		"digests=sha256,sha384,sha512\naccuracy=secs:1\nordering=no\ntsa_name=no\ness_cert_id_chain=no\ness_cert_id_alg=sha256\n"))
	return a
}

// Timestamping is the critical purpose of timestamps.
func Timestamping() []pkix.Extension {
	return []pkix.Extension{{Id: []int{2, 5, 29, 37}, Critical: true, Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 6, 1, 5, 5, 7, 3, 8}}}
}

// Listed adds the list of revoked certificates to a certificate.
func (a *Authority) Listed(c *x509.Certificate) {
	c.CRLDistributionPoints = []string{a.URL + "/crl/" + c.Issuer.CommonName}
}

// Answered adds the OCSP server to a certificate.
func (a *Authority) Answered(c *x509.Certificate) { c.OCSPServer = []string{a.URL + "/ocsp"} }

// NewKey returns a key on P-256 or P-384, or an RSA key of 4096 or 2048 bits.
func NewKey(t testing.TB, kind string) crypto.Signer {
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

// Identity issues a certificate; without an issuer it signs itself.
func (a *Authority) Identity(name string, key crypto.Signer, by *Identity, life time.Duration, options ...func(*x509.Certificate)) Identity {
	a.T.Helper()
	serials.Lock()
	serials.next++
	number := serials.next
	serials.Unlock()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name, Organization: []string{"relaypdf"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life), KeyUsage: x509.KeyUsageContentCommitment,
	}
	parent := c
	signer := key
	if by != nil {
		parent = by.Certificate
		signer = by.Key
		c.Issuer = parent.Subject
	}
	for _, option := range options {
		option(c)
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.T.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		a.T.Fatal(err)
	}
	a.issued = append(a.issued, made)
	return Identity{made, key}
}

// Path returns the path of a file of the authority, such as chain.pem.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) write(name string, content []byte) {
	if err := os.WriteFile(a.Path(name), content, 0o600); err != nil {
		a.T.Error(err)
	}
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Save writes the certificate and the key of an identity into files.
func (a *Authority) Save(name string, id Identity) {
	raw, err := x509.MarshalPKCS8PrivateKey(id.Key)
	if err != nil {
		a.T.Fatal(err)
	}
	a.write(name+".pem", pemOf(id.Certificate))
	a.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// ServeHTTP is the timestamp authority, the OCSP server, and the lists of revoked certificates.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	a.write("query", body)
	switch {
	case strings.HasSuffix(r.URL.Path, "/tsa"):
		a.openssl(w, "ts", "-reply", "-config", a.Path("ts.cnf"), "-queryfile", a.Path("query"), "-signer", a.Path("tsa.pem"), "-inkey", a.Path("tsa.key"), "-chain", a.Path("chain.pem"), "-out", a.Path("reply"))
	case strings.HasSuffix(r.URL.Path, "/ocsp"):
		a.write("index.txt", a.index())
		a.write("index.txt.attr", []byte("unique_subject = no\n"))
		a.openssl(w, "ocsp", "-index", a.Path("index.txt"), "-CA", a.Path("issuer.pem"), "-rsigner", a.Path("issuer.pem"), "-rkey", a.Path("issuer.key"),
			"-reqin", a.Path("query"), "-respout", a.Path("reply"), "-ndays", "7")
	case strings.Contains(r.URL.Path, "/crl/"):
		by := a.Issuer
		if strings.HasSuffix(r.URL.Path, "Root") {
			by = a.Root
		}
		a.list(w, by)
	default:
		http.NotFound(w, r)
	}
}

func (a *Authority) openssl(w http.ResponseWriter, args ...string) {
	if out, err := exec.CommandContext(a.T.Context(), "openssl", args...).CombinedOutput(); err != nil {
		http.Error(w, string(out), http.StatusInternalServerError)
		return
	}
	reply, err := os.ReadFile(a.Path("reply"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(reply)
}

// index is the list of certificates as openssl ca has it.
func (a *Authority) index() []byte {
	const layout = "060102150405Z"
	var out bytes.Buffer
	for _, c := range a.issued {
		serial := fmt.Sprintf("%04X", c.SerialNumber)
		state := "V"
		revoked := ""
		if at, ok := a.revoked[serial]; ok {
			state, revoked = "R", at.UTC().Format(layout)
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\tunknown\t/CN=%s\n", state, c.NotAfter.UTC().Format(layout), revoked, serial, c.Subject.CommonName)
	}
	return out.Bytes()
}

func (a *Authority) list(w http.ResponseWriter, by Identity) {
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(24 * time.Hour)}
	for serial, at := range a.revoked {
		number, _ := new(big.Int).SetString(serial, 16)
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: number, RevocationTime: at})
	}
	raw, err := x509.CreateRevocationList(rand.Reader, list, by.Certificate, by.Key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(raw)
}

// Revoke revokes a certificate at a time.
func (a *Authority) Revoke(c *x509.Certificate, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked[fmt.Sprintf("%04X", c.SerialNumber)] = at
}

// PKCS12 returns an identity and its chain as openssl exports them.
func (a *Authority) PKCS12(id Identity, password string, options ...string) []byte {
	a.T.Helper()
	a.Save("signer", id)
	args := []string{"pkcs12", "-export", "-in", a.Path("signer.pem"), "-inkey", a.Path("signer.key"), "-certfile", a.Path("chain.pem"), "-passout", "pass:" + password, "-out", a.Path("signer.p12")}
	Tool(a.T, "openssl", append(args, options...)...)
	return Load(a.T, a.Path("signer.p12"))
}
