package pdffile

import "strings"

// Standard is a standard that a file can claim to conform to.
type Standard string

// The standards.
const (
	UA1 Standard = "ua-1" // PDF/UA-1
	A1B Standard = "a-1b" // PDF/A-1b
	A2A Standard = "a-2a"
	A2U Standard = "a-2u"
	A2B Standard = "a-2b"
	A3A Standard = "a-3a"
	A3U Standard = "a-3u"
	A3B Standard = "a-3b"
)

// Standards returns all of them.
func Standards() []Standard { return []Standard{UA1, A1B, A2A, A2U, A2B, A3A, A3U, A3B} }

// Part returns the part of PDF/A; 0 means that the standard is PDF/UA.
func (s Standard) Part() int {
	level, archival := strings.CutPrefix(string(s), "a-")
	if !archival || level == "" {
		return 0
	}
	return int(level[0] - '0')
}

// Family returns PDF/UA or PDF/A.
func (s Standard) Family() string {
	if s.Part() == 0 {
		return "PDF/UA"
	}
	return "PDF/A"
}

// Level returns the level of PDF/A: 1 is B, 2 is U, and 3 is A. Each contains the ones before. PDF/UA has 0.
func (s Standard) Level() int {
	if s.Part() == 0 {
		return 0
	}
	return strings.IndexByte("bua", s[len(s)-1]) + 1
}
