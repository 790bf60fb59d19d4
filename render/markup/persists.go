package markup

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// PersistsState reports whether an HTML document may leave state in the browser's document object, where the next
// document would show it: a colour scheme, the name of a style sheet, a language, the colours of links, the focus.
// It returns false only for features that are known to leave nothing, so that future features of HTML count as
// state.
func PersistsState(doc string) bool {
	tokens := html.NewTokenizer(strings.NewReader(doc))
	style := false
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttr := tokens.TagName()
			if !plainElements[string(name)] && bytes.IndexByte(name, '-') < 0 {
				return true
			}
			style = string(name) == "style"
			if lingeringAttrs(tokens, string(name), hasAttr) {
				return true
			}
		case html.TextToken:
			if style && lingeringRules(tokens.Raw()) {
				return true
			}
			style = false
		}
	}
}

// lingeringAttrs reads the attributes of an element.
func lingeringAttrs(tokens *html.Tokenizer, name string, more bool) bool {
	for more {
		var key, val []byte
		key, val, more = tokens.TagAttr()
		switch {
		case name == "meta" && (string(key) == "name" || string(key) == "http-equiv"):
			if !plainMeta[strings.ToLower(string(trimSpace(val)))] && !bytes.ContainsAny(val, ":.") {
				return true
			}
		case name == "body" && bodyAttrs[string(key)]:
			return true
		case string(key) == "title" && (name == "style" || name == "link"):
			return true
		case plainAttrs[string(key)], bytes.HasPrefix(key, []byte("data-")),
			bytes.HasPrefix(key, []byte("aria-")), bytes.HasPrefix(key, []byte("xmlns")):
		default:
			return true
		}
	}
	return false
}

// lingeringRules reports whether a style sheet has rules that are registered beyond it.
// Rules of every other kind are removed with the sheet.
func lingeringRules(css []byte) bool {
	for {
		i := bytes.IndexByte(css, '@')
		if i < 0 {
			return false
		}
		css = css[i+1:]

		end := 0
		for end < len(css) && (isLetter(css[end]) || css[end] == '-') {
			end++
		}
		if !plainRules[strings.ToLower(string(css[:end]))] {
			return true
		}
	}
}

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(names) {
		m[name] = true
	}
	return m
}

var (
	plainElements = set(`html head body title meta style
		div span p h1 h2 h3 h4 h5 h6 hgroup header footer main nav section article aside address
			search blockquote pre hr br wbr
		ol ul li dl dt dd menu dir figure figcaption center
		table caption colgroup col thead tbody tfoot tr td th
		a b i em strong small s strike u sub sup big tt font code kbd samp var cite q dfn abbr acronym
			time data mark ins del
		bdi bdo ruby rt rp rb rtc nobr label img picture source map area
		form fieldset legend input button select option optgroup textarea output meter progress details summary
		svg g defs symbol use desc path rect circle ellipse line polyline polygon text tspan textpath image
		lineargradient radialgradient stop clippath mask pattern marker filter
		feblend fecolormatrix fecomponenttransfer fecomposite fediffuselighting fedistantlight fedropshadow feflood
		fefunca fefuncb fefuncg fefuncr fegaussianblur femerge femergenode femorphology feoffset fepointlight
		fespecularlighting fespotlight fetile feturbulence fedisplacementmap feconvolvematrix
		math mrow mi mn mo ms mtext mfrac msqrt mroot msub msup msubsup munder mover munderover
			mtable mtr mtd mspace mpadded mphantom mstyle`)

	// bodyAttrs set the colours of the document's links.
	bodyAttrs = set(`link vlink alink`)

	plainMeta = set(`content-type x-ua-compatible
		description author keywords generator robots application-name date copyright subject creator
		viewport format-detection revised rating language`)

	plainRules = set(`media page font-face keyframes -webkit-keyframes supports charset namespace
		layer container counter-style
		top-left-corner top-left top-center top-right top-right-corner
			bottom-left-corner bottom-left bottom-center bottom-right
		bottom-right-corner left-top left-middle left-bottom right-top right-middle right-bottom`)

	plainAttrs = set(`id class style title lang xml:lang dir hidden role charset content property itemprop itemscope
		itemtype itemid media type
		name value href src alt width height border align valign bgcolor color face size
			clear noshade compact start reversed
		colspan rowspan headers scope abbr span nowrap cellpadding cellspacing rules frame summary char charoff axis
		cite datetime target rel hreflang download usemap ismap shape coords hspace vspace
			loading decoding fetchpriority
		for form action method enctype placeholder checked disabled readonly required multiple selected
			label maxlength minlength
		min max step low high optimum rows cols wrap autocomplete pattern accept open
			tabindex translate spellcheck draggable
		contenteditable accesskey inputmode version xml:space
		viewbox preserveaspectratio x y x1 y1 x2 y2 cx cy r rx ry fx fy fr d points pathlength transform
		gradientunits gradienttransform spreadmethod offset stop-color stop-opacity
		patternunits patterncontentunits patterntransform maskunits maskcontentunits clippathunits
		markerwidth markerheight markerunits refx refy orient marker-start marker-mid marker-end
		fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit
		stroke-dasharray stroke-dashoffset opacity clip-path clip-rule mask filter display visibility overflow
		font-family font-size font-style font-weight font-variant font-stretch letter-spacing word-spacing text-anchor
		text-decoration text-rendering dominant-baseline alignment-baseline baseline-shift writing-mode direction
		shape-rendering image-rendering color-interpolation-filters flood-color flood-opacity
			lighting-color paint-order vector-effect
		dx dy rotate textlength lengthadjust startoffset spacing xlink:href
		filterunits primitiveunits in in2 result mode values operator k1 k2 k3 k4 stddeviation radius scale
		xchannelselector ychannelselector basefrequency numoctaves seed stitchtiles order kernelmatrix
			divisor bias targetx targety
		edgemode kernelunitlength preservealpha surfacescale diffuseconstant specularconstant
			specularexponent limitingconeangle
		azimuth elevation z pointsatx pointsaty pointsatz tablevalues slope intercept amplitude exponent
		mathvariant mathsize mathcolor displaystyle scriptlevel stretchy fence separator lspace
			rspace linethickness columnalign`)
)
