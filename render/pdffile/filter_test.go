package pdffile

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// TestFiltersKeepLimits undoes filters with the limit that their data need, and with a lower one.
func TestFiltersKeepLimits(t *testing.T) {
	want := bytes.Repeat([]byte("a"), 300)
	packed := Deflated(Dict{}, want).Content
	runs := []byte{257 - 128, 'a', 257 - 128, 'a', 257 - 44, 'a', 128}
	f := newFile(nil)

	for filter, content := range map[string][]byte{"/FlateDecode": packed, "/RunLengthDecode": runs} {
		s := Stream{Dict{"/Filter": filter}, content}
		if got, rest, err := f.Decode(s, len(want)); err != nil || rest != "" || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, filter %q, %v", filter, len(got), rest, err)
		}
		if _, _, err := f.Decode(s, len(want)-1); !errors.Is(err, ErrUnread) {
			t.Errorf("%s: too many bytes: %v", filter, err)
		}
	}

	if got, err := Inflate(packed, 7); !errors.Is(err, ErrUnread) || string(got) != "aaaaaaa" {
		t.Errorf("got %q, %v", got, err)
	}
	cut := Stream{Dict{"/Filter": "/FlateDecode"}, packed[:len(packed)-4]}
	if got, _, err := f.Decode(cut, len(want)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("data without their checksum: %d bytes, %v", len(got), err)
	}
	if _, err := f.Plain(cut); !errors.Is(err, ErrUnread) {
		t.Errorf("data without their checksum: %v", err)
	}
}

// TestUnpredict undoes each way of prediction, and reports rows that are damaged.
func TestUnpredict(t *testing.T) {
	parameters := func(predictor, colors, bits float64) Dict {
		return Dict{"/Predictor": predictor, "/Colors": colors, "/BitsPerComponent": bits, "/Columns": 2.}
	}
	for name, test := range map[string]struct {
		how       Dict
		raw, want []byte
		damaged   bool
	}{
		"none":          {nil, []byte{1, 2}, []byte{1, 2}, false},
		"TIFF":          {parameters(2, 1, 8), []byte{1, 2, 3, 4}, []byte{1, 3, 3, 7}, false},
		"TIFF, cut off": {parameters(2, 1, 8), []byte{1, 2, 3}, []byte{1, 3, 3}, true},
		"PNG": {
			parameters(15, 1, 8),
			[]byte{0, 1, 2, 1, 1, 2, 2, 1, 2, 3, 1, 2, 4, 1, 2},
			[]byte{1, 2, 1, 3, 2, 5, 2, 5, 3, 7}, false,
		},
		"PNG of 12 bits":  {parameters(15, 3, 4), []byte{1, 1, 2, 3}, []byte{1, 2, 4}, false},
		"PNG, cut off":    {parameters(15, 1, 8), []byte{1, 1, 2, 2, 1}, []byte{1, 3, 2}, true},
		"PNG, a new way":  {parameters(15, 1, 8), []byte{5, 1, 2}, []byte{1, 2}, true},
		"wide components": {parameters(15, 1, 16), []byte{1, 0, 1, 0, 1}, []byte{0, 1, 0, 2}, false},
	} {
		got, err := Unpredict(slices.Clone(test.raw), test.how, 4)
		if !bytes.Equal(got, test.want) || (err != nil) != test.damaged {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, test.want)
		}
	}
	if got, err := Unpredict([]byte{0, 1, 2}, parameters(15, 1, 8), 1); !errors.Is(err, ErrUnread) || got != nil {
		t.Errorf("a row that is too long: %v, %v", got, err)
	}
}

// TestPredictionLeavesTheFile reads streams whose content is that of the file, and not a copy.
func TestPredictionLeavesTheFile(t *testing.T) {
	t.Parallel()
	const content = "\x02abc\x02abc"
	for _, filter := range []any{nil, []any{nil}, []any{}, "/Crypt", []any{"/Crypt"}} {
		f := &File{content: []byte(content)}
		entries := Dict{
			"/Length": float64(len(content)), "/Filter": filter, "/DecodeParms": Dict{"/Predictor": 12., "/Columns": 3.},
		}
		plain, err := f.inflate(1, xrefEntry{}, entries, 0)
		if filter == nil && (err != nil || string(plain) != "abc\xc2\xc4\xc6") {
			t.Errorf("got %q, %v", plain, err)
		}
		if string(f.content) != content {
			t.Errorf("filter %v: the file is %q now", filter, f.content)
		}
	}
}
