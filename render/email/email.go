// Package email parses email and makes a page of a message, with its sender, recipients and content. Its job runs
// in the children of render/engine, because the input is untrusted.
package email

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/charset" // whose characters message reads in headers, too
	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-message/textproto"
)

// The limits of a message. A message above them is hostile.
const (
	maxParts  = 1000
	maxDepth  = 20
	maxHeader = 1 << 20  // of a message, in bytes
	maxText   = 10 << 20 // of one part, in bytes
	maxFiles  = 200
)

// Error is the reason why a file is not a readable message, in words that continue the name
// of its field.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// file is an attachment of a message.
type file struct {
	Name, Type string
	Content    []byte

	id    string // by which the text may show it
	shown bool   // is part of the text
}

// Message is a parsed email.
type Message struct {
	From, ReplyTo, To, CC, BCC mailboxes
	Date, Subject              string
	// Language is the language of the text, as far as its letters show it.
	Language string
	Files    []*file
	// Notes describe the parts that could not be read and that the page does not show.
	Notes []string

	body  []block
	parts int
}

// block is a piece of the message's body: HTML, text, an image or a note.
type block struct {
	kind blockKind
	text string
	flow flow
	file *file
}

type blockKind int

const (
	plainBlock blockKind = iota
	htmlBlock
	pictureBlock
	noteBlock
)

// Read reads a message.
func Read(content io.Reader) (*Message, error) {
	in := bufio.NewReader(content)
	head, err := readHeader(in)
	if err != nil {
		return nil, err
	}

	fields, err := textproto.ReadHeader(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return nil, &Error{"must be an email in .eml format"}
	}

	header := mail.Header{Header: message.Header{Header: fields}}
	m := &Message{
		From:     people(header, "From"),
		ReplyTo:  people(header, "Reply-To"),
		To:       people(header, "To"),
		CC:       people(header, "Cc"),
		BCC:      people(header, "Bcc"),
		Subject:  text(header, "Subject"),
		Date:     text(header, "Date"),
		Language: language(header.Get("Content-Language")),
	}

	if len(m.From)+len(m.To)+len(m.Subject)+len(m.Date) == 0 {
		return nil, &Error{"must be an email in .eml format; it has no sender, recipient, date or subject"}
	}
	if at, err := header.Date(); err == nil && !at.IsZero() {
		m.Date = at.Format("Monday, 2 January 2006, 15:04 -0700")
	}

	m.body, err = m.part(header.Header, in, partPosition{})
	return m, err
}

// outlookMagic begins the files of Outlook's own format.
const outlookMagic = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// readHeader reads the valid lines of a header, and leaves the rest out, such as the separator line of mailboxes.
func readHeader(in *bufio.Reader) ([]byte, error) {
	if magic, _ := in.Peek(len(outlookMagic)); string(magic) == outlookMagic {
		return nil, &Error{"is an Outlook file (.msg). Save it as .eml"}
	}

	var head []byte
	kept := false
	read := 0
	for {
		line, end := readLine(in, maxHeader-read)
		read += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(head) == 0 {
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(line) > 0 && line[0] != ' ' && line[0] != '\t' {
			kept = headerLine(line)
		}
		if len(line) > 0 && kept {
			head = append(append(head, line...), "\r\n"...)
		}

		switch {
		case errors.Is(end, io.EOF), end == nil && len(line) == 0 && len(head) > 0:
			return append(head, "\r\n"...), nil
		case end != nil:
			return nil, end
		}
	}
}

// readLine reads the next line of a header of at most most bytes.
func readLine(in *bufio.Reader, limit int) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, &Error{fmt.Sprintf("has a header of more than %d bytes", maxHeader)}
		}
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// headerLine reports whether a line begins with the name of a field.
func headerLine(line []byte) bool {
	name, _, found := bytes.Cut(line, []byte(":"))
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	return found && len(name) > 0 && !bytes.ContainsFunc(bytes.TrimRight(name, " \t"), odd)
}

