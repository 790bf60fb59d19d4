package operation

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"sync"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/relaypdf/relaypdf/service/schema"
)

// examplePassword opens the key of the examples.
const examplePassword = "correct horse"

// ExampleIdentity returns a signing identity with the key of the examples, as the JSON of a request.
func ExampleIdentity(name string) string {
	content, err := exampleKeyFile()
	if err == nil {
		content, err = json.Marshal(map[string]any{"name": name, "pkcs12": content, "password": examplePassword})
	}
	if err != nil {
		panic(fmt.Sprintf("example identity: %v", err)) // Its arguments are constants.
	}
	return string(content)
}

// exampleKey returns the key of the examples. It is public, and the same in every process: the private key is the
// hash of its password, so the repository has no key file.
func exampleKey() SigningKey {
	content, err := exampleKeyFile()
	if err != nil {
		panic(fmt.Sprintf("example key: %v", err)) // Its arguments are constants.
	}
	return SigningKey{PKCS12: KeyFile{File: schema.NewFile(content)}, Password: examplePassword}
}

// exampleKeyFile makes the file of the key once: its password is hashed slowly.
var exampleKeyFile = sync.OnceValues(makeExampleKey)

func makeExampleKey() ([]byte, error) {
	scalar := sha256.Sum256([]byte(examplePassword))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		return nil, err
	}

	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	described := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example"}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: start, NotAfter: start.AddDate(100, 0, 0),
	}

	// Without a source of randomness, ECDSA signatures are deterministic (RFC 6979).
	raw, err := x509.CreateCertificate(nil, described, described, key.Public(), key)
	if err != nil {
		return nil, err
	}

	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, err
	}

	salts := bytes.NewReader(make([]byte, 4*sha256.Size))
	return pkcs12.Modern.WithRand(salts).Encode(key, certificate, nil, examplePassword)
}
