package pdfsign

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"math/big"
	"slices"
	"testing"

	"relaypdf/render/pdf/pdftest"
)

// TestPKCS12 reads keys as openssl exports them, in its present and its old encryption, and overwrites them.
func TestPKCS12(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, kind := range []string{"P-256", "RSA"} {
		id := a.identity("Signer", newKey(t, kind), &a.issuer, years, a.answered)
		a.save("signer", id)
		for _, options := range [][]string{nil, {"-legacy"}} {
			args := append([]string{"pkcs12", "-export", "-in", a.path("signer.pem"), "-inkey", a.path("signer.key"), "-certfile", a.path("chain.pem"),
				"-passout", "pass:söcret", "-out", a.path("signer.p12")}, options...)
			pdftest.Tool(t, "openssl", args...)
			content := pdftest.Load(t, a.path("signer.p12"))
			s, err := ReadPKCS12(content, "söcret")
			if err != nil {
				t.Fatalf("%s %v: %v", kind, options, err)
			}
			if len(s.Chain) != 3 || !s.Chain[0].Equal(id.certificate) || !s.Chain[2].Equal(a.root.certificate) {
				t.Errorf("%s: the chain has %d certificates", kind, len(s.Chain))
			}
			if ok, reason := accepted(mustSign(t, pdftest.Three().Write(), a.job(s, LevelB)), a.trust()); !ok {
				t.Error(reason)
			}
			key := s.Key
			s.Forget()
			if s.Key != nil || !zero(key) {
				t.Errorf("%s: the key is still there", kind)
			}
			for _, bad := range []struct{ content, password string }{{string(content), "wrong"}, {"hello", ""}, {"", ""}} {
				if _, err := ReadPKCS12([]byte(bad.content), bad.password); !Is(err, BadKey) {
					t.Errorf("%q: %v", bad.password, err)
				}
			}
		}
	}
}

// zero reports whether all words of a private key are zero.
func zero(key any) bool {
	var words []big.Word
	switch key := key.(type) {
	case *rsa.PrivateKey:
		words = append(words, key.D.Bits()...)
		for _, prime := range key.Primes {
			words = append(words, prime.Bits()...)
		}
	case *ecdsa.PrivateKey:
		words = key.D.Bits() //nolint:staticcheck // there is no other way to see it
	}
	return !slices.ContainsFunc(words, func(w big.Word) bool { return w != 0 })
}
