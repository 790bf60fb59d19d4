package pdftag

import (
	"encoding/binary"
	"math"
)

// Profile returns sRGB as an ICC profile, for output intents of PDF/A-2 and later.
func Profile() []byte { return profile(false) }

// profile returns sRGB as an ICC profile of version 4, with its exact curve, or of version 2, with a table of the
// curve, as PDF/A-1 demands. The values are those of IEC 61966-2-1, adapted to D50.
func profile(version2 bool) []byte {
	name := unicodeTag("sRGB")
	right := unicodeTag("CC0")
	version := byte(4)
	curve := append([]byte("para\x00\x00\x00\x00\x00\x03\x00\x00"),
		fixed(2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045)...)
	if version2 {
		name = describedTag("sRGB")
		right = []byte("text\x00\x00\x00\x00CC0\x00")
		curve = curveTag()
		version = 2
	}

	white := []float64{0.9642, 1, 0.8249}
	tags := []struct {
		name string
		data []byte // nil is the data of the tag before
	}{
		{"desc", name},
		{"cprt", right},
		{"wtpt", colorTag(white...)},
		{"rXYZ", colorTag(0.43607, 0.22249, 0.01392)},
		{"gXYZ", colorTag(0.38515, 0.71687, 0.09708)},
		{"bXYZ", colorTag(0.14307, 0.06061, 0.71410)},
		{"chad", append([]byte("sf32\x00\x00\x00\x00"), fixed(1.04788, 0.02292, -0.05022, 0.02959, 0.99048, -0.01707, -0.00925, 0.01508, 0.75168)...)},
		{"rTRC", curve},
		{"gTRC", nil},
		{"bTRC", nil},
	}

	const header, row = 128, 12
	var head [header]byte
	copy(head[8:], "\x00\x20\x00\x00mntrRGB XYZ ")
	head[8] = version
	copy(head[24:], "\x07\xE8\x00\x01\x00\x01") // a date
	copy(head[36:], "acsp")
	copy(head[68:], fixed(white...))

	first := header + 4 + row*len(tags)
	out := binary.BigEndian.AppendUint32(head[:], uint32(len(tags)))
	var data []byte
	start := 0
	length := 0
	for _, t := range tags {
		if t.data != nil {
			start = first + len(data)
			length = len(t.data)
			data = append(data, t.data...)
			data = append(data, make([]byte, (4-len(data)%4)%4)...)
		}

		out = append(out, t.name...)
		out = binary.BigEndian.AppendUint32(out, uint32(start))
		out = binary.BigEndian.AppendUint32(out, uint32(length))
	}

	out = append(out, data...)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out
}

// fixed returns numbers as ICC's s15Fixed16.
func fixed(numbers ...float64) (out []byte) {
	for _, n := range numbers {
		out = binary.BigEndian.AppendUint32(out, uint32(int32(math.Round(n*(1<<16)))))
	}
	return out
}

func colorTag(xyz ...float64) []byte { return append([]byte("XYZ \x00\x00\x00\x00"), fixed(xyz...)...) }

// unicodeTag returns a text of ASCII as ICC's multi-localized Unicode.
func unicodeTag(text string) []byte {
	const start = 28
	out := []byte("mluc\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0CenUS")
	out = binary.BigEndian.AppendUint32(out, uint32(2*len(text)))
	out = binary.BigEndian.AppendUint32(out, start)
	for _, c := range []byte(text) {
		out = append(out, 0, c)
	}
	return out
}

// curveTag returns the curve of sRGB as a table.
func curveTag() []byte {
	const steps, whole = 1024, 1<<16 - 1
	out := binary.BigEndian.AppendUint32([]byte("curv\x00\x00\x00\x00"), steps)
	for i := range steps {
		v := float64(i) / (steps - 1)
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		out = binary.BigEndian.AppendUint16(out, uint16(math.Round(v*whole)))
	}
	return out
}

// describedTag returns a text of ASCII as a description of ICC's version 2.
func describedTag(text string) []byte {
	const others = 4 + 4 + 2 + 1 + 67 // the text in Unicode and for Macintosh, which are empty
	out := binary.BigEndian.AppendUint32([]byte("desc\x00\x00\x00\x00"), uint32(len(text)+1))
	return append(append(out, text...), make([]byte, 1+others)...)
}
