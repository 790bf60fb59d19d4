package pdfcheck

import (
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// content checks the operators of a page, a form, a pattern, or a glyph.
type content struct {
	*checker

	page      int
	ref       string
	resources pdffile.Dict
	inherited bool // the resources are those of an ancestor
	within    bool // what draws it is tagged, or an artifact
	artifact  bool // what draws it is an artifact
	depth     int  // of forms
	marks     []mark
	states    []state
	kinds     map[string]pdffile.Dict // of the resources
	state     state
}

// mark reports whether content is tagged or an artifact, by its own marked content or an enclosing one.
type mark struct{ artifact, tagged bool }

// state is the part of the graphics state that matters.
type state struct {
	font      any
	invisible bool
	fill      ink
	stroke    ink
	overprint bool // the overprint mode is not 0
}

// ink is a color of the graphics state.
type ink struct {
	cmyk       bool // its space is an ICC-based one of CMYK
	overprints bool
}

const (
	// maxContent is the maximum size of all content that is checked, in bytes.
	maxContent = 256 << 20
	// maxSpaces is the maximum depth of color spaces in color spaces.
	maxSpaces = 4
	// maxForms is the maximum depth of forms in forms.
	maxForms = 24
	// maxStates is the maximum depth of graphics states that conforming files have.
	maxStates = 28
)

// readAll reads the content of a page: a stream, or several, which are one content.
func (c *content) readAll(v any) {
	list := c.list(v)
	if list == nil {
		list = []any{v}
	}

	var all []byte
	for _, item := range list {
		s, _, ok := c.stream(item)
		if !ok && c.Target(item) == nil {
			continue
		}
		text, readable := c.plain(s)
		if !ok || !readable { // marks may begin in one part and end in another
			c.unread = true
			return
		}
		all = append(append(all, text...), '\n')
	}

	c.operators(all)
}

// plain returns the content of a stream. It returns false if that cannot be read, or exceeds a limit.
func (c *checker) plain(s pdffile.Stream) ([]byte, bool) {
	if c.read > maxContent {
		c.unread = true
		return nil, false
	}

	entries := pdffile.Dict{}
	for _, key := range []string{"/Filter", "/DecodeParms"} {
		if v := c.get(s.Entries, key); v != nil {
			entries[key] = v
		}
	}

	text, err := c.Plain(pdffile.Stream{Entries: entries, Content: s.Content})
	if c.read += len(text); err != nil || c.read > maxContent {
		c.unread = true
		return nil, false
	}
	return text, true
}

// form checks a form, a pattern or a glyph, and what it draws.
func (c *content) form(v any) {
	s, ref, ok := c.stream(v)
	if !ok {
		return
	}

	key := "content "
	if c.within {
		key = "content within "
	}
	if c.artifact {
		key = "content of artifact "
	}

	if c.depth > maxForms {
		c.unread = true
		return
	}
	if !c.first(key, ref) {
		return
	}

	if c.first("form ", ref) {
		c.visit(ofForm, object{Dict: s.Entries, ref: ref, page: c.page})
		c.group(s.Entries["/Group"], c.page)
	}
	inner := &content{
		checker: c.checker, page: c.page, ref: ref, resources: c.Entry(s.Entries["/Resources"]), within: c.within,
		artifact: c.artifact, depth: c.depth + 1,
	}
	if inner.resources == nil {
		inner.resources = c.resources
		inner.inherited = true
	}
	inner.space(c.Entry(s.Entries["/Group"])["/CS"], object{ref: ref, page: c.page}, 0)
	inner.run(s)
}

// run checks the operators of a stream.
func (c *content) run(s pdffile.Stream) {
	if text, ok := c.plain(s); ok {
		c.operators(text)
	}
}

// operands by operator: the operators that PDF defines.
const known = ` b B b* B* BDC BI BMC BT BX c cm CS cs d d0 d1 Do DP EI EMC ET EX f F f* G g gs h i ID j J K k l m M MP n q Q re RG rg ri s S SC sc SCN scn sh T* Tc Td TD Tf Tj TJ TL Tm Tr Ts Tw Tz v w W W* y ' " `

// painting are the operators that draw, other than text and objects.
const painting = " b B b* B* f F f* s S sh BI "

func (c *content) operators(text []byte) {
	pdffile.ReadContent(text, func(op pdffile.Operation) {
		if op.Operator == "" {
			return
		}

		o := object{ref: c.ref, page: c.page}
		for _, v := range op.Operands {
			c.values(v, o)
		}
		if !strings.Contains(known, " "+op.Operator+" ") {
			c.visit(ofUnknownOperator, o)
			return
		}
		if strings.Contains(painting, " "+op.Operator+" ") {
			c.drawn()
			c.printed(op.Operator, o)
		}

		var last any
		if n := len(op.Operands); n > 0 {
			last = op.Operands[n-1]
		}
		c.operator(op, last, o)
	})
}

func (c *content) operator(op pdffile.Operation, last any, o object) {
	switch op.Operator {
	case "q":
		if c.states = append(c.states, c.state); len(c.states) == maxStates+1 {
			c.visit(ofDeepState, o)
		}
	case "Q":
		if n := len(c.states); n > 0 {
			c.state = c.states[n-1]
			c.states = c.states[:n-1]
		}
	case "Tf":
		if len(op.Operands) == 2 {
			c.state.font = c.resource("/Font", op.Operands[0])
		}
	case "Tr":
		c.state.invisible = last == pdffile.Number("3")
	case "Tj", "TJ", "'", `"`:
		c.show(last)
		c.printed("f", o)
	case "gs":
		c.useState(c.resource("/ExtGState", last))
	case "Do":
		c.draw(c.resource("/XObject", last))
	case "ri":
		if !knownIntent(last) {
			c.visit(ofUnknownIntent, o)
		}
	case "BI":
		c.inline(last, o)
	case "BMC", "BDC":
		c.begin(op, o)
	case "EMC":
		if n := len(c.marks); n > 0 {
			c.marks = c.marks[:n-1]
		}
	case "scn", "SCN":
		c.pattern(last)
	default:
		c.color(op.Operator, last, o)
	}
}

func knownIntent(v any) bool {
	return slices.Contains([]any{"/RelativeColorimetric", "/AbsoluteColorimetric", "/Perceptual", "/Saturation"}, v)
}

// resource returns what a name means in the content.
func (c *content) resource(kind string, name any) any {
	key, _ := name.(string)
	v := c.kind(kind)[key]
	if v != nil && c.inherited && c.first("inherited ", c.ref) {
		c.visit(ofInherited, object{ref: c.ref, page: c.page})
	}
	return v
}

// kind returns the resources of a kind.
func (c *content) kind(kind string) pdffile.Dict {
	all, known := c.kinds[kind]
	if !known {
		if c.kinds == nil {
			c.kinds = map[string]pdffile.Dict{}
		}
		all = c.Entry(c.resources[kind])
		c.kinds[kind] = all
	}
	return all
}

// color checks the use of colors that depend on a device.
func (c *content) color(operator string, last any, o object) {
	used := &c.state.fill
	if strings.ToUpper(operator) == operator {
		used = &c.state.stroke
	}

	switch operator {
	case "rg", "RG":
		last = "/DeviceRGB"
	case "k", "K":
		last = "/DeviceCMYK"
	case "g", "G":
		last = "/DeviceGray"
	case "cs", "CS":
		if name, _ := last.(string); !strings.HasPrefix(name, "/Device") && name != "/Pattern" {
			last = c.resource("/ColorSpace", last)
		}
	case "sh":
		c.space(c.Entry(c.resource("/Shading", last))["/ColorSpace"], o, 0)
		return
	default:
		return
	}

	c.space(last, o, 0)
	space := c.list(last)
	used.cmyk = len(space) == 2 && space[0] == "/ICCBased" && c.get(c.Entry(space[1]), "/N") == 4.
}

// printed checks the overprint mode of a drawing.
func (c *content) printed(operator string, o object) {
	const strokes, fills = " S s b b* B B* ", " f F f* b b* B B* "
	wrong := func(used ink, operators string) bool {
		return used.cmyk && used.overprints && strings.Contains(operators, " "+operator+" ")
	}

	if c.state.overprint && (wrong(c.state.fill, fills) || wrong(c.state.stroke, strokes)) {
		c.visit(ofOverprint, o)
	}
}

// space checks a color space.
func (c *content) space(v any, o object, depth int) {
	spaces := c.kind("/ColorSpace")
	switch v := c.Target(v).(type) {
	case string:
		switch {
		case v == "/DeviceRGB" && spaces["/DefaultRGB"] == nil:
			c.visit(ofRGB, o)
		case v == "/DeviceCMYK" && spaces["/DefaultCMYK"] == nil:
			c.visit(ofCMYK, o)
		case v == "/DeviceGray" && spaces["/DefaultGray"] == nil:
			c.visit(ofGray, o)
		}
	case []any:
		if len(v) < 2 || depth > maxSpaces {
			return
		}
		switch c.Target(v[0]) {
		case "/Indexed", "/Pattern":
			c.space(v[1], o, depth+1)
		case "/Separation", "/DeviceN":
			if len(v) > 2 {
				c.space(v[2], o, depth+1)
			}
		case "/ICCBased":
			c.iccSpace(v[1], o)
		}
	}
}

// iccSpace checks the profile of a color space.
func (c *content) iccSpace(v any, o object) {
	s, ref, ok := c.stream(v)
	if !ok || !c.first("profile ", ref) {
		return
	}

	if p, ok := c.readProfile(s); ok {
		c.visit(ofProfile, object{Dict: s.Entries, ref: ref, page: o.page, icc: p})
	}
}

// begin begins a part of content.
func (c *content) begin(op pdffile.Operation, o object) {
	var m mark
	if len(op.Operands) > 0 {
		m.artifact = op.Operands[0] == "/Artifact"
	}

	if len(op.Operands) > 1 {
		properties, _ := op.Operands[1].(pdffile.Dict)
		if _, named := op.Operands[1].(string); named {
			properties = c.Entry(c.resource("/Properties", op.Operands[1]))
		}
		m.tagged = properties["/MCID"] != nil && !m.artifact
		c.tagged = c.tagged || properties["/Lang"] != nil
	}

	outer := c.mark()
	switch {
	case m.artifact && outer.tagged:
		c.visit(ofArtifactInTag, o)
	case m.tagged && outer.artifact:
		c.visit(ofTagInArtifact, o)
	}

	c.marks = append(c.marks, mark{artifact: m.artifact || outer.artifact, tagged: m.tagged || outer.tagged})
}

// mark returns the innermost part that is open.
func (c *content) mark() mark {
	if len(c.marks) == 0 {
		return mark{}
	}
	return c.marks[len(c.marks)-1]
}

// marked reports whether content is tagged or an artifact.
func (c *content) marked() bool { return c.within || c.mark() != mark{} }

// drawn checks that a drawing is marked.
func (c *content) drawn() {
	if !c.marked() && c.first("unmarked ", c.ref) {
		c.visit(ofUnmarked, object{ref: c.ref, page: c.page})
	}
}

// show checks the font of text.
func (c *content) show(last any) {
	filled := func(v any) bool {
		text, ok := v.(string)
		return ok && strings.TrimPrefix(text, "b:") != ""
	}

	if !filled(last) && !slices.ContainsFunc(c.list(last), filled) {
		return
	}

	c.drawn()
	c.text = true
	ref := pdffile.Reference(c.state.font)
	key := "font "
	if c.state.invisible {
		key = "hidden font "
	}
	if !c.first(key, ref) {
		return
	}

	if entries := c.Entry(c.state.font); entries != nil {
		c.font(object{Dict: entries, ref: ref, page: c.page, shown: !c.state.invisible})
	}
}

func (c *content) font(o object) {
	if !o.shown && c.seen["font "+o.ref] {
		return
	}

	c.visit(ofFont, o)
	switch c.name(o.Dict, "/Subtype") {
	case "Type0":
		for _, item := range c.list(o.Dict["/DescendantFonts"]) {
			if entries := c.Entry(item); entries != nil {
				c.visit(ofFont, object{Dict: entries, ref: pdffile.Reference(item), page: o.page, shown: o.shown})
			}
		}
	case "Type3":
		glyphs := &content{
			checker: c.checker, page: c.page, ref: o.ref, resources: c.resources, within: true, depth: c.depth + 1,
		}
		if own := c.Entry(o.Dict["/Resources"]); own != nil {
			glyphs.resources = own
		}
		for _, glyph := range c.Entry(o.Dict["/CharProcs"]) {
			s, ref, ok := c.stream(glyph)
			if ok && c.depth < maxForms && c.first("glyph ", ref) {
				glyphs.run(s)
			}
		}
	}
}

func (c *content) useState(v any) {
	entries := c.Entry(v)
	if entries == nil {
		return
	}

	if font := c.list(entries["/Font"]); len(font) > 0 {
		c.state.font = font[0]
	}
	c.useOverprint(entries)

	ref := pdffile.Reference(v)
	if !c.first("state ", ref) {
		return
	}
	c.visit(ofState, object{Dict: entries, ref: ref, page: c.page})
	if mask := c.Entry(entries["/SMask"]); mask != nil {
		c.inside(true).form(mask["/G"])
	}
}

// useOverprint sets how colors are overprinted. OP is also about areas, unless there is op.
func (c *content) useOverprint(entries pdffile.Dict) {
	stroke, isStroke := c.get(entries, "/OP").(bool)
	fill, isFill := c.get(entries, "/op").(bool)
	if isStroke {
		c.state.stroke.overprints = stroke
		c.state.fill.overprints = stroke
	}
	if isFill {
		c.state.fill.overprints = fill
	}

	if mode, ok := c.number(entries, "/OPM"); ok {
		c.state.overprint = mode != 0
	}
}

// inside returns the content as that of something that it draws.
func (c *content) inside(within bool) *content {
	return &content{
		checker: c.checker, page: c.page, resources: c.resources, depth: c.depth, within: within,
		artifact: c.artifact || c.mark().artifact,
	}
}

// draw checks an image or a form.
func (c *content) draw(v any) {
	s, ref, ok := c.stream(v)
	if !ok {
		return
	}

	switch c.name(s.Entries, "/Subtype") {
	case "Form":
		c.inside(c.marked()).form(v)
	case "Image":
		c.drawn()
		if !c.first("image ", ref) {
			return
		}
		o := object{Dict: s.Entries, ref: ref, page: c.page}
		c.image(s, o)
		c.space(s.Entries["/ColorSpace"], o, 0)
		if mask, maskRef, ok := c.stream(s.Entries["/SMask"]); ok && c.first("image ", maskRef) {
			c.image(mask, object{Dict: mask.Entries, ref: maskRef, page: c.page})
		}
	default: // PostScript
		c.visit(ofForm, object{Dict: s.Entries, ref: ref, page: c.page})
	}
}

func (c *content) image(s pdffile.Stream, o object) {
	c.visit(ofImage, o)
	if slices.Equal(c.filters(s.Entries), []string{"JPXDecode"}) {
		o.jpx = readJPEG2000(s.Content)
		c.visit(ofJPEG2000, o)
	}
}

func (c *content) pattern(name any) {
	if text, _ := name.(string); !strings.HasPrefix(text, "/") {
		return
	}
	v := c.resource("/Pattern", name)
	entries := c.Entry(v)
	c.space(c.Entry(entries["/Shading"])["/ColorSpace"], object{ref: pdffile.Reference(v), page: c.page}, 0)
	if entries["/ExtGState"] != nil {
		outer := c.state
		c.useState(entries["/ExtGState"])
		c.state = outer
	}
	if s, ref, ok := c.stream(v); ok && c.depth < maxForms && c.first("pattern ", ref) {
		inner := &content{
			checker: c.checker, page: c.page, ref: ref, resources: c.Entry(s.Entries["/Resources"]), within: true,
			depth: c.depth + 1,
		}
		inner.run(s)
	}
}

// inline checks an image in the content.
func (c *content) inline(v any, o object) {
	entries, _ := v.(pdffile.Dict)
	filters := c.list(entries["/F"])
	if filters == nil {
		filters = c.list(entries["/Filter"])
	}

	for _, filter := range append(slices.Clone(filters), entries["/F"], entries["/Filter"]) {
		name, _ := filter.(string)
		switch name {
		case "/LZW", "/LZWDecode":
			c.visit(ofInlineLZW, o)
			c.visit(ofInlineFilter, o)
		case "/Crypt":
			c.visit(ofInlineFilter, o)
		}
	}

	if entries["/I"] == true || entries["/Interpolate"] == true {
		c.visit(ofInterpolated, o)
	}

	space, _ := entries["/CS"].(string)
	if long, ok := entries["/ColorSpace"].(string); ok {
		space = long
	}
	switch space {
	case "/RGB", "/DeviceRGB":
		c.space("/DeviceRGB", o, 0)
	case "/CMYK", "/DeviceCMYK":
		c.space("/DeviceCMYK", o, 0)
	case "/G", "/DeviceGray":
		c.space("/DeviceGray", o, 0)
	}
}
