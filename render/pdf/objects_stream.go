package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strconv"
)

// maxUnpacked bounds what one stream of objects may have in it, in bytes.
const maxUnpacked = 64 << 20

// unpack returns the objects in a stream, in their order.
func (o *objects) unpack(number int) ([][]byte, error) {
	if packed, ok := o.streams[number]; ok {
		return packed, nil
	}
	at, there := o.places[number]
	if !there || at.stream != 0 {
		return nil, errUnread
	}
	value, body, err := o.readAt(number, at)
	entries, _ := value.(dict)
	if err != nil || body == 0 || entries["/Type"] != "/ObjStm" || entries["/DecodeParms"] != nil {
		return nil, errors.Join(errUnread, err)
	}
	raw, err := o.inflate(entries, body)
	if err != nil {
		return nil, err
	}
	count, _ := entries["/N"].(float64)
	first, _ := entries["/First"].(float64)
	if count < 0 || first < 0 || first > float64(len(raw)) || count > float64(len(raw)) {
		return nil, errUnread
	}
	header := &parser{data: raw[:int(first)]}
	packed := make([][]byte, 0, int(count))
	for range int(count) {
		header.space()
		header.regular() // the object's number, which the table has as well
		header.space()
		offset, err := strconv.Atoi(header.regular())
		if err != nil || offset < 0 || offset > len(raw)-int(first) {
			return nil, errUnread
		}
		packed = append(packed, raw[int(first)+offset:])
	}
	o.streams[number] = packed
	return packed, nil
}

// inflate returns the content of a stream that begins at body.
func (o *objects) inflate(entries dict, body int) ([]byte, error) {
	filter := entries["/Filter"]
	if list, ok := filter.([]any); ok && len(list) == 1 {
		filter = list[0]
	}
	length, ok := entries["/Length"].(float64)
	// An object stream whose length were within one would have no end.
	if number, _, isRef := splitReference(reference(entries["/Length"])); isRef && o.places[number].stream == 0 {
		value, _, err := o.readAt(number, o.places[number])
		if err != nil {
			return nil, err
		}
		length, ok = value.(float64)
	}
	if !ok || length < 0 || length > float64(len(o.content)-body) {
		return nil, errUnread
	}
	raw := o.content[body : body+int(length)]
	switch filter {
	case nil:
		return raw, nil
	case "/FlateDecode":
	default:
		return nil, errUnread
	}
	z, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, errUnread
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err != nil || len(plain) > maxUnpacked {
		return nil, errUnread
	}
	return plain, nil
}

// until returns one of the objects of a stream, up to the next one.
func until(packed [][]byte, index int) []byte {
	object := packed[index]
	if index+1 < len(packed) {
		if n := len(object) - len(packed[index+1]); n >= 0 {
			return object[:n]
		}
	}
	return object
}
