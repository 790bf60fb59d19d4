// Package seal encrypts what must not be readable where it is stored: signing
// secrets in the database, and the inputs of waiting jobs in the blobs.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/minio/sio"
)

// MinSecret is the least length of a secret, in bytes.
const MinSecret = 32

// ErrSealed means that bytes cannot be opened: they were changed, sealed for
// another purpose, or with another secret.
var ErrSealed = errors.New("sealed bytes cannot be opened")

// Box seals and opens with keys derived from one secret. It is safe for
// concurrent use.
type Box struct {
	secret []byte
}

// New returns a Box for a secret of at least MinSecret bytes.
func New(secret []byte) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret key has %d bytes; it must have at least %d", len(secret), MinSecret)
	}
	return &Box{secret: secret}, nil
}

// key derives the key of a purpose. Purposes that name a record, such as
// "webhook we_…", keep sealed bytes from being moved to another record.
func (b *Box) key(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, b.secret, nil, "relaypdf "+purpose, 32)
}

// Seal encrypts a short secret with AES-256-GCM.
func (b *Box) Seal(purpose string, plain []byte) ([]byte, error) {
	aead, err := b.aead(purpose)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, nil), nil //nolint:gosec // It makes its own nonce.
}

// Open returns what Seal was given for the same purpose, or ErrSealed.
func (b *Box) Open(purpose string, sealed []byte) ([]byte, error) {
	aead, err := b.aead(purpose)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the secret key may have been changed", ErrSealed)
	}
	return plain, nil
}

func (b *Box) aead(purpose string) (cipher.AEAD, error) {
	key, err := b.key(purpose)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Writer encrypts a stream of at least one byte to w, in packages that are each
// authenticated. A purpose must be used for one stream only. Close ends the
// stream and leaves w open.
func (b *Box) Writer(purpose string, w io.Writer) (io.WriteCloser, error) {
	key, err := b.key(purpose)
	if err != nil {
		return nil, err
	}
	return sio.EncryptWriter(keepOpen{w}, config(key))
}

// Reader decrypts what a Writer of the same purpose has written. Reading fails
// with ErrSealed where the stream was changed or cut off.
func (b *Box) Reader(purpose string, r io.Reader) (io.Reader, error) {
	key, err := b.key(purpose)
	if err != nil {
		return nil, err
	}
	plain, err := sio.DecryptReader(r, config(key))
	if err != nil {
		return nil, err
	}
	return &opened{plain}, nil
}

func config(key []byte) sio.Config {
	return sio.Config{Key: key, MinVersion: sio.Version20, CipherSuites: []byte{sio.AES_256_GCM}, Rand: rand.Reader}
}

// keepOpen hides Close from the encrypting writer, which would call it.
type keepOpen struct{ io.Writer }

// opened words the errors of decryption.
type opened struct{ r io.Reader }

func (o *opened) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	var bad sio.Error
	if errors.As(err, &bad) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", ErrSealed, err)
	}
	return n, err
}
