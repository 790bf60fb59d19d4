package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"

	imagedraw "golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// riffHead is the length of a chunk's header, and riffStart the offset of the first chunk.
const riffHead, riffStart = 8, 12

// webPFrame is an image of an animated WebP: its place on the canvas, and the place of its
// chunks in the file.
type webPFrame struct {
	place      image.Rectangle
	at, length int64
}

// webPFile holds the information in the chunks of a WebP besides its pixels.
type webPFile struct {
	canvas        image.Rectangle // of an animated file
	profile, exif []byte
	frames        int
	first         webPFrame
}

// readWebP reads a WebP file. If it is animated, readWebP returns the first image on the
// whole canvas.
func readWebP(in *io.SectionReader) (*RasterImage, error) {
	file := scanWebP(in)

	var p *RasterImage
	var err error
	if file.frames > 0 {
		p, err = file.firstImage(in)
	} else {
		p, err = decode(in, webp.DecodeConfig, webp.Decode)
	}
	if err != nil {
		return nil, err
	}

	p.setExif(file.exif)
	p.setProfile(file.profile)
	p.more = file.frames > 1
	return p, nil
}

// scanWebP reads the chunks of a file up to its end, or to the point at which it is cut.
func scanWebP(in *io.SectionReader) (f webPFile) {
	head := make([]byte, riffHead)
	for at := int64(riffStart); ; {
		if _, err := in.ReadAt(head, at); err != nil {
			return f
		}

		length := int64(binary.LittleEndian.Uint32(head[4:]))
		at += riffHead

		switch string(head[:4]) {
		case "VP8X":
			if body := readAt(in, at, length); len(body) >= 10 {
				f.canvas = image.Rect(0, 0, uint24(body[4:])+1, uint24(body[7:])+1)
			}
		case "ICCP":
			f.profile = readAt(in, at, length)
		case "EXIF":
			f.exif = readAt(in, at, length)
		case "ANMF":
			const frameHeader = 16
			if body := readAt(in, at, frameHeader); f.frames == 0 && length > frameHeader && body != nil {
				corner := image.Pt(2*uint24(body), 2*uint24(body[3:]))
				size := image.Pt(uint24(body[6:])+1, uint24(body[9:])+1)
				place := image.Rectangle{Min: corner, Max: corner.Add(size)}
				f.first = webPFrame{place, at + frameHeader, length - frameHeader}
			}
			f.frames++
		}
		at += length + length%2
	}
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// firstImage reads the first image of an animated file.
func (f *webPFile) firstImage(in *io.SectionReader) (*RasterImage, error) {
	frame := f.first
	if !frame.place.In(f.canvas) || frame.at+frame.length > in.Size() {
		return nil, badImage(errors.New("its first picture is not within it"))
	}

	still, err := frame.still(in)
	if err != nil {
		return nil, badImage(err)
	}

	config := func(r io.Reader) (image.Config, error) {
		cfg, err := webp.DecodeConfig(r)
		if err == nil && image.Pt(cfg.Width, cfg.Height) != frame.place.Size() {
			err = fmt.Errorf("its first picture has %d × %d pixels, and says otherwise", cfg.Width, cfg.Height)
		}
		cfg.Width, cfg.Height = f.canvas.Dx(), f.canvas.Dy()
		return cfg, err
	}

	return decode(still, config, func(r io.Reader) (image.Image, error) {
		img, err := webp.Decode(r)
		if err != nil || frame.place == f.canvas {
			return img, err
		}

		whole := image.NewNRGBA(f.canvas)
		imagedraw.Draw(whole, frame.place, img, img.Bounds().Min, imagedraw.Src)
		return whole, nil
	})
}

// still makes a separate file of an image.
func (f webPFrame) still(in *io.SectionReader) (*io.SectionReader, error) {
	chunks := make([]byte, f.length)
	if _, err := in.ReadAt(chunks, f.at); err != nil {
		return nil, err
	}

	var b bytes.Buffer
	b.WriteString("RIFF\x00\x00\x00\x00WEBP")
	if bytes.HasPrefix(chunks, []byte("ALPH")) {
		const seeThrough = 0x10
		across := uint32(f.place.Dx() - 1)
		down := uint32(f.place.Dy() - 1)
		b.WriteString("VP8X\x0a\x00\x00\x00")
		b.Write([]byte{seeThrough, 0, 0, 0})
		b.Write([]byte{byte(across), byte(across >> 8), byte(across >> 16)})
		b.Write([]byte{byte(down), byte(down >> 8), byte(down >> 16)})
	}

	b.Write(chunks)
	file := b.Bytes()
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-riffHead))
	return io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file))), nil
}
