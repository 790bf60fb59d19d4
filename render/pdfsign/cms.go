package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	_ "crypto/md5" // to name weak signatures
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // to name weak signatures, and for old timestamps
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
)

// The identifiers of RFC 5652, RFC 5035 and RFC 3161.
var (
	oidData        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidDigest      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidTSTInfo     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidESS         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidToken       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
	oidESSv2       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidRSA         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidPSS         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidMGF1        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}
	oidECKey       = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
)

// algorithm is a hash with the identifiers of it and of the signatures with it.
type algorithm struct {
	hash            crypto.Hash
	oid, rsa, ecdsa asn1.ObjectIdentifier
	weak            bool // documents of the same hash can be made
}

func algorithms() []algorithm {
	// The algorithms of NIST, RSA and ANSI.
	nist := func(arcs ...int) asn1.ObjectIdentifier { return append([]int{2, 16, 840, 1, 101, 3, 4}, arcs...) }
	pkcs1 := func(arc int) asn1.ObjectIdentifier { return []int{1, 2, 840, 113549, 1, 1, arc} }
	ansi := func(arcs ...int) asn1.ObjectIdentifier { return append([]int{1, 2, 840, 10045, 4}, arcs...) }

	return []algorithm{
		{hash: crypto.SHA256, oid: nist(2, 1), rsa: pkcs1(11), ecdsa: ansi(3, 2)},
		{hash: crypto.SHA384, oid: nist(2, 2), rsa: pkcs1(12), ecdsa: ansi(3, 3)},
		{hash: crypto.SHA512, oid: nist(2, 3), rsa: pkcs1(13), ecdsa: ansi(3, 4)},
		{hash: crypto.SHA224, oid: nist(2, 4), rsa: pkcs1(14), ecdsa: ansi(3, 1)},
		{hash: crypto.SHA512_224, oid: nist(2, 5), rsa: pkcs1(15)},
		{hash: crypto.SHA512_256, oid: nist(2, 6), rsa: pkcs1(16)},
		{hash: crypto.SHA3_224, oid: nist(2, 7), rsa: nist(3, 13), ecdsa: nist(3, 9)},
		{hash: crypto.SHA3_256, oid: nist(2, 8), rsa: nist(3, 14), ecdsa: nist(3, 10)},
		{hash: crypto.SHA3_384, oid: nist(2, 9), rsa: nist(3, 15), ecdsa: nist(3, 11)},
		{hash: crypto.SHA3_512, oid: nist(2, 10), rsa: nist(3, 16), ecdsa: nist(3, 12)},
		{hash: crypto.SHA1, oid: []int{1, 3, 14, 3, 2, 26}, rsa: pkcs1(5), ecdsa: ansi(1), weak: true},
		{hash: crypto.MD5, oid: []int{1, 2, 840, 113549, 2, 5}, rsa: pkcs1(4), weak: true},
	}
}

// algorithmOf returns the algorithm of a hash.
func algorithmOf(hash crypto.Hash) (algorithm, bool) {
	all := algorithms()
	i := slices.IndexFunc(all, func(a algorithm) bool { return a.hash == hash })
	if i < 0 {
		return algorithm{}, false
	}
	return all[i], true
}

// hashOf returns the hash with an identifier, either its own or that of a signature with it; 0 if it is unknown.
func hashOf(oid asn1.ObjectIdentifier) crypto.Hash {
	if len(oid) == 0 {
		return 0
	}
	for _, a := range algorithms() {
		if oid.Equal(a.oid) || oid.Equal(a.rsa) || oid.Equal(a.ecdsa) {
			return a.hash
		}
	}
	return 0
}

// isWeak reports whether documents of the same hash can be made.
func isWeak(hash crypto.Hash) bool {
	a, _ := algorithmOf(hash)
	return a.weak
}

