package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// maxPlain is the maximum decompressed size of one stream.
const maxPlain = 512 << 20

var errFilter = errors.New("a filter that is not read here")

// plainStream undoes the general filters of a stream. rest is the filter that is left,
// which is one of images; qpdf has removed the others.
func plainStream(f *pdffile.File, s pdffile.Stream) (plain []byte, rest string, err error) {
	filters := f.Target(s.Entries["/Filter"])
	parameters := f.Target(s.Entries["/DecodeParms"])
	list, ok := filters.([]any)
	if !ok && filters != nil {
		list, parameters = []any{filters}, []any{parameters}
	}
	parms, _ := parameters.([]any)
	plain = s.Content

	for i, filter := range list {
		var how pdffile.Dict
		if i < len(parms) {
			how = f.Entry(parms[i])
		}

		name, _ := f.Target(filter).(string)
		switch name {
		case "/FlateDecode", "/Fl":
			if plain, err = inflate(plain); err == nil {
				plain, err = unpredicted(plain, how)
			}
		case "/RunLengthDecode", "/RL":
			plain, err = unrun(plain)
		case "/DCTDecode", "/JPXDecode", "/CCITTFaxDecode", "/JBIG2Decode", "/DCT", "/CCF":
			if i != len(list)-1 {
				return nil, "", errFilter
			}
			return plain, name, nil
		default:
			return nil, "", errFilter
		}
		if err != nil {
			return nil, "", err
		}
	}

	return plain, "", nil
}

// inflate returns the readable part of a stream, as readers do.
func inflate(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}

	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}

	plain, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
	if len(plain) > maxPlain {
		return nil, errFilter
	}
	if errors.Is(err, zlib.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return plain, err
}

func packed(plain []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(plain) // to memory
	_ = z.Close()
	return b.Bytes()
}

func unrun(packed []byte) (plain []byte, err error) {
	const end = 128

	for len(packed) > 0 && packed[0] != end {
		n := int(packed[0])
		switch {
		case n < end && len(packed) >= n+2:
			plain, packed = append(plain, packed[1:n+2]...), packed[n+2:]
		case n > end && len(packed) > 1:
			plain, packed = append(plain, bytes.Repeat(packed[1:2], 2*end+1-n)...), packed[2:]
		default:
			return plain, nil // cut off
		}

		if len(plain) > maxPlain {
			return nil, errFilter
		}
	}
	return plain, nil
}

// unpredicted undoes the prediction of bytes.
func unpredicted(raw []byte, how pdffile.Dict) ([]byte, error) {
	number := func(key string, otherwise int) int {
		if n, ok := how[key].(float64); ok {
			return int(n)
		}
		return otherwise
	}

	predictor := number("/Predictor", 1)
	bits := number("/BitsPerComponent", 8)
	colors := number("/Colors", 1)
	columns := number("/Columns", 1)
	if predictor == 1 {
		return raw, nil
	}
	if bits < 1 || bits > 16 || colors < 1 || colors > 32 || columns < 1 || columns > 1<<20 || predictor < 10 && (predictor != 2 || bits != 8) {
		return nil, errFilter
	}

	back := max(1, bits*colors/8)
	width := (bits*colors*columns + 7) / 8
	if predictor == 2 {
		plain := bytes.Clone(raw)
		for row := 0; row+width <= len(plain); row += width {
			for i := row + back; i < row+width; i++ {
				plain[i] += plain[i-back]
			}
		}
		return plain, nil
	}

	plain := make([]byte, 0, len(raw))
	above := make([]byte, width)
	for len(raw) > 1 {
		line := bytes.Clone(raw[1:min(1+width, len(raw))])
		filterRow(raw[0], line, above, back)
		raw = raw[1+len(line):]
		plain = append(plain, line...)
		copy(above, line)
	}

	return plain, nil
}

// filterRow undoes the filter of a row, as PNG has them.
func filterRow(kind byte, line, above []byte, back int) {
	for i := range line {
		var left, corner int
		if i >= back {
			left = int(line[i-back])
			corner = int(above[i-back])
		}
		up := int(above[i])

		switch kind {
		case 1:
			line[i] += byte(left)
		case 2:
			line[i] += byte(up)
		case 3:
			line[i] += byte((left + up) / 2)
		case 4:
			a := abs(up - corner)
			b := abs(left - corner)
			c := abs(left + up - 2*corner)

			switch {
			case a <= b && a <= c:
				line[i] += byte(left)
			case b <= c:
				line[i] += byte(up)
			default:
				line[i] += byte(corner)
			}
		}
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// bareJPEG is a JPEG without remarks: comments, EXIF, XMP and other notes of programs.
func bareJPEG(photo []byte) []byte {
	const header = 4
	if len(photo) < header || photo[0] != 0xff || photo[1] != 0xd8 {
		return photo
	}

	out := append([]byte{}, photo[:2]...)
	for at := 2; at+header <= len(photo); {
		marker := photo[at+1]
		length := int(photo[at+2])<<8 | int(photo[at+3])
		const startOfScan, comment, firstApp, profile, adobe, lastApp = 0xda, 0xfe, 0xe0, 0xe2, 0xee, 0xef
		if photo[at] != 0xff || marker == 0xff || length < 2 || at+2+length > len(photo) {
			return photo // it is read unchanged, and refused if it contains a secret
		}

		if marker == startOfScan {
			return append(out, photo[at:]...)
		}
		if marker != comment && (marker < firstApp || marker > lastApp || marker == firstApp || marker == profile || marker == adobe) {
			out = append(out, photo[at:at+2+length]...)
		}
		at += 2 + length
	}

	return photo
}
