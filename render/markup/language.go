package markup

import (
	"strings"

	"golang.org/x/net/html"
)

// Language returns the language that the html element of a document names; empty if it names none.
func Language(doc string) string {
	tokens := html.NewTokenizer(strings.NewReader(doc))

	for {
		switch tokens.Next() {
		case html.ErrorToken, html.EndTagToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			for _, a := range token.Attr {
				if token.Data == "html" && a.Key == "lang" {
					return strings.TrimSpace(a.Val)
				}
			}
			return ""
		}
	}
}
