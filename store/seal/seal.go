// Package seal encrypts data that must not be readable in storage: signing secrets in the database, and the inputs
// of waiting jobs in the blobs.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/minio/sio"
)

// MinSecret is the minimum length of a secret, in bytes.
const MinSecret = 32

// ErrSealed means that bytes cannot be decrypted: they were changed, or encrypted for another purpose or with
// another secret.
var ErrSealed = errors.New("sealed bytes cannot be opened")

// A sealed text begins with the version of its form and the ID of its key, so the secret can be changed while older
// texts can still be opened.
const (
	version    = 1
	keyIDSize  = 4
	headerSize = 1 + keyIDSize
)

// refresh is the time for which a Box uses the secrets it has read.
const refresh = 10 * time.Second

// Box encrypts and decrypts with keys derived from secrets. It is safe for concurrent use.
type Box struct {
	load func() ([][]byte, error) // nil: the secrets never change

	mu     sync.Mutex
	read   time.Time
	newest [keyIDSize]byte
	ring   map[[keyIDSize]byte][]byte
}

// New returns a Box that encrypts with the first of the secrets, and decrypts with any of them. Each has at least
// MinSecret bytes.
func New(secrets ...[]byte) (*Box, error) {
	b := &Box{}
	err := b.use(secrets)
	return b, err
}

// NewLoaded returns a Box that reloads its secrets from time to time, and when data was encrypted with an unknown
// one.
func NewLoaded(load func() ([][]byte, error)) (*Box, error) {
	b := &Box{load: load, read: time.Now()}
	secrets, err := load()
	if err != nil {
		return nil, err
	}
	err = b.use(secrets)
	return b, err
}

func (b *Box) use(secrets [][]byte) error {
	if len(secrets) == 0 {
		return errors.New("there is no secret key")
	}

	ring := make(map[[keyIDSize]byte][]byte, len(secrets))
	for _, secret := range secrets {
		if len(secret) < MinSecret {
			return fmt.Errorf("the secret key has %d bytes; it must have at least %d", len(secret), MinSecret)
		}
		ring[idOf(secret)] = secret
	}

	b.ring = ring
	b.newest = idOf(secrets[0])
	return nil
}

// idOf returns an ID of a secret that reveals nothing about it.
func idOf(secret []byte) (id [keyIDSize]byte) {
	sum := sha256.Sum256(append([]byte("relaypdf key id "), secret...))
	copy(id[:], sum[:])
	return id
}

// refreshed reads the secrets again if it is time, or if it must. If reading fails, the previous secrets stay.
func (b *Box) refreshed(must bool) {
	age := time.Since(b.read)
	if b.load == nil || age < time.Second || !must && age < refresh {
		return
	}
	b.read = time.Now()
	if secrets, err := b.load(); err == nil {
		_ = b.use(secrets)
	}
}

// sealing returns the secret for encryption, and the header of encrypted data.
func (b *Box) sealing() (secret, header []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refreshed(false)
	return b.ring[b.newest], append([]byte{version}, b.newest[:]...)
}

// secretOf returns the secret for data with the header.
func (b *Box) secretOf(header []byte) ([]byte, error) {
	if len(header) < headerSize || header[0] != version {
		return nil, fmt.Errorf("%w: they are of another form", ErrSealed)
	}

	id := [keyIDSize]byte(header[1:headerSize])
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.ring[id] == nil {
		b.refreshed(true)
	}
	if secret := b.ring[id]; secret != nil {
		return secret, nil
	}
	return nil, fmt.Errorf("%w: their secret key is not among those that are set", ErrSealed)
}

// Newest reports whether data was encrypted with the current secret.
func (b *Box) Newest(sealed []byte) bool {
	_, header := b.sealing()
	return bytes.HasPrefix(sealed, header)
}

// key derives the key of a purpose. Purposes that name a record, such as
// "webhook we_…", keep sealed bytes from being moved to another record.
func key(secret []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "relaypdf "+purpose, 32)
}

// Seal encrypts a short secret with AES-256-GCM.
func (b *Box) Seal(purpose string, plain []byte) ([]byte, error) {
	secret, header := b.sealing()
	aead, err := aeadOf(secret, purpose)
	if err != nil {
		return nil, err
	}
	return aead.Seal(header, nil, plain, nil), nil //nolint:gosec // It makes its own nonce.
}

// Open returns the input of Seal with the same purpose, or ErrSealed.
func (b *Box) Open(purpose string, sealed []byte) ([]byte, error) {
	secret, err := b.secretOf(sealed)
	if err != nil {
		return nil, err
	}

	aead, err := aeadOf(secret, purpose)
	if err != nil {
		return nil, err
	}

	plain, err := aead.Open(nil, nil, sealed[headerSize:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the secret key may have been changed", ErrSealed)
	}
	return plain, nil
}

func aeadOf(secret []byte, purpose string) (cipher.AEAD, error) {
	derived, err := key(secret, purpose)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Writer encrypts a stream of at least one byte to w, in packages that are each
// authenticated. A purpose must be used for one stream only. Close ends the
// stream and leaves w open.
func (b *Box) Writer(purpose string, w io.Writer) (io.WriteCloser, error) {
	secret, header := b.sealing()
	derived, err := key(secret, purpose)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(header); err != nil {
		return nil, err
	}
	return sio.EncryptWriter(keepOpen{w}, config(derived))
}

// Reader decrypts the output of a Writer with the same purpose. Reading fails with ErrSealed if the stream was
// changed or cut off.
func (b *Box) Reader(purpose string, r io.Reader) (io.Reader, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}

	secret, err := b.secretOf(header)
	if err != nil {
		return nil, err
	}
	derived, err := key(secret, purpose)
	if err != nil {
		return nil, err
	}

	plain, err := sio.DecryptReader(r, config(derived))
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
