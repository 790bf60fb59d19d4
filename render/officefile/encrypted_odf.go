package officefile

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/blowfish" //nolint:staticcheck // As above.
)

// The parts of an encrypted OpenDocument file: the list of the others with their encryption, and, in files of newer
// programs, all of the document in one part.
const (
	odfManifest = "META-INF/manifest.xml"
	odfPackage  = "encrypted-package"
)

// ErrCostly means that the keys of a document need more work or memory than a document may ask for.
var ErrCostly = errors.New("officefile: keys need too much work")

// odfEntry is a part.
type odfEntry struct {
	Path       string         `xml:"full-path,attr"`
	Encryption *odfEncryption `xml:"encryption-data"`
}

// odfEncryption is the encryption of a part: AES of 256 bits or Blowfish, and keys by PBKDF2 or Argon2.
type odfEncryption struct {
	ChecksumType string `xml:"checksum-type,attr"`
	Checksum     string `xml:"checksum,attr"`
	Algorithm    struct {
		Name string `xml:"algorithm-name,attr"`
		IV   string `xml:"initialisation-vector,attr"`
	} `xml:"algorithm"`
	Start struct {
		Name string `xml:"start-key-generation-name,attr"`
	} `xml:"start-key-generation"`
	Key odfKey `xml:"key-derivation"`
}

// odfKey is how a key is made of a password.
type odfKey struct {
	Name       string `xml:"key-derivation-name,attr"`
	Salt       string `xml:"salt,attr"`
	Iterations int    `xml:"iteration-count,attr"`
	Passes     uint32 `xml:"argon2-iterations,attr"`
	Memory     uint32 `xml:"argon2-memory,attr"` // KiB
	Lanes      uint8  `xml:"argon2-lanes,attr"`
}

// Limits of what a document may ask for.
const (
	// MaxKeyWork is the limit of the iterations of PBKDF2 for all keys together. A pass of Argon2 over 1 KiB counts as
	// one. It is 20 s of work. LibreOffice needs 100,000 for each part, or 200,000 for all parts in one.
	MaxKeyWork   = 40_000_000
	maxKeyMemory = 256 << 10 // KiB
	maxEncrypted = 1000      // parts
)

// checkWork returns ErrCostly if the keys of parts need more than a document may ask for.
func checkWork(parts []odfEntry) error {
	if len(parts) > maxEncrypted {
		return fmt.Errorf("%w: %d parts", errUnopened, len(parts))
	}

	work := 0
	known := map[odfKeyID]bool{}
	for _, part := range parts {
		id := part.Encryption.keyID()
		if known[id] {
			continue
		}
		known[id] = true

		add := id.Iterations
		if id.isArgon2() {
			add = int(id.Passes) * int(id.Memory)
		}
		if id.Memory > maxKeyMemory || add < 0 || add > MaxKeyWork-work {
			return ErrCostly
		}
		work += add
	}
	return nil
}

// decryptODF replaces an encrypted OpenDocument file by its content. False means that it is not encrypted.
func decryptODF(path, password string) (opened bool, err error) {
	a, err := openArchive(path)
	if err != nil {
		return false, err
	}
	defer a.Close()

	var manifest struct {
		Entries []odfEntry `xml:"file-entry"`
	}
	if err := a.decode(odfManifest, &manifest); err != nil {
		return false, err
	}
	sealed := slices.DeleteFunc(manifest.Entries, func(e odfEntry) bool { return e.Encryption == nil })
	if err := checkWork(sealed); err != nil {
		return false, err
	}

	keys := odfKeys{password: password, known: map[odfKeyID][]byte{}}
	changes := map[string]change{}
	for _, entry := range sealed {
		content, err := keys.open(a, entry.Path, entry.Encryption)
		if err != nil {
			return false, err
		}
		if entry.Path == odfPackage {
			return true, os.WriteFile(path, content, 0o600)
		}
		changes[partName(entry.Path)] = replaceBy(content)
	}
	if len(changes) == 0 {
		return false, nil
	}

	changes[partName(odfManifest)] = withoutEncryption
	open := path + ".open"
	if err := a.rewrite(open, changes); err != nil {
		return false, err
	}
	return true, os.Rename(open, path)
}

// withoutEncryption copies a manifest without what it says of encryption.
func withoutEncryption(in io.Reader, out io.Writer) error {
	inside := false
	content, err := io.ReadAll(io.LimitReader(in, maxPart))
	if err != nil {
		return err
	}

	var writeErr error
	err = eachToken(content, func(_ int, t token) {
		encryption := t.tag() && string(t.name()) == "encryption-data"
		if !inside && !encryption && writeErr == nil {
			_, writeErr = out.Write(t)
		}
		if encryption {
			inside = !t.ends()
		}
	})

	return errors.Join(err, writeErr)
}

// odfKeys makes the keys of a document. The parts often have the same one.
type odfKeys struct {
	password string
	known    map[odfKeyID][]byte
}

// odfKeyID describes a key.
type odfKeyID struct {
	odfKey

	start string // the name of the hash of the password
	size  int
}

// keyID returns the description of the key of a part.
func (e *odfEncryption) keyID() odfKeyID {
	id := odfKeyID{e.Key, e.Start.Name, aesKeySize}
	if e.isBlowfish() {
		id.size = blowfishKeySize
	}
	return id
}

