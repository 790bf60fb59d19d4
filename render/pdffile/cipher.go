package pdffile

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
)

// Cipher encrypts the strings and the streams of files as those of another file are (ISO 32000-2, 7.6).
type Cipher struct {
	key     []byte
	method  string // "/V2" (RC4), "/AESV2" or "/AESV3"
	entries Dict   // of the encryption dictionary
	first   any    // of the two strings that name the file: keys are derived from it
	// metadataInClear means that the metadata is not encrypted.
	metadataInClear bool
	number          int // of the encryption dictionary, whose strings are not encrypted; 0 if it is part of the trailer
}

// NewCipher returns the encryption of a file, whose key is known. The error is ErrUnread if strings and streams are not
// encrypted alike by a standard method.
func NewCipher(content, key []byte) (*Cipher, error) {
	f, err := ReadTable(content)
	if err != nil {
		return nil, err
	}
	return f.newCipher(key)
}

// CompleteEncryption returns the bytes to append to a file that is encrypted with AESV2, if its encryption dictionary
// has no length of the key, or one other than 128 bits, the only one of this method; nil if nothing is to be done.
// Programs that read such a file right write it with a key of that other length.
func (f *File) CompleteEncryption() ([]byte, error) {
	const bits = 128
	entries := f.Entry(f.trailer["/Encrypt"])
	isAES := false

	for _, filter := range f.Entry(entries["/CF"]) {
		isAES = isAES || f.Target(f.Entry(filter)["/CFM"]) == "/AESV2"
	}
	if !isAES || f.Target(entries["/V"]) != 4.0 || f.Target(entries["/Length"]) == float64(bits) {
		return nil, nil
	}

	completed := Without(entries)
	completed["/Length"] = bits

	u := f.NewUpdate()
	ref := Reference(f.trailer["/Encrypt"])
	if ref == "" {
		ref = u.Reserve()
		f.trailer["/Encrypt"] = ref
	}
	u.Set(ref, completed)
	return u.Append()
}

func (f *File) newCipher(key []byte) (*Cipher, error) {
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
	c.metadataInClear = c.entries["/EncryptMetadata"] == false
	c.number, _, _ = splitReference(Reference(f.trailer["/Encrypt"]))

	if !slices.Contains([]string{"/V2", "/AESV2", "/AESV3"}, c.method) || c.first == nil || len(key) == 0 || refers(c.entries) {
		return nil, ErrUnread
	}
	if _, err := aes.NewCipher(c.objectKey(1, 0)); c.method != "/V2" && err != nil {
		return nil, ErrUnread // The key is too short.
	}

	return c, nil
}

// refers reports whether a value has references.
func refers(v any) bool {
	switch v := v.(type) {
	case string:
		return Reference(v) != ""
	case []any:
		return slices.ContainsFunc(v, refers)
	case Dict:
		for _, item := range v {
			if refers(item) {
				return true
			}
		}
	}

	return false
}

// objectKey returns the key of an object.
func (c *Cipher) objectKey(number, generation int) []byte {
	if c.method == "/AESV3" {
		return c.key
	}
	const digits = 3 // bytes of the number
	ofObject := binary.LittleEndian.AppendUint32(slices.Clone(c.key), uint32(number))
	ofObject = append(ofObject[:len(c.key)+digits], byte(generation), byte(generation>>8))
	if c.method == "/AESV2" {
		ofObject = append(ofObject, "sAlT"...)
	}
	sum := md5.Sum(ofObject)
	return sum[:min(len(c.key)+5, len(sum))]
}

// transcoder encrypts or decrypts a string or the content of a stream.
type transcoder func(key, content []byte) []byte

