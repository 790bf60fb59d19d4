package pdfcheck

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// kind is the kind of a part of a file.
type kind int

const (
	ofFile kind = iota
	ofPage
	ofAnnotation
	ofField
	ofAction
	ofState
	ofImage
	ofJPEG2000
	ofProfile
	ofForm
	ofFont
	ofGroup
	ofStream
	ofFileSpec
	ofLayers
	ofOutline
	ofElement

	// Parts that violate a rule by being there.
	ofLongString
	ofLongName
	ofLargeInteger
	ofLargeReal
	ofLongArray
	ofLongDict
	ofWrongLength
	ofUnknownOperator
	ofUnknownIntent
	ofDeepState
	ofInlineFilter
	ofInlineLZW
	ofInterpolated
	ofInherited
	ofUnmarked
	ofArtifactInTag
	ofTagInArtifact
	ofRGB
	ofCMYK
	ofGray
	ofNoLanguage
	ofOverprint
)

// object is a part of a file.
type object struct {
	pdffile.Dict

	ref     string
	page    int // from 1; 0 is none
	element *element
	shown   bool // of a font: it draws text that is not invisible

	icc profile  // of an ICC-based color space
	jpx jpeg2000 // of an image
}

// checker checks one file.
type checker struct {
	*pdffile.File

	src          Source
	rules        []*rule
	byKind       map[kind][]*rule
	found        map[*rule]Violation
	catalog      pdffile.Dict
	xmp          xmp
	outputColors string // color space of the output intent's profile; empty is none
	pages        []object
	numbers      map[string]int // of pages, by reference
	owners       map[string]*element
	seen         map[string]bool
	files        []object        // embedded ones
	related      map[string]bool // the references in arrays of associated files
	read         int             // bytes of content
	unread       bool            // some content could not be read
	text         bool            // there is text
	tagged       bool            // an element or a mark has a language
	root         *element
}

func newChecker(src Source) *checker {
	c := &checker{
		File: src.File, src: src, rules: allRules(), byKind: map[kind][]*rule{}, found: map[*rule]Violation{},
		catalog: src.File.Catalog(),
		numbers: map[string]int{}, owners: map[string]*element{}, seen: map[string]bool{}, related: map[string]bool{},
	}
	for _, r := range c.rules {
		c.byKind[r.of] = append(c.byKind[r.of], r)
	}
	if c.catalog == nil {
		c.catalog = pdffile.Dict{}
	}
	return c
}

// visit presents a part to its rules.
func (c *checker) visit(k kind, o object) {
	for _, r := range c.byKind[k] {
		if r.violates == nil || r.violates(c, o) {
			v := c.found[r]
			if c.src.Copied {
				o.ref = ""
			}
			v.Add(o.page, o.ref)
			c.found[r] = v
		}
	}
}

// first reports whether something is seen for the first time. Direct objects, which have no reference, always are.
func (c *checker) first(what, ref string) bool {
	if ref == "" {
		return true
	}
	key := what + ref
	if c.seen[key] {
		return false
	}
	c.seen[key] = true
	return true
}

// get returns an entry's value.
func (c *checker) get(o pdffile.Dict, key string) any { return c.Target(o[key]) }

func (c *checker) list(v any) []any {
	list, _ := c.Target(v).([]any)
	return list
}

func (c *checker) name(o pdffile.Dict, key string) string {
	name, _ := c.get(o, key).(string)
	return strings.TrimPrefix(name, "/")
}

func (c *checker) number(o pdffile.Dict, key string) (n float64, ok bool) {
	n, ok = c.get(o, key).(float64)
	return n, ok
}

func (c *checker) filled(o pdffile.Dict, key string) bool { return pdffile.Text(c.get(o, key)) != "" }

// maxRead is the maximum number of bytes of objects that are read, which many others may refer to.
const maxRead = 2 << 30

// run goes through the file.
func (c *checker) run() {
	c.Bound(maxRead)
	c.visitAll()
	c.settle()
}

// settle drops what was found if objects could not be read any more: without them, nothing is certain.
func (c *checker) settle() {
	if c.Exhausted() {
		clear(c.found)
		c.unread = true
	}
}

