package archive

import "testing"

// TestArchiveRefuses gives Ghostscript what it would leave out silently.
func TestArchiveRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"warned":     "GPL Ghostscript 10.00.0: Annotation set to non-printing,\n not permitted in PDF/A, aborting conversion\n",
		"overprint":  "GPL Ghostscript 10.00.0: Setting Overprint Mode to 1\n not permitted in PDF/A-2, aborting conversion\n",
		"reverting":  "GPL Ghostscript 10.00.0: UTF16BE text string detected in DOCINFO cannot be represented\nin XMP for PDF/A1, reverting to normal PDF output\n",
		"not a word": "Loading font Courier\n",
	} {
		found := refusal.FindSubmatch([]byte(text))
		if (found != nil) == (name == "not a word") {
			t.Errorf("%s: got %q", name, found)
		}
	}
	if !isPicture([]byte("q 1 0 0 1 0 0 cm /I Do Q")) || isPicture([]byte("BT (x) Tj ET /I Do")) {
		t.Error("pictures are not told from text")
	}
}

// FuzzArchiveContent looks at mutated content: it comes to an end.
func FuzzArchiveContent(f *testing.F) {
	f.Add([]byte("q BT /F1 12 Tf (a\\)b) Tj <41> Tj ET BI /W 1 /H 1 ID x EI Q % end"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		isPicture(text)
		ReadXMP(text)
	})
}
