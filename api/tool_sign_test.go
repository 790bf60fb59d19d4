package api_test

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/store"
)

// signPath is the route of pdf.sign, and signPassword the password of the keys.
const (
	signPath     = "/v1/pdf/sign"
	signPassword = "s3cret-of-the-key"
)

// newSigner returns a key as it is in a request, whose certificate has an OCSP server.
func newSigner(t *testing.T, a *pdftest.Authority, name, kind string) string {
	t.Helper()
	id := a.Identity(name, pdftest.NewKey(t, kind), &a.Issuer, pdftest.Years, a.Answered)
	return `"key":{"pkcs12":{"file":` + inline(a.PKCS12(id, signPassword)) + `},"password":"` + signPassword + `"}`
}

// verified returns the report about a PDF, with the authority's root as the trusted certificate.
func verified(t *testing.T, s *apitest.Server, a *pdftest.Authority, content, more string) pdf.Verification {
	t.Helper()
	root, err := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Root.Certificate.Raw})))
	if err != nil {
		t.Fatal(err)
	}
	got := s.Send(t, apitest.Request{Path: "/v1/pdf/verify", Body: `{"file":` + inline([]byte(content)) + `,"trust":[` + string(root) + `]` + more + `}`}).OK(t)
	var report pdf.Verification
	if err := json.Unmarshal([]byte(got.Body), &report); err != nil {
		t.Fatal(err)
	}
	return report
}

// TestSign signs at each level, with keys of several kinds, one signature after the other. Poppler and our verification
// accept all of them.
func TestSign(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	content := string(pdftest.Three().Write())
	for i, test := range []struct{ level, kind, more string }{
		{"B-B", "P-256", `,"reason":"Agreed","location":"Bern","contact":"ada@a.example","visible":{"page":2,"x":40,"y":40,"width":200,"height":60}`},
		{"B-T", "RSA", `,"visible":{"x":40,"y":300,"width":200,"height":60,"text":"Zoë\nCEO","image":{"file":` + inline(dot(t)) + `}}`},
		{"B-LT", "P-384", ""},
		{"B-LTA", "P-256", ""},
	} {
		more := test.more + `,"level":"` + test.level + `"`
		if i > 0 {
			more += `,"timestampUrl":"` + a.URL + `/tsa"`
		}
		before := content
		got := s.Send(t, apitest.Request{Path: signPath, Body: `{"file":` + inline([]byte(content)) + `,` + newSigner(t, a, "Signer "+test.level, test.kind) + more + `}`}).OK(t)
		if content = got.Body; !strings.HasPrefix(content, before) {
			t.Fatalf("%s: the bytes before have changed", test.level)
		}
		if charged := got.Header.Get("X-Service-Charged-Microdollars"); charged != "500" {
			t.Errorf("%s: %s microdollars", test.level, charged)
		}
		if out := pdftest.Tool(t, "pdfsig", pdftest.Save(t, []byte(content))); strings.Count(out, "Signature is Valid") < i+1 {
			t.Errorf("%s: %s", test.level, out)
		}
		report := verified(t, s, a, content, "")
		if report.Verdict != "valid" {
			t.Errorf("%s: %+v", test.level, report)
		}
		mine := slices.IndexFunc(report.Signatures, func(g pdf.Signature) bool { return strings.Contains(*g.Signer, "Signer "+test.level+",") })
		if mine < 0 || *report.Signatures[mine].Level != test.level {
			t.Errorf("%s: the levels are %+v", test.level, report.Signatures)
		}
	}
	if text := pdftest.Tool(t, "pdftotext", pdftest.Save(t, []byte(content)), "-"); !strings.Contains(text, "Signed by Signer B-B") || !strings.Contains(text, "Zoë\nCEO") {
		t.Errorf("the text is %q", text)
	}
	sealed := s.Send(t, apitest.Request{Path: "/v1/pdf/seal", Body: `{"file":` + inline([]byte(content)) + `,"timestampUrl":"` + a.URL + `/tsa"}`}).OK(t).Body
	if report := verified(t, s, a, sealed, ""); report.Verdict != "valid" || len(report.Signatures) != 6 {
		t.Errorf("sealed: %s with %d signatures", report.Verdict, len(report.Signatures))
	}
}

