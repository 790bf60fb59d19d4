package redact

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

//go:embed names.txt
var redactNames string

// knownNames are the names that PDF defines, and those of glyphs. A term that is a part of such a name is not a
// secret there.
var knownNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(redactNames) {
		names[name] = true
	}
	return names
})

// The fewest letters of terms that are looked for where bytes mean something else: they
// would be there by chance.
const (
	fewestRaw    = 5
	fewestBinary = 6
)

// long returns the terms with a minimum number of letters, without patterns.
func (s redactionTerms) long(fewest int) redactionTerms {
	var terms []string
	for _, term := range s.terms {
		if utf8.RuneCountInString(term) >= fewest {
			terms = append(terms, term)
		}
	}
	return redactionTerms{terms: terms}
}

// in reports whether a text contains a secret.
func (s redactionTerms) in(text string) bool {
	if text == "" || len(s.terms)+len(s.patterns) == 0 {
		return false
	}
	if folded, plain := foldPlain(text); plain && len(s.patterns) == 0 {
		return slices.ContainsFunc(s.terms, func(term string) bool { return strings.Contains(folded, term) })
	}
	return len(s.find(lettersOf(text))) > 0
}

// foldPlain is a fast fold for most texts: ASCII without a hyphen at the end of a line.
func foldPlain(text string) (folded string, plain bool) {
	out := make([]byte, 0, len(text))

	for i := range len(text) {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf || c == '-' && i+1 < len(text) && text[i+1] == '\n':
			return "", false
		case c == ' ' || c >= '\t' && c <= '\r':
		case c >= 'a' && c <= 'z':
			out = append(out, c-'a'+'A')
		default:
			out = append(out, c)
		}
	}

	return string(out), true
}

// unpercent undoes the encoding of addresses, as often as it was done.
func unpercent(text string) string {
	return strings.ToValidUTF8(string(unpercentBytes(text)), "\uFFFD")
}

func unpercentBytes(text string) []byte {
	const often = 3
	for range often {
		if !strings.Contains(text, "%") {
			break
		}

		var out []byte
		for i := 0; i < len(text); i++ {
			if text[i] == '%' && i+2 < len(text) {
				if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
					out, i = append(out, c...), i+2
					continue
				}
			}
			out = append(out, text[i])
		}

		text = string(out)
	}
	return []byte(text)
}

// punycode matches a part of a host that stands for letters beyond ASCII.
var punycode = regexp.MustCompile(`(?i)xn--[a-z0-9-]+`)

// addresses returns what a text may say as an address: with its percent signs and, if it has no spaces, its hosts
// decoded. The text itself is not among it.
func addresses(text string) (all []string) {
	if text == "" || strings.ContainsAny(text, " \n") {
		if plain := unpercent(text); plain != text {
			return []string{plain}
		}
		return nil
	}

	raw := unpercentBytes(text)
	spellings := []string{string(raw)}
	if !utf8.Valid(raw) {
		spellings = []string{strings.ToValidUTF8(string(raw), "\uFFFD"), rawText(raw)}
	} else if latin := rawText([]byte(text)); latin != text {
		spellings = append(spellings, latin)
	}

	for _, spelling := range spellings {
		spelling = punycode.ReplaceAllStringFunc(spelling, func(host string) string {
			if plain, err := idna.Punycode.ToUnicode(strings.ToLower(host)); err == nil {
				return plain
			}
			return host
		})

		if spelling != text {
			all = append(all, spelling)
		}
	}
	return all
}

// inAddress returns a text without the secrets that it has as an address, and whether there were any.
func (s redactionTerms) inAddress(text string) (better string, hit bool) {
	const often = 4 // each time may leave what another spelling says
	for range often {
		before := text
		for _, spelling := range append([]string{text}, addresses(text)...) {
			clean, coded := s.blackenAddress(spelling)
			if !coded {
				continue
			}
			if hit = true; spelling != text {
				clean = repercent(clean)
			}
			text = clean
			break
		}

		if text == before {
			break
		}
	}

	return text, hit
}

