package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// foreignSigner signs with openssl.
type foreignSigner struct {
	t   testing.TB
	dir string
}

func newForeignSigner(t testing.TB) foreignSigner {
	t.Helper()
	return foreignSigner{t, t.TempDir()}
}

// key makes a key and a certificate that signs itself, and returns the certificate; nil if Go cannot read it.
func (f foreignSigner) key(name string, args ...string) *x509.Certificate {
	f.t.Helper()
	out, ok := openssl(f.t, f.dir, slices.Concat([]string{"req", "-x509", "-noenc", "-keyout", name + ".key", "-out", name + ".pem", "-days", "10", "-subj", "/CN=" + name}, args)...)
	if !ok {
		f.t.Fatalf("%s: %s", name, out)
	}
	return f.certificate(name)
}

func (f foreignSigner) certificate(name string) *x509.Certificate {
	f.t.Helper()
	block, _ := pem.Decode(pdftest.Load(f.t, filepath.Join(f.dir, name+".pem")))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return c
}

// sign returns the CMS of bytes.
func (f foreignSigner) sign(content []byte, key string, args ...string) []byte {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "content"), content, 0o600); err != nil {
		f.t.Fatal(err)
	}
	out, ok := openssl(f.t, f.dir, slices.Concat([]string{"cms", "-sign", "-binary", "-nosmimecap", "-in", "content", "-outform", "DER", "-out", "cms", "-signer", key + ".pem", "-inkey", key + ".key"}, args)...)
	if !ok {
		f.t.Fatalf("%s %q: %s", key, args, out)
	}
	return pdftest.Load(f.t, filepath.Join(f.dir, "cms"))
}