// TestSignEncrypted: encrypted documents are signed at each level, and stay encrypted as they are.
func TestSignEncrypted(t *testing.T) { //nolint:tparallel // The authority makes one signer at a time.
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	for _, how := range []string{"40", "128 --use-aes=n", "128 --use-aes=y", "128 --use-aes=y --cleartext-metadata", "256", "256 --force-R5"} {
		for _, objects := range []string{"disable", "generate"} {
			t.Run(how+" "+objects, func(t *testing.T) {
				if how != "256" || objects != "generate" {
					sharedtest.Slow(t)
				}
				arguments := slices.Concat([]string{"--allow-weak-crypto", "--object-streams=" + objects, "--encrypt", "u", "o"}, strings.Fields(how), []string{"--"})
				content := string(pdftest.Transform(t, pdftest.Three().Write(), arguments...))
				for i, level := range []string{"B-B", "B-T", "B-LT", "B-LTA"} {
					more := `,"password":"` + []string{"u", "o"}[i%2] + `","reason":"Größe","visible":{"x":40,"y":` + strconv.Itoa(40+70*i) + `,"width":200,"height":60},"level":"` + level + `"`
					if i > 0 {
						more += `,"timestampUrl":"` + a.URL + `/tsa"`
					}
					before := content
					body := `{"file":` + inline([]byte(content)) + `,` + newSigner(t, a, "Signer "+level, "P-256") + more + `}`
					if content = s.Send(t, apitest.Request{Path: signPath, Body: body}).OK(t).Body; !strings.HasPrefix(content, before) {
						t.Fatalf("%s: the bytes before have changed", how)
					}
				}
				path := pdftest.Save(t, []byte(content))
				if out := pdftest.Tool(t, "pdfsig", "-upw", "u", path); strings.Count(out, "Signature is Valid") < 4 {
					t.Errorf("%s: %s", how, out)
				}
				pdftest.Tool(t, "qpdf", "--check", "--password=u", path)
				if text := pdftest.Tool(t, "pdftotext", "-upw", "u", path, "-"); strings.Count(text, "Größe") != 4 {
					t.Errorf("%s: the text is %q", how, text)
				}
				report := verified(t, s, a, content, `,"password":"u"`)
				if report.Verdict != "valid" || len(report.Signatures) != 5 || *report.Signatures[0].SignReason != "Größe" {
					t.Errorf("%s: %+v", how, report)
				}
				changed := []byte(content)
				changed[strings.Index(content, "stream\n")+len("stream\n")] ^= 1
				if report := verified(t, s, a, string(changed), `,"password":"u"`); report.Verdict != "invalid" {
					t.Errorf("%s: changed: %s", how, report.Verdict)
				}
			})
		}
	}
	locked := pdftest.Transform(t, pdftest.Three().Write(), "--encrypt", "u", "o", "256", "--")
	for _, password := range []string{"", `,"password":"wrong"`} {
		for path, more := range map[string]string{signPath: `,` + newSigner(t, a, "Signer", "P-256"), "/v1/pdf/verify": "", "/v1/pdf/seal": `,"timestampUrl":"` + a.URL + `/tsa"`} {
			body := `{"file":` + inline(locked) + password + more + `}`
			if got := s.Send(t, apitest.Request{Path: path, Body: body}).Refused(t, wire.ProcessingFailed); len(got.Details) != 1 || got.Details[0].Field != "password" {
				t.Errorf("%s: %s %+v", path, got.Message, got.Details)
			}
		}
	}
	// With a test key, the mark is drawn first.
	body := `{"file":` + inline(locked) + `,"password":"u",` + newSigner(t, a, "Signer", "P-256") + `}`
	marked := s.Send(t, apitest.Request{Path: signPath, Body: body, Header: bearerOf(newTester(t, s))}).OK(t).Body
	if report := verified(t, s, a, marked, `,"password":"u"`); report.Verdict != "valid" {
		t.Errorf("with a test key: %+v", report)
	}
	// Sealing keeps the encryption, and a signature after the protection in one call needs the password.
	sealed := s.Send(t, apitest.Request{Path: "/v1/pdf/seal", Body: `{"file":` + inline(locked) + `,"password":"u","timestampUrl":"` + a.URL + `/tsa"}`}).OK(t).Body
	if report := verified(t, s, a, sealed, `,"password":"o"`); report.Verdict != "valid" {
		t.Errorf("sealed: %+v", report)
	}
	body = `{"file":` + inline(letters("alpha")) + `,"userPassword":"u","then":[{"op":"pdf.sign","input":{"password":"u",` + newSigner(t, a, "Signer", "P-256") + `}}]}`
	if report := verified(t, s, a, s.Send(t, apitest.Request{Path: "/v1/pdf/protect", Body: body}).OK(t).Body, `,"password":"u"`); report.Verdict != "valid" {
		t.Errorf("after pdf.protect: %+v", report)
	}
}

