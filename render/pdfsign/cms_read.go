package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"slices"
	"time"
)

// The errors of a CMS, as reasons of a report.
var (
	errCMS         = errors.New("the signature is not a CMS in DER")
	errNoSigner    = errors.New("the signature has no certificate of its signer")
	errDigest      = errors.New("the signed bytes have changed")
	errSignature   = errors.New("the signature does not match the certificate of its signer")
	errESS         = errors.New("the signature names another certificate than that of its signer")
	errContentType = errors.New("the signature has a wrong content type")
	errWeak        = errors.New("the signature uses SHA-1, which is not secure")
	errAlgorithm   = errors.New("the signature has an unsupported algorithm")
)

// message is a CMS with one signer.
type message struct {
	content      []byte // encapsulated; nil if the message is detached
	contentType  asn1.ObjectIdentifier
	certificates []*x509.Certificate
	signer       *x509.Certificate
	info         signerInfo
	hash         crypto.Hash
	signed       map[string]asn1.RawValue // the first value, by identifier
	unsigned     map[string]asn1.RawValue
}

// unwrap reads the outer structure of a CMS with one signer. Zeros may follow it, as in the place of a PDF.
func unwrap(cms []byte) (data signedData, err error) {
	var outer contentInfo
	rest, err := asn1.Unmarshal(cms, &outer)
	if err != nil || !outer.Type.Equal(oidSignedData) || len(bytes.Trim(rest, "\x00")) > 0 {
		return data, errCMS
	}
	rest, err = asn1.Unmarshal(outer.Content.Bytes, &data)
	if err != nil || len(rest) > 0 || len(data.Signers) != 1 {
		return data, errCMS
	}
	return data, nil
}

// readMessage reads a CMS, whose signer's certificate is in it or among others. The error is one of this file.
func readMessage(cms []byte, others ...*x509.Certificate) (*message, error) {
	data, err := unwrap(cms)
	if err != nil {
		return nil, err
	}
	m := &message{info: data.Signers[0], contentType: data.Encapsulated.Type}
	if around := data.Encapsulated.Content; len(around.FullBytes) > 0 {
		var inner asn1.RawValue
		if rest, err := asn1.Unmarshal(around.Bytes, &inner); err != nil || len(rest) > 0 || inner.Class != asn1.ClassUniversal || inner.Tag != asn1.TagOctetString || inner.IsCompound {
			return nil, errCMS
		}
		m.content = inner.Bytes
	}
	if m.certificates, err = readCertificates(data.Certificates.Bytes); err != nil {
		return nil, err
	}
	if m.signed, err = readAttributes(m.info.Signed.Bytes); err != nil {
		return nil, err
	}
	if m.unsigned, err = readAttributes(m.info.Unsigned.Bytes); err != nil {
		return nil, err
	}
	if m.hash = hashOf(m.info.DigestAlgorithm.Algorithm); m.hash == 0 {
		return nil, errAlgorithm
	}
	for _, c := range slices.Concat(m.certificates, others) {
		if m.info.names(c) {
			m.signer = c
			return m, nil
		}
	}
	return nil, errNoSigner
}

// readCertificates reads certificates one after the other, and ignores other kinds.
func readCertificates(raw []byte) (list []*x509.Certificate, err error) {
	for len(raw) > 0 {
		var item asn1.RawValue
		if raw, err = asn1.Unmarshal(raw, &item); err != nil {
			return nil, errCMS
		}
		if c, err := x509.ParseCertificate(item.FullBytes); err == nil {
			list = append(list, c)
		}
	}
	return list, nil
}

// readAttributes reads attributes, of which each must have one value and be there once.
func readAttributes(raw []byte) (map[string]asn1.RawValue, error) {
	found := map[string]asn1.RawValue{}
	for len(raw) > 0 {
		var item attribute
		var value asn1.RawValue
		var err error
		if raw, err = asn1.Unmarshal(raw, &item); err != nil {
			return nil, errCMS
		}
		if rest, err := asn1.Unmarshal(item.Values.Bytes, &value); err != nil || len(rest) > 0 {
			return nil, errCMS
		}
		if _, twice := found[item.Type.String()]; twice {
			return nil, errCMS
		}
		found[item.Type.String()] = value
	}
	return found, nil
}

// names reports whether the signer is identified by a certificate's issuer and number, or by the identifier of its
// key.
func (i signerInfo) names(c *x509.Certificate) bool {
	if i.ID.Class == asn1.ClassContextSpecific {
		return len(c.SubjectKeyId) > 0 && bytes.Equal(i.ID.Bytes, c.SubjectKeyId)
	}
	var id issuerAndSerial
	if _, err := asn1.Unmarshal(i.ID.FullBytes, &id); err != nil {
		return false
	}
	serial, err := asn1.Marshal(c.SerialNumber)
	return err == nil && bytes.Equal(id.Issuer.FullBytes, c.RawIssuer) && bytes.Equal(id.Serial.FullBytes, serial)
}