// isBlowfish reports whether a part is encrypted as OpenDocument 1.1 and older have it.
func (e *odfEncryption) isBlowfish() bool {
	return e.Algorithm.Name == "Blowfish CFB" || strings.HasSuffix(e.Algorithm.Name, "#blowfish")
}

func (k odfKey) isArgon2() bool { return strings.HasSuffix(k.Name, "argon2id") }

// open returns the content of a part.
func (k *odfKeys) open(a *archive, name string, e *odfEncryption) ([]byte, error) {
	sealed, err := a.read(name)
	if err != nil {
		return nil, err
	}

	var packed []byte
	switch algorithm := e.Algorithm.Name; {
	case e.isBlowfish():
		packed, err = k.openBlowfish(sealed, e)
	case strings.HasSuffix(algorithm, "aes256-gcm"):
		packed, err = k.openGCM(sealed, e)
	case strings.HasSuffix(algorithm, "aes256-cbc"):
		packed, err = k.openCBC(sealed, e)
	default:
		err = fmt.Errorf("%w: %.100q", errUnopened, algorithm)
	}
	if err != nil {
		return nil, err
	}

	content, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxPart+1))
	if len(content) > maxPart {
		return nil, fmt.Errorf("%w: %.100q", errPart, name)
	}
	return content, err
}

// The sizes of keys.
const (
	aesKeySize      = 32
	blowfishKeySize = 16
)

// key returns the key of a part.
func (k *odfKeys) key(e *odfEncryption) ([]byte, error) {
	id := e.keyID()
	if key := k.known[id]; key != nil {
		return key, nil
	}

	salt, err := base64.StdEncoding.DecodeString(e.Key.Salt)
	if err != nil {
		return nil, err
	}

	first := sha1.Sum([]byte(k.password))
	start := first[:]
	if strings.HasSuffix(id.start, "sha256") {
		longer := sha256.Sum256([]byte(k.password))
		start = longer[:]
	}

	var key []byte
	switch d := e.Key; {
	case d.isArgon2() && d.Passes > 0 && d.Lanes > 0:
		key = argon2.IDKey(start, salt, d.Passes, d.Memory, d.Lanes, uint32(id.size))
	case strings.HasSuffix(strings.ToUpper(d.Name), "PBKDF2") && d.Iterations > 0:
		key, err = pbkdf2.Key(sha1.New, string(start), salt, d.Iterations, id.size)
	default:
		err = fmt.Errorf("%w: %.200v", errUnopened, d)
	}

	if err == nil {
		k.known[id] = key
	}
	return key, err
}

// block returns the cipher of a part with its key.
func (k *odfKeys) block(e *odfEncryption) (cipher.Block, error) {
	key, err := k.key(e)
	if err != nil {
		return nil, err
	}
	if e.isBlowfish() {
		return blowfish.NewCipher(key)
	}
	return aes.NewCipher(key)
}

// iv returns the initialisation vector of a part, of a size.
func (e *odfEncryption) iv(size int) ([]byte, error) {
	iv, err := base64.StdEncoding.DecodeString(e.Algorithm.IV)
	if err != nil || len(iv) != size {
		return nil, errors.Join(errUnopened, err)
	}
	return iv, nil
}

// openGCM decrypts a part whose first bytes are the nonce.
func (k *odfKeys) openGCM(sealed []byte, e *odfEncryption) ([]byte, error) {
	block, err := k.block(e)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(sealed) < gcm.NonceSize() {
		return nil, errors.Join(errUnopened, err)
	}
	return gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], nil)
}

// openCBC decrypts a part. Its last byte is the number of bytes that fill up the last block.
func (k *odfKeys) openCBC(sealed []byte, e *odfEncryption) ([]byte, error) {
	iv, err := e.iv(aes.BlockSize)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return nil, errUnopened
	}
	block, err := k.block(e)
	if err != nil {
		return nil, err
	}

	cipher.NewCBCDecrypter(block, iv).CryptBlocks(sealed, sealed)
	filled := int(sealed[len(sealed)-1])
	if filled > len(sealed) {
		return nil, errUnopened
	}
	packed := sealed[:len(sealed)-filled]
	return packed, e.verify(packed)
}

// openBlowfish decrypts a part as OpenDocument 1.1 and older have it.
func (k *odfKeys) openBlowfish(sealed []byte, e *odfEncryption) ([]byte, error) {
	iv, err := e.iv(blowfish.BlockSize)
	if err != nil {
		return nil, err
	}
	block, err := k.block(e)
	if err != nil {
		return nil, err
	}

	cipher.NewCFBDecrypter(block, iv).XORKeyStream(sealed, sealed) //nolint:staticcheck // The format has it.
	return sealed, e.verify(sealed)
}

// verify compares the checksum, which is that of the first 1024 bytes.
func (e *odfEncryption) verify(packed []byte) error {
	const summed = 1024
	start := packed[:min(len(packed), summed)]
	short := sha1.Sum(start)
	sum := short[:]
	if strings.HasSuffix(e.ChecksumType, "sha256-1k") {
		long := sha256.Sum256(start)
		sum = long[:]
	}
	if base64.StdEncoding.EncodeToString(sum) != e.Checksum {
		return errUnopened
	}
	return nil
}
