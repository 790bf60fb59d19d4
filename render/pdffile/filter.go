package pdffile

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// errDamaged is an error with which the readable part of data is returned.
var errDamaged = fmt.Errorf("%w: damaged data", ErrUnread)

// Decode undoes the general filters of a stream. rest is the filter that is left, which is one of images. Of damaged
// data it returns the readable part, as readers do. No filter may return more than maximum bytes.
func (f *File) Decode(s Stream, maximum int) (plain []byte, rest string, err error) {
	filters := f.Target(s.Entries["/Filter"])
	parameters := f.Target(s.Entries["/DecodeParms"])
	list, ok := filters.([]any)
	if !ok && filters != nil {
		list = []any{filters}
		parameters = []any{parameters}
	}
	parms, _ := parameters.([]any)
	plain = s.Content

	for i, filter := range list {
		var how Dict
		if i < len(parms) {
			how = f.Entry(parms[i])
		}

		name, _ := f.Target(filter).(string)
		switch name {
		case "/FlateDecode", "/Fl":
			plain, err = inflateReadable(plain, how, maximum)
		case "/RunLengthDecode", "/RL":
			plain, err = expandRuns(plain, maximum)
		case "/DCTDecode", "/JPXDecode", "/CCITTFaxDecode", "/JBIG2Decode", "/DCT", "/CCF":
			if i != len(list)-1 {
				return nil, "", ErrUnread
			}
			return plain, name, nil
		default:
			return nil, "", ErrUnread
		}
		if err != nil {
			return nil, "", err
		}
	}

	return plain, "", nil
}

// inflateReadable returns the readable part of data with a prediction.
func inflateReadable(packed []byte, how Dict, maximum int) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}

	plain, err := Inflate(packed, maximum)
	if err != nil && !errors.Is(err, zlib.ErrChecksum) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}

	plain, err = Unpredict(plain, how, maximum)
	if errors.Is(err, errDamaged) {
		err = nil
	}
	return plain, err
}

// Inflate returns the content of data that FlateDecode has packed, at most maximum bytes. If there are more, the
// error is ErrUnread. With any error, it returns what it has read.
func Inflate(packed []byte, maximum int) ([]byte, error) {
	const ratio = 4 // of most data
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}

	var plain bytes.Buffer
	plain.Grow(min(maximum, ratio*len(packed)) + 1 + bytes.MinRead)
	_, err = plain.ReadFrom(io.LimitReader(z, int64(maximum)+1))
	if plain.Len() > maximum {
		return plain.Bytes()[:maximum], ErrUnread
	}
	return plain.Bytes(), err
}

// expandRuns undoes RunLengthDecode.
func expandRuns(packed []byte, maximum int) (plain []byte, err error) {
	const end = 128

	for len(packed) > 0 && packed[0] != end {
		n := int(packed[0])
		switch {
		case n < end && len(packed) >= n+2:
			plain = append(plain, packed[1:n+2]...)
			packed = packed[n+2:]
		case n > end && len(packed) > 1:
			plain = append(plain, bytes.Repeat(packed[1:2], 2*end+1-n)...)
			packed = packed[2:]
		default:
			return plain, nil // cut off
		}

		if len(plain) > maximum {
			return nil, ErrUnread
		}
	}
	return plain, nil
}

// Unpredict undoes the prediction that the parameters of a filter describe, in raw itself. A row has at most a number
// of bytes. If rows are cut off or predicted in an unknown way, the error comes with what can be read.
func Unpredict(raw []byte, parameters Dict, maxRow int) ([]byte, error) {
	number := func(key string, otherwise int) int {
		if n, ok := parameters[key].(float64); ok {
			return int(n)
		}
		return otherwise
	}

	const none, tiff, png, byteBits = 1, 2, 10, 8 // the least predictor of its kind
	predictor := number("/Predictor", none)
	if predictor == none {
		return raw, nil
	}

	const maxColors, maxBits, maxColumns = 32, 16, 1 << 20
	colors := number("/Colors", 1)
	bits := number("/BitsPerComponent", byteBits)
	columns := number("/Columns", 1)
	if colors < 1 || colors > maxColors || bits < 1 || bits > maxBits || columns < 1 || columns > maxColumns {
		return nil, ErrUnread
	}

	pixel := (colors*bits + byteBits - 1) / byteBits
	row := (colors*bits*columns + byteBits - 1) / byteBits
	switch {
	case row > maxRow:
		return nil, ErrUnread
	case predictor >= png:
		return unpredictPNG(raw, row, pixel)
	case predictor == tiff && bits == byteBits:
		return unpredictTIFF(raw, row, pixel)
	}
	return nil, ErrUnread
}

// unpredictTIFF undoes the prediction of whole rows, whose pixels are the differences from those to their left.
func unpredictTIFF(raw []byte, row, pixel int) ([]byte, error) {
	rest := raw
	for ; len(rest) >= row; rest = rest[row:] {
		for i := pixel; i < row; i++ {
			rest[i] += rest[i-pixel]
		}
	}

	if len(rest) > 0 {
		return raw, errDamaged
	}
	return raw, nil
}

// unpredictPNG undoes the prediction of rows, each after a byte with the way of its prediction.
func unpredictPNG(raw []byte, row, pixel int) ([]byte, error) {
	const none, fromLeft, fromAbove, fromMean, fromNearest = 0, 1, 2, 3, 4
	var err error
	above := make([]byte, row)
	plain := raw[:0] // each row moves to the left

	for len(raw) > 0 {
		way := raw[0]
		line := raw[1:min(1+row, len(raw))]
		raw = raw[1+len(line):]
		if len(line) < row {
			err = errDamaged
		}
		first := line[:min(pixel, len(line))]
		rest := line[len(first):] // the pixel without a left neighbour, and the others

		switch way {
		case none:
		case fromLeft:
			for i := range rest {
				rest[i] += line[i]
			}
		case fromAbove:
			for i := range line {
				line[i] += above[i]
			}
		case fromMean:
			for i := range first {
				first[i] += above[i] / 2
			}
			for i := range rest {
				rest[i] += byte((int(line[i]) + int(above[i+pixel])) / 2)
			}
		case fromNearest:
			for i := range first {
				first[i] += above[i]
			}
			for i := range rest {
				rest[i] += nearest(int(line[i]), int(above[i+pixel]), int(above[i]))
			}
		default:
			err = errDamaged
		}

		plain = append(plain, line...)
		above = plain[len(plain)-len(line):]
	}
	return plain, err
}

// nearest returns the neighbour that is nearest to the sum of the left and the one above without the corner between
// them.
func nearest(left, above, corner int) byte {
	toLeft := above - corner
	toAbove := left - corner
	toCorner := toLeft + toAbove
	toLeft = max(toLeft, -toLeft)
	toAbove = max(toAbove, -toAbove)
	toCorner = max(toCorner, -toCorner)
	switch {
	case toLeft <= toAbove && toLeft <= toCorner:
		return byte(left)
	case toAbove <= toCorner:
		return byte(above)
	}
	return byte(corner)
}
