package markup

import "bytes"

// elementInfo holds the properties of an element that follow from its name.
type elementInfo struct {
	name   string
	traits Traits
	// raw means that the content is text up to the end tag.
	raw bool
}

// elements lists every element that is more than a box with attributes.
var elements = map[string]elementInfo{
	"a":       {},
	"area":    {},
	"link":    {},
	"image":   {},
	"feimage": {},

	"title":    {raw: true},
	"textarea": {raw: true},
	"style":    {raw: true},
	"xmp":      {raw: true},
	"noembed":  {raw: true},
	"noframes": {raw: true},

	"script": {raw: true, traits: Traits{Script: true}},
	// Its content shows only where scripts are off, so they must be on.
	"noscript": {raw: true, traits: doubt},
	// Everything after it is text, end tags included.
	"plaintext": {raw: true, traits: doubt},

	"iframe":      {raw: true, traits: doubt},
	"frame":       {traits: doubt},
	"frameset":    {traits: doubt},
	"fencedframe": {traits: doubt},
	"portal":      {traits: doubt},
	"object":      {traits: doubt},
	"embed":       {traits: doubt},
	"applet":      {traits: doubt},
	"base":        {traits: doubt},

	"audio":   {traits: Traits{Network: true}},
	"video":   {traits: Traits{Network: true}},
	"track":   {traits: Traits{Network: true}},
	"bgsound": {traits: Traits{Network: true}},
}

// element looks a lower-cased tag name up; an unknown one keeps no name.
func element(name []byte) elementInfo {
	el, known := elements[string(name)]
	if known {
		el.name = string(name)
	}
	return el
}

// attrRule judges one attribute's value on one element.
type attrRule func(el elementInfo, val []byte) Traits

// attrRules lists the attributes whose name decides. All others are judged by
// their value alone.
var attrRules = map[string]attrRule{
	"href":       hrefRule,
	"xlink:href": hrefRule,

	"src":        addressRule,
	"poster":     addressRule,
	"background": addressRule,
	"data":       addressRule,
	"lowsrc":     addressRule,
	"dynsrc":     addressRule,
	"icon":       addressRule,

	"srcset":         presentRule,
	"imagesrcset":    presentRule,
	"ping":           presentRule,
	"attributionsrc": anyRule,
	"manifest":       presentRule,
	"archive":        presentRule,
	"classid":        presentRule,
	"codebase":       presentRule,
	"xml:base":       presentRule,

	"srcdoc":        func(elementInfo, []byte) Traits { return doubt },
	"http-equiv":    httpEquivRule,
	"attributename": attributeNameRule,
	"style": func(_ elementInfo, val []byte) Traits {
		return Traits{Network: cssLoads(val)}
	},
}

// attribute judges one attribute. The key is lower-cased and character
// references in the value are resolved, as in a browser.
func (in *inspector) attribute(el elementInfo, key, val []byte) {
	if len(key) > 2 && key[0] == 'o' && key[1] == 'n' {
		in.script(val)
		return
	}

	if scriptURL(val) {
		in.script(val)
	}
	if rule, known := attrRules[string(key)]; known {
		in.add(rule(el, val))
		return
	}

	// SVG takes CSS values in attributes: fill="url(…)", cursor, mask, filter.
	if bytes.IndexByte(val, '(') >= 0 && cssLoads(val) {
		in.traits.Network = true
	}
	if !in.address && bytes.Contains(val, []byte("//")) && !bytes.HasPrefix(key, []byte("xmlns")) {
		in.address = true
	}
}

// hrefRule: links are followed by readers; every other element loads the target unless it is in the document
// itself.
func hrefRule(el elementInfo, val []byte) Traits {
	switch el.name {
	case "a", "area":
		return Traits{}
	case "link":
		return presentRule(el, val)
	case "image", "feimage":
		if isData(val) {
			return Traits{}
		}
	}

	if val = trimSpace(val); len(val) == 0 || val[0] == '#' {
		return Traits{}
	}
	return Traits{Network: true}
}

// addressRule: an image or the like, which is harmless when it is inline.
func addressRule(_ elementInfo, val []byte) Traits {
	return Traits{Network: !isData(val) && len(trimSpace(val)) > 0}
}

// presentRule: any value can lead to a request.
func presentRule(_ elementInfo, val []byte) Traits {
	return Traits{Network: len(trimSpace(val)) > 0}
}

// anyRule: even the empty attribute leads to a request.
func anyRule(elementInfo, []byte) Traits { return Traits{Network: true} }

// httpEquivRule lets the declarations through that load nothing. A refresh
// navigates; a policy may report; the rest is rare enough to doubt.
func httpEquivRule(_ elementInfo, val []byte) Traits {
	switch name := trimSpace(val); {
	case equalFold(name, "content-type"), equalFold(name, "x-ua-compatible"), equalFold(name, "content-language"):
		return Traits{}
	}
	return doubt
}

// attributeNameRule: an animation that sets a URL, or an attribute from another namespace, counts as the attribute
// itself.
func attributeNameRule(_ elementInfo, val []byte) Traits {
	if bytes.IndexByte(val, ':') >= 0 || equalFold(trimSpace(val), "href") || equalFold(trimSpace(val), "src") {
		return doubt
	}
	return Traits{}
}

// scriptURL reports whether val is a URL that runs code. URLs lose leading
// control characters and spaces, and tabs and line ends anywhere.
func scriptURL(val []byte) bool {
	i := 0
	for i < len(val) && val[i] <= ' ' {
		i++
	}
	if i == len(val) || val[i]|0x20 != 'j' && val[i]|0x20 != 'v' {
		return false
	}
	return urlHasScheme(val[i:], "javascript:") || urlHasScheme(val[i:], "vbscript:")
}

// isData reports whether val is a data: URL.
func isData(val []byte) bool { return urlHasScheme(val, "data:") }

// urlHasScheme compares the start of a URL as a URL parser would: any case,
// without leading control characters and spaces, without tabs and line ends.
func urlHasScheme(val []byte, scheme string) bool {
	i := 0
	for i < len(val) && val[i] <= ' ' {
		i++
	}

	for j := 0; j < len(scheme); i++ {
		if i == len(val) {
			return false
		}
		c := val[i]
		if c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != scheme[j] {
			return false
		}
		j++
	}
	return true
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

func trimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n\f") }

func equalFold(b []byte, s string) bool { return len(b) == len(s) && hasPrefixFold(b, s) }

// hasPrefixFold compares ASCII without regard to case; prefix is lower case.
func hasPrefixFold(b []byte, prefix string) bool {
	if len(b) < len(prefix) {
		return false
	}

	for i := range len(prefix) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}