func (c *checker) visitAll() {
	c.readXMP()
	c.outputColors = c.outputProfile()
	c.findPages()
	c.readTree()
	for _, p := range c.pages {
		c.page(p)
	}
	c.visit(ofFile, object{Dict: c.catalog, ref: c.Root()})
	if c.text && !c.tagged && c.catalog["/Lang"] == nil {
		c.visit(ofNoLanguage, object{ref: c.Root()})
	}
	c.action(c.catalog["/OpenAction"], 0)
	c.actions(c.catalog["/AA"], 0)
	c.scripts(c.Entry(c.catalog["/Names"])["/JavaScript"], 0)
	form := c.Entry(c.catalog["/AcroForm"])
	c.fields(form["/Fields"], 0)
	layers := c.Entry(c.catalog["/OCProperties"])
	for _, config := range append(slices.Clone(c.list(layers["/Configs"])), layers["/D"]) {
		if entries := c.Entry(config); entries != nil {
			c.visit(ofLayers, object{Dict: entries, ref: pdffile.Reference(config)})
		}
	}
	c.outline(c.Entry(c.catalog["/Outlines"])["/First"])
	for _, ref := range c.References() {
		c.syntax(ref)
	}
	c.values(c.Trailer("/Info"), object{})
	for _, file := range c.files {
		c.visit(ofFileSpec, file)
	}
}

const (
	// maxDepth is the maximum depth of trees.
	maxDepth = 512
	// maxPages is the maximum number of pages that are checked.
	maxPages = 50_000
	// maxElements is the maximum number of elements that are checked.
	maxElements = 1 << 20
)

// findPages finds the pages, in order, with the entries that they inherit.
func (c *checker) findPages() {
	var add func(v any, above pdffile.Dict, depth int)
	add = func(v any, above pdffile.Dict, depth int) {
		ref := pdffile.Reference(v)
		if !c.first("page ", ref) {
			return
		}
		if depth > maxDepth || len(c.pages) >= maxPages {
			c.unread = true
			return
		}
		node := c.Entry(v)
		if node == nil {
			return
		}
		for _, key := range []string{"/Resources", "/MediaBox", "/CropBox"} {
			if node[key] == nil && above[key] != nil {
				node[key] = above[key]
				if key == "/Resources" {
					node["inherited"] = true
				}
			}
		}
		if node["/Kids"] == nil {
			c.pages = append(c.pages, object{Dict: node, ref: ref, page: len(c.pages) + 1})
			c.numbers[ref] = len(c.pages)
			return
		}
		for _, kid := range c.list(node["/Kids"]) {
			add(kid, node, depth+1)
		}
	}
	add(c.catalog["/Pages"], pdffile.Dict{}, 0)
}

func (c *checker) page(p object) {
	c.visit(ofPage, p)
	c.actions(p.Dict["/AA"], p.page)
	c.group(p.Dict["/Group"], p.page)
	content := &content{
		checker: c, page: p.page, resources: c.Entry(p.Dict["/Resources"]), inherited: p.Dict["inherited"] == true,
		ref: p.ref,
	}
	content.space(c.Entry(p.Dict["/Group"])["/CS"], p, 0)
	content.readAll(p.Dict["/Contents"])
	for _, item := range c.list(p.Dict["/Annots"]) {
		ref := pdffile.Reference(item)
		if !c.first("annotation ", ref) {
			continue
		}
		entries := c.Entry(item)
		if entries == nil {
			continue
		}
		a := object{Dict: entries, ref: ref, page: p.page, element: c.owners[ref]}
		c.visit(ofAnnotation, a)
		c.action(entries["/A"], p.page)
		c.actions(entries["/AA"], p.page)
		c.appearances(entries["/AP"], p.page)
	}
}

// appearances checks what annotations draw.
func (c *checker) appearances(v any, page int) {
	for _, look := range c.Entry(v) {
		looks := []any{look}
		if _, _, isStream := c.stream(look); !isStream {
			looks = nil
			for _, state := range c.Entry(look) {
				looks = append(looks, state)
			}
		}
		for _, l := range looks {
			// An annotation's content belongs to its element.
			(&content{checker: c, page: page, within: true}).form(l)
		}
	}
}

// stream returns a stream that a value refers to.
func (c *checker) stream(v any) (s pdffile.Stream, ref string, ok bool) {
	ref = pdffile.Reference(v)
	if ref == "" {
		return s, "", false
	}
	s, ok = c.Stream(ref)
	return s, ref, ok
}

func (c *checker) actions(v any, page int) {
	for _, a := range c.Entry(v) {
		c.action(a, page)
	}
}

