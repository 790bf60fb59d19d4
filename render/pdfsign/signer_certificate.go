package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"
)

// candidate is a certificate that may be that of a signer.
type candidate struct {
	*x509.Certificate

	// defect is the error of a certificate that is not well-formed, of which only the names, the number and the key
	// count.
	defect error
}

// maxCandidates bounds the certificates that have the name and number of a signer's.
const maxCandidates = 8

// candidates returns the certificates that the signer is identified by: by issuer and number, or by the identifier of
// the key. Names may differ in their encoding.
func (i signerInfo) candidates(read []*x509.Certificate, unread []candidate) (list []candidate) {
	all := make([]candidate, 0, len(read)+len(unread))
	for _, c := range read {
		all = append(all, candidate{c, nil})
	}
	all = append(all, unread...)

	var alike []candidate // with another encoding of the name
	for _, c := range all {
		if slices.ContainsFunc(list, func(other candidate) bool { return bytes.Equal(other.Raw, c.Raw) }) {
			continue
		}
		named, exact := i.names(c.Certificate)
		switch {
		case exact:
			list = append(list, c)
		case named:
			alike = append(alike, c)
		}
	}

	list = append(list, alike...)
	return list[:min(len(list), maxCandidates)]
}

// names reports whether the signer is identified by a certificate, and whether by exactly its bytes.
func (i signerInfo) names(c *x509.Certificate) (named, exact bool) {
	if i.ID.Class == asn1.ClassContextSpecific {
		id := i.ID.Bytes
		if i.ID.IsCompound { // a string in segments
			id, _ = joined(id, asn1.TagOctetString)
		}
		exact = len(id) > 0 && bytes.Equal(id, c.SubjectKeyId)
		return exact || len(c.SubjectKeyId) == 0 && bytes.Equal(id, keyIdentifier(c)), exact
	}

	var id issuerAndSerial
	_, err := asn1.Unmarshal(i.ID.FullBytes, &id)
	if err != nil || signedInteger(id.Serial.Bytes).Cmp(c.SerialNumber) != 0 {
		return false, false
	}

	exact = bytes.Equal(id.Issuer.FullBytes, c.RawIssuer)
	return exact || sameName(id.Issuer.FullBytes, c.RawIssuer), exact
}

// keyIdentifier returns the usual identifier of a certificate's key.
func keyIdentifier(c *x509.Certificate) []byte {
	var key struct {
		Algorithm pkix.AlgorithmIdentifier
		Bits      asn1.BitString
	}
	if _, err := asn1.Unmarshal(c.RawSubjectPublicKeyInfo, &key); err != nil {
		return nil
	}
	sum := sha1.Sum(key.Bits.Bytes)
	return sum[:]
}

// signedInteger returns the number of the content of an integer, which may have more bytes than DER allows.
func signedInteger(content []byte) *big.Int {
	const sign, bits = 0x80, 8
	n := new(big.Int).SetBytes(content)
	if len(content) > 0 && content[0]&sign != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(bits*len(content))))
	}
	return n
}

// sameName reports whether two names are the same, whatever the case, the white space and the encoding of their texts.
func sameName(a, b []byte) bool {
	first, ok := canonicalName(a)
	second, okToo := canonicalName(b)
	return ok && okToo && first == second
}

// canonicalName returns a text that is the same for the same names.
func canonicalName(raw []byte) (string, bool) {
	type part struct {
		Type  asn1.ObjectIdentifier
		Value asn1.RawValue
	}
	type partsSET []part // The suffix is the notation of encoding/asn1 for sets.
	var name []partsSET
	if rest, err := asn1.Unmarshal(raw, &name); err != nil || len(rest) > 0 {
		return "", false
	}

	var b strings.Builder
	for _, parts := range name {
		var texts []string
		for _, p := range parts {
			text := strings.ToLower(strings.Join(strings.Fields(nameText(p.Value)), " "))
			texts = append(texts, p.Type.String()+"="+text)
		}

		slices.Sort(texts)
		b.WriteString(strings.Join(texts, "\x00+") + "\x00,")
	}
	return b.String(), true
}

