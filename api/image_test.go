package api_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"reflect"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestImageOptions photographs an element, in the colours and the window that
// are asked for.
func TestImageOptions(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	const page = `<meta name=viewport content=width=device-width><style>body{margin:0;background:#fff}#a{position:absolute;left:50px;top:2000px;width:120px;height:40px;background:#f00}` +
		`@media(prefers-color-scheme:dark){#a{background:#00f}}@media(pointer:coarse){#a{height:60px}}</style><div id=a></div>`
	red, blue := color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}
	for _, test := range []struct {
		options string
		size    image.Point
		want    color.Color
	}{
		{`"selector":"#a"`, image.Pt(120, 40), red},
		{`"selector":"#a","colorScheme":"dark"`, image.Pt(120, 40), blue},
		{`"selector":"#a","mobile":true,"viewport":{"deviceScaleFactor":2}`, image.Pt(240, 120), red},
		{`"device":"iPhone SE"`, image.Pt(750, 1334), color.White},
		{`"device":"iPhone SE","viewport":{"deviceScaleFactor":1},"mobile":false`, image.Pt(375, 667), color.White},
		{`"selector":"#a","colorScheme":"light"`, image.Pt(120, 40), red}, // nothing of the ones before is left
	} {
		answer := s.Send(t, apitest.Request{Path: "/v1/images", Body: `{"html":"` + page + `","options":{` + test.options + `}}`}).OK(t)
		img, err := png.Decode(bytes.NewReader([]byte(answer.Body)))
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Bounds().Max; got != test.size || !alike(img.At(got.X/2, got.Y/2), test.want) {
			t.Errorf("%s: %v, %v in the middle; want %v, %v", test.options, got, img.At(got.X/2, got.Y/2), test.size, test.want)
		}
	}
	for _, test := range []struct{ options, field, message string }{
		{`"selector":"#a","fullPage":true`, "options.selector", "is mutually exclusive with options.clip and options.fullPage"},
		{`"selector":"#[","timeout":20000`, "options.selector", "is not a valid CSS selector"},
		{`"selector":"meta","timeout":20000`, "options.selector", "matches no visible element"},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/images", Body: `{"html":"` + page + `","options":{` + test.options + `}}`}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) != 1 || failure.Details[0] != (wire.Detail{Field: test.field, Message: test.message}) {
			t.Errorf("%s: details %v", test.options, failure.Details)
		}
	}
}

// TestConvertedImagesAreReported expects a warning if a file has more images than the result.
func TestConvertedImagesAreReported(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	frame := image.NewPaletted(image.Rect(0, 0, 4, 4), color.Palette{color.White, color.Black})
	still := inline(dot(t))
	for frames := 1; frames <= 2; frames++ {
		moving := gif.GIF{Image: slices.Repeat([]*image.Paletted{frame}, frames), Delay: make([]int, frames)}
		var b bytes.Buffer
		if err := gif.EncodeAll(&b, &moving); err != nil {
			t.Fatal(err)
		}
		file := inline(b.Bytes())
		for _, call := range []struct{ path, input, named string }{
			{"/v1/images/convert", `"file":` + file + `,"to":"png"`, "the file"},
			{"/v1/convert", `"file":` + file + `,"to":"pdf"`, "the file"},
			{"/v1/convert", `"file":` + file + `,"to":"png"`, "the file"},
			{"/v1/pdf/from-images", `"files":[{"file":` + still + `},{"file":` + file + `}]`, "files[1]"},
		} {
			var want []wire.Warning
			if frames > 1 {
				want = []wire.Warning{{Code: "pictures_omitted", Message: call.named + " contains several images, such as animation frames or pages; the result has only the first"}}
			}
			answer := s.Send(t, apitest.Request{Path: call.path, Body: `{` + call.input + `,"response":"url"}`})
			if got := fileURL(t, answer).Warnings; !reflect.DeepEqual(got, want) {
				t.Errorf("%s with %d frames: warned of %+v, want %+v", call.path, frames, got, want)
			}
		}
	}
}

// alike reports whether two colours are the same.
func alike(a, b color.Color) bool {
	return color.RGBAModel.Convert(a) == color.RGBAModel.Convert(b)
}
