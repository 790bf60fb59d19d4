package api

import (
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode"
)

// maxFilename bounds a result's name in bytes; file systems take 255.
const maxFilename = 200

// filename returns the name of a result: the requested one without its path
// and control characters, or the stem, and with the extension. A JPEG may keep
// the other one that it goes by.
func filename(requested, stem, extension string) string {
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

// plain is what RFC 5987 lets stand for itself in an extended value, less "+",
// which some clients turn into a space.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&-.^_`|~"

// disposition returns the Content-Disposition of a download: the name in ASCII
// for old clients and in UTF-8 for the rest.
func disposition(kind, name string) string {
	ascii := strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\' || r == '%':
			return '_'
		case r < ' ' || r > '~':
			return '_'
		}
		return r
	}, name)
	var encoded strings.Builder
	for _, b := range []byte(name) {
		if strings.IndexByte(plain, b) >= 0 {
			encoded.WriteByte(b)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", b)
		}
	}
	return fmt.Sprintf("%s; filename=%q; filename*=UTF-8''%s", kind, ascii, encoded.String())
}

// isJSON tells whether a Content-Type header names JSON in UTF-8.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	charset := strings.ToLower(params["charset"])
	return (media == "application/json" || strings.HasSuffix(media, "+json")) && (charset == "" || charset == "utf-8")
}
