package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"slices"
	"time"
)

// The errors of a timestamp, as reasons of a report.
var (
	errToken        = errors.New("the timestamp is damaged")
	errTokenImprint = errors.New("the timestamp is of other bytes")
	errTokenPurpose = errors.New("the certificate of the timestamp is not for timestamps")
)

type imprint struct {
	Hash   pkix.AlgorithmIdentifier
	Digest []byte
}

type timestampRequest struct {
	Version int
	Imprint imprint
	Nonce   *big.Int `asn1:"optional"`
	Certs   bool     `asn1:"optional"`
}

type timestampResponse struct {
	Status struct {
		Status  int
		Text    asn1.RawValue  `asn1:"optional"`
		Failure asn1.BitString `asn1:"optional"`
	}
	Token asn1.RawValue `asn1:"optional"`
}

type timestampInfo struct {
	Version  int
	Policy   asn1.ObjectIdentifier
	Imprint  imprint
	Serial   *big.Int
	At       asn1.RawValue
	Accuracy struct {
		Seconds int `asn1:"optional"`
		Millis  int `asn1:"optional,tag:0"`
		Micros  int `asn1:"optional,tag:1"`
	} `asn1:"optional"`
	Ordering bool          `asn1:"optional"`
	Nonce    *big.Int      `asn1:"optional"`
	TSA      asn1.RawValue `asn1:"optional,explicit,tag:0"`
	More     asn1.RawValue `asn1:"optional,tag:1"`
}

// nonceBytes is the length of the number in a request. Few authorities support more.
const nonceBytes = 8

// TimestampRequest returns a request of RFC 3161 for a digest. It has a number that depends on the digest and a random
// seed, and the response repeats it.
func TimestampRequest(hash crypto.Hash, of, seed []byte) ([]byte, error) {
	nonce := new(big.Int).SetBytes(digest(crypto.SHA256, seed, of)[:nonceBytes])
	a, _ := algorithmOf(hash)
	algorithm := pkix.AlgorithmIdentifier{Algorithm: a.oid, Parameters: asn1.NullRawValue}
	return asn1.Marshal(timestampRequest{1, imprint{algorithm, of}, nonce.Add(nonce, big.NewInt(1)), true})
}

// timestampToken returns the timestamp of a response to a request. The error is BadResponse if there is none, or it is
// for another request, or its signature is wrong. Trust in its authority is not checked.
func timestampToken(request, response []byte) ([]byte, error) {
	var asked timestampRequest
	if _, err := asn1.Unmarshal(request, &asked); err != nil {
		return nil, err
	}

	var got timestampResponse
	der, _, err := fromBER(response)
	if err == nil {
		_, err = asn1.Unmarshal(der, &got)
	}
	if err != nil {
		return nil, fail(BadResponse, "did not return a timestamp")
	}

	const granted, grantedWithChanges = 0, 1
	if status := got.Status.Status; status != granted && status != grantedWithChanges {
		return nil, fail(BadResponse, "refused the request (PKIStatus %d of RFC 3161)", status)
	}

	raw := got.Token.FullBytes
	if sent := itemsOf(response); len(sent) > 1 {
		raw = sent[1] // as the authority has signed it
	}
	token, err := readToken(raw)
	if err == nil {
		err = token.of(asked.Imprint.Digest)
	}
	if err != nil {
		return nil, fail(BadResponse, "returned an invalid timestamp: %v", err)
	}

	if token.info.Nonce == nil || token.info.Nonce.Cmp(asked.Nonce) != 0 {
		return nil, fail(BadResponse, "returned a timestamp for another request")
	}
	return raw, nil
}

// token is a timestamp whose signature is right.
type token struct {
	*message

	info timestampInfo
	at   time.Time
}

// readToken reads a timestamp, and checks its signature and the purpose of its certificate.
func readToken(raw []byte, others ...*x509.Certificate) (*token, error) {
	m, err := readMessage(raw, others...)
	if err != nil {
		return nil, err
	}

	t := &token{message: m}
	if !m.contentType.Equal(oidTSTInfo) || m.content == nil {
		return nil, errToken
	}

	der, _, err := fromBER(m.content)
	if err == nil {
		_, err = asn1.Unmarshal(der, &t.info)
	}
	if err == nil {
		t.at, err = time.Parse("20060102150405Z0700", string(t.info.At.Bytes)) // with any fraction of a second
	}
	if err != nil || t.info.At.Tag != asn1.TagGeneralizedTime {
		return nil, errToken
	}

	if err := m.verify(digest(m.hash, m.content)); err != nil {
		return nil, err
	}
	if m.defect == nil && !slices.Contains(m.signer.ExtKeyUsage, x509.ExtKeyUsageTimeStamping) {
		return nil, errTokenPurpose
	}

	return t, nil
}

// of checks that a timestamp is of a digest.
func (t *token) of(want []byte) error {
	if !bytes.Equal(t.info.Imprint.Digest, want) {
		return errTokenImprint
	}
	return nil
}

// ofBytes checks that a timestamp is of bytes.
func (t *token) ofBytes(parts ...[]byte) error {
	hash := hashOf(t.info.Imprint.Hash.Algorithm)
	if hash == 0 {
		return unsupported(algorithmName(t.info.Imprint.Hash.Algorithm))
	}
	if err := t.of(digest(hash, parts...)); err != nil {
		return err
	}
	if isWeak(hash) {
		return errWeak
	}
	return nil
}
