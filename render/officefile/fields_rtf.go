package officefile

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// KeepRTF writes a document in RTF as LibreOffice is to read it: fields with stored results become text. It writes no
// file if there is nothing to change.
func KeepRTF(from, to string) (written bool, err error) {
	content, err := os.ReadFile(from)
	if err != nil {
		return false, err
	}

	k := rtfKeeper{text: content, bookmarks: bookmarks{}}
	for at := 0; ; {
		next := bytes.Index(content[at:], []byte(`{\*\bkmkstart `))
		if next < 0 {
			break
		}
		at += next + len(`{\*\bkmkstart `)
		name, _, _ := bytes.Cut(content[at:], []byte("}"))
		k.bookmarks.add(string(name))
	}

	made := k.fields(0, len(content))
	if !k.changed {
		return false, nil
	}
	return true, os.WriteFile(to, made, 0o600)
}

// rtfKeeper rewrites the fields of a document in RTF.
type rtfKeeper struct {
	text      []byte
	bookmarks bookmarks
	changed   bool
}

// step returns the position after the token at a position: a brace, a control word with its number, or a character.
func (k *rtfKeeper) step(at int) int {
	if k.text[at] != '\\' || at+1 >= len(k.text) {
		return at + 1
	}
	at++
	if c := k.text[at] | 0x20; c < 'a' || c > 'z' {
		return at + 1
	}

	word := at
	for at < len(k.text) && k.text[at]|0x20 >= 'a' && k.text[at]|0x20 <= 'z' {
		at++
	}
	name := string(k.text[word:at])
	digits := at
	for at < len(k.text) && (k.text[at] >= '0' && k.text[at] <= '9' || k.text[at] == '-' && at == digits) {
		at++
	}

	if name != "bin" {
		return at
	}
	size, err := strconv.Atoi(string(k.text[digits:at]))
	if err != nil || size < 0 || size > len(k.text)-at {
		return at
	}
	return at + min(1+size, len(k.text)-at)
}

// group returns the position after the group that begins at a position.
func (k *rtfKeeper) group(at, end int) int {
	depth := 0
	for at < end {
		switch k.text[at] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if at = k.step(at); depth == 0 {
			break
		}
	}
	return min(at, end)
}

// has reports whether a text is at a position, and not the beginning of a longer control word.
func (k *rtfKeeper) has(at int, text string) bool {
	rest, found := bytes.CutPrefix(k.text[at:], []byte(text))
	return found && (len(rest) == 0 || rest[0]|0x20 < 'a' || rest[0]|0x20 > 'z')
}

// fields returns a part of the document with its fields as text.
func (k *rtfKeeper) fields(from, to int) []byte {
	var out []byte
	for at := from; at < to; {
		next := k.step(at)
		if k.text[at] == '{' && k.has(at, `{\field`) {
			next = k.group(at, to)
			out = append(out, k.field(at, next)...)
		} else {
			out = append(out, k.text[at:min(next, to)]...)
		}
		at = next
	}
	return out
}

// field returns a field as text, as a link, or as it is but for the fields in its result.
func (k *rtfKeeper) field(from, to int) []byte {
	const word, code, stored = `{\field`, `{\*\fldinst`, `{\fldrslt`
	var codeAt, codeEnd, resultAt, resultEnd int
	lives := false
	for at := from + len(word); at < to-1; {
		next := k.step(at)
		switch {
		case k.has(at, code):
			codeAt = at + len(code)
			next = k.group(at, to)
			codeEnd = next - 1
		case k.has(at, stored):
			resultAt = at + len(stored)
			next = k.group(at, to)
			resultEnd = next - 1
		case k.text[at] == '{':
			next = k.group(at, to)
		case k.has(at, `\flddirty`):
			lives = true
		}
		at = next
	}
	if codeAt == 0 || resultAt == 0 {
		return k.text[from:to]
	}

	result := k.fields(resultAt, resultEnd)
	text := parseFieldCode(k.plain(codeAt, codeEnd))
	fate := text.fate(k.bookmarks)
	if lives || strings.TrimSpace(k.plain(resultAt, resultEnd)) == "" {
		fate = fieldLives
	}

	var out []byte
	switch fate {
	case fieldLives:
		out = append(append(out, k.text[from:resultAt]...), result...)
		return append(out, k.text[resultEnd:to]...)
	case fieldLinks:
		out = append(out, word+code+` HYPERLINK \\l "`+k.bookmarks.find(text.argument)+`"}`+stored...)
		out = append(append(out, result...), "}}"...)
	default:
		out = append(append(append(out, '{'), result...), '}')
	}

	k.changed = true
	return out
}

// plain returns the characters of a part of the document, without control words.
func (k *rtfKeeper) plain(from, to int) string {
	var out strings.Builder
	for at := from; at < to; {
		next := k.step(at)
		switch token := string(k.text[at:min(next, to)]); {
		case token == `\\` || token == `\{` || token == `\}`:
			out.WriteString(token[1:])
		case strings.HasPrefix(token, `\'`), strings.HasPrefix(token, `\u`):
			out.WriteByte('?')
		case token[0] == '\\':
			if next < to && k.text[next] == ' ' {
				next++ // It belongs to the control word.
			}
		case token == "{" || token == "}" || token == "\r" || token == "\n":
		default:
			out.WriteString(token)
		}
		at = next
	}

	return out.String()
}
