package images

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// jpegScan reads the segments of a JPEG before its pixels.
type jpegScan struct {
	*RasterImage
	// plain is true if PDF supports the kind of compression.
	plain    bool
	profiles map[byte][]byte
	hasJFIF  bool
}

// read reads up to the pixels.
func (s *jpegScan) read(in *io.SectionReader) error {
	r := bufio.NewReader(section(in))
	s.profiles = make(map[byte][]byte)
	if _, err := r.Discard(2); err != nil {
		return err
	}

	for {
		marker, err := nextMarker(r)
		if err != nil {
			return err
		}
		const startOfScan, end = 0xda, 0xd9
		if marker == startOfScan || marker == end {
			break
		}
		if marker >= 0xd0 && marker <= 0xd7 || marker == 0x01 {
			continue // has no length
		}

		var length uint16
		if err := binary.Read(r, binary.BigEndian, &length); err != nil || length < 2 {
			return errors.Join(errors.New("a segment has no length"), err)
		}

		segment := make([]byte, length-2)
		if _, err := io.ReadFull(r, segment); err != nil {
			return err
		}
		s.segment(marker, segment)
	}

	if s.width == 0 {
		return errors.New("no frame before the pixels")
	}
	s.finish()
	return nil
}

// nextMarker returns the next marker's second byte.
func nextMarker(r *bufio.Reader) (byte, error) {
	c, err := r.ReadByte()
	for err == nil && c != 0xff {
		c, err = r.ReadByte() // some writers leave bytes between segments
	}
	for err == nil && c == 0xff {
		c, err = r.ReadByte()
	}
	return c, err
}

// segment records the information of a segment about the image.
func (s *jpegScan) segment(marker byte, b []byte) {
	const app0, app1, app2, app14 = 0xe0, 0xe1, 0xe2, 0xee
	const icc = "ICC_PROFILE\x00"

	switch {
	case marker == app0 && bytes.HasPrefix(b, []byte("JFIF\x00")) && len(b) >= 12:
		s.hasJFIF = true
		perUnit := map[byte]float64{1: 1, 2: 2.54}[b[7]]
		x := float64(binary.BigEndian.Uint16(b[8:])) * perUnit
		y := float64(binary.BigEndian.Uint16(b[10:])) * perUnit
		s.setResolution(x, y)
	case marker == app1 && bytes.HasPrefix(b, []byte("Exif\x00\x00")):
		s.setExif(b)
	case marker == app2 && bytes.HasPrefix(b, []byte(icc)) && len(b) > len(icc)+2:
		s.profiles[b[len(icc)]] = b[len(icc)+2:]
	case marker == app14 && bytes.HasPrefix(b, []byte("Adobe")) && len(b) >= 12:
		s.adobe = true
	case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc && len(b) >= 6:
		s.height = int(binary.BigEndian.Uint16(b[1:]))
		s.width = int(binary.BigEndian.Uint16(b[3:]))
		s.bits = int(b[0])
		s.channels = int(b[5])
		s.plain = marker <= 0xc2 && s.bits == 8 // baseline, extended or progressive
	}
}

// finish settles the colours when all segments are known.
func (s *jpegScan) finish() {
	switch s.channels {
	case 1:
		s.colors = "/DeviceGray"
	case 3:
		s.colors = "/DeviceRGB"
	case 4:
		s.colors = "/DeviceCMYK"
		if s.adobe {
			s.filter += " /Decode [1 0 1 0 1 0 1 0]"
		}
	default:
		s.plain = false
	}

	var profile []byte
	for number := range len(s.profiles) {
		profile = append(profile, s.profiles[byte(number+1)]...)
	}
	s.setProfile(profile)
}

// profileFits reports whether an ICC profile is for images with a number of channels.
func profileFits(profile []byte, channels int) bool {
	const spaceAt, signatureAt, header = 16, 36, 128
	if len(profile) < header || string(profile[signatureAt:signatureAt+4]) != "acsp" {
		return false
	}
	space := map[int]string{1: "GRAY", 3: "RGB ", 4: "CMYK"}[channels]
	return string(profile[spaceAt:spaceAt+4]) == space
}

// pngChunks are the chunks of a PNG that matter here.
type pngChunks struct {
	width, height             int
	depth, color, interlacing byte
	palette, density, exif    []byte
	packedProfile             []byte // the body of iCCP
	transparent               bool
	frames                    uint32 // of one that moves
	data                      []pngPart
}

// pngPart is the position of a part of the pixels.
type pngPart struct{ at, length int64 }

