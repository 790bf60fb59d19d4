package pdfsign

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// authority issues the certificates of signers.
type authority struct{ *pdftest.Authority }

func newAuthority(t testing.TB) authority {
	t.Helper()
	return authority{pdftest.NewAuthority(t, "")}
}

// signer issues a certificate and returns its signer.
func (a authority) signer(name, kind string) *Signer {
	a.T.Helper()
	id := a.Identity(name, pdftest.NewKey(a.T, kind), &a.Issuer, pdftest.Years, a.Answered)
	s, err := NewSigner(id.Key, []*x509.Certificate{id.Certificate, a.Issuer.Certificate})
	if err != nil {
		a.T.Fatal(err)
	}
	return s
}

func (a authority) job(s *Signer, level Level) Job {
	return Job{
		Options: Options{Time: time.Now(), Reason: "Agreed"}, Level: level, Key: s, Chain: s.Chain, Hash: s.Hash,
		Trust: []*x509.Certificate{a.Root.Certificate, a.Issuer.Certificate}, Network: a.network(),
	}
}

func (a authority) trust() Trust { return Trust{Roots: []*x509.Certificate{a.Root.Certificate}} }

// network sends the requests to the servers.
func (a authority) network() Network {
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
		response, err := (&http.Client{Timeout: time.Minute}).Do(r)
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
			return send(ctx, a.URL+"/tsa", "application/timestamp-query", request)
		},
		Fetch: func(ctx context.Context, r Request) ([]byte, error) {
			return send(ctx, r.URL, "application/ocsp-request", r.Body)
		},
	}
}

// pdfsig returns what poppler reports about the signatures of a document.
func pdfsig(t testing.TB, content []byte) string {
	t.Helper()
	return pdftest.Tool(t, "pdfsig", pdftest.Save(t, content))
}