// TestAlgorithms verifies what openssl signs, with all kinds of keys and parameters. The reasons name those that are not
// secure or not supported: none of them is invalid.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	f := newForeignSigner(t)
	if out, ok := openssl(t, f.dir, "dsaparam", "-out", "dsa.params", "1024"); !ok {
		t.Fatal(out)
	}
	roots := []*x509.Certificate{}
	for name, args := range map[string][]string{
		"rsa":       {"-newkey", "rsa:2048"},
		"small":     {"-newkey", "rsa:512"},
		"short":     {"-newkey", "rsa:1024"},
		"uneven":    {"-newkey", "rsa:1031"},
		"exponent":  {"-newkey", "rsa:2048", "-pkeyopt", "rsa_keygen_pubexp:2271055779"},
		"odd":       {"-newkey", "rsa:2050", "-pkeyopt", "rsa_keygen_pubexp:4294967297"},
		"three":     {"-newkey", "rsa:2049", "-pkeyopt", "rsa_keygen_pubexp:3"},
		"pss":       {"-newkey", "rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"},
		"p256":      {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"},
		"p224":      {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-224"},
		"p384":      {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"},
		"p521":      {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"},
		"brainpool": {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:brainpoolP384r1"},
		"twisted":   {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:brainpoolP256t1"},
		"bitcoin":   {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"},
		"explicit":  {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"},
		"dsa":       {"-newkey", "dsa:dsa.params"},
	} {
		if c := f.key(name, args...); c != nil {
			roots = append(roots, c)
		}
	}

	pss := func(options ...string) []string {
		args := []string{"-keyopt", "rsa_padding_mode:pss"}
		for _, option := range options {
			args = append(args, "-keyopt", option)
		}
		return args
	}
	p := preparePlace(t)
	for _, test := range []struct {
		key, reason string
		args        []string
	}{
		{"rsa", "", []string{"-md", "sha256"}},
		{"rsa", "", []string{"-md", "sha224"}},
		{"rsa", "", []string{"-md", "sha384"}},
		{"rsa", "", []string{"-md", "sha512"}},
		{"rsa", "", []string{"-md", "sha512-224"}},
		{"rsa", "", []string{"-md", "sha512-256"}},
		{"rsa", "", []string{"-md", "sha3-256"}},
		{"rsa", "", []string{"-md", "sha3-512"}},
		{"rsa", "", []string{"-md", "sha256", "-noattr"}},
		{"rsa", "", []string{"-md", "sha256", "-keyid"}},
		{"rsa", "", []string{"-md", "sha256", "-cades"}},
		{"rsa", "SHA-1", []string{"-md", "sha1"}},
		{"rsa", "SHA-1", []string{"-md", "sha1", "-noattr"}},
		{"rsa", "MD5", []string{"-md", "md5"}},
		{"rsa", "RIPEMD-160", []string{"-md", "ripemd160"}},
		{"rsa", "", append(pss(), "-md", "sha256")},
		{"rsa", "", append(pss("rsa_pss_saltlen:0"), "-md", "sha256")},
		{"rsa", "", append(pss("rsa_pss_saltlen:max"), "-md", "sha512")},
		{"rsa", "", append(pss("rsa_pss_saltlen:20"), "-md", "sha384")},
		{"rsa", "", append(pss("rsa_mgf1_md:sha1"), "-md", "sha256")},
		{"rsa", "", append(pss("rsa_mgf1_md:sha512", "rsa_pss_saltlen:0"), "-md", "sha256")},
		{"rsa", "", append(pss("rsa_mgf1_md:sha256", "rsa_pss_saltlen:max"), "-md", "sha512")},
		{"rsa", "", append(pss(), "-md", "sha256", "-noattr")},
		{"rsa", "SHA-1", append(pss(), "-md", "sha1")},
		{"three", "", []string{"-md", "sha256"}},
		{"three", "", append(pss("rsa_mgf1_md:sha1"), "-md", "sha256")},
		{"three", "", append(pss(), "-md", "sha256")},
		{"exponent", "", []string{"-md", "sha256"}},
		{"exponent", "", []string{"-md", "sha3-384"}},
		{"exponent", "", append(pss(), "-md", "sha256")},
		{"exponent", "", append(pss("rsa_mgf1_md:sha1", "rsa_pss_saltlen:max"), "-md", "sha512")},
		{"odd", "", []string{"-md", "sha512"}},
		{"odd", "", append(pss("rsa_pss_saltlen:max"), "-md", "sha512")},
		{"short", "", []string{"-md", "sha512", "-noattr"}},
		{"short", "", append(pss("rsa_pss_saltlen:max"), "-md", "sha256")},
		{"uneven", "", []string{"-md", "sha256"}},
		{"uneven", "", append(pss("rsa_mgf1_md:sha512", "rsa_pss_saltlen:1"), "-md", "sha384")},
		{"small", "512 bits", []string{"-md", "sha256"}},
		{"pss", "", append(pss(), "-md", "sha256")},
		{"pss", "", append(pss("rsa_mgf1_md:sha1"), "-md", "sha384", "-noattr")},
		{"p256", "", []string{"-md", "sha256"}},
		{"p256", "", []string{"-md", "sha512"}},
		{"p256", "", []string{"-md", "sha256", "-noattr"}},
		{"p256", "SHA-1", []string{"-md", "sha1"}},
		{"p224", "", []string{"-md", "sha224"}},
		{"p384", "", []string{"-md", "sha384"}},
		{"p521", "", []string{"-md", "sha512"}},
		{"p521", "", []string{"-md", "sha256", "-keyid"}},
		{"brainpool", "ECDSA on brainpoolP384r1", []string{"-md", "sha384"}},
		{"twisted", "ECDSA on brainpoolP256t1", []string{"-md", "sha256"}},
		{"bitcoin", "ECDSA on secp256k1", []string{"-md", "sha256"}},
		{"explicit", "ECDSA on a curve without a name", []string{"-md", "sha256"}},
		{"dsa", "DSA", []string{"-md", "sha256"}},
	} {
		name := test.key + " " + strings.Join(test.args, " ")
		cms := f.sign(p.signed(), test.key, test.args...)
		r := mustVerify(t, p.with(t, cms), Trust{Roots: roots})[0]
		want := Valid
		if test.reason != "" {
			want = Undecided
		}
		if r.Verdict != want || !strings.Contains(r.Reason, test.reason) || r.Intact != (want == Valid) {
			t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
		}
		if !opensslAccepts(t, cms, p.signed()) {
			t.Errorf("%s: openssl does not accept its own signature", name)
		}

		// The same signature of other bytes, or with another last byte, is not accepted.
		content := p.with(t, cms)
		content[20] ^= 1
		if r := mustVerify(t, content, Trust{Roots: roots})[0]; r.Verdict == Valid || r.Intact {
			t.Errorf("%s of other bytes: %s %s", name, r.Verdict, r.Reason)
		}
		signature := must(signature(cms))
		other := bytes.Clone(cms)
		other[bytes.Index(other, signature[len(signature)-9:])+8] ^= 1
		if r := mustVerify(t, p.with(t, other), Trust{Roots: roots})[0]; r.Verdict == Valid || r.Intact || want == Valid && r.Verdict != Invalid {
			t.Errorf("another %s: %s %s", name, r.Verdict, r.Reason)
		}
	}
}

// variant is a CMS that differs from that of a Signer.
type variant struct {
	signer    *Signer
	hash      crypto.Hash             // of the document
	algorithm asn1.ObjectIdentifier   // of the signature
	list      func([][]byte) [][]byte // changes the signed attributes
	sent      func([][]byte) [][]byte // changes their order after the signature
	data      func(*signedData)       // changes the rest
	sign      func(of []byte) []byte  // instead of the signer's key
}

// make returns the CMS of a document.
func (v variant) make(t testing.TB, p emptyPlace) []byte {
	t.Helper()
	s := v.signer
	if v.hash == 0 {
		v.hash = s.Hash
	}
	of := *s
	of.Hash = v.hash
	a, _ := algorithmOf(v.hash)
	list, err := of.attributes(a, p.digest(v.hash))
	if err != nil {
		t.Fatal(err)
	}
	if v.list != nil {
		list = v.list(list)
	}
	encoded := must(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: slices.Concat(list...)}))
	var signature []byte
	if v.sign != nil {
		signature = v.sign(encoded)
	} else if signature, err = s.Key.Sign(rand.Reader, digest(s.Hash, encoded), s.Hash); err != nil {
		t.Fatal(err)
	}
	data, err := unwrap(must(of.encode(a, slices.Clone(list), signature)))
	if err != nil {
		t.Fatal(err)
	}
	if v.sent != nil {
		list = v.sent(list)
	}
	data.Signers[0].Signed = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: slices.Concat(list...)}
	if v.algorithm != nil {
		data.Signers[0].SignatureAlgorithm.Algorithm = v.algorithm
	}
	if v.data != nil {
		v.data(&data)
	}
	return must(wrap(data))
}

func reversed(list [][]byte) [][]byte {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func sorted(list [][]byte) [][]byte { return slices.SortedFunc(slices.Values(list), bytes.Compare) }

// TestForeignMessages verifies messages as other programs write them.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	signerRSA, ec := a.signer("RSA", "RSA"), a.signer("EC", "P-256")
	sha3 := &Signer{Key: ec.Key, Chain: ec.Chain, Hash: crypto.SHA3_256}
	p := preparePlace(t)
	sha384, _ := algorithmOf(crypto.SHA384)
	sha1, _ := algorithmOf(crypto.SHA1)
	sha512, _ := algorithmOf(crypto.SHA512)
	without := func(oid asn1.ObjectIdentifier) func([][]byte) [][]byte {
		return func(list [][]byte) [][]byte {
			return slices.DeleteFunc(slices.Clone(list), func(raw []byte) bool {
				var item attribute
				_, err := asn1.Unmarshal(raw, &item)
				return err == nil && item.Type.Equal(oid)
			})
		}
	}
	with := func(oid asn1.ObjectIdentifier, values ...any) func([][]byte) [][]byte {
		return func(list [][]byte) [][]byte {
			var encoded [][]byte
			for _, value := range values {
				encoded = append(encoded, must(asn1.Marshal(value)))
			}
			return append(slices.Clone(list), must(asn1.Marshal(attribute{oid, set(asn1.ClassUniversal, asn1.TagSet, encoded...)})))
		}
	}
	other := asn1.ObjectIdentifier{1, 2, 3, 4}
	for name, test := range map[string]struct {
		variant
		want    Verdict
		openssl bool
	}{
		"as we sign":                             {variant{signer: ec}, Valid, true},
		"attributes out of order":                {variant{signer: ec, list: reversed}, Valid, true},
		"attributes in order, sent out of order": {variant{signer: ec, list: sorted, sent: reversed}, Valid, false},
		"attributes sent in another order":       {variant{signer: ec, list: reversed, sent: func(list [][]byte) [][]byte { return append(list[1:2:2], list[0], list[2]) }}, Invalid, false},
		"a stronger digest of the document":      {variant{signer: ec, hash: crypto.SHA512, algorithm: algorithms()[0].ecdsa}, Valid, false},
		"SHA-3":                                  {variant{signer: sha3}, Valid, false},
		"the hash of the digest counts": {variant{signer: signerRSA, algorithm: sha384.rsa, sign: func(of []byte) []byte {
			return must(signerRSA.Key.Sign(rand.Reader, digest(crypto.SHA256, of), crypto.SHA256))
		}}, Valid, true},
		"an algorithm that names SHA-1 with SHA-256": {variant{signer: signerRSA, algorithm: sha1.rsa}, Valid, true},
		"an algorithm that names SHA-1 with SHA-1": {variant{signer: signerRSA, algorithm: sha1.rsa, sign: func(of []byte) []byte {
			return must(signerRSA.Key.Sign(rand.Reader, digest(crypto.SHA1, of), crypto.SHA1))
		}}, Undecided, false},
		"a hash without parameters": {variant{signer: signerRSA, sign: func(of []byte) []byte {
			info := must(asn1.Marshal(struct {
				Algorithm pkix.AlgorithmIdentifier
				Digest    []byte
			}{pkix.AlgorithmIdentifier{Algorithm: algorithms()[0].oid}, digest(crypto.SHA256, of)}))
			return must(signerRSA.Key.Sign(rand.Reader, info, crypto.Hash(0)))
		}}, Valid, false},
		"no hash around the digest": {variant{signer: signerRSA, sign: func(of []byte) []byte {
			return must(signerRSA.Key.Sign(rand.Reader, digest(crypto.SHA256, of), crypto.Hash(0)))
		}}, Invalid, false},
		"a zero before the signature": {variant{signer: signerRSA, data: func(d *signedData) { d.Signers[0].Signature = append([]byte{0}, d.Signers[0].Signature...) }}, Invalid, false},
		"bytes after the signature":   {variant{signer: signerRSA, data: func(d *signedData) { d.Signers[0].Signature = append(d.Signers[0].Signature, 0) }}, Invalid, false},
		"the two numbers of ECDSA alone": {variant{signer: ec, data: func(d *signedData) {
			var pair struct{ R, S *big.Int }
			_, _ = asn1.Unmarshal(d.Signers[0].Signature, &pair)
			d.Signers[0].Signature = append(pair.R.FillBytes(make([]byte, 32)), pair.S.FillBytes(make([]byte, 32))...)
		}}, Invalid, false},
		"only the hash as the algorithm": {variant{signer: signerRSA, algorithm: algorithms()[0].oid}, Valid, false},
		"RSA as the algorithm":           {variant{signer: signerRSA, algorithm: oidRSA}, Valid, true},
		"ECDSA as the algorithm":         {variant{signer: ec, algorithm: oidECKey}, Valid, true},
		"ECDSA with another hash named":  {variant{signer: ec, algorithm: sha512.ecdsa}, Valid, true},
		"an unknown algorithm":           {variant{signer: ec, algorithm: other}, Undecided, false},
		"no name of the certificate":     {variant{signer: ec, list: without(oidESSv2)}, Valid, true},
		"no digest":                      {variant{signer: ec, list: without(oidDigest)}, Invalid, false},
		"no content type":                {variant{signer: ec, list: without(oidContentType)}, Invalid, false},
		"two digests":                    {variant{signer: ec, list: with(oidDigest, []byte{1})}, Invalid, false},
		"two types":                      {variant{signer: ec, list: with(oidContentType, oidData)}, Invalid, false},
		"two names of the certificate":   {variant{signer: ec, list: with(oidESSv2, essCertificates{})}, Invalid, false},
		"an attribute with two values":   {variant{signer: ec, list: with(other, 1, 2)}, Valid, true},
		"an attribute without a value":   {variant{signer: ec, list: with(other)}, Valid, true},
		"an attribute twice":             {variant{signer: ec, list: func(list [][]byte) [][]byte { return with(other, 1)(with(other, 2)(list)) }}, Valid, true},
		"no certificate":                 {variant{signer: ec, data: func(d *signedData) { d.Certificates = asn1.RawValue{} }}, Undecided, false},
		"two signers":                    {variant{signer: ec, data: func(d *signedData) { d.Signers = append(d.Signers, d.Signers[0]) }}, Undecided, true},
		"its own content":                {variant{signer: ec, data: func(d *signedData) { d.Encapsulated.Content = set(asn1.ClassContextSpecific, 0, []byte{4, 0}) }}, Undecided, true},
		"certificates the other way round": {variant{signer: ec, data: func(d *signedData) {
			d.Certificates = asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: slices.Concat(a.Root.Certificate.Raw, a.Issuer.Certificate.Raw, signerRSA.Chain[0].Raw, ec.Chain[0].Raw)}
		}}, Valid, true},
		"a certificate twice": {variant{signer: ec, data: func(d *signedData) {
			d.Certificates = asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: slices.Concat(ec.Chain[0].Raw, ec.Chain[0].Raw, a.Issuer.Certificate.Raw)}
		}}, Valid, true},
		"other kinds of certificates": {variant{signer: ec, data: func(d *signedData) {
			d.Certificates = asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: slices.Concat([]byte{0xA3, 0x05, 0x06, 0x01, 0x01, 0x05, 0x00}, ec.Chain[0].Raw, a.Issuer.Certificate.Raw)}
		}}, Valid, false},
		"a serial number with a zero": {variant{signer: ec, data: func(d *signedData) {
			c := ec.Chain[0]
			serial := asn1.RawValue{FullBytes: append([]byte{2, byte(len(c.SerialNumber.Bytes()) + 2), 0, 0}, c.SerialNumber.Bytes()...)}
			d.Signers[0].ID = asn1.RawValue{FullBytes: must(asn1.Marshal(issuerAndSerial{asn1.RawValue{FullBytes: c.RawIssuer}, serial}))}
		}}, Valid, false},
		"an identifier of the key in segments": {variant{signer: ec, data: func(d *signedData) {
			id := keyIdentifier(ec.Chain[0])
			d.Signers[0].ID = asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: slices.Concat([]byte{4, 5}, id[:5], []byte{4, 15}, id[5:])}
		}}, Valid, false},
	} {
		cms := test.make(t, p)
		r := mustVerify(t, p.with(t, cms), a.trust())[0]
		if r.Verdict != test.want {
			t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
		}
		if got := opensslAccepts(t, cms, p.signed()); test.openssl && !got {
			t.Errorf("%s: openssl accepts it: %v", name, got)
		}
	}
}

