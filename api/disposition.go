package api

import (
	"fmt"
	"mime"
	"strings"
)

// unescaped are the characters that RFC 5987 allows unescaped in an extended value, except "+", which some clients
// turn into a space.
const unescaped = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&-.^_`|~"

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
		if strings.IndexByte(unescaped, b) >= 0 {
			encoded.WriteByte(b)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", b)
		}
	}

	return fmt.Sprintf("%s; filename=%q; filename*=UTF-8''%s", kind, ascii, encoded.String())
}

// isJSON reports whether a Content-Type header names JSON in UTF-8.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	charset := strings.ToLower(params["charset"])
	return (media == "application/json" || strings.HasSuffix(media, "+json")) && (charset == "" || charset == "utf-8")
}
