package apitest

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/relaypdf/relaypdf/render/egress"
)

// Outbound is the way out of a Server: the real policy, which lets requests to
// receivers on this machine through.
type Outbound struct {
	policy *egress.Policy
	client *http.Client
}

// NewOutbound returns a way out that trusts the certificate of Receivers.
func NewOutbound(t testing.TB) *Outbound {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(receiverCertificate(t))
	policy, err := egress.New(egress.Config{AllowHosts: []string{"127.0.0.1"}, ExtraCA: roots})
	if err != nil {
		t.Fatal(err)
	}
	o := &Outbound{policy: policy, client: policy.Client(egress.ClientConfig{Schemes: []string{"https"}})}
	t.Cleanup(o.client.CloseIdleConnections)
	return o
}

// CheckSSH refuses hosts and ports by their text.
func (o *Outbound) CheckSSH(host string, port int) error { return o.policy.CheckSSH(host, port) }

// CheckURL refuses addresses by their text.
func (o *Outbound) CheckURL(address string) error {
	_, err := o.policy.CheckURL(address, "https")
	return err
}

// Webhooks returns the client that sends to receivers.
func (o *Outbound) Webhooks() *http.Client { return o.client }

// DialSSH connects to servers that speak SSH.
func (o *Outbound) DialSSH(ctx context.Context, address string) (net.Conn, error) {
	return o.policy.DialSSH(ctx, address)
}

// receiverCertificate is the one that httptest's TLS servers show.
func receiverCertificate(t testing.TB) *x509.Certificate {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.Certificate()
}
