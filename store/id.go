package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// An ID is its kind, an underscore and 39 lower-case characters of Crockford's base32: 10 of the time in
// milliseconds, 3 of the region where it was made, and 26 with 130 random bits, so the ID of a file can serve as a
// bearer secret. IDs of a kind sort by their time, which PostgreSQL's tables are partitioned by.
const (
	timeChars   = 10
	regionChars = 3
	randomChars = 26
	idChars     = timeChars + regionChars + randomChars
)

// DefaultRegion is the region of a process without a configured region.
const DefaultRegion = "loc"

const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

var idEncoding = base32.NewEncoding(crockford).WithPadding(base32.NoPadding)

// NewID returns a new id of the store's region, such as "acc_…".
func (s *Store) NewID(kind string) string { return newID(kind, s.region, s.now()) }

// NewID returns a new ID for an object without a store and a region.
func NewID(kind string) string { return newID(kind, DefaultRegion, time.Now()) }

func newID(kind, region string, at time.Time) string {
	var random [17]byte         // 136 bits, of which 130 are used
	_, _ = rand.Read(random[:]) // crypto/rand.Read never fails: it ends the program instead.
	return kind + "_" + idTime(at) + region + idEncoding.EncodeToString(random[:])[:randomChars]
}

// postingIDs makes the ids of postings, which also have the order in which a
// process made them where their time is the same. It is safe for concurrent use.
type postingIDs struct {
	mu   sync.Mutex
	last string
}

func (p *postingIDs) next(region string, at time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := newID("jrn", region, at)
	if begin := len(id) - randomChars; len(p.last) == len(id) && p.last[:begin] == id[:begin] {
		id = following(p.last)
	}
	p.last = id
	return id
}

// following returns the id after one of the same time and region.
func following(id string) string {
	text := []byte(id)
	for i := len(text) - 1; ; i-- {
		digit := strings.IndexByte(crockford, text[i]) + 1
		if digit < len(crockford) {
			text[i] = crockford[digit]
			return string(text)
		}
		text[i] = crockford[0] // and carry
	}
}

// idTime returns how ids of the time begin, after their kind.
func idTime(at time.Time) string {
	var text [timeChars]byte
	ms := uint64(max(0, at.UnixMilli()))
	for i := timeChars - 1; i >= 0; i-- {
		text[i] = crockford[ms%32]
		ms /= 32
	}
	return string(text[:])
}

// timeOf returns when an id was made, and false for a text of another form.
func timeOf(id string) (time.Time, bool) {
	_, body, _ := strings.Cut(id, "_")
	if len(body) < timeChars {
		return time.Time{}, false
	}

	var ms int64
	for _, c := range body[:timeChars] {
		digit := strings.IndexRune(crockford, c)
		if digit < 0 {
			return time.Time{}, false
		}
		ms = ms*32 + int64(digit)
	}

	return time.UnixMilli(ms), true
}

// IsID reports whether a text has the form of the IDs of a kind; of UUIDs if the kind is empty.
func IsID(kind, text string) bool {
	if kind == "" {
		_, err := uuid.Parse(text)
		return err == nil
	}
	body, ok := strings.CutPrefix(text, kind+"_")
	return ok && len(body) == idChars && strings.Trim(body, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// CallID returns the ID of the call whose result has the ID. The result's ID, which opens a document, cannot be
// derived from the call's, which appears in logs. An ID of another form has no call, and neither has the ID returned
// for it.
func CallID(resultID string) string {
	sum := sha256.Sum256([]byte(resultID))
	_, body, _ := strings.Cut(resultID, "_")
	if len(body) != idChars {
		return "call_"
	}
	return "call_" + body[:timeChars+regionChars] + idEncoding.EncodeToString(sum[:])[:randomChars]
}

// CheckRegion returns an error unless the text can name a region.
func CheckRegion(region string) error {
	if len(region) != regionChars || strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return errors.New("a region is three lower-case letters or digits, such as fra")
	}
	return nil
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

// hashSecret returns the stored form of a secret. A plain SHA-256 is enough, because a secret of 238 random bits
// cannot be guessed offline; a slow password hash would only cost every request its time.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
