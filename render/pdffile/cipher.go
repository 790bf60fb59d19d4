package pdffile

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the format derives keys with it
	"crypto/rand"
	"crypto/rc4" //nolint:gosec // the format's older encryption, for files that have it already
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// Cipher encrypts the strings and the streams of files as those of another file are (ISO 32000-2, 7.6).
type Cipher struct {
	key     []byte
	method  string // "/V2" (RC4), "/AESV2" or "/AESV3"
	entries Dict   // of the encryption dictionary
	first   any    // of the two strings that name the file: keys are derived from it
	// bare means that the metadata is not encrypted.
	bare bool
}

// NewCipher returns the encryption of a file, whose key is known. The error is ErrUnread if strings and streams are not
// encrypted alike by a standard method.
func NewCipher(content, key []byte) (*Cipher, error) {
	f, err := ReadTable(content)
	if err != nil {
		return nil, err
	}
	c := &Cipher{key: key, entries: f.Entry(f.trailer["/Encrypt"])}
	version, _ := c.entries["/V"].(float64)
	filters := f.Entry(c.entries["/CF"])
	if version == 1 || version == 2 {
		c.method = "/V2"
	} else if name, ok := c.entries["/StmF"].(string); ok && c.entries["/StrF"] == name {
		c.method, _ = f.Entry(filters[name])["/CFM"].(string)
	}
	if names, _ := f.trailer["/ID"].([]any); len(names) > 0 {
		c.first = names[0]
	}
	c.bare = c.entries["/EncryptMetadata"] == false
	if !slices.Contains([]string{"/V2", "/AESV2", "/AESV3"}, c.method) || c.first == nil || len(key) == 0 {
		return nil, ErrUnread
	}
	return c, nil
}

// seal returns a string or the content of a stream, encrypted, of an object.
func (c *Cipher) seal(number int, plain []byte) []byte {
	key := c.key
	if c.method != "/AESV3" {
		ofObject := binary.LittleEndian.AppendUint32(slices.Clone(key), uint32(number))
		ofObject = append(ofObject[:len(key)+3], 0, 0)
		if c.method == "/AESV2" {
			ofObject = append(ofObject, "sAlT"...)
		}
		sum := md5.Sum(ofObject) //nolint:gosec // as the format says
		key = sum[:min(len(key)+5, len(sum))]
	}
	if c.method == "/V2" {
		out := make([]byte, len(plain))
		stream, _ := rc4.NewCipher(key) //nolint:gosec // as the format says; the key is not empty
		stream.XORKeyStream(out, plain)
		return out
	}
	padding := aes.BlockSize - len(plain)%aes.BlockSize
	out := make([]byte, aes.BlockSize+len(plain)+padding)
	_, _ = rand.Read(out[:aes.BlockSize]) // It never fails.
	body := out[aes.BlockSize:]
	for i := copy(body, plain); i < len(body); i++ {
		body[i] = byte(padding)
	}
	block, _ := aes.NewCipher(key)                                             // The key has the length of a sum, or that of the method.
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(body, body) //nolint:gosec // the vector is random
	return out
}

// stream returns a stream of an object, encrypted with the strings of its dictionary.
func (c *Cipher) stream(number int, s Stream) Stream {
	entries, _ := c.value(number, s.Entries).(Dict)
	filters, _ := entries["/Filter"].([]any)
	if c.bare && entries["/Type"] == "/Metadata" || entries["/Filter"] == "/Crypt" || slices.Contains(filters, any("/Crypt")) {
		return Stream{entries, s.Content}
	}
	return Stream{entries, c.seal(number, s.Content)}
}

// value returns a value of an object with its strings encrypted.
func (c *Cipher) value(number int, v any) any {
	switch v := v.(type) {
	case string:
		if raw, ok := stringBytes(v); ok {
			return "b:" + hex.EncodeToString(c.seal(number, raw))
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.value(number, item)
		}
		return out
	case Dict:
		out := maps.Clone(v)
		for key, item := range v {
			out[key] = c.value(number, item)
		}
		return out
	}
	return v
}
