package pdfsign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"math/big"

	"software.sslmate.com/src/go-pkcs12"
)

// ReadPKCS12 returns the signer in a PKCS#12 file. The error is BadKey.
func ReadPKCS12(content []byte, password string) (*Signer, error) {
	key, certificate, others, err := pkcs12.DecodeChain(content, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return nil, fail(BadKey, "the password of the key is incorrect")
	case err != nil:
		return nil, fail(BadKey, "the file is not a PKCS#12 with a key and its certificate")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fail(BadKey, "the key must be RSA or ECDSA")
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
