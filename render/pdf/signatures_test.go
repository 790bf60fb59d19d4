package pdf

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	integers "math/big"
	"testing"
	"time"

	"relaypdf/render/engine"
	"relaypdf/render/pdf/pdftest"
	"relaypdf/render/pdfsign"
	"relaypdf/render/spool"
)

// signed returns a signed document, and the certificate of its signer in PEM.
func signed(t testing.TB, content []byte) ([]byte, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: integers.NewInt(7), Subject: pkix.Name{CommonName: "Ada"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := pdfsign.NewSigner(key, []*x509.Certificate{certificate})
	if err != nil {
		t.Fatal(err)
	}
	made, err := pdfsign.Sign(t.Context(), content, pdfsign.Job{
		Options: pdfsign.Options{Time: time.Now(), Reason: "Agreed"}, Level: pdfsign.LevelB, Key: signer, Chain: signer.Chain, Hash: crypto.SHA256,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	plain := three().Write()
	made, certificate := signed(t, plain)
	name := inputName(0)
	got := unmarshal[Verification](t, result(t, VerifyJob, VerifyArgs{Name: name, Trust: []string{certificate}}, made))
	if len(got.Signatures) != 1 || got.Verdict != "valid" {
		t.Fatalf("%+v", got)
	}
	s := got.Signatures[0]
	if s.Field != "Signature1" || *s.Signer != "CN=Ada" || *s.Level != "B-B" || !s.Intact || !s.Trusted || !s.WholeDocument || *s.SignReason != "Agreed" || *s.TimeSource != "signer" {
		t.Errorf("%+v", s)
	}
	if got := unmarshal[Verification](t, result(t, VerifyJob, VerifyArgs{Name: name}, made)); got.Verdict != "unknown" {
		t.Errorf("without trust: %s", got.Verdict)
	}
	if got := unmarshal[Verification](t, result(t, VerifyJob, VerifyArgs{Name: name}, plain)); got.Verdict != "unsigned" || len(got.Signatures) != 0 {
		t.Errorf("without a signature: %+v", got)
	}
	made[len(plain)-50] ^= 1
	if got, err := do(t, VerifyJob, VerifyArgs{Name: name, Trust: []string{certificate}}, made); err == nil && unmarshal[Verification](t, got.Body).Verdict != "invalid" {
		t.Errorf("changed: %s", got.Body)
	}
	fails(t, NotPDF, VerifyJob, VerifyArgs{Name: name}, []byte("hello"))
	fails(t, Unverified, VerifyJob, VerifyArgs{Name: name}, pdftest.Transform(t, plain, "--encrypt", "", "owner", "256", "--"))
	fails(t, NoCertificate, VerifyJob, VerifyArgs{Name: name, Trust: []string{"x"}}, plain)
}

// TestHostileSignatures: no hostile document stops the verification.
func TestHostileSignatures(t *testing.T) {
	t.Parallel()
	for name, content := range hostile() {
		result, err := pool.Run(t.Context(), engine.Job{Name: VerifyJob, Args: VerifyArgs{Name: inputName(0)}, Files: []engine.File{{Name: inputName(0), Content: spool.FromBytes(content)}}})
		if failed, ok := FromJob(err).(*Error); err != nil && (!ok || failed.Kind != Unverified && failed.Kind != NotPDF) { //nolint:errorlint // the error itself
			t.Errorf("%s: %v", name, err)
		}
		_ = result.Close()
	}
}
