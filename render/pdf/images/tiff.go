package images

import (
	"encoding/binary"
	"errors"
	"io"
)

// directory holds the entries of one page of a TIFF that matter here.
type directory struct {
	order       binary.ByteOrder
	orientation int
	x, y        float64 // resolution
	unit        int
	// profileAt is the offset of the ICC profile, and profileLength its length.
	profileAt, profileLength int64
}

// The tags of a TIFF that are read.
const (
	tagOrientation = 274
	tagXResolution = 282
	tagYResolution = 283
	tagUnit        = 296
	tagProfile     = 34675
)

var errTIFF = errors.New("not a TIFF")

// byteOrder reads the first bytes of a TIFF.
func byteOrder(in io.ReaderAt) (binary.ByteOrder, uint32, error) {
	var head [8]byte
	if _, err := in.ReadAt(head[:], 0); err != nil {
		return nil, 0, errors.Join(errTIFF, err)
	}
	switch string(head[:4]) {
	case "II*\x00":
		return binary.LittleEndian, binary.LittleEndian.Uint32(head[4:]), nil
	case "MM\x00*":
		return binary.BigEndian, binary.BigEndian.Uint32(head[4:]), nil
	}
	return nil, 0, errTIFF
}

// firstDirectory returns the offset of the first directory.
func firstDirectory(in io.ReaderAt) (uint32, error) {
	_, at, err := byteOrder(in)
	return at, err
}

// readDirectory reads the directory at an offset, or the first if the offset is 0, and returns the offset of the
// next one, or 0.
func readDirectory(in io.ReaderAt, at uint32) (directory, uint32, error) {
	order, first, err := byteOrder(in)
	if err != nil {
		return directory{}, 0, err
	}

	if at == 0 {
		at = first
	}
	d := directory{order: order, orientation: 1, unit: 2}

	var count [2]byte
	if _, err := in.ReadAt(count[:], int64(at)); err != nil {
		return d, 0, errors.Join(errTIFF, err)
	}

	const entrySize = 12
	n := int64(order.Uint16(count[:]))
	entries := make([]byte, n*entrySize)
	if _, err := in.ReadAt(entries, int64(at)+2); err != nil {
		return d, 0, errors.Join(errTIFF, err)
	}
	for i := int64(0); i < n; i++ {
		d.entry(in, entries[i*entrySize:(i+1)*entrySize])
	}

	var next [4]byte
	if _, err := in.ReadAt(next[:], int64(at)+2+n*entrySize); err != nil {
		return d, 0, nil //nolint:nilerr // EXIF may end here
	}
	return d, order.Uint32(next[:]), nil
}

// entry reads an entry. Invalid entries are skipped.
func (d *directory) entry(in io.ReaderAt, b []byte) {
	switch d.order.Uint16(b) {
	case tagOrientation:
		if v := int(d.order.Uint16(b[8:])); v >= 1 && v <= 8 {
			d.orientation = v
		}
	case tagUnit:
		d.unit = int(d.order.Uint16(b[8:]))
	case tagXResolution:
		d.x = d.rational(in, d.order.Uint32(b[8:]))
	case tagYResolution:
		d.y = d.rational(in, d.order.Uint32(b[8:]))
	case tagProfile:
		d.profileLength = int64(d.order.Uint32(b[4:]))
		d.profileAt = int64(d.order.Uint32(b[8:]))
	}
}

// rational reads a fraction.
func (d *directory) rational(in io.ReaderAt, at uint32) float64 {
	var b [8]byte
	if _, err := in.ReadAt(b[:], int64(at)); err != nil || d.order.Uint32(b[4:]) == 0 {
		return 0
	}
	return float64(d.order.Uint32(b[:])) / float64(d.order.Uint32(b[4:]))
}

// setDirectory takes orientation and resolution from a directory.
func (p *RasterImage) setDirectory(d directory) {
	p.orientation = d.orientation
	perUnit := map[int]float64{2: 1, 3: 2.54}[d.unit]
	p.setResolution(d.x*perUnit, d.y*perUnit)
}

// directoryFirst shows a TIFF as if one of its directories were the first.
type directoryFirst struct {
	io.ReaderAt
	order binary.ByteOrder
	first uint32
}

// ReadAt reads the file with the offset of the directory in place of that in
// the header.
func (d *directoryFirst) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.ReaderAt.ReadAt(p, at)
	var offset [4]byte
	d.order.PutUint32(offset[:], d.first)
	for i := range offset {
		if place := int64(4+i) - at; place >= 0 && place < int64(n) {
			p[place] = offset[i]
		}
	}
	return n, err
}
