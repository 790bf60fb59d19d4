package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The errors of a CMS that is wrong, as reasons of a report.
var (
	errCMS         = errors.New("the signature is not a CMS")
	errEmpty       = errors.New("the place of the signature is empty")
	errDigest      = errors.New("the signed bytes have changed")
	errSignature   = errors.New("the signature does not match the certificate of its signer")
	errESS         = errors.New("the signature names another certificate than that of its signer")
	errContentType = errors.New("the signature has a wrong content type")
	errAttribute   = errors.New(
		"the signature has an attribute with several values, of which readers use different ones")
)

// undecidedError is about a signature that may be right, but cannot be verified or relied on.
type undecidedError struct{ text string }

func (e *undecidedError) Error() string { return e.text }

// undecided returns an undecidedError.
func undecided(format string, args ...any) error {
	return &undecidedError{fmt.Sprintf(format, args...)}
}

// isUndecided reports whether an error is an undecidedError.
func isUndecided(err error) bool {
	var e *undecidedError
	return errors.As(err, &e)
}

// The errors of a CMS that cannot be verified.
var (
	errNoSigner = undecided("the signature has no certificate of its signer, so it cannot be verified")
	errSigners  = undecided("the signature has several signers, which is not supported")
	errContent  = undecided("the signature has a content of its own, about which readers disagree")
	errTail     = undecided("the place of the signature has other bytes after it, about which readers disagree")
)

// unsupported is the error of an algorithm.
func unsupported(name string) error {
	return undecided("the signature has an unsupported algorithm: %s", name)
}

// message is a CMS with one signer.
type message struct {
	content      []byte // encapsulated; nil if the message is detached
	contentType  asn1.ObjectIdentifier
	certificates []*x509.Certificate // that are well-formed
	candidates   []candidate         // for the certificate of the signer
	signer       *x509.Certificate   // the candidate that fits
	defect       error               // of the signer's certificate, which can then be used for nothing but its key
	info         signerInfo
	hash         crypto.Hash
	raw          []byte // the CMS as it was sent
	signed       attributes
	unsigned     attributes
}

// unwrap reads the outer structure of a CMS, in BER. Zeros may follow it, as in the place of a PDF.
func unwrap(cms []byte) (data signedData, err error) {
	if len(bytes.Trim(cms, "\x00")) == 0 {
		return data, errEmpty
	}
	der, rest, err := fromBER(cms)
	if err != nil {
		return data, errCMS
	}

	var outer contentInfo
	after, err := asn1.Unmarshal(der, &outer)
	if err != nil || !outer.Type.Equal(oidSignedData) || len(after) > 0 {
		return data, errCMS
	}

	after, err = asn1.Unmarshal(outer.Content.Bytes, &data)
	switch {
	case err != nil || len(after) > 0 || len(data.Signers) == 0:
		return data, errCMS
	case len(data.Signers) > 1:
		return data, errSigners
	case len(bytes.Trim(rest, "\x00")) > 0:
		return data, errTail
	}
	return data, nil
}

// readMessage reads a CMS, whose signer's certificate is in it or among others. The error is one of this file.
func readMessage(cms []byte, others ...*x509.Certificate) (*message, error) {
	data, err := unwrap(cms)
	if err != nil {
		return nil, err
	}

	m := &message{info: data.Signers[0], contentType: data.Encapsulated.Type, raw: cms}
	if around := data.Encapsulated.Content; len(around.FullBytes) > 0 {
		var inner asn1.RawValue
		rest, err := asn1.Unmarshal(around.Bytes, &inner)
		if err != nil || len(rest) > 0 || inner.Class != asn1.ClassUniversal || inner.Tag != asn1.TagOctetString ||
			inner.IsCompound {
			return nil, errCMS
		}
		m.content = inner.Bytes
	}

	if m.signed, err = readAttributes(m.info.Signed.Bytes); err != nil {
		return nil, err
	}
	if m.unsigned, err = readAttributes(m.info.Unsigned.Bytes); err != nil {
		return nil, err
	}
	if m.hash = hashOf(m.info.DigestAlgorithm.Algorithm); m.hash == 0 {
		return nil, unsupported(algorithmName(m.info.DigestAlgorithm.Algorithm))
	}

	var unread []candidate
	if m.certificates, unread, err = readCertificates(data.Certificates.Bytes); err != nil {
		return nil, err
	}
	m.candidates = m.info.candidates(slices.Concat(m.certificates, others), unread)
	if len(m.candidates) == 0 {
		return nil, errNoSigner
	}
	m.choose(m.candidates[0])
	return m, nil
}

func (m *message) choose(c candidate) {
	m.signer = c.Certificate
	m.defect = c.defect
}

// readCertificates reads certificates one after the other, and ignores other kinds. Those that are not well-formed are
// only candidates.
func readCertificates(raw []byte) (list []*x509.Certificate, unread []candidate, err error) {
	for len(raw) > 0 {
		var item asn1.RawValue
		if raw, err = asn1.Unmarshal(raw, &item); err != nil {
			return nil, nil, errCMS
		}

		c, err := x509.ParseCertificate(item.FullBytes)
		if err == nil {
			list = append(list, c)
			continue
		}
		if c := looseCertificate(item.FullBytes); c != nil {
			unread = append(unread, candidate{c, err})
		}
	}

	return list, unread, nil
}

// attributes are the values of attributes, by identifier.
type attributes map[string][]asn1.RawValue

