package office

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

const (
	// headSize is the number of bytes that are read of a file's start.
	headSize = 4096
	// tailSize is the number of bytes that are read of an archive's end: the list of its files, which in office
	// documents has a few kilobytes.
	tailSize = 1 << 20
)

// Sniff detects the type of a document: by its content, and for most kinds of text by the extension of its name. It
// reads a bounded part of the content and parses next to nothing, because it runs in the server's own process. The
// error is an *Error of the reason Unknown, or that of reading.
func Sniff(content io.ReadSeeker, name string) (Source, error) {
	head, err := io.ReadAll(io.LimitReader(content, headSize))
	if err != nil {
		return Source{}, fmt.Errorf("read the source: %w", err)
	}

	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return sniffArchive(content, head)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return Source{KindSealed, FormatCompound}, nil
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return Source{KindDocument, FormatRTF}, nil
	case isImage(head):
		return Source{KindImage, FormatImage}, nil
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")):
		return Source{KindPDF, FormatPDF}, nil
	case isText(head):
		return sniffText(head, name), nil
	}

	return Source{}, &Error{Reason: Unknown}
}

// isImage reports whether a file is an image that render/pdf can make pages of.
func isImage(head []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "II*\x00", "MM\x00*"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// isText reports whether the bytes are text: they contain no control characters except those of layout, unless a
// byte order mark announces UTF-16.
func isText(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}

	for _, b := range head {
		if b < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", rune(b)) || b == 0x7f {
			return false
		}
	}
	return true
}

// pageStart matches the beginning of a web page, after a byte order mark, comments and a declaration of XML.
var pageStart = regexp.MustCompile(
	`^(?i)(?:\x{feff}|\s|<!--(?s:.*?)-->|<\?xml[^>]*>)*(?:<!doctype\s+html[\s>]|<html[\s>])`)

// sniffText detects a format of text: a web page by its beginning, others by the extension.
func sniffText(head []byte, name string) Source {
	if pageStart.Match(head) {
		return Source{KindWeb, FormatHTML}
	}

	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv", ".tab":
		return Source{KindSheet, FormatCSV}
	case ".md", ".markdown":
		return Source{KindWeb, FormatMarkdown}
	case ".html", ".htm", ".xhtml":
		return Source{KindWeb, FormatHTML}
	}
	return Source{KindText, FormatText}
}

// openDocument is the prefix of the first entry of an OpenDocument archive: its type, as plain bytes at a fixed
// position.
const openDocument = "application/vnd.oasis.opendocument."

// sniffArchive distinguishes office documents from other archives.
func sniffArchive(content io.ReadSeeker, head []byte) (Source, error) {
	if _, mimetype, ok := bytes.Cut(head[:min(len(head), 256)], []byte("mimetype"+openDocument)); ok {
		for _, k := range []struct {
			name string
			kind Kind
		}{{"text", KindDocument}, {"spreadsheet", KindSheet}, {"presentation", KindSlides}, {"graphics", KindSlides}} {
			if bytes.HasPrefix(mimetype, []byte(k.name)) {
				return Source{k.kind, FormatODF}, nil
			}
		}
		return Source{}, &Error{Reason: Unknown}
	}

	kind, err := sniffOOXML(content)
	if err != nil {
		return Source{}, err
	}
	if kind == "" {
		return Source{}, &Error{Reason: Unknown}
	}
	return Source{kind, FormatOOXML}, nil
}

// sniffOOXML looks for the folder of the main part in the archive's list of
// files, which is at its end.
func sniffOOXML(content io.ReadSeeker) (Kind, error) {
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("read the source: %w", err)
	}

	tail := make([]byte, min(size, tailSize))
	if _, err := content.Seek(size-int64(len(tail)), io.SeekStart); err != nil {
		return "", fmt.Errorf("read the source: %w", err)
	}
	if _, err := io.ReadFull(content, tail); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the source: %w", err)
	}

	const entrySize, nameLength = 46, 28 // of an entry, without its name
	for {
		at := bytes.Index(tail, []byte("PK\x01\x02"))
		if at < 0 || len(tail) < at+entrySize {
			return "", nil
		}

		tail = tail[at:]
		length := int(binary.LittleEndian.Uint16(tail[nameLength:]))
		tail = tail[entrySize:]
		name := string(tail[:min(len(tail), length)])
		for prefix, kind := range map[string]Kind{"word/": KindDocument, "xl/": KindSheet, "ppt/": KindSlides} {
			if strings.HasPrefix(strings.TrimPrefix(name, "/"), prefix) {
				return kind, nil
			}
		}
	}
}
