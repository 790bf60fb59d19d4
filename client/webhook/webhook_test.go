package webhook_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client/webhook"
)

const (
	secret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
	another = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhro="
	id      = "evt_1"
)

var (
	at   = time.Unix(1_790_000_000, 0)
	body = []byte(`{"id":"evt_1", "type":"job.completed"}` + "\n")
)

// standard returns the headers of Standard Webhooks with signatures of the secrets.
func standard(t *testing.T, secrets ...string) http.Header {
	t.Helper()
	var signatures []string
	for _, s := range secrets {
		signature, err := webhook.SignStandard(s, id, at, body)
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, signature)
	}
	h := http.Header{}
	h.Set(webhook.IDHeader, id)
	h.Set(webhook.TimestampHeader, strconv.FormatInt(at.Unix(), 10))
	h.Set(webhook.StandardHeader, strings.Join(signatures, " "))
	return h
}

func service(value string) http.Header {
	h := http.Header{}
	h.Set(webhook.SignatureHeader, value)
	return h
}

// TestSignaturesAreKnown compares with values that openssl made:
//
//	printf '%s' "$t.$body" | openssl dgst -sha256 -hmac "$secret"
//	printf '%s' "$id.$t.$body" | openssl dgst -sha256 -mac HMAC -macopt hexkey:… -binary | base64
func TestSignaturesAreKnown(t *testing.T) {
	t.Parallel()
	if got, want := webhook.Sign(secret, at, body), "t=1790000000,v1=201d106b6a9eb5c62be8d1dc864c1cb7b440edbc9f9a5ee3e4c90e89c6d87493"; got != want {
		t.Errorf("Service-Signature is %q, want %q", got, want)
	}
	got, err := webhook.SignStandard(secret, id, at, body)
	if want := "v1,X2ChnsS7lu3FdGs9/iePib1IlINcdPtBLzJ2p9XTf08="; got != want || err != nil {
		t.Errorf("webhook-signature is %q, %v, want %q", got, err, want)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	good := webhook.Sign(secret, at, body)
	_, hex, _ := strings.Cut(good, "v1=")
	wrong := strings.Repeat("00", 32)
	both := standard(t, secret)
	both.Set(webhook.SignatureHeader, webhook.Sign(another, at, body))
	renamed := standard(t, secret)
	renamed.Set(webhook.IDHeader, "evt_2")
	unstamped := standard(t, secret)
	unstamped.Del(webhook.TimestampHeader)
	for _, c := range []struct {
		name   string
		header http.Header
		secret string
		body   []byte
		later  time.Duration
		want   error
	}{
		{name: "Service-Signature", header: service(good)},
		{name: "blanks", header: service(strings.ReplaceAll(good, ",", " , "))},
		{name: "several v1, the first right", header: service(good + ",v1=" + wrong)},
		{name: "several v1, the last right", header: service("t=1790000000,v1=" + wrong + ",v1=zz,v0=1,v1=" + hex)},
		{name: "300 s ago", header: service(good), later: 300 * time.Second},
		{name: "300 s ahead", header: service(good), later: -300 * time.Second},
		{name: "older", header: service(good), later: 301 * time.Second, want: webhook.ErrTime},
		{name: "ahead", header: service(good), later: -301 * time.Second, want: webhook.ErrTime},
		{name: "another secret", header: service(good), secret: another, want: webhook.ErrMismatch},
		{name: "another body", header: service(good), body: []byte(`{"id":"evt_1","type":"job.completed"}`), want: webhook.ErrMismatch},
		{name: "another time", header: service("t=1790000001,v1=" + hex), want: webhook.ErrMismatch},
		{name: "old and of another secret", header: service(good), secret: another, later: time.Hour, want: webhook.ErrMismatch},
		{name: "shortened", header: service(good[:len(good)-2]), want: webhook.ErrMismatch},
		{name: "empty", header: service(""), want: webhook.ErrUnsigned},
		{name: "no header", header: http.Header{}, want: webhook.ErrUnsigned},
		{name: "no time", header: service("v1=" + hex), want: webhook.ErrUnsigned},
		{name: "no v1", header: service("t=1790000000,v0=" + hex), want: webhook.ErrUnsigned},
		{name: "no number", header: service("t=soon,v1=" + hex), want: webhook.ErrUnsigned},
		{name: "no secret", header: service(good), secret: "secret", want: webhook.ErrSecret},
		{name: "no Base64", header: service(good), secret: "whsec_*", want: webhook.ErrSecret},
		{name: "webhook-signature", header: standard(t, secret)},
		{name: "two secrets", header: standard(t, another, secret)},
		{name: "standard, older", header: standard(t, secret), later: 301 * time.Second, want: webhook.ErrTime},
		{name: "standard, another secret", header: standard(t, another), want: webhook.ErrMismatch},
		{name: "standard, another id", header: renamed, want: webhook.ErrMismatch},
		{name: "standard, no time", header: unstamped, want: webhook.ErrUnsigned},
		{name: "after a roll", header: both},
		{name: "after a roll, older", header: both, later: 301 * time.Second, want: webhook.ErrTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.secret == "" {
				c.secret = secret
			}
			if c.body == nil {
				c.body = body
			}
			err := webhook.Verify(c.secret, c.header, c.body, webhook.Options{Now: func() time.Time { return at.Add(c.later) }})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestVerifyTolerance(t *testing.T) {
	t.Parallel()
	now := webhook.Options{Tolerance: time.Second, Now: func() time.Time { return at.Add(2 * time.Second) }}
	if err := webhook.Verify(secret, service(webhook.Sign(secret, at, body)), body, now); !errors.Is(err, webhook.ErrTime) {
		t.Errorf("got %v, want ErrTime", err)
	}
	if err := webhook.Verify(secret, service(webhook.Sign(secret, time.Now(), body)), body, webhook.Options{}); err != nil {
		t.Errorf("with the real clock: %v", err)
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	first, second := webhook.NewSecret(), webhook.NewSecret()
	text, ok := strings.CutPrefix(first, "whsec_")
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(raw) != 32 || first == second {
		t.Errorf("secrets are %q and %q (%v), want two of whsec_ and 32 bytes", first, second, err)
	}
}
