package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/dsa" //nolint:staticcheck // to name its keys
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"math/big"
	"slices"
)

// errWeak is the error of a signature that is right, but of a hash for which anybody can make two documents.
var errWeak = undecided("the signature uses SHA-1 or MD5, which is not secure")

// signedContent is what a signature is of: bytes, or only their digest.
type signedContent struct {
	bytes  []byte
	hash   crypto.Hash // of the digest
	digest []byte
}

// with returns the digest with a hash; nil if that is unknown.
func (c signedContent) with(hash crypto.Hash) []byte {
	switch {
	case c.bytes != nil:
		return digest(hash, c.bytes)
	case hash == c.hash:
		return c.digest
	}
	return nil
}

// The bounds of RSA keys whose signatures can be verified, in bits.
const (
	minVerifiedRSA = 1024
	maxVerifiedRSA = 16384
)

// checkSignature verifies the signature with the key of a certificate. The error is errWeak if it is right.
func (m *message) checkSignature(c candidate, of signedContent) error {
	key, err := c.publicKey()
	if err != nil {
		return err
	}

	switch key := key.(type) {
	case *rsa.PublicKey:
		return m.checkRSA(key, of)
	case *ecdsa.PublicKey:
		return m.checkECDSA(key, of)
	case ed25519.PublicKey:
		switch {
		case of.bytes == nil:
			return unsupported("Ed25519 without signed attributes")
		case !ed25519.Verify(key, of.bytes, m.info.Signature):
			return errSignature
		}
		return m.strong(m.hash)
	case *dsa.PublicKey:
		return unsupported("DSA")
	}

	return unsupported("the key of the signer")
}

// strong returns errWeak if the hash of a signature, or of the document, is weak.
func (m *message) strong(hash crypto.Hash) error {
	if isWeak(hash) || isWeak(m.hash) {
		return errWeak
	}
	return nil
}

// hashes returns the hashes that a signature can be of. Programs disagree when the message names two.
func (m *message) hashes() []crypto.Hash {
	hash := hashOf(m.info.SignatureAlgorithm.Algorithm)
	if hash == 0 || hash == m.hash {
		return []crypto.Hash{m.hash}
	}
	return []crypto.Hash{m.hash, hash}
}

func (m *message) checkRSA(key *rsa.PublicKey, of signedContent) error {
	oid := m.info.SignatureAlgorithm.Algorithm
	switch bits := key.N.BitLen(); {
	case bits < minVerifiedRSA:
		return undecided("the signature uses an RSA key of %d bits, which is not secure", bits)
	case bits > maxVerifiedRSA:
		return undecided("the signature uses an RSA key of %d bits, which is too large to be verified", bits)
	case oid.Equal(oidPSS):
		return m.checkPSS(key, of)
	case !oid.Equal(oidRSA) && hashOf(oid) == 0:
		return unsupported(algorithmName(oid))
	}

	for _, hash := range m.hashes() {
		if sum := of.with(hash); sum != nil && verifyPKCS1(key, hash, sum, m.info.Signature) {
			return m.strong(hash)
		}
	}
	return errSignature
}

func (m *message) checkECDSA(key *ecdsa.PublicKey, of signedContent) error {
	oid := m.info.SignatureAlgorithm.Algorithm
	if a, _ := algorithmOf(hashOf(oid)); !oid.Equal(oidECKey) && (a.ecdsa == nil || !oid.Equal(a.ecdsa)) {
		return unsupported(algorithmName(oid) + " with an ECDSA key")
	}
	for _, hash := range m.hashes() {
		if sum := of.with(hash); sum != nil && ecdsa.VerifyASN1(key, sum, m.info.Signature) {
			return m.strong(hash)
		}
	}
	return errSignature
}

// checkPSS verifies a signature of RSASSA-PSS, with a salt of any length.
func (m *message) checkPSS(key *rsa.PublicKey, of signedContent) error {
	hash, mask, err := pssOf(m.info.SignatureAlgorithm)
	if err != nil {
		return err
	}

	switch sum := of.with(hash); {
	case sum == nil:
		return unsupported("RSASSA-PSS with two hashes")
	case !verifyPSS(key, hash, mask, sum, m.info.Signature):
		return errSignature
	}
	return m.strong(hash)
}

// pssOf returns the hash of RSASSA-PSS and that of its mask.
func pssOf(a pkix.AlgorithmIdentifier) (hash, mask crypto.Hash, err error) {
	var parameters struct {
		Hash    pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:0"`
		Mask    pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:1"`
		Salt    int                      `asn1:"optional,explicit,tag:2,default:20"`
		Trailer int                      `asn1:"optional,explicit,tag:3,default:1"`
	}
	if raw := a.Parameters.FullBytes; len(raw) > 0 && a.Parameters.Tag != asn1.TagNull {
		if _, err := asn1.Unmarshal(raw, &parameters); err != nil {
			return 0, 0, unsupported("RSASSA-PSS with unreadable parameters")
		}
	}

	// The defaults.
	hash = crypto.SHA1
	mask = crypto.SHA1

	if oid := parameters.Hash.Algorithm; len(oid) > 0 {
		hash = hashOf(oid)
	}
	if oid := parameters.Mask.Algorithm; len(oid) > 0 {
		var of pkix.AlgorithmIdentifier
		_, err := asn1.Unmarshal(parameters.Mask.Parameters.FullBytes, &of)
		mask = hashOf(of.Algorithm)
		if err != nil || !oid.Equal(oidMGF1) {
			mask = 0
		}
	}

	if hash == 0 || mask == 0 || parameters.Trailer > 1 {
		return 0, 0, unsupported("RSASSA-PSS with unusual parameters")
	}
	return hash, mask, nil
}