// readChunks reads a PNG's chunks and checks their sums.
func readChunks(in *io.SectionReader) (*pngChunks, error) {
	c := &pngChunks{}
	head := make([]byte, 8)
	for at := int64(8); ; {
		if _, err := in.ReadAt(head, at); err != nil {
			return nil, fmt.Errorf("chunk: %w", err)
		}

		length := int64(binary.BigEndian.Uint32(head))
		name := string(head[4:])
		if name == "IEND" {
			break
		}
		if err := checkSum(in, at+4, length+4); err != nil {
			return nil, fmt.Errorf("chunk %q: %w", name, err)
		}

		body := readAt(in, at+8, length)
		switch {
		case name == "IHDR" && len(body) == 13:
			c.width = int(binary.BigEndian.Uint32(body))
			c.height = int(binary.BigEndian.Uint32(body[4:]))
			c.depth = body[8]
			c.color = body[9]
			c.interlacing = body[12]
		case name == "PLTE":
			c.palette = body
		case name == "tRNS":
			c.transparent = true
		case name == "pHYs":
			c.density = body
		case name == "acTL" && len(body) == 8:
			c.frames = binary.BigEndian.Uint32(body)
		case name == "eXIf":
			c.exif = body
		case name == "iCCP":
			c.packedProfile = body
		case name == "IDAT":
			c.data = append(c.data, pngPart{at + 8, length})
		}

		at += 12 + length
	}

	if c.width == 0 || c.height == 0 {
		return nil, errors.New("no header")
	}
	return c, nil
}

// profile returns the ICC profile, or nil if there is none, or one that cannot be read.
func (c *pngChunks) profile() []byte {
	_, packed, found := bytes.Cut(c.packedProfile, []byte{0})
	if !found || len(packed) == 0 || packed[0] != 0 { // deflated, the only way
		return nil
	}

	z, err := zlib.NewReader(bytes.NewReader(packed[1:]))
	if err != nil {
		return nil
	}
	profile, err := io.ReadAll(io.LimitReader(z, maxMetadata+1))
	if err != nil || len(profile) > maxMetadata {
		return nil
	}

	return profile
}

// checkSum compares a chunk with the sum that follows it.
func checkSum(in io.ReaderAt, at, length int64) error {
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(in, at, length)); err != nil {
		return err
	}
	var want [4]byte
	if _, err := in.ReadAt(want[:], at+length); err != nil {
		return err
	}
	if sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
		return errors.New("wrong checksum")
	}
	return nil
}

// The colour types of PNG that have no alpha channel.
const pngGrey, pngRGB, pngPalette = 0, 2, 3

// plain reports whether the pixels are stored in the way that PDF stores them.
func (c *pngChunks) plain() bool {
	hasPalette := len(c.palette) >= 3 && len(c.palette)%3 == 0 && len(c.palette) <= 768
	known := c.color == pngGrey || c.color == pngRGB || c.color == pngPalette && hasPalette
	return known && !c.transparent && c.interlacing == 0 && slices.Contains([]byte{1, 2, 4, 8, 16}, c.depth)
}

// RasterImage returns the pixels as they are, after checking that all are there.
func (c *pngChunks) rasterImage(in io.ReaderAt) (*RasterImage, error) {
	if err := checkDimensions(c.width, c.height, 1); err != nil {
		return nil, err
	}

	p := &RasterImage{
		width: c.width, height: c.height,
		resolutionX: defaultResolution, resolutionY: defaultResolution, orientation: 1,
		colors: "/DeviceGray", channels: 1, bits: int(c.depth),
	}

	switch c.color {
	case pngRGB:
		p.colors = "/DeviceRGB"
		p.channels = 3
	case pngPalette:
		p.colors = fmt.Sprintf("[/Indexed /DeviceRGB %d <%x>]", len(c.palette)/3-1, c.palette)
	}

	// Predictor 15 is PNG's own: each row names its filter.
	p.filter = fmt.Sprintf(
		"/Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors %d /BitsPerComponent %d /Columns %d >>",
		p.channels, p.bits, p.width,
	)
	p.write = func(out io.Writer) error {
		_, err := io.Copy(out, c.pixels(in))
		return err
	}

	z, err := zlib.NewReader(bufio.NewReader(c.pixels(in)))
	if err != nil {
		return nil, badImage(err)
	}

	rows := int64(p.height) * (1 + (int64(p.width)*int64(p.channels)*int64(p.bits)+7)/8)
	n, err := io.Copy(io.Discard, io.LimitReader(z, rows+1))
	if err != nil || n != rows {
		return nil, badImage(errors.Join(fmt.Errorf("%d of %d bytes of pixels", n, rows), err))
	}
	return p, nil
}

// pixels reads the compressed pixels.
func (c *pngChunks) pixels(in io.ReaderAt) io.Reader {
	var parts []io.Reader
	for _, part := range c.data {
		parts = append(parts, io.NewSectionReader(in, part.at, part.length))
	}
	return io.MultiReader(parts...)
}
