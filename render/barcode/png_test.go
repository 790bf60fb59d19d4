package barcode

import "testing"

// TestPNGIsSmall keeps the repeats of lines and bytes in the files.
func TestPNGIsSmall(t *testing.T) {
	tests := []struct {
		req     Request
		maximum int
	}{
		{Request{Type: QR, Text: "https://example.com/a?b=c", Format: PNG, Scale: 3}, 900},
		{Request{Type: EAN13, Text: "4006381333931", Format: PNG, Scale: 3}, 250},
		{Request{Type: QR, Text: prose(2953), Format: PNG, Scale: 10}, 70_000},
		{Request{Type: EAN13, Text: "4006381333931", Format: PNG, Scale: 3, IncludeText: true}, 5000},
	}
	for _, tt := range tests {
		if got := len(mustMake(t, tt.req)); got > tt.maximum {
			t.Errorf("%+v: got %d bytes, want at most %d", tt.req.Type, got, tt.maximum)
		}
	}
}
