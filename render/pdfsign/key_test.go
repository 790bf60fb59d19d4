package pdfsign

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"math/big"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestPKCS12 reads keys as openssl exports them, in its present and its old encryption, and overwrites them.
func TestPKCS12(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, kind := range []string{"P-256", "RSA"} {
		id := a.Identity("Signer", pdftest.NewKey(t, kind), &a.Issuer, pdftest.Years, a.Answered)
		for _, options := range [][]string{nil, {"-legacy"}} {
			content := a.PKCS12(id, "söcret", options...)
			s, err := ReadPKCS12(content, "söcret")
			if err != nil {
				t.Fatalf("%s %v: %v", kind, options, err)
			}
			if len(s.Chain) != 3 || !s.Chain[0].Equal(id.Certificate) || !s.Chain[2].Equal(a.Root.Certificate) {
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
				if _, err := ReadPKCS12([]byte(bad.content), bad.password); !Is(err, BadKey) && !Is(err, BadPassword) || Is(err, BadPassword) != (bad.password == "wrong") {
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