// nameText returns the text of a part of a name.
func nameText(value asn1.RawValue) string {
	const universal = 28 // UniversalString, of four bytes each
	var text []rune

	switch value.Tag {
	case asn1.TagT61String:
		for _, c := range value.Bytes {
			text = append(text, rune(c))
		}
	case asn1.TagBMPString:
		var units []uint16
		for i := 0; i+1 < len(value.Bytes); i += 2 {
			units = append(units, uint16(value.Bytes[i])<<8|uint16(value.Bytes[i+1]))
		}
		text = utf16.Decode(units)
	case universal:
		for i := 0; i+3 < len(value.Bytes); i += 4 {
			text = append(text,
				rune(value.Bytes[i])<<24|rune(value.Bytes[i+1])<<16|rune(value.Bytes[i+2])<<8|rune(value.Bytes[i+3]))
		}
	default:
		return string(value.Bytes)
	}

	return string(text)
}

// looseCertificate reads the names, the number and the key of a certificate that is not well-formed, or has a key that
// is not supported; nil if it is none.
func looseCertificate(raw []byte) *x509.Certificate {
	var read struct {
		Signed struct {
			Version    asn1.RawValue `asn1:"optional,tag:0"`
			Serial     asn1.RawValue
			Algorithm  asn1.RawValue
			Issuer     asn1.RawValue
			Validity   asn1.RawValue
			Subject    asn1.RawValue
			Key        asn1.RawValue
			IssuerID   asn1.RawValue `asn1:"optional,tag:1"`
			SubjectID  asn1.RawValue `asn1:"optional,tag:2"`
			Extensions asn1.RawValue `asn1:"optional,tag:3"`
		}
		Algorithm asn1.RawValue
		Signature asn1.RawValue
	}
	if _, err := asn1.Unmarshal(raw, &read); err != nil || read.Signed.Serial.Tag != asn1.TagInteger {
		return nil
	}

	s := read.Signed
	c := &x509.Certificate{
		Raw: raw, RawIssuer: s.Issuer.FullBytes, RawSubject: s.Subject.FullBytes,
		RawSubjectPublicKeyInfo: s.Key.FullBytes,
		SerialNumber:            signedInteger(s.Serial.Bytes),
	}

	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(c.RawIssuer, &name); err == nil {
		c.Issuer.FillFromRDNSequence(&name)
	}
	name = nil
	if _, err := asn1.Unmarshal(c.RawSubject, &name); err == nil {
		c.Subject.FillFromRDNSequence(&name)
	}

	var extensions []pkix.Extension
	if _, err := asn1.Unmarshal(s.Extensions.Bytes, &extensions); err != nil {
		return c
	}

	for _, extension := range extensions {
		if extension.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 14}) { // the identifier of the subject's key
			_ = unmarshalled(asn1.RawValue{FullBytes: extension.Value}, &c.SubjectKeyId)
		}
	}
	return c
}

// publicKey returns the key of a certificate. The error names an algorithm that is not supported.
func (c candidate) publicKey() (crypto.PublicKey, error) {
	if key, err := x509.ParsePKIXPublicKey(c.RawSubjectPublicKeyInfo); err == nil {
		return key, nil
	}

	var read struct {
		Algorithm pkix.AlgorithmIdentifier
		Bits      asn1.BitString
	}
	if _, err := asn1.Unmarshal(c.RawSubjectPublicKeyInfo, &read); err != nil {
		return nil, undecided("the key of the signer's certificate cannot be read")
	}

	switch oid := read.Algorithm.Algorithm; {
	case oid.Equal(oidPSS), oid.Equal(oidRSA): // without the parameters that Go requires
		key, err := x509.ParsePKCS1PublicKey(read.Bits.Bytes)
		if err != nil {
			return nil, undecided("the key of the signer's certificate cannot be read")
		}
		return key, nil
	case oid.Equal(oidECKey):
		var curve asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(read.Algorithm.Parameters.FullBytes, &curve); err == nil {
			return nil, unsupported(algorithmName(curve))
		}
		return nil, unsupported("ECDSA on a curve without a name")
	default:
		return nil, unsupported(algorithmName(oid))
	}
}