// text is a field of a header, decoded.
func text(header mail.Header, key string) string {
	decoded, err := header.Text(key)
	if err != nil {
		decoded = header.Get(key)
	}
	return oneLine(decoded)
}

// oneLine turns any bytes into one line of text without control characters and without characters that change the
// direction of text.
func oneLine(text string) string {
	if !utf8.ValidString(text) {
		text = decode([]byte(text), "text/plain")
	}

	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) || unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)

	const longest = 10_000
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return strings.Join(strings.Fields(text), " ")
}

// mailbox is a sender or a recipient of a message. Either field may be empty.
type mailbox struct{ Name, Address string }

// mailboxes is a list of mailboxes, such as the recipients.
type mailboxes []mailbox

// String writes them as programs of email do.
func (p mailboxes) String() string {
	var written []string
	for _, person := range p {
		text := person.Address
		switch {
		case person.Address == "":
			text = person.Name
		case person.Name != "":
			text = person.Name + " <" + person.Address + ">"
		}

		written = append(written, text)
	}

	return strings.Join(written, ", ")
}

// people reads a list of email addresses. An invalid entry stays as it is.
func people(header mail.Header, key string) (list mailboxes) {
	addresses, err := header.AddressList(key)
	if err != nil {
		if written := text(header, key); written != "" {
			return mailboxes{{Name: written}}
		}
		return nil
	}

	for _, a := range addresses {
		person := mailbox{oneLine(a.Name), oneLine(a.Address)}
		if person.Name == person.Address {
			person.Name = ""
		}
		list = append(list, person)
	}
	return list
}

// partPosition is the position of a part.
type partPosition struct {
	depth int
	group string // the kind of the parts that it is one of
}

// part reads one part of a message with its subparts, and returns their content.
func (m *Message) part(header message.Header, body io.Reader, at partPosition) ([]block, error) {
	if m.parts++; m.parts > maxParts {
		return nil, &Error{fmt.Sprintf("has more than %d parts", maxParts)}
	}
	if at.depth > maxDepth {
		return nil, &Error{fmt.Sprintf("has parts nested more than %d levels deep", maxDepth)}
	}

	kind, params := mediaType(header.Get("Content-Type"), at.group)
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		return m.several(body, kind, params, at.depth)
	}

	content, err := io.ReadAll(m.decoded(body, header.Get("Content-Transfer-Encoding")))
	if err != nil {
		m.note("A part of the message is damaged; only its readable content is shown.")
	}
	return m.piece(header, kind, params, content, at.group)
}

// decoded reads the bytes that were sent, whatever they are.
func (m *Message) decoded(body io.Reader, encoding string) io.Reader {
	var header message.Header
	header.Set("Content-Type", "application/octet-stream") // whose characters are left as they are
	header.Set("Content-Transfer-Encoding", encoding)

	part, err := message.New(header, body)
	if err != nil {
		m.note(fmt.Sprintf("A part of the message has an unknown encoding (%.40q).", encoding))
	}
	return part.Body
}

// piece reads a part that has no others in it.
func (m *Message) piece(
	header message.Header, kind string, params map[string]string, content []byte, group string,
) ([]block, error) {
	file := newFile(header, kind, content)
	disposition, _ := mediaType(header.Get("Content-Disposition"), "none")
	attached := disposition == "attachment" || file.Name != "" && disposition != "inline"

	switch {
	case (kind == "text/plain" || kind == "text/html") && !attached:
		if len(content) > maxText {
			return nil, &Error{fmt.Sprintf("has a text of more than %d bytes", maxText)}
		}
		return m.textBlocks(kind, params, content), nil
	case kind == "application/pkcs7-mime" || kind == "application/x-pkcs7-mime":
		return m.sealed(file, params["smime-type"])
	case kind == "application/ms-tnef" || kind == "application/vnd.ms-tnef" ||
		strings.EqualFold(file.Name, "winmail.dat"):
		m.note("winmail.dat contains text or files in an Outlook format (TNEF) and was not unpacked.")
	}

	if err := m.attach(file); err != nil {
		return nil, err
	}

	if shows(file.Type) && disposition != "attachment" && group != "multipart/related" {
		return []block{{kind: pictureBlock, file: file}}, nil
	}
	return nil, nil
}