// seal encrypts. The vector depends on the key and on the content alone, so that a document of the same content is
// the same.
func (c *Cipher) seal(key, plain []byte) []byte {
	if c.method == "/V2" {
		return c.stream(key, plain)
	}

	padding := aes.BlockSize - len(plain)%aes.BlockSize
	out := make([]byte, aes.BlockSize, 2*aes.BlockSize+len(plain))
	vector := hmac.New(sha256.New, key)
	vector.Write(plain)
	copy(out, vector.Sum(nil))
	out = append(append(out, plain...), bytes.Repeat([]byte{byte(padding)}, padding)...)

	block, _ := aes.NewCipher(key) // newCipher has tried a key of this length.
	body := out[aes.BlockSize:]
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(body, body)
	return out
}

// open decrypts. What is not encrypted as it should be stays as it is.
func (c *Cipher) open(key, sealed []byte) []byte {
	if c.method == "/V2" {
		return c.stream(key, sealed)
	}
	if len(sealed) < 2*aes.BlockSize || len(sealed)%aes.BlockSize != 0 {
		return sealed
	}
	out := make([]byte, len(sealed)-aes.BlockSize)
	block, _ := aes.NewCipher(key)
	cipher.NewCBCDecrypter(block, sealed[:aes.BlockSize]).CryptBlocks(out, sealed[aes.BlockSize:])
	return out[:len(out)-min(int(out[len(out)-1]), aes.BlockSize)]
}

// stream encrypts or decrypts with RC4.
func (c *Cipher) stream(key, content []byte) []byte {
	out := make([]byte, len(content))
	stream, _ := rc4.NewCipher(key)
	stream.XORKeyStream(out, content)
	return out
}

// encrypted returns the value of an object with its strings and its content encrypted.
func (c *Cipher) encrypted(number, generation int, v any) any {
	key := c.objectKey(number, generation)
	s, ok := v.(Stream)
	if !ok {
		return c.value(c.seal, key, v)
	}
	entries, _ := c.value(c.seal, key, s.Entries).(Dict)
	return Stream{entries, c.content(c.seal, key, s.Entries, s.Content)}
}

// content is the content of a stream, encrypted or decrypted.
func (c *Cipher) content(code transcoder, key []byte, entries Dict, content []byte) []byte {
	filters, _ := entries["/Filter"].([]any)
	plain := c.metadataInClear && entries["/Type"] == "/Metadata" || entries["/Type"] == "/XRef" || entries["/Filter"] == "/Crypt" || slices.Contains(filters, any("/Crypt"))
	if plain {
		return content
	}
	return code(key, content)
}

// value returns a value of an object with its strings encrypted or decrypted. Those of signatures stay as they are.
func (c *Cipher) value(code transcoder, key []byte, v any) any {
	switch v := v.(type) {
	case string:
		if raw, ok := stringBytes(v); ok {
			return "b:" + hex.EncodeToString(code(key, raw))
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.value(code, key, item)
		}
		return out
	case Dict:
		out := maps.Clone(v)
		for name, item := range v {
			if name != "/Contents" || v["/ByteRange"] == nil {
				out[name] = c.value(code, key, item)
			}
		}
		return out
	}

	return v
}

// Decrypt makes strings and streams readable that are encrypted with a key. The error is ErrUnread if the encryption is
// not supported.
func (f *File) Decrypt(key []byte) (err error) {
	f.cipher, err = f.newCipher(key)
	clear(f.streams)
	return err
}

// decrypted returns the value of an object with its strings decrypted.
func (f *File) decrypted(number int, at xrefEntry, v any) any {
	if f.cipher == nil || at.stream != 0 || number == f.cipher.number {
		return v
	}
	if entries, _ := v.(Dict); entries["/Type"] == "/XRef" {
		return v
	}
	return f.cipher.value(f.cipher.open, f.cipher.objectKey(number, at.generation), v)
}

// SameEncryption reports whether two files are encrypted alike: with the same dictionary.
func (f *File) SameEncryption(other *File) bool {
	a := f.cipher
	b := other.cipher
	return a == nil && b == nil || a != nil && b != nil && a.number == b.number && a.first == b.first && reflect.DeepEqual(a.entries, b.entries)
}