// TestSignRefusals: each error names its field, and costs nothing.
func TestSignRefusals(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	id := a.Identity("Signer", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, a.Answered)
	file := a.PKCS12(id, signPassword)
	plain := pdftest.Three().Write()
	expired := a.Identity("Old", pdftest.NewKey(t, "P-256"), &a.Issuer, -time.Minute, a.Answered)
	key := func(content []byte, password string) string {
		return `"key":{"pkcs12":{"file":` + inline(content) + `},"password":"` + password + `"}`
	}
	good := key(file, signPassword)
	stamped := func(url string) string { return good + `,"level":"B-T","timestampUrl":"` + url + `"` }
	signed := s.Send(t, apitest.Request{Path: signPath, Body: `{"file":` + inline(plain) + `,` + good + `,"certify":"no-changes"}`}).OK(t).Body
	before, _ := s.Balance(t)
	for _, test := range []struct {
		content     []byte
		more, field string
		code        wire.Code
	}{
		{plain, `"key":{"password":"x"}`, "key.pkcs12.file", wire.InvalidRequest},
		{plain, `"key":{"pkcs12":{}}`, "key.pkcs12.file", wire.InvalidRequest},
		{plain, `"key":{"pkcs12":{"file":"AAAA","fileId":"file_x"}}`, "key.pkcs12.fileId", wire.InvalidRequest},
		{plain, `"key":{"pkcs12":{"file":"AAAA"},"password":31415926}`, "key.password", wire.InvalidRequest},
		{plain, key(file, "wrong"), "key.password", wire.InvalidRequest},
		{plain, key([]byte("hello"), ""), "key.pkcs12", wire.InvalidRequest},
		{plain, key(a.PKCS12(expired, signPassword), signPassword), "key.pkcs12", wire.InvalidRequest},
		{plain, key(bomb(t, file), signPassword), "key.pkcs12", wire.InvalidRequest},
		{plain, good + `,"level":"B-LT"`, "timestampUrl", wire.InvalidRequest},
		{plain, good + `,"timestampUrl":"https://a.example/"`, "timestampUrl", wire.InvalidRequest},
		{plain, good + `,"field":"absent"`, "field", wire.InvalidRequest},
		{plain, good + `,"visible":{"page":4,"x":1,"y":1,"width":9,"height":9}`, "visible", wire.InvalidRequest},
		{plain, good + `,"visible":{"x":9000,"y":1,"width":9,"height":9}`, "visible", wire.InvalidRequest},
		{plain, good + `,"visible":{"x":1,"y":1,"width":99,"height":99,"text":"中"}`, "visible.text", wire.InvalidRequest},
		{plain, good + `,"visible":{"x":1,"y":1,"width":99,"height":99,"image":{"file":"AAAA"}}`, "visible.image.file", wire.ProcessingFailed},
		{[]byte("hello"), good, "file", wire.ProcessingFailed},
		{[]byte(signed), good, "file", wire.ProcessingFailed},
		{plain, stamped("http://127.0.0.1:1/"), "timestampUrl", wire.URLNotAllowed},
		{plain, stamped(lab.files.URL + "/inwards"), "timestampUrl", wire.URLNotAllowed},
		{plain, stamped("http://absent.example/"), "timestampUrl", wire.ProcessingFailed},
		{plain, stamped(lab.files.URL + "/gone"), "timestampUrl", wire.ProcessingFailed},
		{plain, stamped(lab.files.URL + "/letters.pdf"), "timestampUrl", wire.ProcessingFailed},
		{plain, stamped(lab.files.URL + "/hang"), "timestampUrl", wire.ProcessingFailed},
	} {
		begun := time.Now()
		got := s.Send(t, apitest.Request{Path: signPath, Body: `{"file":` + inline(test.content) + `,` + test.more + `}`}).Refused(t, test.code)
		if len(got.Details) != 1 || got.Details[0].Field != test.field {
			t.Errorf("%.60s: want %s: %s %+v", test.more[max(0, len(test.more)-60):], test.field, got.Message, got.Details)
		}
		if strings.Contains(got.Message, signPassword) || strings.Contains(got.Message, "31415926") {
			t.Errorf("the password is in %q", got.Message)
		}
		if took := time.Since(begun); took > 2*time.Minute {
			t.Errorf("%s: after %v", got.Message, took)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("the wallet has %d and %d held, want %d", after, held, before)
	}
	revoked := a.Identity("Revoked", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, a.Answered)
	a.Revoke(revoked.Certificate, time.Now().Add(-time.Hour))
	body := `{"file":` + inline(plain) + `,` + key(a.PKCS12(revoked, signPassword), signPassword) + `,"level":"B-LT","timestampUrl":"` + a.URL + `/tsa"}`
	if got := s.Send(t, apitest.Request{Path: signPath, Body: body}).Refused(t, wire.InvalidRequest); !strings.Contains(got.Message, "revoked") {
		t.Errorf("a revoked certificate: %s", got.Message)
	}
}

// bomb returns a PKCS#12 file that takes hours to open.
func bomb(t *testing.T, file []byte) []byte {
	t.Helper()
	var outer struct {
		Version int
		Content asn1.RawValue
		MAC     struct {
			Digest     asn1.RawValue
			Salt       []byte
			Iterations int
		}
	}
	if _, err := asn1.Unmarshal(file, &outer); err != nil {
		t.Fatal(err)
	}
	outer.MAC.Iterations = 1<<31 - 1
	made, err := asn1.Marshal(outer)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestSignKeepsNoKey: the key is in no stored input, log or plain input of a job.
func TestSignKeepsNoKey(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	if err := s.Store.SetKeepInputs(t.Context(), s.Account.ID, true); err != nil {
		t.Fatal(err)
	}
	s.Work(t)
	signer := newSigner(t, a, "Signer", "P-256")
	source := `{"file":` + inline(pdftest.Three().Write()) + `,`
	s.Send(t, apitest.Request{Path: signPath, Body: source + signer + `}`}).OK(t)
	s.Send(t, apitest.Request{Path: "/v1/pdf/compress", Body: source + `"then":[{"op":"pdf.sign","input":{` + signer + `}}]}`}).OK(t)
	key := http.Header{"Idempotency-Key": {"k"}}
	async := apitest.Request{Path: signPath, Body: source + signer + `,"response":"async"}`, Header: key}
	job := s.Await(t, s.Enqueue(t, async).ID)
	if again := s.Enqueue(t, async); job.Status != "completed" || again.ID != job.ID {
		t.Errorf("the job is %+v, and again %+v", job, again)
	}
	if report := verified(t, s, a, s.Content(t, job.ID), ""); report.Verdict != "valid" {
		t.Errorf("the job made %+v", report)
	}
	calls, err := s.Store.Calls(t.Context(), store.CallFilter{AccountID: s.Account.ID, Operation: "pdf.sign"})
	if err != nil || len(calls.Items) < 2 {
		t.Fatalf("%+v, %v", calls, err)
	}
	all, err := s.Store.Calls(t.Context(), store.CallFilter{AccountID: s.Account.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range all.Items {
		if call.Operation == "pdf.verify" {
			continue
		}
		if _, err := s.API.Calls.Input(t.Context(), s.Store, s.Account.ID, call.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the input of %s is stored: %v", call.Operation, err)
		}
	}
}

// TestSignLast: steps that change a signed PDF are refused by name.
func TestSignLast(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	signer := newSigner(t, a, "Signer", "P-256")
	source := `"file":` + inline(pdftest.Three().Write())
	got := s.Send(t, apitest.Request{Path: signPath, Body: `{` + source + `,` + signer + `,"then":[{"op":"pdf.compress","input":{}}]}`}).Refused(t, wire.InvalidRequest)
	if len(got.Details) != 1 || got.Details[0].Field != "then[0].op" || !strings.Contains(got.Message, "pdf.compress") || !strings.Contains(got.Message, "pdf.sign") {
		t.Errorf("%+v", got)
	}
	steps := func(last string) string {
		return `{"steps":[{"id":"a","op":"pdf.sign","input":{` + source + `,` + signer + `}},{"id":"b","op":"` + last + `","input":{"step":"a"}}]}`
	}
	got = s.Send(t, apitest.Request{Path: "/v1/pipelines", Body: steps("pdf.compress")}).Refused(t, wire.InvalidRequest)
	if len(got.Details) != 1 || got.Details[0].Field != "steps[1].op" {
		t.Errorf("%+v", got)
	}
	if got := s.Send(t, apitest.Request{Path: "/v1/pipelines", Body: steps("pdf.verify")}).OK(t); !strings.Contains(got.Body, `"intact":true`) {
		t.Error(got.Body)
	}
	twice := `{` + source + `,` + signer + `,"then":[{"op":"pdf.sign","input":{` + newSigner(t, a, "Second", "P-256") + `}}]}`
	if report := verified(t, s, a, s.Send(t, apitest.Request{Path: signPath, Body: twice}).OK(t).Body, ""); report.Verdict != "valid" || len(report.Signatures) != 2 {
		t.Errorf("%+v", report)
	}
}

// TestSignWithTestKey: the signature, which is valid, does not hide the test mark, whether or not it covers the page.
func TestSignWithTestKey(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	signer := newSigner(t, a, "Signer", "P-256")
	for _, visible := range []string{"", `,"visible":{"x":0,"y":0,"width":300,"height":400,"image":{"file":` + inline(onePixel(t)) + `}}`} {
		body := `{"file":` + inline(letters("alpha")) + `,` + signer + visible + `}`
		got := s.Send(t, apitest.Request{Path: signPath, Body: body, Header: bearerOf(newTester(t, s))}).OK(t).Body
		if plain := unmarked(t, "application/pdf", "", []byte(got)); len(plain) > 0 {
			t.Errorf("without a test mark: %v", plain)
		}
		if report := verified(t, s, a, got, ""); report.Verdict != "valid" || !report.Signatures[0].WholeDocument {
			t.Errorf("%+v", report)
		}
	}
}

// TestVerifyOnline asks the servers for the state of certificates, also for one that was revoked.
func TestVerifyOnline(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	signed := func(name string, options ...func(*x509.Certificate)) (string, pdftest.Identity) {
		id := a.Identity(name, pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, options...)
		key := `"key":{"pkcs12":{"file":` + inline(a.PKCS12(id, signPassword)) + `},"password":"` + signPassword + `"}`
		return s.Send(t, apitest.Request{Path: signPath, Body: `{"file":` + inline(letters("alpha")) + `,` + key + `}`}).OK(t).Body, id
	}
	content, id := signed("Ada", a.Answered)
	unreachable, _ := signed("Bob", func(c *x509.Certificate) { c.OCSPServer = []string{"http://127.0.0.1:1/ocsp"} })
	expect := func(content, more, verdict, revocation string) {
		t.Helper()
		report := verified(t, s, a, content, more)
		if got := report.Signatures[0]; got.Verdict != verdict || got.Revocation != revocation {
			t.Errorf("%s: %s, %s: %s", more, got.Verdict, got.Revocation, got.Reason)
		}
	}
	expect(content, "", "valid", "unknown")
	expect(content, `,"online":true`, "valid", "good")
	expect(unreachable, `,"online":true`, "valid", "unknown")
	a.Revoke(id.Certificate, time.Now().Add(-24*time.Hour))
	expect(content, `,"online":true`, "invalid", "revoked")
}

// TestVerifyOnlineFlood: the responses of servers that an unknown certificate names are bounded in all.
func TestVerifyOnlineFlood(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	id := a.Identity("Ada", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, func(c *x509.Certificate) {
		for i := range 6 {
			c.CRLDistributionPoints = append(c.CRLDistributionPoints, fmt.Sprintf("%s/flood?%d", lab.files.URL, i))
		}
	})
	key := `"key":{"pkcs12":{"file":` + inline(a.PKCS12(id, signPassword)) + `},"password":"` + signPassword + `"}`
	signed := s.Send(t, apitest.Request{Path: signPath, Body: `{"file":` + inline(letters("alpha")) + `,` + key + `}`}).OK(t).Body
	root, err := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Root.Certificate.Raw})))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := s.Balance(t)
	got := s.Send(t, apitest.Request{Path: "/v1/pdf/verify", Body: `{"file":` + inline([]byte(signed)) + `,"trust":[` + string(root) + `],"online":true}`}).Refused(t, wire.ProcessingFailed)
	if after, held := s.Balance(t); after != before || held != 0 || !strings.Contains(got.Message, "responses that are too large") {
		t.Errorf("%s; the wallet has %d and %d held, want %d", got.Message, after, held, before)
	}
}

