package operation

import (
	"path"
	"strings"
	"unicode"
)

// maxFilename bounds a result's name in bytes; file systems take 255.
const maxFilename = 200

// Filename returns the name of a result: the requested one without its path and control characters, or the stem,
// and with the extension. A JPEG may keep its other extension.
func Filename(requested, stem, extension string) string {
	name := path.Base(strings.ReplaceAll(requested, `\`, "/"))

	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name)

	name = strings.Trim(name, " .")
	if name == "" || name == "/" {
		name = stem
	}

	if extension == ".jpeg" && strings.EqualFold(path.Ext(name), ".jpg") {
		extension = ".jpg"
	}
	if strings.EqualFold(path.Ext(name), extension) && len(name) > len(extension) {
		name = name[:len(name)-len(extension)]
	}

	for len(name)+len(extension) > maxFilename {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}

	return name + extension
}
