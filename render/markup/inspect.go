// Package markup looks into HTML without rendering it, and turns Markdown into
// HTML documents that print well.
package markup

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// Traits holds the features that an HTML document may use in a browser. Both answers err on the side of true: a
// false "true" costs speed, while a false "false" would render a document in a mode that was not made for it.
type Traits struct {
	// Script means that the document can run code or needs its own browsing context: script elements, handler
	// attributes, javascript: URLs, frames, plug-ins, refreshes, a changed base URL, and anything that a tokenizer
	// and a browser might read differently.
	Script bool
	// Network means that opening the document can send a request. Links that load nothing until a reader follows
	// them do not count, nor do data: URLs and references into the document itself. If Script is set, this is only
	// a hint, because code can build a URL from parts: callers that rely on it for such a document must refuse
	// requests while it renders.
	Network bool
}

// doubt is the answer for markup that cannot be judged safely.
var doubt = Traits{Script: true, Network: true}

// Inspect reads an HTML document once, in linear time and without building a tree, and reports its features. It
// accepts any input.
func Inspect(doc string) Traits {
	in := inspector{tokens: html.NewTokenizer(strings.NewReader(doc))}
	for in.traits != doubt {
		switch in.tokens.Next() {
		case html.ErrorToken:
			return in.result()
		case html.StartTagToken:
			in.startTag(false)
		case html.SelfClosingTagToken:
			in.startTag(true)
		case html.TextToken:
			in.text()
		case html.CommentToken:
			in.comment()
		case html.DoctypeToken:
			in.doctype()
		}
	}
	return in.result()
}

// inspector is the state of one Inspect.
type inspector struct {
	tokens *html.Tokenizer
	traits Traits
	// raw is the element whose content comes next and is not markup, or "".
	raw string
	// address is set when an attribute that loads nothing by itself holds an
	// absolute address: a script may well load it (lazy images do).
	address bool
}

func (in *inspector) result() Traits {
	if in.traits.Script && in.address {
		in.traits.Network = true
	}
	return in.traits
}

func (in *inspector) add(t Traits) {
	in.traits.Script = in.traits.Script || t.Script
	in.traits.Network = in.traits.Network || t.Network
}

// startTag judges an element by its name and then by its attributes.
func (in *inspector) startTag(selfClosing bool) {
	name, hasAttr := in.tokens.TagName()
	el := element(name)
	in.add(el.traits)
	in.raw = ""

	if el.raw {
		in.raw = el.name
		if selfClosing {
			// HTML ignores the slash and SVG does not, so the rest of the
			// document is text to one of them and markup to the other.
			in.add(doubt)
		}
	}

	for hasAttr {
		var key, val []byte
		key, val, hasAttr = in.tokens.TagAttr()
		in.attribute(el, key, val)
	}
}

// text judges the content of elements whose content is not markup. Ordinary
// text can do nothing.
func (in *inspector) text() {
	if in.raw == "" {
		return
	}

	body := in.tokens.Raw()
	switch in.raw {
	case "script":
		in.script(body)
		in.raw = ""
		return
	case "style":
		if cssLoads(body) || entityLike(body) {
			in.traits.Network = true
		}
	}
	in.raw = ""

	// Inside SVG and select, these elements contain markup after all, so their end is uncertain. No author writes
	// that by accident.
	if markupLike(body) {
		in.add(doubt)
	}
}

// script records the use of the network in the text of a script.
func (in *inspector) script(code []byte) {
	in.traits.Script = true
	if !in.traits.Network && scriptLoads(code) {
		in.traits.Network = true
	}
}

// comment finds the two declarations that HTML reads as comments and foreign
// content does not.
func (in *inspector) comment() {
	raw := in.tokens.Raw()
	if bytes.HasPrefix(raw, []byte("<![CDATA[")) || hasPrefixFold(raw, "<?xml-stylesheet") {
		in.add(doubt)
	}
}

// doctype accepts every plain document type. An internal subset declares
// entities, which HTML does not know.
func (in *inspector) doctype() {
	if bytes.ContainsAny(in.tokens.Raw()[1:], "[<") {
		in.traits.Network = true
	}
}

// markupLike reports whether a tag, comment or declaration could start in b.
func markupLike(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '<')
		if i < 0 || i+1 >= len(b) {
			return false
		}
		c := b[i+1]
		if isLetter(c) || c == '/' || c == '!' || c == '?' {
			return true
		}
		b = b[i+1:]
	}
}

// entityLike reports whether b would change if character references in it
// were resolved, as they are in a style element inside SVG.
func entityLike(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '&')
		if i < 0 || i+1 >= len(b) {
			return false
		}
		if c := b[i+1]; c == '#' || isLetter(c) {
			return true
		}
		b = b[i+1:]
	}
}

// loaders are the ways in which a script reaches the network or the browser's storage.
var loaders = [][]byte{
	[]byte("http:"), []byte("https:"), []byte("ws:"), []byte("wss:"), []byte("'//"), []byte(`"//`), []byte("`//"),
	[]byte("fetch"), []byte("XMLHttpRequest"), []byte("import"), []byte("Socket"), []byte("EventSource"),
	[]byte("Beacon"), []byte("Worker"), []byte("RTC"), []byte("WebTransport"), []byte("location"), []byte("open("),
	[]byte("src"), []byte("href"), []byte("url("), []byte("cookie"), []byte("Storage"), []byte("indexedDB"),
	[]byte("caches"), []byte("atob"), []byte("eval"), []byte("Function("), []byte("fromCharCode"), []byte("submit"),
}

// scriptLoads reports whether code names an address or a way to load one. The
// namespaces of SVG and XHTML are names, not addresses.
func scriptLoads(code []byte) bool {
	const namespaces = "http://www.w3.org/"
	if bytes.Contains(code, []byte(namespaces)) {
		code = bytes.ReplaceAll(code, []byte(namespaces), nil)
	}

	for _, loader := range loaders {
		if bytes.Contains(code, loader) {
			return true
		}
	}
	return false
}