// mediaType reads a field such as Content-Type, as far as it can be read.
func mediaType(field, group string) (kind string, params map[string]string) {
	if field == "" && group == "multipart/digest" {
		return "message/rfc822", nil
	}

	kind, params, err := mime.ParseMediaType(field)
	if err != nil {
		kind, _, _ = strings.Cut(field, ";")
	}
	return cmp.Or(strings.ToLower(strings.TrimSpace(kind)), "text/plain"), params
}

// several reads consecutive parts.
func (m *Message) several(body io.Reader, kind string, params map[string]string, depth int) ([]block, error) {
	var pieces [][]block

	for reader := textproto.NewMultipartReader(body, params["boundary"]); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			m.note("The message is incomplete or damaged.")
			break
		}

		blocks, err := m.part(message.Header{Header: part.Header}, part, partPosition{depth + 1, kind})
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, blocks)
	}

	switch kind {
	case "multipart/alternative":
		return best(pieces), nil
	case "multipart/encrypted":
		refusal := m.refuse("The text of this message is encrypted (" + protocol(params["protocol"]) +
			"): only its recipients can read it.")
		return append(slices.Concat(pieces...), refusal), nil
	case "multipart/signed":
		m.note("The message is signed (" + protocol(params["protocol"]) + "). The signature was not verified.")
	}
	return slices.Concat(pieces...), nil
}

// best returns the richest of alternative pieces: the last of them, but HTML before text.
func best(pieces [][]block) (chosen []block) {
	rich := false
	for _, piece := range pieces {
		html := slices.ContainsFunc(piece, func(b block) bool { return b.kind == htmlBlock })
		if len(piece) > 0 && (html || !rich) {
			chosen = piece
			rich = html
		}
	}
	return chosen
}

func protocol(kind string) string {
	if strings.Contains(strings.ToLower(kind), "pgp") {
		return "PGP"
	}
	return "S/MIME"
}

// sealed keeps a message that is a file of cryptography.
func (m *Message) sealed(file *file, how string) ([]block, error) {
	file.Name = cmp.Or(file.Name, "smime.p7m")
	text := "The text of this message is encrypted (S/MIME): only its recipients can read it."
	if how == "signed-data" || how == "clear-signed" {
		text = "The text of this message is inside its signature (S/MIME) and was not extracted."
	}
	return []block{m.refuse(text)}, m.attach(file)
}

// refuse returns a note that replaces unreadable content.
func (m *Message) refuse(text string) block {
	m.note(text)
	return block{kind: noteBlock, text: text}
}

// note adds a note to the message, once per text.
func (m *Message) note(text string) {
	if !slices.Contains(m.Notes, text) {
		m.Notes = append(m.Notes, text)
	}
}

// textBlocks makes a block of a text.
func (m *Message) textBlocks(kind string, params map[string]string, content []byte) []block {
	text := decode(m.named(params["charset"], content), kind)
	if strings.TrimSpace(text) == "" {
		return nil
	}

	m.Language = cmp.Or(m.Language, scripts[strings.ToLower(params["charset"])])
	if kind == "text/html" {
		return []block{{kind: htmlBlock, text: text}}
	}

	switch {
	case strings.Contains(text, "-----BEGIN PGP MESSAGE-----"):
		m.note("The text of this message is encrypted (PGP): only its recipients can read it.")
	case strings.Contains(text, "-----BEGIN PGP SIGNED MESSAGE-----"):
		m.note("The message is signed (PGP). The signature was not verified.")
	}

	format := flow{
		on:   strings.EqualFold(params["format"], "flowed"),
		join: strings.EqualFold(params["delsp"], "yes"),
	}
	return []block{{kind: plainBlock, text: text, flow: format}}
}

