package web

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The work of one argon2id hash: OWASP's second choice of 2023, 19 MiB and two
// passes, so that a few logins at once fit into a small machine.
const (
	argonTime    = 2
	argonMemory  = 19 << 10 // KiB
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

const (
	minPassword = 10
	// maxPassword limits the work of hashing untrusted input.
	maxPassword = 1024
)

// hashing bounds how many hashes are made at once, and with them the memory.
var hashing = make(chan struct{}, 2)

// checkPassword returns an error text for a new password, or nothing.
func checkPassword(password string) string {
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		return fmt.Sprintf("Use %d characters or more; this has %d.", minPassword, n)
	case len(password) > maxPassword:
		return fmt.Sprintf("Use at most %d characters.", maxPassword)
	}
	return ""
}

// hashPassword returns a password's hash in the PHC string format.
func hashPassword(password string) string {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // crypto/rand.Read never fails: it ends the program instead.
	sum := argon(password, salt, argonTime, argonMemory, argonThreads)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

func argon(password string, salt []byte, time, memory uint32, threads uint8) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, time, memory, threads, argonKey)
}

// errHash means that a stored hash does not have our format.
var errHash = errors.New("the stored password hash cannot be read")

// matchPassword reports whether a password matches the hash. An empty hash matches none, and takes as long.
func matchPassword(hash, password string) (bool, error) {
	if len(password) > maxPassword {
		password = ""
	}
	if hash == "" {
		argon(password, make([]byte, argonSalt), argonTime, argonMemory, argonThreads)
		return false, nil
	}

	var version int
	var memory, time uint32
	var threads uint8
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errHash
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false, errHash
	}

	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, errHash
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) != argonKey {
		return false, errHash
	}

	return subtle.ConstantTimeCompare(argon(password, salt, time, memory, threads), want) == 1, nil
}
