package pdffile

import (
	"bytes"
	"errors"
)

const (
	// maxUnpacked is the maximum decompressed size of one object stream, in bytes.
	maxUnpacked = 64 << 20
	// maxUnpackedAll is the maximum decompressed size of all of them, which are stored.
	maxUnpackedAll = 256 << 20
)

// packedObject is an object in a stream.
type packedObject struct {
	number  int
	content []byte // up to the next object
}

// unpack returns the objects in a stream, in their order.
func (f *File) unpack(number int) ([]packedObject, error) {
	if packed, ok := f.streams[number]; ok {
		return packed, nil
	}
	at, there := f.xref[number]
	if !there || at.stream != 0 {
		return nil, ErrUnread
	}

	value, body, err := f.readAt(number, at)
	entries, _ := value.(Dict)
	if err != nil || body == 0 || entries["/Type"] != "/ObjStm" {
		return nil, errors.Join(ErrUnread, err)
	}

	raw, err := f.inflate(number, at, entries, body)
	if err != nil {
		return nil, err
	}

	if f.unpacked += len(raw); f.unpacked > maxUnpackedAll {
		return nil, ErrUnread
	}

	count, _ := entries["/N"].(float64)
	first, _ := entries["/First"].(float64)
	if count < 0 || first < 0 || first > float64(len(raw)) || count > float64(len(raw)) {
		return nil, ErrUnread
	}

	packed, err := unpackObjects(raw, int(first), int(count))
	if err != nil {
		return nil, err
	}
	f.streams[number] = packed
	return packed, nil
}

// unpackObjects reads the content of a stream of objects: their numbers and
// offsets, and the objects from first on.
func unpackObjects(raw []byte, first, count int) ([]packedObject, error) {
	header := &parser{data: raw[:first]}
	packed := make([]packedObject, 0, count)

	for range count {
		number, err1 := header.integer()
		offset, err2 := header.integer()
		if err1 != nil || err2 != nil || offset < 0 || offset > len(raw)-first {
			return nil, ErrUnread
		}
		packed = append(packed, packedObject{number, raw[first+offset:]})
	}

	for i := range len(packed) - 1 {
		if n := len(packed[i].content) - len(packed[i+1].content); n >= 0 {
			packed[i].content = packed[i].content[:n]
		}
	}

	return packed, nil
}

// Stream is a stream: its dictionary, and its content as in the file, still encoded by its filters.
type Stream struct {
	Entries Dict
	Content []byte
}

// Stream returns an object that is a stream, whose content may be the file's own and must not be changed; false if it
// is something else, or cannot be read.
func (f *File) Stream(ref string) (Stream, bool) {
	value, body, err := f.Object(ref)
	entries, _ := value.(Dict)
	if err != nil || body == 0 || entries == nil {
		return Stream{}, false
	}
	content, err := filtered(f, entries, body)
	if err != nil || !(&parser{data: f.content, at: body + len(content)}).keyword("endstream") {
		return Stream{}, false
	}
	number, generation, _ := splitReference(ref)
	return Stream{entries, f.decryptedContent(number, generation, entries, content)}, true
}

// filtered returns the content of a stream that begins at body, as the file has it.
func filtered(f *File, entries Dict, body int) ([]byte, error) {
	length, ok := entries["/Length"].(float64)

	// An object stream whose length were within one would have no end.
	if number, _, isRef := splitReference(Reference(entries["/Length"])); isRef && f.xref[number].stream == 0 {
		value, _, err := f.readAt(number, f.xref[number])
		if err != nil {
			return nil, err
		}
		length, ok = value.(float64)
	}

	if !ok || length < 0 || length > float64(len(f.content)-body) {
		return nil, ErrUnread
	}
	return f.content[body : body+int(length)], nil
}

// inflate returns the content of a stream that begins at body, without its filter and prediction.
func (f *File) inflate(number int, at xrefEntry, entries Dict, body int) ([]byte, error) {
	raw, err := filtered(f, entries, body)
	if err != nil {
		return nil, err
	}
	plain, err := inflated(entries, f.decryptedContent(number, at.generation, entries, raw))
	if err != nil {
		return nil, err
	}

	parameters := entries["/DecodeParms"]
	if list, ok := parameters.([]any); ok && len(list) == 1 {
		parameters = list[0]
	}
	if parameters == nil {
		return plain, nil
	}

	known, ok := parameters.(Dict)
	bits := known["/BitsPerComponent"]
	predicted := known["/Predictor"] != nil && known["/Predictor"] != 1.
	if !ok || predicted && bits != nil && bits != 8. {
		return nil, ErrUnread
	}
	if entries["/Filter"] == nil {
		plain = bytes.Clone(plain) // of the file
	}
	if plain, err = Unpredict(plain, known, maxRow); err != nil {
		return nil, err
	}
	return plain, nil
}

// decryptedContent returns the decrypted content of a stream.
func (f *File) decryptedContent(number, generation int, entries Dict, raw []byte) []byte {
	if f.cipher == nil {
		return raw
	}
	return f.cipher.content(f.cipher.open, f.cipher.objectKey(number, generation), entries, raw)
}

// Plain returns the content of a stream without its filter. The error is ErrUnread if that has parameters, or is
// another than FlateDecode, or if the content is larger than an object stream may be.
func (f *File) Plain(s Stream) ([]byte, error) {
	switch {
	case len(s.Content) == 0:
		return nil, nil // Some programs write nothing as nothing, with a filter.
	case s.Entries["/DecodeParms"] != nil:
		return nil, ErrUnread
	}
	return inflated(s.Entries, s.Content)
}

func inflated(entries Dict, raw []byte) ([]byte, error) {
	filter := entries["/Filter"]
	if filter == nil {
		return raw, nil
	}
	if list, ok := filter.([]any); ok && len(list) == 1 {
		filter = list[0]
	}
	if filter != "/FlateDecode" {
		return nil, ErrUnread
	}

	plain, err := Inflate(raw, maxUnpacked)
	if err != nil {
		return nil, ErrUnread
	}
	return plain, nil
}