// TestEd25519 signs the attributes themselves.
func TestEd25519(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := a.Identity("Signer", key, &a.Issuer, pdftest.Years, a.Answered)
	s := &Signer{Key: key, Chain: []*x509.Certificate{id.Certificate, a.Issuer.Certificate}, Hash: crypto.SHA512}
	p := preparePlace(t)
	cms := variant{signer: s, algorithm: asn1.ObjectIdentifier{1, 3, 101, 112}, sign: func(of []byte) []byte { return ed25519.Sign(key, of) }}.make(t, p)
	if r := mustVerify(t, p.with(t, cms), a.trust())[0]; r.Verdict != Valid {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
	if r := mustVerify(t, p.with(t, bytes.Replace(cms, must(signature(cms))[:8], make([]byte, 8), 1)), a.trust())[0]; r.Verdict != Invalid {
		t.Errorf("another signature: %s %s", r.Verdict, r.Reason)
	}
}

// TestNamesOfSigners: the name of the issuer in a message, and the one in a certificate, may have other encodings than that
// of the issuer itself. Several certificates may have the same name and number.
func TestNamesOfSigners(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	c := s.Chain[0]
	p := preparePlace(t)
	name := func(tag int, organization, common string) []byte {
		part := func(arc int, text string) []byte {
			raw := []byte(text)
			if tag == asn1.TagBMPString {
				raw = nil
				for _, r := range text {
					raw = append(raw, byte(r>>8), byte(r))
				}
			}
			value := must(asn1.Marshal(asn1.RawValue{Tag: tag, Bytes: raw}))
			pair := must(asn1.Marshal(struct {
				Type  asn1.ObjectIdentifier
				Value asn1.RawValue
			}{asn1.ObjectIdentifier{2, 5, 4, arc}, asn1.RawValue{FullBytes: value}}))
			return encodeDER([]byte{0x31}, pair)
		}
		return encodeDER([]byte{0x30}, slices.Concat(part(10, organization), part(3, common)))
	}
	named := func(issuer []byte) []byte {
		return variant{signer: s, data: func(d *signedData) {
			d.Signers[0].ID = asn1.RawValue{FullBytes: must(asn1.Marshal(issuerAndSerial{asn1.RawValue{FullBytes: issuer}, asn1.RawValue{FullBytes: must(asn1.Marshal(c.SerialNumber))}}))}
		}}.make(t, p)
	}
	for text, test := range map[string]struct {
		issuer []byte
		want   Verdict
	}{
		"the same":             {name(asn1.TagPrintableString, "relaypdf", "Issuer"), Valid},
		"UTF-8":                {name(asn1.TagUTF8String, "relaypdf", "Issuer"), Valid},
		"T.61":                 {name(asn1.TagT61String, "relaypdf", "Issuer"), Valid},
		"UTF-16":               {name(asn1.TagBMPString, "relaypdf", "Issuer"), Valid},
		"other case and space": {name(asn1.TagUTF8String, " RelayPDF", "issuer "), Valid},
		"another name":         {name(asn1.TagUTF8String, "relaypdf", "Issuer 2"), Undecided},
		"nothing":              {[]byte{0x30, 0}, Undecided},
	} {
		if r := mustVerify(t, p.with(t, named(test.issuer)), a.trust())[0]; r.Verdict != test.want {
			t.Errorf("%s: %s %s", text, r.Verdict, r.Reason)
		}
	}

	// The certificate of the signer has the name of its issuer in another encoding.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Signer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	parent := *a.Issuer.Certificate
	parent.RawSubject = name(asn1.TagUTF8String, "relaypdf", "ISSUER")
	raw, err := x509.CreateCertificate(rand.Reader, template, &parent, s.Key.Public(), a.Issuer.Key)
	if err != nil {
		t.Fatal(err)
	}
	renamed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	other := &Signer{Key: s.Key, Chain: []*x509.Certificate{renamed, a.Issuer.Certificate}, Hash: s.Hash}
	if r := mustVerify(t, p.with(t, must(other.Sign(p.digest(s.Hash)))), a.trust())[0]; r.Verdict != Valid || len(r.Chain) != 3 {
		t.Errorf("an issuer in another encoding: %s %s", r.Verdict, r.Reason)
	}

	// Another certificate with the same name and number is first.
	template.SerialNumber = c.SerialNumber
	raw, err = x509.CreateCertificate(rand.Reader, template, a.Issuer.Certificate, pdftest.NewKey(t, "P-256").Public(), a.Issuer.Key)
	if err != nil {
		t.Fatal(err)
	}
	cms := variant{signer: s, data: func(d *signedData) {
		d.Certificates = asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: slices.Concat(raw, c.Raw, a.Issuer.Certificate.Raw)}
	}}.make(t, p)
	if r := mustVerify(t, p.with(t, cms), a.trust())[0]; r.Verdict != Valid || !r.Chain[0].Equal(c) {
		t.Errorf("two certificates of one number: %s %s", r.Verdict, r.Reason)
	}
}

