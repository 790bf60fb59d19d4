package store

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

// NewID returns a new identifier such as "call_…": the prefix, an underscore
// and 26 lower-case base32 characters that carry 130 random bits, so that an id
// of a file can serve as a bearer secret.
func NewID(prefix string) string {
	return prefix + "_" + strings.ToLower(rand.Text())
}

const (
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// secretChars base62 characters carry 238 random bits.
	secretChars = 40
)

// newSecret returns an API key's secret with the given prefix.
func newSecret(prefix string) string {
	out := make([]byte, 0, len(prefix)+secretChars)
	out = append(out, prefix...)
	var buf [64]byte
	for {
		_, _ = rand.Read(buf[:]) // crypto/rand.Read never fails: it ends the program instead.
		for _, b := range buf {
			// Values from 248 on are dropped: they would favour the first characters.
			if b < 248 {
				out = append(out, base62[b%62])
			}
			if len(out) == cap(out) {
				return string(out)
			}
		}
	}
}

// hashSecret returns what the database keeps of a secret. A plain SHA-256 is
// enough, because a secret of 238 random bits cannot be guessed offline; a slow
// password hash would only cost every request its time.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
