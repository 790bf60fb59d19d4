package officefile

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // The format has it.
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The parts of an encrypted OpenDocument file: the list of the others with their encryption, and, in files of newer
// programs, all of the document in one part.
const (
	odfManifest = "META-INF/manifest.xml"
	odfPackage  = "encrypted-package"
)

// errUnopened means that the password does not open a part, or that its encryption is another one than those below.
var errUnopened = errors.New("officefile: part cannot be decrypted")

// odfEncryption is the encryption of a part: AES of 256 bits, and keys by PBKDF2 or Argon2.
type odfEncryption struct {
	Checksum  string `xml:"checksum,attr"`
	Algorithm struct {
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

// Limits of the work that a document may ask for.
const (
	maxIterations = 2_000_000
	maxPasses     = 10
	maxKeyMemory  = 256 << 10 // KiB
	maxEncrypted  = 1000      // parts
)

// decryptODF replaces an encrypted OpenDocument file by its content. False means that it is not encrypted.
func decryptODF(path, password string) (opened bool, err error) {
	a, err := openArchive(path)
	if err != nil {
		return false, err
	}
	defer a.Close()
	var manifest struct {
		Entries []struct {
			Path       string         `xml:"full-path,attr"`
			Encryption *odfEncryption `xml:"encryption-data"`
		} `xml:"file-entry"`
	}
	if err := a.decode(odfManifest, &manifest); err != nil {
		return false, err
	}

	keys := odfKeys{password: password, known: map[string][]byte{}}
	changes := map[string]change{}
	for _, entry := range manifest.Entries {
		if entry.Encryption == nil {
			continue
		}
		if len(changes) == maxEncrypted {
			return false, fmt.Errorf("%w: too many parts", errUnopened)
		}
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
	known    map[string][]byte
}

// open returns the content of a part.
func (k *odfKeys) open(a *archive, name string, e *odfEncryption) ([]byte, error) {
	sealed, err := a.read(name)
	if err != nil {
		return nil, err
	}
	key, err := k.key(e)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}

	var packed []byte
	switch {
	case strings.HasSuffix(e.Algorithm.Name, "aes256-gcm"):
		packed, err = openGCM(block, sealed)
	case strings.HasSuffix(e.Algorithm.Name, "aes256-cbc"):
		packed, err = openCBC(block, sealed, e)
	default:
		err = fmt.Errorf("%w: %.100q", errUnopened, e.Algorithm.Name)
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

// key returns the key of a part.
func (k *odfKeys) key(e *odfEncryption) ([]byte, error) {
	const size = 32
	id := fmt.Sprint(e.Start, e.Key)
	if key := k.known[id]; key != nil {
		return key, nil
	}
	salt, err := base64.StdEncoding.DecodeString(e.Key.Salt)
	if err != nil {
		return nil, err
	}
	first := sha1.Sum([]byte(k.password)) //nolint:gosec // As above.
	start := first[:]
	if strings.HasSuffix(e.Start.Name, "sha256") {
		longer := sha256.Sum256([]byte(k.password))
		start = longer[:]
	}

	var key []byte
	switch d := e.Key; {
	case strings.HasSuffix(d.Name, "argon2id") && d.Passes > 0 && d.Passes <= maxPasses && d.Memory <= maxKeyMemory && d.Lanes > 0:
		key = argon2.IDKey(start, salt, d.Passes, d.Memory, d.Lanes, size)
	case strings.HasSuffix(strings.ToUpper(d.Name), "PBKDF2") && d.Iterations > 0 && d.Iterations <= maxIterations:
		key, err = pbkdf2.Key(sha1.New, string(start), salt, d.Iterations, size)
	default:
		err = fmt.Errorf("%w: %.200v", errUnopened, d)
	}
	if err == nil {
		k.known[id] = key
	}
	return key, err
}

// openGCM decrypts a part whose first bytes are the nonce.
func openGCM(block cipher.Block, sealed []byte) ([]byte, error) {
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(sealed) < gcm.NonceSize() {
		return nil, errors.Join(errUnopened, err)
	}
	return gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], nil)
}

// openCBC decrypts a part. Its last byte is the number of bytes that fill up the last block, and its checksum is that of
// the first 1024 bytes.
func openCBC(block cipher.Block, sealed []byte, e *odfEncryption) ([]byte, error) {
	iv, err := base64.StdEncoding.DecodeString(e.Algorithm.IV)
	if err != nil || len(iv) != aes.BlockSize || len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return nil, errors.Join(errUnopened, err)
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(sealed, sealed)
	filled := int(sealed[len(sealed)-1])
	if filled > len(sealed) {
		return nil, errUnopened
	}
	packed := sealed[:len(sealed)-filled]

	const summed = 1024
	sum := sha256.Sum256(packed[:min(len(packed), summed)])
	if base64.StdEncoding.EncodeToString(sum[:]) != e.Checksum {
		return nil, errUnopened
	}
	return packed, nil
}
