package pdfsign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"math/big"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// ReadPKCS12 returns the signer in a PKCS#12 file, whose certificate is valid now. The error is BadKey or BadPassword.
func ReadPKCS12(content []byte, password string) (*Signer, error) {
	key, certificate, others, err := pkcs12.DecodeChain(content, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return nil, fail(BadPassword, "is incorrect: it does not open the key")
	case err != nil:
		return nil, fail(BadKey, "must be a PKCS#12 file (.p12, .pfx) with a private key and its certificate")
	}

	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fail(BadKey, "must have an RSA or ECDSA key")
	}

	if now := time.Now(); now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return nil, fail(BadKey, "must have a certificate that is valid now; it is valid from %s to %s",
			certificate.NotBefore.UTC().Format(time.RFC3339), certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	return NewSigner(signer, completed(append(others[:0:0], certificate), others))
}

// Forget overwrites the key with zeros. The signer cannot sign afterwards.
func (s *Signer) Forget() {
	switch key := s.Key.(type) {
	case *rsa.PrivateKey:
		clear(key.D.Bits())
		for _, prime := range key.Primes {
			clear(prime.Bits())
		}
		for _, value := range []*big.Int{key.Precomputed.Dp, key.Precomputed.Dq, key.Precomputed.Qinv} {
			if value != nil {
				clear(value.Bits())
			}
		}
		key.Precomputed = rsa.PrecomputedValues{}
	case *ecdsa.PrivateKey:
		clear(key.D.Bits()) //nolint:staticcheck // there is no other way to overwrite it
	}

	s.Key = nil
}
