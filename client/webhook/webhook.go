// Package webhook verifies requests to webhook endpoints, with only the standard library. Verify the raw body of a
// delivery before you parse it:
//
//	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
//	if err := webhook.Verify(secret, r.Header, body, webhook.Options{}); err != nil {
//		http.Error(w, "bad signature", http.StatusBadRequest)
//	}
//
// Two headers sign it, and either is enough: Service-Signature, and webhook-signature of the Standard Webhooks
// specification. An event may arrive more than once. Its ID, in the header webhook-id and in the body, stays the
// same.
package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a delivery.
const (
	// EventHeader names the type of the event, such as job.completed.
	EventHeader = "Service-Event"
	// SignatureHeader holds "t=SECONDS,v1=HEX", keyed with the whole secret.
	SignatureHeader = "Service-Signature"
	// IDHeader, TimestampHeader and StandardHeader are the headers of Standard Webhooks: the event's ID, the time
	// in seconds, and "v1,BASE64" for each valid secret, keyed with the bytes that the secret encodes.
	IDHeader        = "Webhook-Id"
	TimestampHeader = "Webhook-Timestamp"
	StandardHeader  = "Webhook-Signature"
)

// Tolerance is the default of the maximum difference between a signature's time and now.
const Tolerance = 300 * time.Second

// Errors of Verify. Compare with errors.Is.
var (
	// ErrSecret means that the secret is not whsec_ and standard Base64.
	ErrSecret = errors.New(
		"the webhook secret must be whsec_ and standard Base64, as it was shown when the endpoint was made")
	// ErrUnsigned means that the signature is missing or cannot be read.
	ErrUnsigned = errors.New("the request has no signature that can be read")
	// ErrMismatch means that no signature matches the body and the secret: one of the three has been changed.
	ErrMismatch = errors.New(
		"no signature matches: compare the secret, and verify the body before anything parses or changes it")
	// ErrTime means that the signature is right, but too old or of the future.
	ErrTime = errors.New("the signature's time is too far from now")
)

// Event is the body of a delivery.
type Event struct {
	ID        string          `json:"id"`   // evt_…, the same each time the event is sent
	Type      string          `json:"type"` // job.completed, …
	CreatedAt time.Time       `json:"createdAt"`
	Data      json.RawMessage `json:"data"`
}

// Options change how Verify judges. Their zero value is right for receivers.
type Options struct {
	// Tolerance is the maximum difference between the signature's time and now, in the past or in the future; 0
	// means the package's Tolerance.
	Tolerance time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verify returns nil if a delivery with the headers and the unchanged body was signed with the secret within the
// tolerance. One matching signature of either kind is enough: after a rotation, requests carry the signatures of
// two secrets. The error matches ErrSecret, ErrUnsigned, ErrMismatch or ErrTime.
func Verify(secret string, h http.Header, body []byte, o Options) error {
	key, err := decode(secret)
	if err != nil {
		return err
	}

	if o.Tolerance == 0 {
		o.Tolerance = Tolerance
	}
	if o.Now == nil {
		o.Now = time.Now
	}

	plain := parseSignature(h.Get(SignatureHeader))
	plain.expected = mac([]byte(secret), plain.stamp, ".", string(body))
	standard := parseStandard(h)
	standard.expected = mac(key, h.Get(IDHeader), ".", standard.stamp, ".", string(body))

	err = plain.check(o)
	if err == nil {
		return nil
	}

	other := standard.check(o)
	switch {
	case other == nil:
		return nil
	case errors.Is(other, ErrTime), errors.Is(err, ErrUnsigned):
		return other
	}
	return err
}

// signature is one header's claim.
type signature struct {
	stamp    string   // the time as it was signed
	values   [][]byte // one of them must match
	expected []byte
}

// check compares in constant time, and looks at the clock only afterwards: the
// time of a signature that is not ours means nothing.
func (s signature) check(o Options) error {
	seconds, err := strconv.ParseInt(s.stamp, 10, 64)
	if err != nil || len(s.values) == 0 {
		return ErrUnsigned
	}

	right := false
	for _, value := range s.values {
		right = hmac.Equal(value, s.expected) || right
	}
	if !right {
		return ErrMismatch
	}

	if age := o.Now().Sub(time.Unix(seconds, 0)); age > o.Tolerance || age < -o.Tolerance {
		return fmt.Errorf("%w: it was signed %v ago, and %v is allowed; check this machine's clock", ErrTime,
			age.Round(time.Second), o.Tolerance)
	}
	return nil
}

// parseSignature reads "t=SECONDS,v1=HEX". Other versions are skipped.
func parseSignature(header string) signature {
	var s signature
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			s.stamp = value
		case "v1":
			if raw, err := hex.DecodeString(value); err == nil {
				s.values = append(s.values, raw)
			}
		}
	}

	return s
}

// parseStandard reads the headers of Standard Webhooks.
func parseStandard(h http.Header) signature {
	s := signature{stamp: h.Get(TimestampHeader)}
	for part := range strings.FieldsSeq(h.Get(StandardHeader)) {
		version, value, _ := strings.Cut(part, ",")
		if version != "v1" {
			continue
		}
		if raw, err := base64.StdEncoding.DecodeString(value); err == nil {
			s.values = append(s.values, raw)
		}
	}
	return s
}

// Sign returns a SignatureHeader for a body that is sent at the time.
func Sign(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac([]byte(secret), stamp, ".", string(body)))
}

// SignStandard returns one signature of a StandardHeader, whose signatures are
// separated by blanks. The error matches ErrSecret.
func SignStandard(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := decode(secret)
	if err != nil {
		return "", err
	}
	sum := mac(key, id, ".", strconv.FormatInt(at.Unix(), 10), ".", string(body))
	return "v1," + base64.StdEncoding.EncodeToString(sum), nil
}

const (
	// secretPrefix begins every secret, so that scanners recognize them.
	secretPrefix = "whsec_"
	// secretBytes is as much as HMAC-SHA256 can use of a key.
	secretBytes = 32
)

// NewSecret returns a new secret: whsec_ and the standard Base64 of 32 random
// bytes.
func NewSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // crypto/rand.Read never fails: it ends the program instead.
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// decode returns the bytes that a secret encodes.
func decode(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(raw) == 0 {
		return nil, ErrSecret
	}
	return raw, nil
}

// mac returns the HMAC-SHA256 of the parts, one after the other.
func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		h.Write([]byte(part)) // Writing to a hash never fails.
	}
	return h.Sum(nil)
}