// The package crypto/rsa refuses keys with an exponent above 31 bits, which some authorities issue, hashes without
// their parameters, and masks with another hash than that of the content. These are verified here. Nothing in a
// verification is secret.

// largestExponent is that of crypto/rsa.
const largestExponent = 1<<31 - 1

// encodedMessage returns the message of a signature in as many bytes as the modulus has; nil if it is none.
func encodedMessage(key *rsa.PublicKey, signature []byte) []byte {
	number := new(big.Int).SetBytes(signature)
	if len(signature) != key.Size() || number.Cmp(key.N) >= 0 {
		return nil
	}
	number.Exp(number, big.NewInt(int64(key.E)), key.N)
	return number.FillBytes(make([]byte, key.Size()))
}

// verifyPKCS1 verifies a signature of RSASSA-PKCS1-v1_5 (RFC 8017, 8.2.2). The hash may lack its parameters, which are
// nothing.
func verifyPKCS1(key *rsa.PublicKey, hash crypto.Hash, sum, signature []byte) bool {
	if key.E <= largestExponent && rsa.VerifyPKCS1v15(key, hash, sum, signature) == nil {
		return true
	}

	a, _ := algorithmOf(hash)
	encoded := encodedMessage(key, signature)
	for _, parameters := range []asn1.RawValue{asn1.NullRawValue, {}} {
		info, err := asn1.Marshal(struct {
			Algorithm pkix.AlgorithmIdentifier
			Digest    []byte
		}{pkix.AlgorithmIdentifier{Algorithm: a.oid, Parameters: parameters}, sum})
		padding := key.Size() - len(info) - len("\x00\x01\x00")
		const minPadding = 8
		if err != nil || padding < minPadding {
			return false
		}

		if bytes.Equal(encoded, slices.Concat([]byte{0, 1}, bytes.Repeat([]byte{0xFF}, padding), []byte{0}, info)) {
			return true
		}
	}
	return false
}

// verifyPSS verifies a signature of RSASSA-PSS (RFC 8017, 8.1.2 and 9.1.2).
func verifyPSS(key *rsa.PublicKey, hash, mask crypto.Hash, sum, signature []byte) bool {
	options := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto, Hash: hash}
	if key.E <= largestExponent && hash == mask && rsa.VerifyPSS(key, hash, sum, signature, options) == nil {
		return true
	}

	// The message has a bit less than the modulus.
	const trailer, bits = 0xBC, 8
	size := (key.N.BitLen() + bits - 2) / bits
	encoded := encodedMessage(key, signature)
	if encoded == nil || size < hash.Size()+2 || len(encoded) > size && encoded[0] != 0 {
		return false
	}
	encoded = encoded[len(encoded)-size:]
	masked := encoded[:size-hash.Size()-1]
	h := encoded[size-hash.Size()-1 : size-1]
	unused := bits*size - (key.N.BitLen() - 1) // bits of the first byte
	if encoded[size-1] != trailer || masked[0]>>(bits-unused) != 0 {
		return false
	}

	at := 0
	for counter := uint32(0); at < len(masked); counter++ {
		for _, b := range digest(mask, h, binary.BigEndian.AppendUint32(nil, counter)) {
			if at < len(masked) {
				masked[at] ^= b
				at++
			}
		}
	}
	masked[0] &= 0xFF >> unused

	const zeros = 8
	start := bytes.IndexByte(masked, 1)
	if start < 0 || len(bytes.Trim(masked[:start], "\x00")) > 0 {
		return false
	}
	return bytes.Equal(h, digest(hash, make([]byte, zeros), sum, masked[start+1:]))
}

// algorithmName returns the name of an algorithm or curve that is not supported, or its identifier.
func algorithmName(oid asn1.ObjectIdentifier) string {
	brainpool := asn1.ObjectIdentifier{1, 3, 36, 3, 3, 2, 8, 1, 1}
	if len(oid) == len(brainpool)+1 && slices.Equal(oid[:len(brainpool)], brainpool) {
		names := []string{
			"P160r1", "P160t1", "P192r1", "P192t1", "P224r1", "P224t1", "P256r1", "P256t1", "P320r1", "P320t1",
			"P384r1", "P384t1", "P512r1", "P512t1",
		}

		if n := oid[len(brainpool)]; n >= 1 && n <= len(names) {
			return "ECDSA on brainpool" + names[n-1]
		}
	}

	name, ok := map[string]string{
		"1.2.840.113549.1.1.1": "RSA", "1.2.840.113549.1.1.10": "RSASSA-PSS", "1.2.840.10045.2.1": "ECDSA",
		"1.3.132.0.10":      "ECDSA on secp256k1",
		"1.2.840.10040.4.1": "DSA", "1.2.840.10040.4.3": "DSA with SHA-1", "2.16.840.1.101.3.4.3.2": "DSA with SHA-256",
		"1.3.101.112": "Ed25519", "1.3.101.113": "Ed448", "2.16.840.1.101.3.4.2.11": "SHAKE128",
		"2.16.840.1.101.3.4.2.12": "SHAKE256", "1.3.36.3.2.1": "RIPEMD-160",
		"1.2.840.113549.2.2": "MD2", "1.2.840.113549.1.1.2": "RSA with MD2", "1.2.643.7.1.1.1.1": "GOST R 34.10-2012",
		"1.2.643.2.2.19":      "GOST R 34.10-2001",
		"1.2.156.10197.1.301": "SM2",
	}[oid.String()]
	if ok {
		return name
	}

	if a, known := algorithmOf(hashOf(oid)); known {
		if oid.Equal(a.rsa) {
			return "RSA with " + a.hash.String()
		}
		return a.hash.String()
	}
	return "the object identifier " + oid.String()
}
