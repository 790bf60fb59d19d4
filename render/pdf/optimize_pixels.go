package pdf

import (
	"encoding/hex"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// maxOptimized is the maximum number of pixels of an image that is reduced: larger images stay as they are, because
// of the memory that they would need.
const maxOptimized = 24_000_000

// channels returns the number of channels of a colour space whose values can be averaged; 0 means unknown.
func (o *optimizer) channels(space any) int {
	space = o.Target(space)
	list, isList := space.([]any)
	if isList && len(list) > 0 {
		space = list[0]
	}

	switch space {
	case "/DeviceGray", "/CalGray":
		return 1
	case "/DeviceRGB", "/CalRGB":
		return images.RGB
	case "/DeviceCMYK":
		return images.CMYK
	case "/ICCBased":
		if isList && len(list) > 1 {
			n, _ := o.Target(o.Entry(list[1])["/N"]).(float64)
			if n == 1 || n == images.RGB || n == images.CMYK {
				return int(n)
			}
		}
	}
	return 0
}

// pixels reads an image. Images with fewer or more bits (black-and-white scans among them),
// with other colours or filters, or with a colour key for transparency, are left as they
// are.
func (o *optimizer) pixels(stream pdffile.Stream) (p images.Pixels, ok bool) {
	e := stream.Entries
	width, _ := o.Target(e["/Width"]).(float64)
	height, _ := o.Target(e["/Height"]).(float64)
	_, keyed := o.Target(e["/Mask"]).([]any)
	p = images.Pixels{Width: int(width), Height: int(height), Channels: o.channels(e["/ColorSpace"])}
	if width < 1 || height < 1 || width*height > maxOptimized || p.Channels == 0 || keyed ||
		o.Target(e["/ImageMask"]) == true || o.Target(e["/BitsPerComponent"]) != 8. {
		return p, false
	}

	params := o.Target(e["/DecodeParms"])
	if list, isList := params.([]any); isList && len(list) == 1 {
		params = list[0]
	}
	param := o.Entry(params)

	switch names := job.Filters(e); {
	case len(names) > 1:
		return p, false
	case names[0] == "/DCTDecode" && len(param) == 0:
		ok = p.DecodeJPEG(stream.Content)
	case names[0] == "/FlateDecode":
		ok = p.Inflate(stream.Content, param)
	case names[0] == "":
		p.Data = stream.Content
		ok = len(p.Data) >= p.Size()
	}
	return p, ok
}

// grayPalette returns the entries of an image with a grey palette; false if the image has no palette, or one with
// unknown colours.
func (o *optimizer) grayPalette(entries pdffile.Dict) (pdffile.Dict, bool) {
	space, _ := o.Target(entries["/ColorSpace"]).([]any)
	const parts = 4
	if !o.args.Gray || len(space) != parts || space[0] != "/Indexed" {
		return nil, false
	}

	n := o.channels(space[1])
	if n != images.RGB && n != images.CMYK {
		return nil, false
	}

	var colors []byte
	if stream, ok := o.Stream(pdffile.Reference(space[3])); ok {
		p := images.Pixels{Width: len(stream.Content), Height: 1, Channels: 1}
		switch names := job.Filters(stream.Entries); {
		case len(names) == 1 && names[0] == "":
			colors = stream.Content
		case len(names) == 1 && names[0] == "/FlateDecode" && stream.Entries["/DecodeParms"] == nil:
			highest, _ := o.Target(space[2]).(float64)
			p.Width = (int(min(max(highest, 0), 255)) + 1) * n
			if !p.Inflate(stream.Content, nil) {
				return nil, false
			}
			colors = p.Data
		default:
			return nil, false
		}
	} else {
		text, _ := o.Target(space[3]).(string)
		digits, isBytes := strings.CutPrefix(text, "b:")
		raw, err := hex.DecodeString(digits)
		if !isBytes || err != nil {
			return nil, false
		}
		colors = raw
	}

	p := images.Pixels{Width: len(colors) / n, Height: 1, Channels: n, Data: colors}
	changed := pdffile.Without(entries)
	changed["/ColorSpace"] = []any{"/Indexed", "/DeviceGray", space[2], "b:" + hex.EncodeToString(p.Gray().Data)}
	return changed, true
}
