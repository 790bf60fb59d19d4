package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/store"
)

const identitiesPath = "/v1/signing-identities"

// newIdentity returns the request for a signing identity whose key no one else has.
func newIdentity(t *testing.T, name string) string {
	t.Helper()
	a := newAuthority(t)
	return identityOf(t, name, a.PKCS12(a.Identity("Ada", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, a.Answered), signPassword))
}

func identityOf(t *testing.T, name string, file []byte) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "pkcs12": file, "password": signPassword})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestSigningIdentities stores a key, signs with it in all ways, and deletes it. Callers without the scope cannot use it,
// and nothing returns it.
func TestSigningIdentities(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	s.Work(t)
	a := newAuthority(t)
	file := a.PKCS12(a.Identity("Ada", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, a.Answered), signPassword)
	got := s.Send(t, apitest.Request{Path: identitiesPath, Body: identityOf(t, "contracts", file)})
	identity := decode[wire.SigningIdentity](t, got)
	if got.Status != http.StatusCreated || !strings.HasPrefix(identity.ID, "sig_") || !strings.Contains(identity.Certificate.Subject, "CN=Ada") {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	list := s.Send(t, apitest.Request{Method: http.MethodGet, Path: identitiesPath}).OK(t)
	if !strings.Contains(list.Body, identity.ID) || strings.Contains(list.Body+got.Body, signPassword) || strings.Contains(list.Body+got.Body, base64.StdEncoding.EncodeToString(file)[:64]) {
		t.Errorf("the list is %s", list.Body)
	}
	for _, test := range []struct{ body, field string }{
		{identityOf(t, "contracts", file), "name"},
		{`{"name":"b","pkcs12":"AAAA","password":"` + signPassword + `"}`, "pkcs12"},
		{`{"name":"b","pkcs12":"?","password":"` + signPassword + `"}`, "pkcs12"},
		{strings.Replace(identityOf(t, "b", file), signPassword, "wrong", 1), "password"},
	} {
		refused := s.Send(t, apitest.Request{Path: identitiesPath, Body: test.body}).Refused(t, wire.InvalidRequest)
		if len(refused.Details) != 1 || refused.Details[0].Field != test.field || strings.Contains(refused.Message, signPassword) {
			t.Errorf("%s: %+v", test.field, refused)
		}
	}

	key := `"key":{"id":"` + identity.ID + `"}`
	source := `{"file":` + inline(pdftest.Three().Write()) + `,`
	for path, body := range map[string]string{
		signPath:           source + key + `}`,
		"/v1/pdf/compress": source + `"options":{"sign":{` + key + `}}}`,
		"/v1/pdf/rotate":   source + `"degrees":90,"then":[{"op":"pdf.compress","input":{}},{"op":"pdf.sign","input":{` + key + `}}]}`,
		"/v1/pdf":          `{"html":"<h1>Contract</h1>","options":{"format":"A5","sign":{` + key + `}}}`,
	} {
		if report := verified(t, s, a, s.Send(t, apitest.Request{Path: path, Body: body}).OK(t).Body, ""); report.Verdict != "valid" {
			t.Errorf("%s: %+v", path, report)
		}
	}
	job := s.Await(t, s.Enqueue(t, apitest.Request{Path: "/v1/pdf/compress", Body: source + `"options":{"sign":{` + key + `}},"response":"async"}`}).ID)
	if report := verified(t, s, a, s.Content(t, job.ID), ""); report.Verdict != "valid" {
		t.Errorf("the job made %+v", report)
	}

	_, other := s.NewKey(t, store.NewKey{AccountID: s.Account.ID})
	_, signer := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Signs: true, Operations: []string{"pdf.sign"}})
	_, _, stranger := s.NewAccount(t, "mallory@example.com")
	s.Send(t, apitest.Request{Path: signPath, Body: source + key + `}`, Header: bearerOf(signer)}).OK(t)
	s.Send(t, apitest.Request{Path: signPath, Body: source + key + `}`, Header: bearerOf(other)}).Refused(t, wire.Unauthorized)
	s.Send(t, apitest.Request{Method: http.MethodGet, Path: identitiesPath, Header: bearerOf(other)}).Refused(t, wire.Unauthorized)
	s.Send(t, apitest.Request{Path: identitiesPath, Body: identityOf(t, "b", file), Header: bearerOf(other)}).Refused(t, wire.Unauthorized)
	for body, field := range map[string]string{
		source + key + `}`:                                           "key.id",
		source + `"options":{"sign":{` + key + `}}}`:                 "options.sign.key.id",
		source + `"then":[{"op":"pdf.sign","input":{` + key + `}}]}`: "then[0].input.key.id",
	} {
		path := "/v1/pdf/compress"
		if field == "key.id" {
			path = signPath
		}
		refused := s.Send(t, apitest.Request{Path: path, Body: body, Header: bearerOf(stranger)}).Refused(t, wire.InvalidRequest)
		if len(refused.Details) != 1 || refused.Details[0].Field != field {
			t.Errorf("of another account: want %s: %+v", field, refused)
		}
	}
	for body, field := range map[string]string{
		source + `"key":{}}`: "key.pkcs12.file",
		source + `"key":{"id":"` + identity.ID + `","password":"x"}}`:           "key.password",
		source + `"key":{"id":"` + identity.ID + `","pkcs12":{"file":"AAAA"}}}`: "key.pkcs12",
		source + key + `,"options":{"sign":{` + key + `}}}`:                     "options",
	} {
		refused := s.Send(t, apitest.Request{Path: signPath, Body: body}).Refused(t, wire.InvalidRequest)
		if len(refused.Details) != 1 || refused.Details[0].Field != field {
			t.Errorf("want %s: %+v", field, refused)
		}
	}
	s.Send(t, apitest.Request{Method: http.MethodDelete, Path: identitiesPath + "/" + identity.ID}).OK(t)
	s.Send(t, apitest.Request{Path: signPath, Body: source + key + `}`}).Refused(t, wire.InvalidRequest)
}

// TestSigningIdentityInBulk: the steps of the records need the scope, too, and records that become one PDF are not signed
// before.
func TestSigningIdentityInBulk(t *testing.T) {
	t.Parallel()
	l := bulkLab(t, nil)
	identity := decode[wire.SigningIdentity](t, l.Send(t, apitest.Request{Path: identitiesPath, Body: newIdentity(t, "contracts")}))
	key := `{"key":{"id":"` + identity.ID + `"}}`
	_, other := l.NewKey(t, store.NewKey{AccountID: l.Account.ID})
	for _, more := range []string{`"then":[{"op":"pdf.sign","input":` + key + `}]`, `"options":{"sign":` + key + `}`} {
		body := `{"templateId":"letter","records":[{"name":"Ada"}],"response":"async",` + more + `}`
		l.Send(t, apitest.Request{Path: bulkPath, Body: body, Header: bearerOf(other)}).Refused(t, wire.Unauthorized)
		merged := strings.Replace(body, `"response"`, `"output":"merged","response"`, 1)
		l.Send(t, apitest.Request{Path: bulkPath, Body: merged}).Refused(t, wire.InvalidRequest)
		job := l.Enqueue(t, apitest.Request{Path: bulkPath, Body: body})
		l.Work(t)
		if job = l.Await(t, job.ID); job.Status != wire.JobCompleted {
			t.Fatalf("%+v", job)
		}
		_, files := unpacked(t, l.Content(t, job.ID))
		for name, content := range files {
			if !strings.Contains(content, "/ByteRange") {
				t.Errorf("%s is not signed", name)
			}
		}
	}
}
