package pdfsign

import (
	"bytes"
	"crypto"
	"encoding/asn1"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// looseBER is a way to encode a value in BER and not in DER.
type looseBER struct {
	indefinite bool // lengths of compound values
	long       bool // lengths with bytes of zero
	segments   bool // strings in two segments, each of which has two
	spare      int  // levels that stay as they are
	attributes bool // the signed attributes are changed too
}

// encode returns a value of DER in BER.
func (l looseBER) encode(der []byte, depth int) []byte {
	h, err := readHeader(der)
	if err != nil {
		panic(err)
	}
	tag, content := der[:h.tag], der[h.size:h.size+h.length]
	if tag[0]&berCompound == 0 {
		if l.segments && tag[0] == asn1.TagOctetString && len(content) > 3 {
			return l.wrap([]byte{asn1.TagOctetString | berCompound}, slices.Concat(l.segment(content[:1]), l.segment(content[1:])))
		}
		return l.wrap(tag, content)
	}

	var out []byte
	for i := 0; len(content) > 0; i++ {
		h, err := readHeader(content)
		if err != nil {
			panic(err)
		}
		item := content[:h.size+h.length]
		content = content[len(item):]
		certificates, attributes := depth == 2 && item[0] == 0xA0, depth == 4 && tag[0] == 0x30 && item[0] == 0xA0 && i == 3
		if depth < l.spare && !certificates && (!attributes || l.attributes) {
			item = l.encode(item, depth+1)
		}
		out = append(out, item...)
	}
	return l.wrap(tag, out)
}

func (l looseBER) segment(content []byte) []byte {
	if len(content) < 2 {
		return l.wrap([]byte{asn1.TagOctetString}, content)
	}
	return l.wrap([]byte{asn1.TagOctetString | berCompound}, slices.Concat(l.wrap([]byte{asn1.TagOctetString}, content[:1]), l.wrap([]byte{asn1.TagOctetString}, content[1:])))
}

func (l looseBER) wrap(tag, content []byte) []byte {
	switch {
	case l.indefinite && tag[0]&berCompound != 0:
		return slices.Concat(tag, []byte{0x80}, content, []byte{0, 0})
	case l.long:
		n := len(content)
		return slices.Concat(tag, []byte{0x84, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, content)
	}
	return encodeDER(tag, content)
}

// emptyPlace is a document whose signature can be replaced.
type emptyPlace struct{ *Prepared }

// preparePlace returns a document with a place for the CMS of others.
func preparePlace(t testing.TB) emptyPlace {
	t.Helper()
	p, err := prepare(PDF{Content: pdftest.Three().Write()}, Options{Size: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	return emptyPlace{p}
}

// with returns the document with a CMS.
func (p emptyPlace) with(t testing.TB, cms []byte) []byte {
	t.Helper()
	content, err := (&Prepared{bytes.Clone(p.content), p.start, p.end}).complete(cms)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// signed returns the bytes that the signature is of.
func (p emptyPlace) signed() []byte { return slices.Concat(p.content[:p.start], p.content[p.end:]) }

// openssl runs openssl on files of a folder, and returns whether it succeeds.
func openssl(t testing.TB, dir string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// opensslAccepts reports whether openssl accepts a CMS of bytes, whoever signed it.
func opensslAccepts(t testing.TB, cms, content []byte) bool {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"cms": cms, "content": content} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, ok := openssl(t, dir, "cms", "-verify", "-noverify", "-binary", "-inform", "DER", "-in", "cms", "-content", "content", "-out", os.DevNull)
	return ok
}

// TestBER verifies signatures in all notations of BER, as openssl and Poppler do.
func TestBER(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "RSA")
	p := preparePlace(t)
	cms, err := s.Sign(p.digest(s.Hash))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signature(cms)
	if err != nil {
		t.Fatal(err)
	}
	token, err := stamp(t.Context(), a.network(), digest(crypto.SHA256, signature))
	if err != nil {
		t.Fatal(err)
	}
	loose := func(value []byte, l looseBER) []byte { return l.encode(value, 0) }
	const all = 99
	stamped := func(token []byte) []byte { return must(addTimestamp(cms, token)) }

	for name, test := range map[string]struct {
		cms     []byte
		foreign string // programs that accept it
	}{
		"DER":                   {cms, "openssl, poppler"},
		"outside":               {loose(cms, looseBER{indefinite: true, spare: 3}), "openssl, poppler"},
		"indefinite":            {loose(cms, looseBER{indefinite: true, spare: all}), "openssl"},
		"indefinite throughout": {loose(cms, looseBER{indefinite: true, spare: all, attributes: true}), ""},
		"long":                  {loose(cms, looseBER{long: true, spare: all}), ""},
		"long throughout":       {loose(cms, looseBER{long: true, spare: all, attributes: true}), ""},
		"segments":              {loose(cms, looseBER{segments: true, spare: all}), "openssl, poppler"},
		"indefinite segments":   {loose(cms, looseBER{indefinite: true, segments: true, spare: all}), "openssl"},
		"long segments":         {loose(cms, looseBER{long: true, segments: true, spare: all, attributes: true}), ""},
		"a timestamp":           {stamped(token), "openssl, poppler"},
		"a loose timestamp":     {stamped(loose(token, looseBER{indefinite: true, segments: true, spare: all})), "openssl"},
		"a long timestamp":      {stamped(loose(token, looseBER{long: true, spare: all})), "openssl"},
		"loose, with timestamp": {loose(stamped(token), looseBER{indefinite: true, segments: true, spare: all}), "openssl"},
	} {
		content := p.with(t, test.cms)
		r := mustVerify(t, content, a.trust())[0]
		if r.Verdict != Valid || !r.Intact || strings.Contains(r.Reason, "timestamp") {
			t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
		}
		if isStamped := strings.Contains(name, "timestamp"); isStamped != (r.TimeSource == fromTimestamp) {
			t.Errorf("%s: time from %q", name, r.TimeSource)
		}
		if strings.Contains(test.foreign, "openssl") && !opensslAccepts(t, test.cms, p.signed()) {
			t.Errorf("%s: openssl does not accept it", name)
		}
		if strings.Contains(test.foreign, "poppler") {
			if out := pdfsig(t, content); !strings.Contains(out, "Signature is Valid") {
				t.Errorf("%s: Poppler: %s", name, out)
			}
		}

		broken := bytes.Clone(test.cms)
		at := bytes.Index(broken, signature[2:]) // of a segment
		broken[at] ^= 1
		if r := mustVerify(t, p.with(t, broken), a.trust())[0]; r.Verdict != Invalid {
			t.Errorf("%s with another signature: %s %s", name, r.Verdict, r.Reason)
		}
	}
}

// TestBEROfTimestamps accepts responses of authorities that use BER.
func TestBEROfTimestamps(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	request, err := TimestampRequest(crypto.SHA256, digest(crypto.SHA256, []byte("a")), []byte("seed"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := a.network().Timestamp(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []looseBER{{indefinite: true, spare: 1}, {indefinite: true, spare: 4}, {long: true, spare: 4}} {
		token, err := timestampToken(request, l.encode(response, 0))
		if err != nil {
			t.Errorf("%+v: %v", l, err)
			continue
		}
		if _, err := readToken(token); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// TestHostileBER are values that are deep, endless or larger than they are.
func TestHostileBER(t *testing.T) {
	t.Parallel()
	const many = 1 << 20
	for name, raw := range map[string][]byte{
		"deep":                       bytes.Repeat([]byte{0x30, 0x80}, many),
		"deep, with ends":            append(bytes.Repeat([]byte{0x30, 0x80}, 1000), make([]byte, 2000)...),
		"deep segments":              bytes.Repeat([]byte{0x24, 0x80}, many),
		"no end":                     {0x30, 0x80, 0x02, 0x01, 0x01},
		"half an end":                {0x30, 0x80, 0x00},
		"a primitive without length": {0x04, 0x80, 0x00, 0x00},
		"a huge length":              {0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF},
		"a length of too many bytes": append([]byte{0x30, 0xFE}, bytes.Repeat([]byte{1}, 200)...),
		"a reserved length":          {0x30, 0xFF, 0x00},
		"a tag without an end":       {0x3F, 0xFF, 0xFF, 0xFF},
		"segments of another kind":   {0x24, 0x80, 0x02, 0x01, 0x01, 0x00, 0x00},
		"bits without segments":      {0x23, 0x80, 0x00, 0x00},
		"nothing":                    {},
	} {
		if der, _, err := fromBER(raw); err == nil {
			t.Errorf("%s: read as %d bytes", name, len(der))
		}
		if _, err := readMessage(raw); err == nil {
			t.Errorf("%s: a message", name)
		}
	}
	deep := bytes.Repeat([]byte{0x30}, 0)
	for range 2000 {
		deep = encodeDER([]byte{0x30}, deep)
	}
	if der, _, err := fromBER(deep); err != nil || !bytes.Equal(der, deep) {
		t.Errorf("a deep value in DER: %v", err)
	}
	// A million values in one, and a string of a million segments.
	flat := slices.Concat([]byte{0x30, 0x80}, bytes.Repeat([]byte{0x05, 0x00}, many), []byte{0, 0})
	if der, rest, err := fromBER(flat); err != nil || len(der) != 2*many+5 || len(rest) > 0 {
		t.Errorf("a flat value: %d bytes, %v", len(der), err)
	}
	text := slices.Concat([]byte{0x24, 0x80}, bytes.Repeat([]byte{0x04, 0x01, 'a'}, many), []byte{0, 0})
	if der, _, err := fromBER(text); err != nil || len(der) != many+5 {
		t.Errorf("a string in segments: %d bytes, %v", len(der), err)
	}
}

// FuzzBER converts values: the result is as DER has it, and stays so.
func FuzzBER(f *testing.F) {
	f.Add([]byte{0x30, 0x80, 0x24, 0x80, 0x04, 0x01, 0x61, 0x04, 0x01, 0x62, 0x00, 0x00, 0x00, 0x00, 0x00})
	f.Add([]byte{0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x01})
	f.Add([]byte{0x23, 0x80, 0x03, 0x02, 0x00, 0x61, 0x03, 0x02, 0x04, 0x60, 0x00, 0x00})
	f.Add([]byte{0x3F, 0x81, 0x01, 0x03, 0x02, 0x01, 0x01})
	f.Fuzz(func(t *testing.T, raw []byte) {
		der, rest, err := fromBER(raw)
		if err != nil {
			return
		}
		if len(rest) >= len(raw) || len(der) > 3*len(raw) {
			t.Errorf("%d bytes became %d, with %d after them", len(raw), len(der), len(rest))
		}
		again, more, err := fromBER(der)
		if err != nil || len(more) > 0 || !bytes.Equal(again, der) {
			t.Errorf("%x became %x, and then %x: %v", raw, der, again, err)
		}
		_ = itemsOf(raw)
		_ = sentAttributes(raw)
		_, _ = readMessage(raw)
		_ = fmt.Sprint(canonicalName(raw))
		_ = looseCertificate(raw)
	})
}