// verify checks the signature of a digest, and that the message names its certificate.
func (m *message) verify(of []byte) error {
	signed := m.info.Signed
	if len(signed.FullBytes) == 0 {
		if m.contentType.Equal(oidTSTInfo) {
			return errContentType
		}
		return m.checkSignature(of)
	}
	var kind asn1.ObjectIdentifier
	if value, ok := m.signed[oidContentType.String()]; !ok || !unmarshalled(value, &kind) || !kind.Equal(m.contentType) {
		return errContentType
	}
	var stated []byte
	if value, ok := m.signed[oidDigest.String()]; !ok || !unmarshalled(value, &stated) || !bytes.Equal(stated, of) {
		return errDigest
	}
	encoded, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSet, IsCompound: true, Bytes: signed.Bytes})
	if err != nil {
		return errCMS
	}
	if err := m.checkSignature(digest(m.signatureHash(), encoded)); err != nil {
		return err
	}
	return m.checkESS()
}

func unmarshalled(value asn1.RawValue, into any) bool {
	rest, err := asn1.Unmarshal(value.FullBytes, into)
	return err == nil && len(rest) == 0
}

// signatureHash is the hash that the signature is of.
func (m *message) signatureHash() crypto.Hash {
	if hash := hashOf(m.info.SignatureAlgorithm.Algorithm); hash != 0 {
		return hash
	}
	if parameters, ok := pssOf(m.info.SignatureAlgorithm); ok {
		return parameters
	}
	return m.hash
}

// checkSignature verifies the signature of a digest.
func (m *message) checkSignature(of []byte) error {
	hash, oid := m.signatureHash(), m.info.SignatureAlgorithm.Algorithm
	if m.hash == crypto.SHA1 || hash == crypto.SHA1 {
		return errWeak
	}
	switch key := m.signer.PublicKey.(type) {
	case *rsa.PublicKey:
		if oid.Equal(oidPSS) {
			if _, ok := pssOf(m.info.SignatureAlgorithm); !ok {
				return errAlgorithm
			}
			if rsa.VerifyPSS(key, hash, of, m.info.Signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto, Hash: hash}) != nil {
				return errSignature
			}
			return nil
		}
		if a, _ := algorithmOf(hash); !oid.Equal(oidRSA) && !oid.Equal(a.rsa) {
			return errAlgorithm
		}
		if rsa.VerifyPKCS1v15(key, hash, of, m.info.Signature) != nil {
			return errSignature
		}
	case *ecdsa.PublicKey:
		if a, _ := algorithmOf(hash); !oid.Equal(oidECKey) && !oid.Equal(a.ecdsa) {
			return errAlgorithm
		}
		if !ecdsa.VerifyASN1(key, of, m.info.Signature) {
			return errSignature
		}
	default:
		return errAlgorithm
	}
	return nil
}

// pssOf returns the hash of the parameters of RSASSA-PSS, which must be that of the mask as well.
func pssOf(a pkix.AlgorithmIdentifier) (crypto.Hash, bool) {
	var parameters struct {
		Hash    pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:0"`
		Mask    pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:1"`
		Salt    int                      `asn1:"optional,explicit,tag:2,default:20"`
		Trailer int                      `asn1:"optional,explicit,tag:3,default:1"`
	}
	if !a.Algorithm.Equal(oidPSS) {
		return 0, false
	}
	if _, err := asn1.Unmarshal(a.Parameters.FullBytes, &parameters); err != nil {
		return 0, false
	}
	var mask pkix.AlgorithmIdentifier
	if _, err := asn1.Unmarshal(parameters.Mask.Parameters.FullBytes, &mask); err != nil {
		return 0, false
	}
	hash := hashOf(parameters.Hash.Algorithm)
	return hash, hash != 0 && hashOf(mask.Algorithm) == hash && parameters.Trailer == 1
}

// checkESS checks that the signed attributes name the signer's certificate, if they name one.
func (m *message) checkESS() error {
	if value, ok := m.signed[oidESSv2.String()]; ok {
		var ess essCertificates
		if !unmarshalled(value, &ess) || len(ess.Certificates) == 0 {
			return errESS
		}
		hash := crypto.SHA256
		if oid := ess.Certificates[0].Hash.Algorithm; len(oid) > 0 {
			hash = hashOf(oid)
		}
		if hash == 0 || !bytes.Equal(ess.Certificates[0].Digest, digest(hash, m.signer.Raw)) {
			return errESS
		}
		return nil
	}
	if value, ok := m.signed[oidESS.String()]; ok { // of RFC 2634, as old timestamp authorities have it
		var ess struct {
			Certificates []struct {
				Digest []byte
				Issuer asn1.RawValue `asn1:"optional"`
			}
			Policies asn1.RawValue `asn1:"optional"`
		}
		if !unmarshalled(value, &ess) || len(ess.Certificates) == 0 || !bytes.Equal(ess.Certificates[0].Digest, digest(crypto.SHA1, m.signer.Raw)) {
			return errESS
		}
	}
	return nil
}

// claimedTime is the time in the signed attributes, which older signatures have.
func (m *message) claimedTime() time.Time {
	var at time.Time
	if value, ok := m.signed[oidSigningTime.String()]; ok {
		_ = unmarshalled(value, &at)
	}
	return at
}

// token returns the timestamp of the signature; nil if it has none.
func (m *message) token() []byte { return m.unsigned[oidToken.String()].FullBytes }
