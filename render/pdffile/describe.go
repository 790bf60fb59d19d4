package pdffile

import (
	"cmp"
	"errors"

	"github.com/relaypdf/relaypdf/render/spool"
)

// Info holds the information that can be set. An empty field leaves the document's own value.
type Info struct {
	Title, Author, Subject, Keywords string
}

// Or returns the information, with the fields of another one for those that are empty.
func (i Info) Or(other Info) Info {
	return Info{
		Title: cmp.Or(i.Title, other.Title), Author: cmp.Or(i.Author, other.Author),
		Subject: cmp.Or(i.Subject, other.Subject), Keywords: cmp.Or(i.Keywords, other.Keywords),
	}
}

// errNotChromium means that the document is not built the way Chromium builds
// them: one classic cross-reference table at the end, unencrypted.
var errNotChromium = errors.New("pdffile: not a document as Chromium prints them")

// DescribeChromium appends an update of the information dictionary to a complete document. Entries that it does not set, such as
// Creator and CreationDate, stay. The error is errNotChromium, or the spool's (spool.ErrTooLarge above its limit).
func DescribeChromium(doc *spool.File, info Info) error {
	if info == (Info{}) {
		return nil
	}

	f, err := ReadChromium(doc.Open(), doc.Size())
	if err != nil {
		return notPrinted(err)
	}
	entries, err := f.Info()
	if err != nil {
		return notPrinted(err)
	}

	for key, text := range map[string]string{
		"/Title": info.Title, "/Author": info.Author, "/Subject": info.Subject, "/Keywords": info.Keywords,
	} {
		if text != "" {
			entries[key] = "u:" + text
		}
	}

	_, err = doc.Write(f.setInfo(entries))
	return err
}

// unsupported returns the error for a caller that sets information, for a reader's error.
func notPrinted(err error) error {
	if errors.Is(err, ErrUnread) {
		return errNotChromium
	}
	return err
}
