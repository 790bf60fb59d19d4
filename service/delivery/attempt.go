package delivery

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// attemptTimeout bounds an attempt, from the look-up of the name to the end
	// of the answer.
	attemptTimeout = 15 * time.Second
	// maxStoredResponse is the maximum number of bytes of a response that are stored for the owner.
	maxStoredResponse = 1 << 10
)

// sendPanicked is the error of an attempt that failed in the server, as its owner sees it.
const sendPanicked = "The attempt failed in the server. It is retried like any other failure."

// send makes one attempt.
func (d *Dispatcher) send(ctx context.Context, due store.DueDelivery) store.Attempt {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	r, err := d.deliveryRequest(ctx, due)
	if err != nil {
		d.log.LogAttrs(ctx, slog.LevelError, "sign delivery failed", slog.String("delivery", due.ID),
			slog.Any("error", err))
		return store.Attempt{Error: "The event could not be signed. Rotate the endpoint's secret."}
	}

	begun := time.Now()
	response, err := d.client.Do(r)
	took := time.Since(begun)
	switch {
	case errors.Is(err, egress.ErrRefused):
		// The response contains nothing of the target, not even how long it took.
		return store.Attempt{Error: "The URL is not allowed. Use https and a public host."}
	case err != nil:
		return store.Attempt{
			Error: sendFailure(err, "endpoint", attemptTimeout), Duration: &took,
			Headers: store.AttemptHeaders{Request: lines(r.Header)},
		}
	}

	defer response.Body.Close()
	// An answer that breaks off after its status is still an answer.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxStoredResponse))
	took = time.Since(begun)

	attempt := store.Attempt{
		StatusCode: response.StatusCode, Response: bytes.ToValidUTF8(body, []byte("\uFFFD")), Duration: &took,
		Headers:    store.AttemptHeaders{Request: lines(r.Header), Response: lines(response.Header)},
		Delivered:  response.StatusCode >= 200 && response.StatusCode < 300,
		Gone:       response.StatusCode == http.StatusGone,
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), d.now()),
	}

	if !attempt.Delivered {
		attempt.Error = statusFailure(response.StatusCode)
	}
	return attempt
}

// lines returns headers as text, one per line.
func lines(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b)
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// deliveryRequest returns the request of one attempt. Requests to endpoints are signed; requests to callbacks are
// not, because callbacks have no secret.
func (d *Dispatcher) deliveryRequest(ctx context.Context, due store.DueDelivery) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, due.URL, bytes.NewReader(due.Body))
	if err != nil {
		return nil, err
	}

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "relaypdf-webhook/1")
	r.Header.Set(webhook.IDHeader, due.EventID)
	d.tracer.Pass(ctx, r.Header)
	if due.Webhook != nil {
		err = d.signDelivery(r.Header, due)
	}
	return r, err
}

// signDelivery sets the headers of an endpoint's delivery. Standard Webhooks allows the signatures of all valid
// secrets. Clients store one secret for Service-Signature, so it uses the secret that the owner has activated.
func (d *Dispatcher) signDelivery(h http.Header, due store.DueDelivery) error {
	current, previous, err := d.webhookSecrets(due.Webhook)
	if err != nil {
		return err
	}

	at := d.now()
	inUse := current
	signatures, err := webhook.SignStandard(current, due.EventID, at, due.Body)
	if err != nil {
		return err
	}

	if previous != "" {
		inUse = previous
		second, err := webhook.SignStandard(previous, due.EventID, at, due.Body)
		if err != nil {
			return err
		}
		signatures += " " + second
	}

	h.Set(webhook.TimestampHeader, strconv.FormatInt(at.Unix(), 10))
	h.Set(webhook.StandardHeader, signatures)
	d.setDelivery(h, webhook.EventHeader, due.EventType)
	d.setDelivery(h, webhook.SignatureHeader, webhook.Sign(inUse, at, due.Body))
	return nil
}

// setDelivery sets a header of a delivery and its branded copy.
func (d *Dispatcher) setDelivery(h http.Header, name, value string) {
	h.Set(name, value)
	if d.brand != "" {
		h.Set(d.brand+strings.TrimPrefix(name, "Service"), value)
	}
}

// SecretPurpose names the key that the secrets of an endpoint or a connection are encrypted with.
func SecretPurpose(id string) string {
	if strings.HasPrefix(id, connectionPrefix) {
		return "connection " + id
	}
	return "webhook " + id
}

// webhookSecrets decrypts an endpoint's secrets. The previous one is empty if only the current one is in use.
func (d *Dispatcher) webhookSecrets(endpoint *store.Webhook) (current, previous string, err error) {
	open := func(sealed []byte) string {
		plain, openErr := d.box.Open(SecretPurpose(endpoint.ID), sealed)
		err = errors.Join(err, openErr)
		return string(plain)
	}

	current = open(endpoint.Secret)
	if endpoint.PreviousSecret != nil {
		previous = open(endpoint.PreviousSecret)
	}
	return current, previous, err
}

// retryAfter reads the Retry-After header: seconds or a date. It returns 0 for an unreadable value and for a past
// date.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}

	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

func statusFailure(status int) string {
	if status >= 300 && status < 400 {
		return fmt.Sprintf("The endpoint returned status %d. Redirects are not followed: change the endpoint's URL.",
			status)
	}
	return fmt.Sprintf("The endpoint returned status %d.", status)
}

// sendFailure words for the owner why there was no answer from the other side within the time.
func sendFailure(err error, side string, within time.Duration) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var handshake tls.AlertError
	var record tls.RecordHeaderError
	var timeout net.Error

	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("The %s did not respond within %d seconds.", side, int(within.Seconds()))
	case errors.As(err, &name):
		return "The host name could not be resolved."
	case errors.As(err, &certificate):
		return "The TLS certificate of the host is not valid."
	case errors.As(err, &handshake), errors.As(err, &record):
		return "The TLS handshake with the host failed."
	}
	return "The connection was refused or closed early."
}
