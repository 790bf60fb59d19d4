package pdfcheck

import (
	"encoding/binary"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// profile is what the header of an ICC profile says; empty if that is not one.
type profile struct {
	class   string
	space   string
	version byte
}

// readProfile reads the header of a profile. It returns false if the stream cannot be read.
func (c *checker) readProfile(s pdffile.Stream) (p profile, ok bool) {
	const version, class, space, signature, size = 8, 12, 16, 36, 128
	content, ok := c.plain(s)
	if !ok {
		return p, false
	}

	if len(content) < size || string(content[signature:signature+4]) != "acsp" ||
		int(binary.BigEndian.Uint32(content)) > len(content) {
		return p, true
	}
	return profile{string(content[class : class+4]), string(content[space : space+4]), content[version]}, true
}

// before reports whether a profile is of an earlier version, and of one of these classes.
func (p profile) before(version byte, classes ...string) bool {
	return p.version < version && slices.Contains(classes, p.class)
}

// channels returns the number of channels of the space.
func (p profile) channels() float64 {
	return map[string]float64{"GRAY": 1, "RGB ": 3, "Lab ": 3, "CMYK": 4}[p.space]
}

// outputProfile returns the color space of the output intent's profile: "RGB ", "CMYK" or "GRAY"; empty is
// none, or no profile.
func (c *checker) outputProfile() string {
	for _, item := range c.list(c.catalog["/OutputIntents"]) {
		entries := c.Entry(item)
		if s, _, ok := c.stream(entries["/DestOutputProfile"]); ok && c.name(entries, "/S") == "GTS_PDFA1" {
			if p, ok := c.readProfile(s); ok {
				return p.space
			}
			return "unknown"
		}
	}
	return ""
}

// wrongProfile returns a rule about the profiles of output intents, which are of an earlier version than one.
func wrongProfile(version byte) func(*checker, object) bool {
	return func(c *checker, _ object) bool {
		for _, item := range c.list(c.catalog["/OutputIntents"]) {
			s, _, ok := c.stream(c.Entry(item)["/DestOutputProfile"])
			if !ok {
				continue
			}

			p, ok := c.readProfile(s)
			if ok && (!p.before(version, "prtr", "mntr") || p.channels() == 0 || p.space == "Lab ") {
				return true
			}
		}
		return false
	}
}

// wrongSpace returns a rule about the profiles of ICC-based color spaces.
func wrongSpace(version byte) func(*checker, object) bool {
	return func(_ *checker, o object) bool {
		return !o.icc.before(version, "prtr", "mntr", "scnr", "spac") || o.icc.channels() == 0
	}
}
