package pdfsign

import (
	"bytes"
	"encoding/asn1"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// levels are the levels of a signature, lowest first.
var levels = []Level{LevelB, LevelT, LevelLT, LevelLTA}

func mustSign(t testing.TB, content []byte, job Job) []byte {
	t.Helper()
	before := bytes.Clone(content)
	signed, err := Sign(t.Context(), PDF{Content: content}, job)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(signed, before) || !bytes.Equal(content, before) {
		t.Fatal("the bytes of the document have changed")
	}
	return signed
}

func mustVerify(t testing.TB, content []byte, trust Trust) []Report {
	t.Helper()
	reports, err := Verify(PDF{Content: content}, trust)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// TestLevels signs at all levels with all kinds of keys, and lets Poppler, qpdf, openssl and ourselves verify the
// results.
func TestLevels(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, kind := range []string{"P-256", "P-384", "RSA"} {
		s := a.signer("Signer "+kind, kind)
		for _, level := range levels {
			signed := mustSign(t, pdftest.Three().Write(), a.job(s, level))
			if out := pdfsig(t, signed); strings.Count(out, "Signature is Valid") != 1 || strings.Contains(out, "Invalid") {
				t.Errorf("%s %s: %s", kind, level, out)
			}
			pdftest.Tool(t, "qpdf", "--check", pdftest.Save(t, signed))
			reports := mustVerify(t, signed, a.trust())
			got := reports[0]
			if got.Verdict != Valid || got.Level != level || !got.Intact || !got.Trusted {
				t.Errorf("%s %s: %+v", kind, level, got)
			}
			if timed := got.TimeSource == fromTimestamp; timed != (level != LevelB) {
				t.Errorf("%s %s: time from %s", kind, level, got.TimeSource)
			}
			checkWithOpenSSL(t, a, signed)
		}
	}
}

// checkWithOpenSSL verifies the CMS of the first signature, and its timestamp.
func checkWithOpenSSL(t testing.TB, a authority, signed []byte) {
	t.Helper()
	d, err := open(PDF{Content: signed})
	if err != nil {
		t.Fatal(err)
	}
	fields := signatureFields(d.File)
	place, err := d.placeOf(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	save := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m, err := readMessage(place.contents)
	if err != nil {
		t.Fatal(err)
	}
	content := save("content", append(bytes.Clone(signed[:place.start]), signed[place.after:place.end]...))
	cms := save("cms", der(t, place.contents))
	pdftest.Tool(t, "openssl", "cms", "-verify", "-inform", "DER", "-in", cms, "-content", content, "-binary", "-out", os.DevNull, "-CAfile", a.Path("chain.pem"), "-purpose", "any", "-cades")
	for _, raw := range m.tokens() {
		pdftest.Tool(t, "openssl", "ts", "-verify", "-token_in", "-in", save("token", raw), "-data", save("signature", m.info.Signature),
			"-CAfile", a.Path("root.pem"), "-untrusted", a.Path("chain.pem"))
	}
	for _, f := range fields[1:] { // timestamps of the document
		place, err := d.placeOf(f)
		if err != nil {
			t.Fatal(err)
		}
		content := save("stamped", append(bytes.Clone(signed[:place.start]), signed[place.after:place.end]...))
		pdftest.Tool(t, "openssl", "ts", "-verify", "-token_in", "-in", save("token", der(t, place.contents)), "-data", content,
			"-CAfile", a.Path("root.pem"), "-untrusted", a.Path("chain.pem"))
	}
}

// der returns the value at the start of the place of a signature.
func der(t testing.TB, contents []byte) []byte {
	t.Helper()
	var value asn1.RawValue
	if _, err := asn1.Unmarshal(contents, &value); err != nil {
		t.Fatal(err)
	}
	return value.FullBytes
}

// TestTwoSigners signs twice: both signatures stay valid.
func TestTwoSigners(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	first, second := a.signer("First", "P-256"), a.signer("Second", "P-384")
	for name, source := range sources(t) {
		signed := mustSign(t, mustSign(t, source, a.job(first, LevelLTA)), a.job(second, LevelLT))
		reports := mustVerify(t, signed, a.trust())
		if len(reports) != 3 {
			t.Fatalf("%s: %d signatures", name, len(reports))
		}
		for _, r := range reports {
			if r.Verdict != Valid {
				t.Errorf("%s: %s: %s %s", name, r.Field, r.Verdict, r.Reason)
			}
			for _, c := range r.Changes {
				if c.Kind == ChangeOther || c.Kind == ChangeForm || c.Kind == ChangeAnnotation {
					t.Errorf("%s: %s: %+v", name, r.Field, c)
				}
			}
		}
		if out := pdfsig(t, signed); strings.Count(out, "Signature is Valid") != 2 { // Poppler cannot verify the timestamp.
			t.Errorf("%s: %s", name, out)
		}
		pdftest.Tool(t, "qpdf", "--check", pdftest.Save(t, signed))
	}
}

// sources are documents of several structures.
func sources(t testing.TB) map[string][]byte {
	t.Helper()
	plain := pdftest.Linked().Write()
	return map[string][]byte{
		"table":      plain,
		"streams":    pdftest.Transform(t, plain, "--object-streams=generate"),
		"linearized": pdftest.Transform(t, plain, "--linearize"),
		"both":       pdftest.Transform(t, plain, "--linearize", "--object-streams=generate"),
		"2.0":        pdftest.Transform(t, plain, "--force-version=2.0"),
	}
}

// TestLater verifies in 15 pdftest.Years, when the certificate of the signer has expired: only the archived timestamps hold.
func TestLater(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	trust := a.trust()
	trust.At = time.Now().Add(15 * pdftest.Years)
	for level, want := range map[Level]Verdict{LevelB: Undecided, LevelT: Valid, LevelLT: Valid, LevelLTA: Valid} {
		signed := mustSign(t, pdftest.Three().Write(), a.job(s, level))
		for _, r := range mustVerify(t, signed, trust) {
			if r.Verdict != want {
				t.Errorf("%s: %s: %s %s", level, r.Field, r.Verdict, r.Reason)
			}
		}
	}
}