// scripts checks the actions of a name tree.
func (c *checker) scripts(v any, depth int) {
	if depth > maxDepth || !c.first("scripts ", pdffile.Reference(v)) {
		return
	}

	node := c.Entry(v)
	for i, item := range c.list(node["/Names"]) {
		if i%2 == 1 {
			c.action(item, 0)
		}
	}
	for _, kid := range c.list(node["/Kids"]) {
		c.scripts(kid, depth+1)
	}
}

// action checks an action and those that follow it.
func (c *checker) action(v any, page int) {
	for next := []any{v}; len(next) > 0 && len(next) < maxElements; {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		ref := pdffile.Reference(v)
		if !c.first("action ", ref) {
			continue
		}
		entries := c.Entry(v)
		if entries == nil {
			continue
		}
		c.visit(ofAction, object{Dict: entries, ref: ref, page: page})
		if list := c.list(entries["/Next"]); list != nil {
			next = append(next, list...)
		} else if entries["/Next"] != nil {
			next = append(next, entries["/Next"])
		}
	}
}

func (c *checker) fields(v any, depth int) {
	if depth > maxDepth {
		return
	}
	for _, item := range c.list(v) {
		ref := pdffile.Reference(item)
		if !c.first("field ", ref) {
			continue
		}
		entries := c.Entry(item)
		if entries == nil {
			continue
		}
		c.visit(ofField, object{Dict: entries, ref: ref})
		c.actions(entries["/AA"], 0)
		c.fields(entries["/Kids"], depth+1)
	}
}

func (c *checker) outline(v any) {
	for next := []any{v}; len(next) > 0; {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		ref := pdffile.Reference(v)
		if ref == "" || !c.first("outline ", ref) {
			continue
		}
		entries := c.Entry(v)
		if entries == nil {
			continue
		}
		c.visit(ofOutline, object{Dict: entries, ref: ref})
		c.action(entries["/A"], 0)
		next = append(next, entries["/Next"], entries["/First"])
	}
}

func (c *checker) group(v any, page int) {
	if entries := c.Entry(v); entries != nil {
		c.visit(ofGroup, object{Dict: entries, ref: pdffile.Reference(v), page: page})
	}
}

// syntax checks one object of the file.
func (c *checker) syntax(ref string) {
	value, body, err := c.Object(ref)
	if err != nil {
		c.unread = true
		return
	}
	entries, _ := value.(pdffile.Dict)
	if body > 0 && entries["/Type"] != "/XRef" && entries["/Type"] != "/ObjStm" {
		if _, ok := c.Stream(ref); !ok && !c.src.Copied {
			c.visit(ofWrongLength, object{ref: ref})
		}
		c.visit(ofStream, object{Dict: entries, ref: ref})
	}
	c.values(value, object{ref: ref})
}

// values checks a value of an object or of content, and those in it.
func (c *checker) values(v any, o object) {
	const maxName, maxString, maxList, maxEntries = 127, 32767, 8191, 4095
	switch v := v.(type) {
	case float64:
		c.size(v, v == math.Trunc(v), o)
	case pdffile.Number:
		if n, err := strconv.ParseFloat(string(v), 64); err == nil {
			c.size(n, !strings.Contains(string(v), "."), o)
		}
	case string:
		switch {
		case strings.HasPrefix(v, "/") && len(v) > maxName+1:
			c.visit(ofLongName, o)
		case strings.HasPrefix(v, "b:") && len(v)/2-1 > maxString:
			o.Dict = pdffile.Dict{"length": float64(len(v)/2 - 1)}
			c.visit(ofLongString, o)
		}
	case []any:
		if len(v) > maxList {
			c.visit(ofLongArray, o)
		}
		for _, item := range v {
			c.values(item, o)
		}
	case pdffile.Dict:
		if len(v) > maxEntries {
			c.visit(ofLongDict, o)
		}
		if v["/EF"] != nil {
			c.files = append(c.files, object{Dict: v, ref: o.ref})
		}
		for _, file := range c.list(v["/AF"]) {
			c.related[pdffile.Reference(file)] = true
		}
		for _, item := range v {
			c.values(item, o)
		}
	}
}

// size checks how large a number is.
func (c *checker) size(n float64, whole bool, o object) {
	if whole && (n > math.MaxInt32 || n < math.MinInt32) {
		c.visit(ofLargeInteger, o)
	} else if !whole && math.Abs(n) > math.MaxInt16 {
		c.visit(ofLargeReal, o)
	}
}
