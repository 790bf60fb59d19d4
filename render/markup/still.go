package markup

import (
	"strings"

	"golang.org/x/net/html"
)

// RemoveRequests removes the parts of a document that may send a request to another server, or run
// scripts, and do not affect its appearance. A policy forbids most of them to a browser,
// too, but not all.
func RemoveRequests(doc string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(doc))
	left := false
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			return out.String()
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			raw := string(tokens.Raw())
			name, _ := tokens.TagName()
			switch string(name) {
			case "link", "base", "meta", "frame", "object", "embed", "portal", "applet":
				continue
			case "script", "iframe", "noscript", "noembed", "noframes", "xmp", "plaintext":
				left = kind == html.StartTagToken // with its content
				continue
			}

			left = false
			out.WriteString(raw)
		case html.TextToken:
			if !left {
				out.Write(tokens.Raw())
			}
			left = false
		default:
			out.Write(tokens.Raw())
		}
	}
}
