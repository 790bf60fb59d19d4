// Package pdfmeta sets the document information (title, author, subject,
// keywords) of a PDF that Chromium printed. It appends an incremental update,
// so that a large document is neither read nor written again.
package pdfmeta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf16"

	"relaypdf/render/spool"
)

// Info is what can be set. An empty field leaves the document's own value.
type Info struct {
	Title, Author, Subject, Keywords string
}

// ErrUnsupported means that the document is not built the way Chromium builds
// them: one classic cross-reference table at the end, unencrypted.
var ErrUnsupported = errors.New("pdfmeta: not a document as Chromium prints them")

const (
	// tailSize is how much of the end is searched for the trailer, in bytes;
	// Chromium's own takes about 100.
	tailSize = 1024
	// infoSize bounds the information dictionary, in bytes. Its only part of
	// free length is the page's title.
	infoSize = 1 << 20
)

var (
	trailerPattern = regexp.MustCompile(`(?s)trailer\s*<<(.*?)>>\s*startxref\s+(\d{1,15})\s+%%EOF\s*$`)
	sizePattern    = regexp.MustCompile(`/Size (\d{1,9})\b`)
	rootPattern    = regexp.MustCompile(`/Root \d{1,9} \d{1,5} R`)
	infoPattern    = regexp.MustCompile(`/Info (\d{1,9}) 0 R`)
)

// trailer is what the end of a document says of it.
type trailer struct {
	xref int64  // offset of the last cross-reference table
	size string // one more than the highest object number
	root string // "/Root 18 0 R"
	info int64  // object number of the information dictionary
}

// Set appends an update of the information dictionary to a complete document.
// The entries it does not set, such as Creator and CreationDate, are kept. The
// error is ErrUnsupported, or the spool's (spool.ErrTooLarge past its limit).
func Set(doc *spool.File, info Info) error {
	if info == (Info{}) {
		return nil
	}
	r := doc.Open()
	end, err := readTrailer(r, doc.Size())
	if err != nil {
		return err
	}
	entries, err := readInfo(r, end)
	if err != nil {
		return err
	}
	_, err = doc.Write(update(doc.Size(), end, info.merge(entries)))
	return err
}

// update returns the bytes of the incremental update: the object, its
// cross-reference table and the new trailer.
func update(offset int64, end trailer, dictionary []byte) []byte {
	var b bytes.Buffer
	b.WriteByte('\n')
	object := offset + int64(b.Len())
	fmt.Fprintf(&b, "%d 0 obj\n%sendobj\n", end.info, dictionary)
	xref := offset + int64(b.Len())
	// A table's entry is 20 bytes, the space before its line's end included.
	fmt.Fprintf(&b, "xref\n%d 1\n%010d 00000 n \n", end.info, object)
	fmt.Fprintf(&b, "trailer\n<</Size %s\n%s\n/Info %d 0 R\n/Prev %d>>\nstartxref\n%d\n%%%%EOF\n",
		end.size, end.root, end.info, end.xref, xref)
	return b.Bytes()
}

// readTrailer finds the trailer of a document of that size.
func readTrailer(r io.ReadSeeker, size int64) (trailer, error) {
	tail, err := readAt(r, max(0, size-tailSize), tailSize)
	if err != nil {
		return trailer{}, err
	}
	found := trailerPattern.FindSubmatch(tail)
	if len(found) < 2 || bytes.Contains(found[1], []byte("/Encrypt")) {
		return trailer{}, ErrUnsupported
	}
	objects, root, info := sizePattern.FindSubmatch(found[1]), rootPattern.Find(found[1]), infoPattern.FindSubmatch(found[1])
	if objects == nil || root == nil || info == nil {
		return trailer{}, ErrUnsupported
	}
	// The patterns bound both numbers to what an int64 holds.
	xref, _ := strconv.ParseInt(string(found[2]), 10, 64)
	number, _ := strconv.ParseInt(string(info[1]), 10, 64)
	return trailer{xref: xref, size: string(objects[1]), root: string(root), info: number}, nil
}

// readInfo returns the entries of the information dictionary.
func readInfo(r io.ReadSeeker, end trailer) ([]entry, error) {
	offset, err := objectOffset(r, end)
	if err != nil {
		return nil, err
	}
	object, err := readAt(r, offset, infoSize)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(object, fmt.Appendf(nil, "%d 0 obj\n<<", end.info))
	if !ok {
		return nil, ErrUnsupported
	}
	return scanEntries(body)
}

// objectOffset looks the information dictionary up in the last table, which
// in a freshly printed document has one section that lists every object.
func objectOffset(r io.ReadSeeker, end trailer) (int64, error) {
	head := []byte("xref\n0 " + end.size + "\n")
	found, err := readAt(r, end.xref, len(head))
	if err != nil || !bytes.Equal(found, head) {
		return 0, errors.Join(ErrUnsupported, err)
	}
	const entrySize, offsetSize = 20, 10
	text, err := readAt(r, end.xref+int64(len(head))+end.info*entrySize, offsetSize)
	if err != nil {
		return 0, err
	}
	offset, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, ErrUnsupported
	}
	return offset, nil
}

// readAt returns at most n bytes from offset; fewer at the document's end.
func readAt(r io.ReadSeeker, offset int64, n int) ([]byte, error) {
	if _, err := r.Seek(offset, io.SeekStart); err != nil {
		return nil, ErrUnsupported
	}
	return io.ReadAll(io.LimitReader(r, int64(n)))
}

// merge returns the dictionary that holds the document's own entries with ours
// in the place of those we set.
func (info Info) merge(own []entry) []byte {
	ours := []entry{
		{"Title", textString(info.Title)}, {"Author", textString(info.Author)},
		{"Subject", textString(info.Subject)}, {"Keywords", textString(info.Keywords)},
	}
	set := map[string]bool{}
	var b bytes.Buffer
	b.WriteString("<<")
	for _, e := range ours {
		if len(e.value) > 0 {
			set[e.key] = true
			fmt.Fprintf(&b, "/%s %s\n", e.key, e.value)
		}
	}
	for _, e := range own {
		if !set[e.key] {
			fmt.Fprintf(&b, "/%s %s\n", e.key, e.value)
		}
	}
	b.WriteString(">>\n")
	return b.Bytes()
}

// textString writes a text as a PDF string in UTF-16BE with its byte order
// mark, in hexadecimal, where no character needs an escape.
func textString(s string) []byte {
	if s == "" {
		return nil
	}
	b := []byte("<FEFF")
	for _, unit := range utf16.Encode([]rune(s)) {
		b = fmt.Appendf(b, "%04X", unit)
	}
	return append(b, '>')
}
