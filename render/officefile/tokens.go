package officefile

import (
	"bufio"
	"bytes"
	"errors"
	"html"
	"io"
)

// maxToken is the maximum length of a tag or a text between two tags, in bytes.
const maxToken = 64 << 20

var (
	// errLongToken means that a part has a longer token.
	errLongToken = errors.New("officefile: a tag or a text is too long")
	// errNotUTF8 means that a part has another encoding.
	errNotUTF8 = errors.New("officefile: a part is not in UTF-8")
)

// utf16Marks are the beginnings of texts in UTF-16.
var utf16Marks = []string{"\xff\xfe", "\xfe\xff"}

// tokens reads an XML text as raw tokens: tags, comments and the texts between them. Together, they are the text byte
// for byte, so that a rewriter changes what it must and nothing else. It does not check the syntax.
type tokens struct {
	in    *bufio.Reader
	token []byte
}

func newTokens(in io.Reader) *tokens {
	return &tokens{in: bufio.NewReaderSize(in, 64<<10)}
}

// next reads the next token, which is valid until the call after it. At the end, it returns io.EOF.
func (t *tokens) next() (token, error) {
	t.token = t.token[:0]
	head, err := t.in.Peek(1)
	if err != nil {
		return nil, err
	}

	if head[0] >= utf16Marks[1][0] {
		return nil, errNotUTF8 // No text in UTF-8 has this byte.
	}
	if head[0] != '<' {
		err := t.readUntil('<')
		if err == nil {
			t.token = t.token[:len(t.token)-1]
			err = t.in.UnreadByte()
		}
		if errors.Is(err, io.EOF) {
			err = nil // The last text.
		}
		return t.token, err
	}

	for {
		if err := t.readUntil('>'); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if complete(t.token) {
			return t.token, nil
		}
	}
}

// readUntil appends to the token, up to and including a byte.
func (t *tokens) readUntil(end byte) error {
	for {
		read, err := t.in.ReadSlice(end)
		t.token = append(t.token, read...)
		if len(t.token) > maxToken {
			return errLongToken
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// complete reports whether a tag or a comment that ends with > ends there.
func complete(tag []byte) bool {
	switch {
	case bytes.HasPrefix(tag, []byte("<!--")):
		return len(tag) >= 7 && bytes.HasSuffix(tag, []byte("-->"))
	case bytes.HasPrefix(tag, []byte("<![CDATA[")):
		return bytes.HasSuffix(tag, []byte("]]>"))
	case bytes.HasPrefix(tag, []byte("<?")):
		return bytes.HasSuffix(tag, []byte("?>"))
	}

	var quote byte
	for _, c := range tag {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote == 0
}

// token is a tag, a text or a comment.
type token []byte

// tag reports whether the token starts or ends an element.
func (t token) tag() bool { return len(t) > 2 && t[0] == '<' && t[1] != '!' && t[1] != '?' }

// ends reports whether the token is the end tag of an element, or an element without content.
func (t token) ends() bool { return t.tag() && (t[1] == '/' || t.empty()) }

// closes reports whether the token is an end tag.
func (t token) closes() bool { return t.tag() && t[1] == '/' }

// empty reports whether the token is an element without content.
func (t token) empty() bool { return t.tag() && t[len(t)-2] == '/' }

// starts reports whether the token starts an element of a name, which has no prefix.
func (t token) starts(name string) bool {
	return t.tag() && t[1] != '/' && string(t.name()) == name
}

// name returns the name of an element without its prefix.
func (t token) name() []byte {
	name := bytes.TrimPrefix(t[1:len(t)-1], []byte("/"))
	if end := bytes.IndexAny(name, " \t\r\n/>"); end >= 0 {
		name = name[:end]
	}
	if colon := bytes.IndexByte(name, ':'); colon >= 0 {
		name = name[colon+1:]
	}
	return name
}

// attribute is an attribute of a tag, and its place in it: from the space before it to its end.
type attribute struct {
	prefix, name, value string
	from, to            int
}

// attributes returns the attributes of a start tag.
func (t token) attributes() []attribute {
	var list []attribute
	at := 1
	for {
		equals := bytes.IndexByte(t[at:], '=')
		if equals < 0 {
			return list
		}
		equals += at
		open := equals + 1
		for open < len(t) && bytes.IndexByte([]byte(" \t\r\n"), t[open]) >= 0 {
			open++
		}
		if open >= len(t) {
			return list
		}

		length := bytes.IndexByte(t[open+1:], t[open])
		if length < 0 {
			return list
		}

		name := bytes.TrimRight(t[at:equals], " \t\r\n")
		from := bytes.LastIndexAny(name, " \t\r\n/")
		if from < 0 {
			return list
		}
		prefix, local, prefixed := bytes.Cut(name[from+1:], []byte(":"))
		if !prefixed {
			local = prefix
			prefix = nil
		}

		end := open + 1 + length + 1
		list = append(list, attribute{
			prefix: string(prefix), name: string(local), value: html.UnescapeString(string(t[open+1 : end-1])),
			from: at + from, to: end,
		})
		at = end
	}
}

// attribute returns the value of an attribute whose name has any prefix or none, or "".
func (t token) attribute(name string) string {
	for _, a := range t.attributes() {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// text returns the characters of a text token.
func (t token) text() string {
	if data, ok := bytes.CutPrefix(t, []byte("<![CDATA[")); ok {
		return string(bytes.TrimSuffix(data, []byte("]]>")))
	}
	if len(t) > 0 && t[0] == '<' {
		return ""
	}
	return html.UnescapeString(string(t))
}
