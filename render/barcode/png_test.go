package barcode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"testing"
)

// TestLineStreamInflates has the standard library unpack lines with runs and
// repeats of every length around the limits of the format.
func TestLineStreamInflates(t *testing.T) {
	lines := [][]byte{
		{0xFF, 0}, {5, 5}, {1, 2, 3}, bytes.Repeat([]byte{7}, 3), bytes.Repeat([]byte{200}, 4), bytes.Repeat([]byte{0xFF}, 5000),
	}
	for n := range 40 {
		lines = append(lines, append(bytes.Repeat([]byte{byte(n)}, 240+n), 143, 144, 255))
	}
	for _, line := range lines {
		for _, count := range []int{0, 1, 2, 3, 4, 85, 86, 87, 129, 130, 131, 258, 259, 260, 261, 517, 1000} {
			checkStream(t, []stretch{{line, count}, {line, 1}})
		}
	}
}

// stretch is a line and how often it comes.
type stretch struct {
	line  []byte
	count int
}

// checkStream packs lines of one length and unpacks them again.
func checkStream(t *testing.T, stretches []stretch) {
	t.Helper()
	stream := newLineStream(len(stretches[0].line))
	var want []byte
	for _, s := range stretches {
		stream.write(s.line, s.count)
		for range s.count {
			want = append(append(want, 0), s.line...)
		}
	}
	packed := stream.finish()
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("unpacking %d bytes: %v", len(packed), err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, want %d", len(got), len(want))
	}
}

// FuzzLineStream packs arbitrary lines an arbitrary number of times.
func FuzzLineStream(f *testing.F) {
	f.Add([]byte("abcabcaaaaaaaaaaaaaaabcccc"), uint16(3), uint32(0x01020304))
	f.Add(bytes.Repeat([]byte{0xFF}, 600), uint16(300), uint32(0xFFFFFFFF))
	f.Fuzz(func(t *testing.T, data []byte, stride uint16, counts uint32) {
		n := int(stride)%5000 + 2
		var repeats [4]byte
		binary.BigEndian.PutUint32(repeats[:], counts)
		stretches := []stretch{{make([]byte, n), 1}}
		for i := 0; len(data) > 0 && i < 50; i++ {
			line := make([]byte, n)
			data = data[copy(line, data):]
			stretches = append(stretches, stretch{line, int(repeats[i%4])})
		}
		checkStream(t, stretches)
	})
}

// TestPNGIsSmall keeps the repeats of lines and bytes in the files.
func TestPNGIsSmall(t *testing.T) {
	tests := []struct {
		req  Request
		most int
	}{
		{Request{Type: QR, Text: "https://example.com/a?b=c", Format: PNG, Scale: 3}, 900},
		{Request{Type: EAN13, Text: "4006381333931", Format: PNG, Scale: 3}, 250},
		{Request{Type: QR, Text: prose(2953), Format: PNG, Scale: 10}, 70_000},
		{Request{Type: EAN13, Text: "4006381333931", Format: PNG, Scale: 3, IncludeText: true}, 5000},
	}
	for _, tt := range tests {
		if got := len(mustMake(t, tt.req)); got > tt.most {
			t.Errorf("%+v: got %d bytes, want at most %d", tt.req.Type, got, tt.most)
		}
	}
}