// TestBrokenSignaturesWarn changes a signed PDF in calls, steps, archives and with a test key. Results in JSON, images and
// copies break nothing.
func TestBrokenSignaturesWarn(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	a := newAuthority(t)
	content := s.Send(t, apitest.Request{Path: signPath, Body: `{"file":` + inline(pdftest.Three().Write()) + `,` + newSigner(t, a, "Ada", "P-256") + `}`}).OK(t).Body
	file := inline([]byte(content))
	pages := inline(pdftest.Three().Write())
	for _, test := range []struct {
		path, more, step string
		test, warns      bool
	}{
		{path: "/v1/pdf/rotate", more: `,"degrees":90`, warns: true},
		{path: "/v1/pdf/protect", more: `,"userPassword":"u"`, warns: true},
		{path: "/v1/pdf/split", more: `,"everyPages":1`, warns: true},
		{path: "/v1/pdf/merge", more: `,"files":[{"file":` + pages + `},{"file":` + file + `}],"tableOfContents":true`, warns: true},
		{path: "/v1/pdf/rotate", more: `,"degrees":90`, test: true, warns: true},
		{path: "/v1/pdf/compress", test: true, warns: true},
		{path: signPath, more: `,` + newSigner(t, a, "Bo", "P-256"), test: true, warns: true},
		{path: pipelines, step: flowStep("a", "pdf.rotate", `{"file":`+file+`,"degrees":90}`) + `,` + flowStep("b", "pdf.raster", `{"step":"a"}`), warns: true},
		{path: signPath, more: `,` + newSigner(t, a, "Bo", "P-256")},
		{path: "/v1/pdf/raster"},
		{path: "/v1/pdf/compare", more: `,"files":[{"file":` + pages + `},{"file":` + file + `}],"output":"pdf"`},
		{path: "/v1/pdf/attachments", more: `,"file":` + pages + `,"action":"add","files":[{"file":` + file + `,"filename":"signed.pdf"}]`},
	} {
		request := apitest.Request{Path: test.path, Body: `{"response":"url","file":` + file + test.more + `}`}
		switch {
		case test.step != "":
			request.Body = `{"response":"url","steps":[` + test.step + `]}`
		case strings.Contains(test.more, `"files"`) || strings.Contains(test.more, `"file"`) && !strings.Contains(test.more, "pkcs12"):
			request.Body = `{"response":"url"` + test.more + `}`
		}
		if test.test {
			request.Header = bearerOf(newTester(t, s))
		}
		var found []string
		for _, warning := range decode[wire.FileURL](t, s.Send(t, request).OK(t)).Warnings {
			if warning.Code == "signature_broken" {
				found = append(found, warning.Message)
			}
		}
		if test.warns != (len(found) == 1) || test.warns && !strings.Contains(found[0], `"Ada" (field "Signature1")`) {
			t.Errorf("%s with a test key %t: warnings %q", test.path, test.test, found)
		}
	}
}
