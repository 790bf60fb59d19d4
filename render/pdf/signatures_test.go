package pdf

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	integers "math/big"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdfsign"
	"github.com/relaypdf/relaypdf/render/spool"
)

// newSigner returns a signer whose certificate is its own root.
func newSigner(t testing.TB) *pdfsign.Signer {
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
	return signer
}

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// signed returns a signed document, and the certificate of its signer in PEM.
func signed(t testing.TB, content []byte) ([]byte, string) {
	t.Helper()
	signer := newSigner(t)
	made, err := pdfsign.Sign(t.Context(), pdfsign.PDF{Content: content}, pdfsign.Job{
		Options: pdfsign.Options{Time: time.Now(), Reason: "Agreed"}, Level: pdfsign.LevelB, Key: signer, Chain: signer.Chain, Hash: signer.Hash,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made, pemOf(signer.Chain[0])
}

// signArgs returns the arguments that sign the first document of a job.
func signArgs(t testing.TB, signer *pdfsign.Signer) SignArgs {
	t.Helper()
	args := SignArgs{SealArgs: SealArgs{Input: input(""), RunState: RunState{At: time.Now(), Seed: []byte("seed")}}, Key: Key{Hash: signer.Hash}, Level: pdfsign.LevelB}
	args.Options.Time = args.At
	for _, c := range signer.Chain {
		args.Key.Chain = append(args.Key.Chain, c.Raw)
	}
	return args
}

// TestSignInSteps signs a document in steps: the ones with the key read no document, and the same request is made each
// time.
func TestSignInSteps(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	file, err := pkcs12.Modern.Encode(signer.Key, signer.Chain[0], nil, "secret")
	if err != nil {
		t.Fatal(err)
	}
	args := signArgs(t, signer)
	key := unmarshal[Key](t, result(t, SignKeyJob.Name, KeyArgs{PKCS12: file, Password: "secret"}))
	if len(key.Chain) != 1 || !bytes.Equal(key.Chain[0], signer.Chain[0].Raw) || key.Hash != crypto.SHA256 {
		t.Fatalf("%+v", key)
	}
	document := linked().Write()
	args.Options.Visible = &pdfsign.Visible{Page: 1, X: 10, Y: 10, Width: 200, Height: 40}
	args.Image = inputName(1)
	icon := plate(t, green, 30, 20)
	wanted := unmarshal[PendingRequests](t, result(t, SignJob.Name, args, document, icon))
	if again := unmarshal[PendingRequests](t, result(t, SignJob.Name, args, document, icon)); len(wanted.Requests) != 1 || !again.Requests[0].equal(wanted.Requests[0]) {
		t.Fatalf("%+v, then %+v", wanted, again)
	}
	cms := unmarshal[CMS](t, result(t, SignDigestJob.Name, KeyArgs{PKCS12: file, Password: "secret", Digest: wanted.Requests[0].Body}))
	args.Responses = []Response{{RemoteRequest: wanted.Requests[0], File: inputName(2)}}
	done := makeOne(t, SignJob.Name, args, document, icon, cms.Content)
	if !bytes.HasPrefix(done, document) {
		t.Error("the bytes of the document have changed")
	}
	if out := pdftest.Tool(t, "pdfsig", pdftest.Save(t, done)); !strings.Contains(out, "Signature is Valid") {
		t.Error(out)
	}
	verified := VerifyArgs{Input: input(""), Trust: []string{pemOf(signer.Chain[0])}}
	if got := unmarshal[Verification](t, result(t, VerifyJob.Name, verified, done)); got.Verdict != "valid" {
		t.Errorf("%+v", got)
	}
	runFailing(t, job.Unsigned, SignKeyJob.Name, KeyArgs{PKCS12: file, Password: "wrong"})
	runFailing(t, job.Unsigned, SignDigestJob.Name, KeyArgs{PKCS12: []byte("hello"), Digest: []byte("digest")})
	args.Responses[0].Error = "is not there"
	args.Options.Visible.Page = 9
	runFailing(t, job.Unsigned, SignJob.Name, args, document, icon)
	runFailing(t, images.NotImage, SignJob.Name, args, document, []byte("icon"))
	runFailing(t, job.NotPDF, SealJob.Name, args.SealArgs, []byte("hello"))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	plain := three().Write()
	made, certificate := signed(t, plain)
	got := unmarshal[Verification](t, result(t, VerifyJob.Name, VerifyArgs{Input: input(""), Trust: []string{certificate}}, made))
	if len(got.Signatures) != 1 || got.Verdict != "valid" {
		t.Fatalf("%+v", got)
	}
	s := got.Signatures[0]
	if s.Field != "Signature1" || *s.Signer != "CN=Ada" || *s.Level != "B-B" || !s.Intact || !s.Trusted || !s.WholeDocument || *s.SignReason != "Agreed" || *s.TimeSource != "signer" {
		t.Errorf("%+v", s)
	}
	if got := unmarshal[Verification](t, result(t, VerifyJob.Name, VerifyArgs{Input: input("")}, made)); got.Verdict != "unknown" {
		t.Errorf("without trust: %s", got.Verdict)
	}
	if got := unmarshal[Verification](t, result(t, VerifyJob.Name, VerifyArgs{Input: input("")}, plain)); got.Verdict != "unsigned" || len(got.Signatures) != 0 {
		t.Errorf("without a signature: %+v", got)
	}
	made[len(plain)-50] ^= 1
	if got, err := runJob(t, VerifyJob.Name, VerifyArgs{Input: input(""), Trust: []string{certificate}}, made); err == nil && unmarshal[Verification](t, got.Body).Verdict != "invalid" {
		t.Errorf("changed: %s", got.Body)
	}
	runFailing(t, job.NotPDF, VerifyJob.Name, VerifyArgs{Input: input("")}, []byte("hello"))
	runFailing(t, job.PasswordRequired, VerifyJob.Name, VerifyArgs{Input: input("")}, pdftest.Transform(t, plain, "--encrypt", "user", "owner", "256", "--"))
	runFailing(t, job.NoCertificate, VerifyJob.Name, VerifyArgs{Input: input(""), Trust: []string{"x"}}, plain)
}

// signAgain adds the signature of a signer to a document.
func signAgain(t testing.TB, content []byte, password string, signer *pdfsign.Signer, box *pdfsign.Visible) []byte {
	t.Helper()
	args := signArgs(t, signer)
	args.Input.Password, args.Options.Visible = password, box
	wanted := unmarshal[PendingRequests](t, result(t, SignJob.Name, args, content))
	cms, err := signer.Sign(wanted.Requests[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	args.Responses = []Response{{RemoteRequest: wanted.Requests[0], File: inputName(1)}}
	return makeOne(t, SignJob.Name, args, content, cms)
}

// TestCoveredText: a later signature whose box hides text of the page is named.
func TestCoveredText(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	plain := pdftest.Source{Pages: []string{"pay 100 EUR", "next"}}
	turned, cropped := plain, plain
	turned.Page = func(int) string { return "/Rotate 90" }
	cropped.Page = func(int) string { return "/CropBox [20 100 300 400]" }
	const all = `text of page 1: "pay 100 EUR"`
	for name, c := range map[string]struct {
		content  []byte
		password string
		box      pdfsign.Visible
		want     string
	}{
		"a text":               {plain.Write(), "", pdfsign.Visible{Page: 1, X: 30, Y: 70, Width: 220, Height: 40}, all},
		"an amount":            {plain.Write(), "", pdfsign.Visible{Page: 1, X: 90, Y: 70, Width: 40, Height: 40}, `text of page 1: "100"`},
		"a text on its side":   {turned.Write(), "", pdfsign.Visible{Page: 1, X: 290, Y: 30, Width: 40, Height: 220}, all},
		"a text within a crop": {cropped.Write(), "", pdfsign.Visible{Page: 1, X: 10, Y: 70, Width: 220, Height: 40}, all},
		"an encrypted text":    {pdftest.Transform(t, plain.Write(), "--encrypt", "user", "owner", "256", "--"), "user", pdfsign.Visible{Page: 1, X: 30, Y: 70, Width: 220, Height: 40}, all},
		"another page":         {plain.Write(), "", pdfsign.Visible{Page: 2, X: 30, Y: 70, Width: 220, Height: 40}, `text of page 2: "next"`},
		"no text":              {plain.Write(), "", pdfsign.Visible{Page: 1, X: 30, Y: 170, Width: 220, Height: 40}, ""},
	} {
		made := signAgain(t, signAgain(t, c.content, c.password, signer, nil), c.password, signer, &c.box)
		got := unmarshal[Verification](t, result(t, VerifyJob.Name, VerifyArgs{Input: job.Input{Name: inputName(0), Password: c.password}, Trust: []string{pemOf(signer.Chain[0])}}, made))
		text, want := "", "valid"
		for _, change := range got.Signatures[0].Changes {
			if change.Type == string(pdfsign.ChangeCover) {
				text, want = change.Text, "unknown"
			}
		}
		if _, part, _ := strings.Cut(text, `the box of the signature "Signature2" by "Ada" covers `); part != c.want || got.Verdict != want {
			t.Errorf("%s: %s %q, want %q: %+v", name, got.Verdict, text, c.want, got)
		}
	}
}

// TestHostileSignatures: no hostile document stops the verification.
func TestHostileSignatures(t *testing.T) {
	t.Parallel()
	for name, content := range hostile() {
		result, err := pool.Run(t.Context(), engine.Job{Name: VerifyJob.Name, Args: VerifyArgs{Input: input("")}, Files: []engine.File{{Name: inputName(0), Content: spool.FromBytes(content)}}})
		var failed *job.Error
		if err != nil && (!errors.As(job.FromJob(err), &failed) || failed.Kind != job.Unverified && failed.Kind != job.NotPDF) {
			t.Errorf("%s: %v", name, err)
		}
		_ = result.Close()
	}
}
