package pdfsign

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// form is a document with two fields for signatures, of which one locks a text field, and with a text field.
func form() []byte {
	return pdftest.Source{
		Pages:   []string{"form"},
		Catalog: "/AcroForm 104 0 R",
		Annots:  map[int]string{0: "100 0 R 101 0 R 103 0 R"},
		Objects: []string{
			"<< /Type /Annot /Subtype /Widget /FT /Sig /T (buyer) /Rect [10 10 110 60] /F 4 /P 10 0 R /Lock << /Type /SigFieldLock /Action /Include /Fields [(amount)] >> >>",
			"<< /Type /Annot /Subtype /Widget /Parent 102 0 R /Rect [120 10 220 60] /F 4 /P 10 0 R >>",
			"<< /FT /Sig /T (seller) /Kids [101 0 R] >>",
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (amount) /V (100) /DA (/Helv 12 Tf) /Rect [0 100 100 120] /P 10 0 R >>",
			"<< /Fields 105 0 R /DA (/Helv 0 Tf) /DR << /Font << /Helv 3 0 R >> >> /SigFlags 0 >>",
			"[100 0 R 102 0 R 103 0 R]",
		},
	}.Write()
}

// TestFields signs existing fields, one after the other. The form stays as it is.
func TestFields(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	job := a.job(s, LevelB)
	job.Field = "seller"
	first := mustSign(t, form(), job)
	job.Field = "buyer"
	signed := mustSign(t, first, job)
	reports := mustVerify(t, signed, a.trust())
	if len(reports) != 2 || reports[0].Field != "seller" || reports[1].Field != "buyer" {
		t.Fatalf("%+v", reports)
	}
	for _, r := range reports {
		if r.Verdict != Valid {
			t.Errorf("%s: %s %s", r.Field, r.Verdict, r.Reason)
		}
	}
	if out := pdfsig(t, signed); strings.Count(out, "Signature is Valid") != 2 {
		t.Error(out)
	}
	pdftest.Tool(t, "qpdf", "--check", pdftest.Save(t, signed))
	d, err := open(PDF{Content: signed})
	if err != nil {
		t.Fatal(err)
	}
	if entries := d.Entry(d.Catalog()["/AcroForm"]); entries["/DA"] == nil || entries["/DR"] == nil || entries["/SigFlags"] != 3.0 {
		t.Errorf("the form is %v", entries)
	}
	filled := revised(t, signed, func(d *editedFile) { d.entry("103 0 R", "/V", "u:900") })
	reports = mustVerify(t, filled, a.trust())
	if reports[0].Verdict != Undecided || !slices.Contains(reports[0].Changes, Change{ChangeForm, `the field "amount"`}) {
		t.Errorf("a field that is filled in: %+v", reports[0])
	}
	if reports[1].Verdict != Invalid {
		t.Errorf("a locked field that is filled in: %+v", reports[1])
	}
	for _, name := range []string{"buyer", "amount", "nothing"} {
		job.Field = name
		if _, err := Sign(t.Context(), PDF{Content: signed}, job); !Is(err, BadField) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVisible shows text and an image on the page.
func TestVisible(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	job := a.job(a.signer("Signer", "P-256"), LevelB)
	red := make([]byte, 0, 3*100)
	for range 100 {
		red = append(red, 255, 0, 0)
	}
	job.Visible = &Visible{Page: 2, X: 40, Y: 40, Width: 200, Height: 60, Lines: []string{"Signed by Zoë", "2026-11-28"}, Image: &Image{10, 10, red}}
	signed := mustSign(t, pdftest.Three().Write(), job)
	path := pdftest.Save(t, signed)
	if text := pdftest.Tool(t, "pdftotext", "-f", "2", "-l", "2", path, "-"); !strings.Contains(text, "Signed by Zoë") {
		t.Errorf("the page has the text %q", text)
	}
	if pixels := pdftest.Tool(t, "pdftoppm", "-f", "2", "-l", "2", "-r", "72", path); !strings.Contains(pixels, "\xff\x00\x00\xff\x00\x00") {
		t.Error("the page lacks the image")
	}
	if ok, reason := accepted(signed, a.trust()); !ok {
		t.Error(reason)
	}
	for text, kind := range map[string]Kind{"中": BadText, "": BadPage} {
		job.Visible = &Visible{Page: 1, Width: 10, Height: 10, Lines: []string{text}}
		if kind == BadPage {
			job.Visible.Page = 4
		}
		if _, err := Sign(t.Context(), PDF{Content: pdftest.Three().Write()}, job); !Is(err, kind) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRefusals: encrypted and damaged documents, certified ones, and keys that are too weak.
func TestRefusals(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	job := a.job(s, LevelB)
	plain := pdftest.Three().Write()
	for kind, content := range map[Kind][]byte{
		Encrypted:  pdftest.Transform(t, plain, "--encrypt", "", "owner", "256", "--"),
		Unreadable: plain[:len(plain)-100],
	} {
		if _, err := Sign(t.Context(), PDF{Content: content}, job); !Is(err, kind) {
			t.Errorf("sign: %v, want %s", err, kind)
		}
		if _, err := Verify(PDF{Content: content}, Trust{}); !Is(err, kind) {
			t.Errorf("verify: %v, want %s", err, kind)
		}
	}
	certification := job
	certification.Certify = NoChanges
	certified := mustSign(t, plain, certification)
	if _, err := Sign(t.Context(), PDF{Content: certified}, job); !Is(err, NotAllowed) {
		t.Errorf("a signature after a certification: %v", err)
	}
	sealed, err := timestamp(t.Context(), PDF{Content: certified}, a.network())
	if err != nil {
		t.Fatal(err)
	}
	if ok, reason := accepted(sealed, a.trust()); !ok {
		t.Errorf("a timestamp after a certification: %s", reason)
	}
	if _, err := Sign(t.Context(), PDF{Content: mustSign(t, plain, job)}, certification); !Is(err, NotAllowed) {
		t.Errorf("a certification after a signature: %v", err)
	}
	key := pdftest.NewKey(t, "P-256")
	if _, err := NewSigner(key, []*x509.Certificate{s.Chain[0]}); !Is(err, BadKey) {
		t.Errorf("the certificate of another key: %v", err)
	}
	if _, err := NewSigner(key, nil); !Is(err, BadKey) {
		t.Errorf("no certificate: %v", err)
	}
}

// TestRevoked verifies signatures of a certificate that is revoked before, after or never.
func TestRevoked(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	signed := mustSign(t, pdftest.Three().Write(), a.job(s, LevelLT))
	if r := mustVerify(t, signed, a.trust())[0]; r.Verdict != Valid || r.Revocation != Good {
		t.Errorf("before: %s %s %s", r.Verdict, r.Revocation, r.Reason)
	}
	basic := mustSign(t, pdftest.Three().Write(), a.job(s, LevelB))
	stamped := mustSign(t, pdftest.Three().Write(), a.job(s, LevelT))
	for _, test := range []struct {
		name    string
		revoked time.Duration
		content []byte
		want    Verdict
	}{
		{"revoked before the signature", -time.Hour, basic, Invalid},
		{"revoked before the timestamp", -time.Hour, stamped, Invalid},
		{"revoked after the timestamp", time.Hour, stamped, Valid},
	} {
		a.Revoke(s.Chain[0], time.Now().Add(test.revoked))
		var found ValidationData
		for _, r := range requests(s.Chain[0], s.Chain[1]) {
			body, err := a.network().Fetch(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			found.OCSPs = append(found.OCSPs, body)
		}
		trust := a.trust()
		trust.Evidence = found
		if r := mustVerify(t, test.content, trust)[0]; r.Verdict != test.want {
			t.Errorf("%s: %s %s", test.name, r.Verdict, r.Reason)
		}
	}
	a.Revoke(s.Chain[0], time.Now().Add(-time.Hour))
	if _, err := Sign(t.Context(), PDF{Content: pdftest.Three().Write()}, a.job(s, LevelLT)); !Is(err, BadKey) {
		t.Errorf("a signature with a revoked certificate: %v", err)
	}
}

// TestTrust verifies without the root, and with the root of others.
func TestTrust(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	signed := mustSign(t, pdftest.Three().Write(), a.job(a.signer("Signer", "RSA"), LevelLTA))
	for name, trust := range map[string]Trust{"none": {}, "others": other.trust()} {
		for _, r := range mustVerify(t, signed, trust) {
			if r.Verdict != Undecided || r.Trusted || !r.Intact {
				t.Errorf("%s: %s: %s %s", name, r.Field, r.Verdict, r.Reason)
			}
		}
	}
}

// TestSeal renews timestamps: the document stays valid after the first timestamp authority's certificate has expired.
func TestSeal(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	signed := mustSign(t, pdftest.Three().Write(), a.job(a.signer("Signer", "P-256"), LevelLTA))
	later := a.Identity("Later", pdftest.NewKey(t, "RSA"), &a.Issuer, 24*pdftest.Years, a.Listed, func(c *x509.Certificate) {
		c.KeyUsage, c.ExtraExtensions = x509.KeyUsageDigitalSignature, pdftest.Timestamping()
	})
	a.Save("tsa", later)
	sealed, err := Seal(t.Context(), PDF{Content: signed}, time.Now(), []*x509.Certificate{a.Root.Certificate, a.Issuer.Certificate}, a.network())
	if err != nil {
		t.Fatal(err)
	}
	trust := a.trust()
	trust.At = time.Now().Add(22 * pdftest.Years)
	if ok, reason := accepted(signed, trust); ok {
		t.Errorf("without the seal: %s", reason)
	}
	for _, r := range mustVerify(t, sealed, trust) {
		if r.Verdict != Valid {
			t.Errorf("%s: %s %s", r.Field, r.Verdict, r.Reason)
		}
	}
}

// TestTimestampResponses refuses responses for other requests and of other certificates.
func TestTimestampResponses(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	request := func(text string) []byte {
		made, err := TimestampRequest(crypto.SHA256, digest(crypto.SHA256, []byte(text)), []byte(rand.Text()))
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	mine := request("a")
	response, err := a.network().Timestamp(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := timestampToken(mine, response); err != nil {
		t.Error(err)
	}
	damaged := slices.Clone(response)
	damaged[len(damaged)-5] ^= 1
	for name, pair := range map[string][2][]byte{
		"another digest": {request("b"), response}, "another number": {request("a"), response}, "damaged": {mine, damaged},
		"nothing": {mine, nil}, "text": {mine, []byte("<html>")},
	} {
		if _, err := timestampToken(pair[0], pair[1]); !Is(err, BadResponse) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
