package redact

import (
	"errors"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// maxPlain is the maximum decompressed size of one stream.
const maxPlain = 512 << 20

// ErrFilter means that a stream has a filter that is not read here.
var ErrFilter = errors.New("a filter that is not read here")

// PlainStream undoes the general filters of a stream. rest is the filter that is left,
// which is one of images; qpdf has removed the others.
func PlainStream(f *pdffile.File, s pdffile.Stream) (plain []byte, rest string, err error) {
	return f.Decode(s, maxPlain)
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
