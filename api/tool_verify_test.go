package api_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestVerifySignatures verifies a document that others have signed, whose certificates have expired, and one without a
// signature, which is free.
func TestVerifySignatures(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	signed := pdftest.Load(t, filepath.Join(pdftest.Corpus(t), "pkg", "samples", "signatures", "ETSI.CAdES.detached", "testPAdES_BLTA.pdf"))
	verify := func(content []byte, more string) apitest.Response {
		return s.Send(t, apitest.Request{Path: "/v1/pdf/verify", Body: `{"file":` + inline(content) + more + `}`})
	}
	got := verify(signed, "").OK(t)
	for _, want := range []string{`"verdict":"unknown"`, `"level":"B-LTA"`, `"type":"timestamp"`, `"intact":true`, `CN=TEST Testovyi Test`} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("%s is missing in %s", want, got.Body)
		}
	}
	if charged := got.Header.Get("X-Service-Charged-Microdollars"); charged != "500" {
		t.Errorf("%s microdollars for signatures", charged)
	}
	plain := verify(letters("alpha"), "").OK(t)
	if charged := plain.Header.Get("X-Service-Charged-Microdollars"); charged != "0" || !strings.Contains(plain.Body, `"verdict":"unsigned"`) {
		t.Errorf("%s microdollars for %s", charged, plain.Body)
	}
	for _, text := range []string{"x", `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`} {
		verify(signed, `,"trust":["`+text+`"]`).Refused(t, wire.InvalidRequest)
	}
}