func readAttributes(raw []byte) (attributes, error) {
	found := attributes{}
	for len(raw) > 0 {
		var item attribute
		var err error
		if raw, err = asn1.Unmarshal(raw, &item); err != nil {
			return nil, errCMS
		}

		for values := item.Values.Bytes; len(values) > 0; {
			var value asn1.RawValue
			if values, err = asn1.Unmarshal(values, &value); err != nil {
				return nil, errCMS
			}
			found[item.Type.String()] = append(found[item.Type.String()], value)
		}
	}

	return found, nil
}

// one returns the value of an attribute that must not have several. Its encoding is empty if there is none.
func (a attributes) one(oid asn1.ObjectIdentifier) (value asn1.RawValue, err error) {
	switch values := a[oid.String()]; len(values) {
	case 0:
		return value, nil
	case 1:
		return values[0], nil
	}
	return value, errAttribute
}

// verify checks the signature of a digest, and that the message names its certificate.
func (m *message) verify(of []byte) error {
	if len(m.info.Signed.FullBytes) == 0 {
		if m.contentType.Equal(oidTSTInfo) {
			return errContentType
		}
		return m.findSigner(func(c candidate) error {
			return m.checkSignature(c, signedContent{hash: m.hash, digest: of})
		})
	}

	if err := m.checkAttributes(of); err != nil {
		return err
	}

	encodings := m.encodings()
	return m.findSigner(func(c candidate) error {
		var found error
		for _, encoded := range encodings {
			if found = m.checkSignature(c, signedContent{bytes: encoded}); !errors.Is(found, errSignature) {
				break
			}
		}

		if found != nil && !errors.Is(found, errWeak) {
			return found
		}
		if err := m.checkESS(c.Certificate); err != nil {
			return err
		}
		return found
	})
}

// findSigner chooses the first certificate that passes a check. Several may have the number that the message names.
func (m *message) findSigner(check func(candidate) error) (first error) {
	for _, c := range m.candidates {
		err := check(c)
		if err == nil || errors.Is(err, errWeak) {
			m.choose(c)
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// checkAttributes checks that the signed attributes are of a digest.
func (m *message) checkAttributes(of []byte) error {
	var kind asn1.ObjectIdentifier
	value, err := m.signed.one(oidContentType)
	switch {
	case err != nil:
		return err
	case !unmarshalled(value, &kind) || !kind.Equal(m.contentType):
		return errContentType
	}

	var stated []byte
	value, err = m.signed.one(oidDigest)
	switch {
	case err != nil:
		return err
	case !unmarshalled(value, &stated) || !bytes.Equal(stated, of):
		return errDigest
	}

	return nil
}

// encodings returns the encodings of the signed attributes of which the signature can be: as the standard requires, in
// DER and in order; as most programs do it, in the order of the message; and as they were sent.
func (m *message) encodings() (list [][]byte) {
	add := func(content []byte) {
		encoded := encodeDER([]byte{asn1.TagSet | berCompound}, content)
		if !slices.ContainsFunc(list, func(other []byte) bool { return bytes.Equal(other, encoded) }) {
			list = append(list, encoded)
		}
	}

	inOrder := m.info.Signed.Bytes
	add(inOrder)

	var members [][]byte
	for rest := inOrder; len(rest) > 0; {
		var item asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &item); err != nil {
			break
		}
		members = append(members, item.FullBytes)
	}
	slices.SortFunc(members, bytes.Compare)
	add(slices.Concat(members...))

	if sent := sentAttributes(m.raw); sent != nil {
		add(sent)
	}
	return list
}

func unmarshalled(value asn1.RawValue, into any) bool {
	rest, err := asn1.Unmarshal(value.FullBytes, into)
	return err == nil && len(rest) == 0
}

// checkESS checks that the signed attributes name the signer's certificate, if they name one.
func (m *message) checkESS(signer *x509.Certificate) error {
	value, err := m.signed.one(oidESSv2)
	if err != nil {
		return err
	}

	if len(value.FullBytes) > 0 {
		var ess essCertificates
		if !unmarshalled(value, &ess) || len(ess.Certificates) == 0 {
			return errESS
		}

		hash := crypto.SHA256
		if oid := ess.Certificates[0].Hash.Algorithm; len(oid) > 0 {
			if hash = hashOf(oid); hash == 0 {
				return unsupported(algorithmName(oid))
			}
		}
		if !bytes.Equal(ess.Certificates[0].Digest, digest(hash, signer.Raw)) {
			return errESS
		}
		return nil
	}

	value, err = m.signed.one(oidESS) // of RFC 2634, as old timestamp authorities have it
	if err != nil || len(value.FullBytes) == 0 {
		return err
	}

	var ess struct {
		Certificates []struct {
			Digest []byte
			Issuer asn1.RawValue `asn1:"optional"`
		}
		Policies asn1.RawValue `asn1:"optional"`
	}
	if !unmarshalled(value, &ess) || len(ess.Certificates) == 0 ||
		!bytes.Equal(ess.Certificates[0].Digest, digest(crypto.SHA1, signer.Raw)) {
		return errESS
	}
	return nil
}

// claimedTime is the time in the signed attributes, which older signatures have.
func (m *message) claimedTime() time.Time {
	var at time.Time
	if value, err := m.signed.one(oidSigningTime); err == nil {
		_ = unmarshalled(value, &at)
	}
	return at
}

// maxTokens bounds the timestamps of a signature.
const maxTokens = 8

// tokens returns the timestamps of the signature.
func (m *message) tokens() (list [][]byte) {
	values := m.unsigned[oidToken.String()]
	for _, value := range values[:min(len(values), maxTokens)] {
		list = append(list, value.FullBytes)
	}
	return list
}