// blackenAddress is blacken for a text in which there may be other signs than spaces between words.
func (s redactionTerms) blackenAddress(text string) (string, bool) {
	text, hit := s.blacken(text)
	if strings.ContainsAny(text, " \n") || !strings.ContainsAny(text, "+-_.") {
		return text, hit
	}

	letters := lettersOf(text)
	gone := redactionTerms{terms: s.joined}.find(letters)
	if len(s.patterns) > 0 {
		gone = append(gone, redactionTerms{patterns: s.patterns}.find(lettersOf(strings.ReplaceAll(text, "+", " ")))...)
	}
	return blackened(letters, gone), hit || len(gone) > 0
}

// repercent writes an address so that it has no letters which addresses have not.
func repercent(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if c > ' ' && c < 0x7f {
			out.WriteByte(c)
			continue
		}
		out.WriteByte('%')
		out.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	return out.String()
}

// rawText is the bytes of a string as letters of Latin-1.
func rawText(raw []byte) string {
	runes := make([]rune, len(raw))
	for i, b := range raw {
		runes[i] = rune(b)
	}
	return string(runes)
}

func wideText(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	return string(utf16.Decode(units))
}

// RawBytes returns the bytes of a string of a PDF.
func RawBytes(v any) ([]byte, bool) {
	text, _ := v.(string)
	digits, ok := strings.CutPrefix(text, "b:")
	if !ok {
		return []byte(strings.TrimPrefix(text, "u:")), strings.HasPrefix(text, "u:")
	}
	raw, err := hex.DecodeString(digits)
	return raw, err == nil
}

// plainStrings are common strings in fonts. They are not secrets.
var plainStrings = map[string]bool{"Adobe": true, "Identity": true, "UCS": true, "Japan1": true, "GB1": true, "CNS1": true, "Korea1": true}

// cleanString returns a string without secrets, and whether there were any.
func (s redactionTerms) cleanString(v string) (string, bool) {
	raw, ok := RawBytes(v)
	text := pdffile.Text(v)
	if !ok || plainStrings[text] {
		return v, false
	}

	better, hit := s.blacken(text)
	if address, coded := s.inAddress(better); coded {
		better = address
		hit = true
	}

	if !hit && utf8.Valid(raw) {
		if best, unmarked := s.blacken(string(raw)); unmarked { // UTF-8 without its mark, as in many addresses
			better = best
			hit = true
		}
	}
	if !hit && s.inOddWritings(raw) {
		better = "█"
		hit = true
	}

	if !hit {
		return v, false
	}
	return "u:" + better, true
}

// inOddWritings reports whether a secret is in a string for those who read it in another way.
func (s redactionTerms) inOddWritings(raw []byte) bool {
	longTerms := s.long(fewestRaw)
	return len(longTerms.terms) > 0 && (longTerms.in(rawText(raw)) || longTerms.in(wideText(raw)) || len(raw) > 0 && longTerms.in(wideText(raw[1:])))
}

// inName reports whether a name that a user has chosen contains a secret.
func (s redactionTerms) inName(name string) bool {
	name = strings.TrimPrefix(name, "/")
	if knownNames()[name] || len(name) < 2 {
		return false
	}
	_, coded := s.inAddress(strings.ToValidUTF8(name, "\uFFFD"))
	return coded || s.in(strings.ToValidUTF8(name, "\uFFFD")) || s.in(rawText([]byte(name)))
}

// binary returns the places of terms, in ASCII or UTF-16, in bytes other than text.
func (s redactionTerms) binary(content []byte, fewest int) (spans [][2]int) {
	var upper []byte
	for _, term := range s.long(fewest).terms {
		if upper == nil {
			upper = asciiUpper(content)
		}

		wide := []byte{}
		for _, unit := range utf16.Encode([]rune(term)) {
			wide = append(wide, byte(unit>>8), byte(unit))
		}
		little := append(bytes.Clone(wide[1:]), 0)

		for _, writing := range [][]byte{[]byte(term), wide, little} {
			for at := 0; ; {
				next := bytes.Index(upper[at:], writing)
				if next < 0 {
					break
				}
				spans = append(spans, [2]int{at + next, at + next + len(writing)})
				at += next + 1
			}
		}
	}

	return spans
}

func asciiUpper(content []byte) []byte {
	upper := bytes.Clone(content)
	for i, c := range upper {
		if c >= 'a' && c <= 'z' {
			upper[i] = c - 'a' + 'A'
		}
	}
	return upper
}