// named reads characters in an encoding with a name. Text with the name ASCII or UTF-8
// often has another encoding.
func (m *Message) named(name string, content []byte) []byte {
	if name == "" || strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "us-ascii") {
		return content
	}

	reader, err := charset.Reader(name, bytes.NewReader(content))
	if err != nil {
		m.note(fmt.Sprintf("A part of the message has an unknown character set (%.40q).", name))
		return content
	}

	if read, err := io.ReadAll(reader); err == nil {
		return read
	}
	return content
}

// scripts are the languages that only certain sets of characters are for: the same
// characters have other shapes in each.
var scripts = map[string]string{
	"iso-2022-jp": "ja", "shift_jis": "ja", "euc-jp": "ja", "gb2312": "zh-Hans", "gbk": "zh-Hans",
	"gb18030": "zh-Hans", "big5": "zh-Hant", "euc-kr": "ko", "iso-2022-kr": "ko",
}

// language is the first of a field's languages, if it is one.
func language(field string) string {
	first, _, _ := strings.Cut(field, ",")
	first = strings.TrimSpace(first)
	const longest = 20
	if len(first) > longest || strings.ContainsFunc(first, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return ""
	}
	return first
}

// shows reports whether browsers draw images of a kind.
func shows(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/bmp", "image/svg+xml":
		return true
	}
	return false
}

// newFile returns a part as an attachment.
func newFile(header message.Header, kind string, content []byte) *file {
	named := mail.AttachmentHeader{Header: header}
	name, err := named.Filename()
	if err != nil {
		name = ""
	}
	return &file{
		Name: fileName(name), Type: cleanType(kind), Content: content,
		id: strings.Trim(strings.TrimSpace(header.Get("Content-Id")), "<>"),
	}
}

// cleanType returns a media type, or the generic one.
func cleanType(kind string) string {
	const longest = 100
	main, sub, found := strings.Cut(kind, "/")
	odd := func(r rune) bool {
		return r != '-' && r != '.' && r != '+' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}

	switch {
	case !found, main == "", sub == "", len(kind) > longest,
		strings.ContainsFunc(main, odd), strings.ContainsFunc(sub, odd),
		strings.ContainsAny(main[:1]+sub[:1], ".+-"):
		return "application/octet-stream"
	}
	return kind
}

// attach keeps a file.
func (m *Message) attach(f *file) error {
	if len(m.Files) >= maxFiles {
		return &Error{fmt.Sprintf("has more than %d attachments", maxFiles)}
	}

	if f.Name == "" && f.Type == "message/rfc822" {
		if inner, err := message.Read(bytes.NewReader(f.Content)); inner != nil {
			_ = err // is of its encoding
			f.Name = fileName(text(mail.Header{Header: inner.Header}, "Subject") + ".eml")
		}
	}
	if f.Name == "" {
		f.Name = "attachment" + fmt.Sprint(len(m.Files)+1) + extension(f.Type)
	}

	f.Name = m.ownName(f.Name)
	m.Files = append(m.Files, f)
	return nil
}

// ownName gives files of one name another.
func (m *Message) ownName(name string) string {
	end := path.Ext(name)
	stem := strings.TrimSuffix(name, end)
	for i := 2; slices.ContainsFunc(m.Files, func(f *file) bool { return f.Name == name }); i++ {
		name = fmt.Sprintf("%s (%d)%s", stem, i, end)
	}
	return name
}

// extension returns the extension of a kind of file.
func extension(kind string) string {
	switch kind {
	case "message/rfc822":
		return ".eml"
	case "image/jpeg":
		return ".jpg"
	case "text/plain", "message/delivery-status", "text/rfc822-headers":
		return ".txt"
	case "text/html":
		return ".html"
	case "text/calendar":
		return ".ics"
	case "application/pgp-signature", "application/pgp-encrypted":
		return ".asc"
	}

	if list, err := mime.ExtensionsByType(kind); err == nil && len(list) > 0 {
		return list[0]
	}
	return ".bin"
}

// fileName makes a file name of the name in a message.
func fileName(name string) string {
	name = strings.ReplaceAll(oneLine(name), "\\", "/")
	name = strings.Trim(path.Base("/"+name), "/ .")
	const longest, end = 150, 10
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest-end]) + string(runes[len(runes)-end:])
	}
	return name
}
