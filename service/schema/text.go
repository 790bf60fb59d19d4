package schema

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// short reads a name, or a string that is part of the structure.
func (d *decoder) short() (string, error) {
	in := d.Text()
	text := d.scratch[:0]
	for {
		if len(text) == cap(text) {
			text = slices.Grow(text, len(text))
		}
		n, err := in.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			return string(text), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// text reads a string.
func (d *decoder) text(whole, r *rule, keep bool) (any, error) {
	if err := d.Skip(1); err != nil {
		return nil, err
	}

	if !keep {
		return d.passed()
	}
	if r != nil && r.longest > 0 {
		return d.long(whole, r)
	}

	v, err := d.short()
	if err != nil {
		return nil, err
	}
	if r != nil && !r.fitsLength(v) || !r.fits(v) {
		return v, d.misfit(whole, v)
	}
	return v, d.weigh(len(v))
}

// fitsLength holds a string to the number of characters that the schema allows.
func (r *rule) fitsLength(v string) bool {
	minimum := r.doc.MinLength
	maximum := r.doc.MaxLength
	if minimum == nil && maximum == nil {
		return true
	}
	n := uint64(utf8.RuneCountInString(v))
	return (minimum == nil || n >= *minimum) && (maximum == nil || n <= *maximum)
}

// passedString replaces a string that was not stored.
type passedString int64

// passed reads a string for its syntax only, and stores it if it is short enough for a message. It uses no memory,
// and its length is unlimited: a client that sends a file in the wrong place gets an error about the place, not about
// the size.
func (d *decoder) passed() (any, error) {
	d.Free = true
	defer func() { d.Free = false }()

	in := d.Text()
	size := 0
	var begin []byte
	for {
		n, err := in.Read(d.scratch)
		if begin = append(begin, d.scratch[:min(n, maxPreview+1)]...); len(begin) > maxPreview {
			begin = begin[:maxPreview+1]
		}
		size += n

		switch {
		case errors.Is(err, io.EOF) && size <= maxPreview:
			return string(begin), nil
		case errors.Is(err, io.EOF):
			return passedString(size), nil
		case err != nil:
			return nil, err
		}
	}
}

// chunk is the number of bytes of a long text that are read at a time.
const chunk = 128 << 10

// long reads a text that has its own limit. Its parts are joined once, so it is never in memory more than twice.
func (d *decoder) long(whole, r *rule) (any, error) {
	d.Free = true
	defer func() { d.Free = false }()

	in := d.Text()
	var parts [][]byte
	part := d.buffers.long[:0]
	size := int64(0)
	for {
		if len(part) == cap(part) {
			parts = append(parts, part)
			part = make([]byte, 0, min(chunk, 2*cap(part)))
		}
		n, err := in.Read(part[len(part):cap(part)])
		part = part[:len(part)+n]
		size += int64(n)

		if size > r.longest {
			return nil, &SizeError{Field: d.field(), Limit: r.longest}
		}
		if err := d.keep.Share.take(int64(n)); err != nil {
			return nil, err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}

	var text strings.Builder
	text.Grow(int(size))
	for _, part := range append(parts, part) {
		text.Write(part)
	}

	if v := text.String(); r.fitsLength(v) && r.fits(v) {
		return v, nil
	}
	return text.String(), d.misfit(whole, text.String())
}

// file decodes a file while it streams by, from Base64 into a sink.
func (d *decoder) file() (any, error) {
	if err := d.Skip(1); err != nil {
		return nil, err
	}

	d.Free = true
	defer func() { d.Free = false }()
	in := d.Text()
	file := &Inline{d.keep.Open()}
	d.files = append(d.files, file)

	// One byte over the limit is enough to know.
	size, err := io.Copy(file.Sink, io.LimitReader(NewBase64Reader(in), d.keep.Limit+1))
	switch {
	case in.Err() != nil:
		return nil, in.Err()
	case isCorrupt(err):
		if _, err := io.Copy(io.Discard, in); err != nil {
			return nil, err
		}
		return file, d.fault("must be Base64, optionally with a data URI prefix")
	case err != nil:
		return nil, err
	case size > d.keep.Limit:
		return nil, &SizeError{Field: d.field(), Limit: d.keep.Limit}
	}
	return file, nil
}