// TestUnreadableCertificates: a signature is intact whether or not all of its certificate is well-formed.
func TestUnreadableCertificates(t *testing.T) {
	t.Parallel()
	f := newForeignSigner(t)
	p := preparePlace(t)
	for name, args := range map[string][]string{
		"a negative number":   {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-set_serial", "-7"},
		"an address in words": {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-addext", "subjectAltName=DER:30:05:87:03:01:02:03"},
	} {
		if c := f.key("key", args...); c != nil {
			t.Fatalf("%s: Go reads the certificate", name)
		}
		cms := f.sign(p.signed(), "key")
		r := mustVerify(t, p.with(t, cms), Trust{})[0]
		if r.Verdict != Undecided || !r.Intact || r.Trusted || !strings.Contains(r.Reason, "not well-formed") || len(r.Chain) != 1 || r.Chain[0].Subject.CommonName != "key" {
			t.Errorf("%s: %s %s %v", name, r.Verdict, r.Reason, r.Chain)
		}
		cms[len(cms)-2] ^= 1
		if r := mustVerify(t, p.with(t, cms), Trust{})[0]; r.Verdict != Invalid {
			t.Errorf("%s, another signature: %s %s", name, r.Verdict, r.Reason)
		}
	}
}

// TestKeysWithoutParameters: the key of a certificate lacks the parameters of RSA, which are nothing.
func TestKeysWithoutParameters(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "RSA")
	p := preparePlace(t)
	const key, sequence = 6, 0x30
	outer := itemsOf(s.Chain[0].Raw)
	inner := itemsOf(outer[0])
	parts := itemsOf(inner[key])
	parts[0] = encodeDER([]byte{sequence}, itemsOf(parts[0])[0])
	inner[key] = encodeDER([]byte{sequence}, slices.Concat(parts...))
	outer[0] = encodeDER([]byte{sequence}, slices.Concat(inner...))
	changed := *s.Chain[0]
	changed.Raw = encodeDER([]byte{sequence}, slices.Concat(outer...))
	if _, err := x509.ParseCertificate(changed.Raw); err == nil {
		t.Fatal("Go reads the certificate")
	}

	cms := must((&Signer{Key: s.Key, Chain: []*x509.Certificate{&changed}, Hash: s.Hash}).Sign(p.digest(s.Hash)))
	if r := mustVerify(t, p.with(t, cms), a.trust())[0]; r.Verdict != Undecided || !r.Intact || !strings.Contains(r.Reason, "not well-formed") {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
	if !opensslAccepts(t, cms, p.signed()) {
		t.Error("openssl does not accept it")
	}
}

// TestSeveralTimestamps: the first that is trusted counts.
func TestSeveralTimestamps(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	s := a.signer("Signer", "P-256")
	p := preparePlace(t)
	cms := must(s.Sign(p.digest(s.Hash)))
	of := digest(crypto.SHA256, must(signature(cms)))
	token := func(by authority, of []byte) []byte { return must(stamp(t.Context(), by.network(), of)) }
	ours, others, wrong := token(a, of), token(stranger, of), token(a, digest(crypto.SHA256, []byte("other")))
	for name, test := range map[string]struct {
		attributes [][][]byte
		source     TimeSource
		reason     string
	}{
		"one":                     {[][][]byte{{ours}}, fromTimestamp, ""},
		"two attributes":          {[][][]byte{{others}, {ours}}, fromTimestamp, ""},
		"two values":              {[][][]byte{{others, ours}}, fromTimestamp, ""},
		"a wrong one":             {[][][]byte{{wrong, ours}}, fromTimestamp, ""},
		"a stranger's":            {[][][]byte{{others}}, fromSigner, "not trusted"},
		"only a wrong one":        {[][][]byte{{wrong}}, "", "invalid"},
		"none that can be read":   {[][][]byte{{{5, 0}}}, "", "invalid"},
		"a hundred, ours last":    {[][][]byte{append(slices.Repeat([][]byte{{5, 0}}, 100), ours)}, "", "invalid"},
		"an attribute of nothing": {[][][]byte{{}}, "", ""},
	} {
		data, err := unwrap(cms)
		if err != nil {
			t.Fatal(err)
		}
		var list [][]byte
		for _, values := range test.attributes {
			list = append(list, must(asn1.Marshal(attribute{oidToken, asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: slices.Concat(values...)}})))
		}
		data.Signers[0].Unsigned = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: slices.Concat(list...)}
		r := mustVerify(t, p.with(t, must(wrap(data))), a.trust())[0]
		if r.TimeSource != test.source || !strings.Contains(r.Reason, test.reason) {
			t.Errorf("%s: %q %s", name, r.TimeSource, r.Reason)
		}
	}
}
