package archive

import "testing"

// TestLimitedContent brings rectangles within the limit, and leaves all else as it is.
func TestLimitedContent(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"116.5 16000.5 2250 -144549.5 re W n": "116.5 16000.5 2250 -32384 re\nW\nn\n",
		"-40000.5 0 80000 9 re f":             "-16383.5 0 32767 9 re\nf\n",
		"1.5 2 3 4 re f 40000.5 0 m":          "",
	} {
		got, changed := limitedContent([]byte(content))
		if changed != (want != "") || changed && string(got) != want {
			t.Errorf("%q has become %q (%v), want %q", content, got, changed, want)
		}
	}
}