func digest(hash crypto.Hash, parts ...[]byte) []byte {
	h := hash.New()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"optional,tag:0"` // around the value
}

type signedData struct {
	Version          int
	DigestAlgorithms []pkix.AlgorithmIdentifier `asn1:"set"`
	Encapsulated     contentInfo
	Certificates     asn1.RawValue `asn1:"optional,tag:0"`
	CRLs             asn1.RawValue `asn1:"optional,tag:1"`
	Signers          []signerInfo  `asn1:"set"`
}

type signerInfo struct {
	Version            int
	ID                 asn1.RawValue
	DigestAlgorithm    pkix.AlgorithmIdentifier
	Signed             asn1.RawValue `asn1:"optional,tag:0"`
	SignatureAlgorithm pkix.AlgorithmIdentifier
	Signature          []byte
	Unsigned           asn1.RawValue `asn1:"optional,tag:1"`
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values asn1.RawValue // a set
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial asn1.RawValue
}

type essCertificates struct {
	Certificates []essCertificate
	Policies     asn1.RawValue `asn1:"optional"`
}

type essCertificate struct {
	Hash   pkix.AlgorithmIdentifier `asn1:"optional"`
	Digest []byte
	Issuer asn1.RawValue `asn1:"optional"`
}

// set returns the encoding of a set, in the order that DER requires.
func set(class, tag int, members ...[]byte) asn1.RawValue {
	slices.SortFunc(members, bytes.Compare)
	return asn1.RawValue{Class: class, Tag: tag, IsCompound: true, Bytes: slices.Concat(members...)}
}

func attributeOf(oid asn1.ObjectIdentifier, value []byte) ([]byte, error) {
	return asn1.Marshal(attribute{oid, set(asn1.ClassUniversal, asn1.TagSet, value)})
}

// Signer has a key and its certificate.
type Signer struct {
	Key crypto.Signer
	// Chain is the certificate of the key and those that lead to its root.
	Chain []*x509.Certificate
	Hash  crypto.Hash
}

// The bounds of RSA keys, in bits.
const (
	minRSA = 2048
	maxRSA = 4096
)

// NewSigner returns a signer with the hash that suits the key. The error is BadKey if the key is not RSA of 2048 to
// 4096 bits, nor ECDSA on P-256 or P-384, or does not match the certificate.
func NewSigner(key crypto.Signer, chain []*x509.Certificate) (*Signer, error) {
	s := &Signer{Key: key, Chain: chain, Hash: crypto.SHA256}
	if len(chain) == 0 {
		return nil, fail(BadKey, "must have the certificate of the private key")
	}

	switch public := key.Public().(type) {
	case *rsa.PublicKey:
		if n := public.N.BitLen(); n < minRSA || n > maxRSA {
			return nil, fail(BadKey, "must have an RSA key of %d to %d bits, or an ECDSA key; got RSA of %d bits",
				minRSA, maxRSA, n)
		}
		if !public.Equal(chain[0].PublicKey) {
			return nil, fail(BadKey,
				"must have the certificate of the private key; its certificate belongs to another key")
		}
	case *ecdsa.PublicKey:
		switch public.Curve.Params().Name {
		case "P-256":
		case "P-384":
			s.Hash = crypto.SHA384
		default:
			return nil, fail(BadKey, "must have an ECDSA key on P-256 or P-384, or an RSA key; got %s",
				public.Curve.Params().Name)
		}
		if !public.Equal(chain[0].PublicKey) {
			return nil, fail(BadKey,
				"must have the certificate of the private key; its certificate belongs to another key")
		}
	default:
		return nil, fail(BadKey, "must have an RSA or ECDSA key")
	}

	usage := chain[0].KeyUsage
	if usage != 0 && usage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		return nil, fail(BadKey,
			"must have a certificate whose key usage allows signatures (digitalSignature or nonRepudiation)")
	}

	return s, nil
}

// Sign returns the CMS of a document with a digest. It has no signing time, which PAdES has in the PDF.
func (s *Signer) Sign(documentDigest []byte) ([]byte, error) {
	a, ok := algorithmOf(s.Hash)
	if !ok || a.weak {
		return nil, fail(BadKey, "must sign SHA-256 or a stronger hash")
	}

	attributes, err := s.attributes(a, documentDigest)
	if err != nil {
		return nil, err
	}
	signed, err := asn1.Marshal(set(asn1.ClassUniversal, asn1.TagSet, attributes...))
	if err != nil {
		return nil, err
	}

	signature, err := s.Key.Sign(rand.Reader, digest(s.Hash, signed), s.Hash)
	if err != nil {
		return nil, err
	}
	return s.encode(a, attributes, signature)
}

// attributes returns the signed attributes.
func (s *Signer) attributes(a algorithm, documentDigest []byte) (list [][]byte, err error) {
	ess := essCertificate{Digest: digest(s.Hash, s.Chain[0].Raw)}
	if s.Hash != crypto.SHA256 { // the default
		ess.Hash.Algorithm = a.oid
	}

	for _, item := range []struct {
		oid   asn1.ObjectIdentifier
		value any
	}{
		{oidContentType, oidData},
		{oidDigest, documentDigest},
		{oidESSv2, essCertificates{Certificates: []essCertificate{ess}}},
	} {
		value, err := asn1.Marshal(item.value)
		if err != nil {
			return nil, err
		}
		encoded, err := attributeOf(item.oid, value)
		if err != nil {
			return nil, err
		}
		list = append(list, encoded)
	}

	return list, nil
}

func (s *Signer) encode(a algorithm, attributes [][]byte, signature []byte) ([]byte, error) {
	certificate := s.Chain[0]
	serial, err := asn1.Marshal(certificate.SerialNumber)
	if err != nil {
		return nil, err
	}
	id, err := asn1.Marshal(issuerAndSerial{
		asn1.RawValue{FullBytes: certificate.RawIssuer}, asn1.RawValue{FullBytes: serial},
	})
	if err != nil {
		return nil, err
	}

	kind := pkix.AlgorithmIdentifier{Algorithm: a.ecdsa}
	if _, ok := s.Key.Public().(*rsa.PublicKey); ok {
		kind = pkix.AlgorithmIdentifier{Algorithm: a.rsa, Parameters: asn1.NullRawValue}
	}

	var certificates [][]byte
	for _, c := range s.Chain {
		certificates = append(certificates, c.Raw)
	}
	hash := pkix.AlgorithmIdentifier{Algorithm: a.oid}

	return wrap(signedData{
		Version: 1, DigestAlgorithms: []pkix.AlgorithmIdentifier{hash},
		Encapsulated: contentInfo{Type: oidData},
		Certificates: set(asn1.ClassContextSpecific, 0, certificates...),
		Signers: []signerInfo{{
			Version: 1, ID: asn1.RawValue{FullBytes: id}, DigestAlgorithm: hash, SignatureAlgorithm: kind,
			Signature: signature,
			Signed:    set(asn1.ClassContextSpecific, 0, attributes...),
		}},
	})
}

func wrap(data signedData) ([]byte, error) {
	inner, err := asn1.Marshal(data)
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(contentInfo{
		oidSignedData, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: inner},
	})
}

// addTimestamp returns a CMS with a timestamp of its signature.
func addTimestamp(cms, token []byte) ([]byte, error) {
	data, err := unwrap(cms)
	if err != nil {
		return nil, err
	}
	encoded, err := attributeOf(oidToken, token)
	if err != nil {
		return nil, err
	}
	data.Signers[0].Unsigned = set(asn1.ClassContextSpecific, 1, encoded)
	return wrap(data)
}
