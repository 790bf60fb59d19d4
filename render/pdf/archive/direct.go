package archive

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// direct makes a document PDF/A without drawing it again, if it lacks only what describes it: its metadata, the output
// intent and flags of links. All else stays, among it the structure for screen readers. False means that it cannot.
func (a *archiver) direct() (bool, error) {
	f, err := a.ReadSelf()
	if err != nil || !f.Sound() || a.args.Level == Level1B {
		return false, nil //nolint:nilerr // Ghostscript reads more
	}

	made, ok := a.describe(f)
	if !ok {
		return false, nil
	}
	if violations, err := Check(made, a.args.Level); err != nil || len(violations) > 0 {
		return false, nil //nolint:nilerr // as above
	}

	if err := os.WriteFile(a.Work.Path(job.Output), made, 0o600); err != nil {
		return false, fmt.Errorf("result: %w", err)
	}
	a.Work.Output(job.Output)
	return true, nil
}

// describe returns the document with what PDF/A demands of its description. False means that its content is not known
// to be PDF/A.
func (a *archiver) describe(f *pdffile.File) ([]byte, bool) {
	catalog := f.Catalog()
	source := map[string]string{}
	for key, v := range f.Entry(f.Trailer("/Info")) {
		source[strings.TrimPrefix(key, "/")] = pdffile.Text(f.Target(v))
	}

	var metadata []byte
	if ref := pdffile.Reference(catalog["/Metadata"]); ref != "" {
		stream, _ := f.Stream(ref)
		metadata, _ = f.Plain(stream)
	}
	a.about, a.lost = readArchiveMetadata(source, metadata)
	a.about.override(a.args)

	now := time.Now().UTC()
	u := f.NewUpdate()
	c := &keepCheck{File: f, update: u, level: a.args.Level, tagged: catalog["/StructTreeRoot"] != nil, seen: map[string]bool{}, fonts: map[string]*keptFont{}}
	if !c.document() {
		return nil, false
	}

	add := func(v any) string {
		ref := u.Reserve()
		u.Set(ref, v)
		return ref
	}

	xmp := pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}
	catalog = pdffile.Without(catalog, "/Version", "/Extensions")
	catalog["/Metadata"] = add(pdffile.Stream{Entries: xmp, Content: []byte(a.about.xmp(a.args.Level, now))})
	if catalog["/OutputIntents"] == nil {
		profile := add(pdffile.Deflated(pdffile.Dict{"/N": 3}, pdftag.Profile()))
		catalog["/OutputIntents"] = []any{pdffile.Dict{
			"/Type": "/OutputIntent", "/S": "/GTS_PDFA1", "/OutputConditionIdentifier": "u:sRGB", "/Info": "u:sRGB", "/DestOutputProfile": profile,
		}}
	}
	u.Set(f.Root(), catalog)

	info := pdffile.Dict{}
	for key, text := range a.about.info(now) {
		if text != "" {
			info["/"+key] = "u:" + text
		}
	}
	u.SetInfo(info)

	made, err := u.Compact()
	return made, err == nil
}

// keepCheck looks whether a document may stay as it is. It knows the constructs of PDF that browsers write; a document
// with any other is drawn again. The rules of PDF/A are checked afterwards, except those about glyphs, which pdfcheck
// cannot judge: they are checked here, for the two kinds of fonts that browsers write.
type keepCheck struct {
	*pdffile.File

	update *pdffile.Update
	level  Level
	tagged bool
	seen   map[string]bool
	fonts  map[string]*keptFont
	read   int // bytes of content
	bad    bool
}

// maxKeptRead is the maximum number of bytes of objects that are read, which many others may refer to, and that of
// content.
const maxKeptRead = 1 << 30

func (c *keepCheck) document() bool {
	c.Bound(maxKeptRead)
	pages, err := c.Pages(job.MaxPages)
	if err != nil {
		return false
	}

	c.seen[c.Root()] = true
	c.walk("", pdffile.Without(c.Catalog(), "/Metadata"), 0)
	for _, page := range pages {
		resources := c.Entry(page.Entries["/Resources"])
		c.must(page.Entries["/MediaBox"] != nil)

		notes, _ := c.Target(page.Entries["/Annots"]).([]any)
		for _, note := range notes {
			c.link(pdffile.Reference(note))
		}

		var text []byte
		for _, part := range job.ContentParts(page.Entries["/Contents"], c.Target(page.Entries["/Contents"])) {
			text = append(append(text, c.plain(part)...), '\n')
		}
		c.content(text, resources)
		if ref := pdffile.Reference(page.Entries["/Resources"]); ref == "" || !c.seen["resources "+ref] {
			c.seen["resources "+ref] = true
			c.resources(resources, 0)
		}

		if c.bad {
			return false
		}
	}

	return !c.bad && !c.Exhausted()
}

func (c *keepCheck) must(is bool) { c.bad = c.bad || !is }

// link checks an annotation, which must be a link, and gives it the flag that PDF/A demands.
func (c *keepCheck) link(ref string) {
	entries := c.Dict(ref)
	if c.must(entries["/Subtype"] == "/Link" && entries["/AP"] == nil); c.bad {
		return
	}
	entries = pdffile.Without(entries)
	entries["/F"] = pdffile.FlagPrint
	c.update.Set(ref, entries)
}

// foreign are entries of dictionaries that the rules of PDF/A do not judge, that have to be changed, or that are too
// rare to be known here.
var foreign = strings.Fields(`/AcroForm /OCProperties /OC /Collection /Perms /DSS /Legal /ByteRange /HTO /HT /BG /UCR /Metadata /CIDSet /CharSet
	/UseCMap /Measure /3DD /URLS /IDS /SpiderInfo /WebCapture`)

// families are colour spaces other than those of screens.
var families = strings.Fields("/Separation /DeviceN /Lab /CalRGB /CalGray")

// walk looks at all objects that can be reached.
func (c *keepCheck) walk(ref string, v any, depth int) {
	const deepest = 2000
	if c.must(depth < deepest); c.bad {
		return
	}

	if ref != "" {
		if c.seen[ref] {
			return
		}
		c.seen[ref] = true

		value, body, err := c.Object(ref)
		c.must(err == nil)
		if entries, ok := value.(pdffile.Dict); ok && body > 0 {
			c.stream(entries)
		}
		v = value
	}

	switch v := v.(type) {
	case string:
		c.must(!strings.HasPrefix(v, "/") || utf8.ValidString(v))
		if next := pdffile.Reference(v); next != "" {
			c.walk(next, nil, depth+1)
		}
	case []any:
		if len(v) > 0 {
			name, _ := v[0].(string)
			c.must(!slices.Contains(families, name))
		}
		for _, item := range v {
			c.walk("", item, depth+1)
		}
	case pdffile.Dict:
		c.dict(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.walk("", v[key], depth+1)
		}
	}
}

func (c *keepCheck) dict(v pdffile.Dict) {
	for _, key := range foreign {
		c.must(v[key] == nil)
	}

	if v["/EF"] != nil {
		content := c.Entry(c.Entry(v["/EF"])["/F"])
		c.must(c.level == Level3B && v["/Type"] == "/Filespec" && c.Entry(content["/Params"])["/ModDate"] != nil)
	}
}

// stream checks the filters of a stream, and what an image is.
func (c *keepCheck) stream(entries pdffile.Dict) {
	kind := c.Target(entries["/Subtype"])
	jpeg := false
	for _, name := range job.Filters(pdffile.Dict{"/Filter": c.Target(entries["/Filter"])}) {
		jpeg = jpeg || name == "/DCTDecode"
		c.must(name == "" || name == "/FlateDecode" || name == "/DCTDecode" && kind == "/Image")
	}
	space := c.Target(entries["/ColorSpace"])
	c.must(!jpeg || space == "/DeviceRGB" || space == "/DeviceGray")
}

// plain returns the content of a stream.
func (c *keepCheck) plain(v any) []byte {
	stream, ok := c.Stream(pdffile.Reference(v))
	text, err := c.Plain(stream)
	c.read += len(text)
	c.must(ok && err == nil && c.read < maxKeptRead)
	return text
}

// resources looks at the content that resources hold, each once.
func (c *keepCheck) resources(v pdffile.Dict, depth int) {
	const deepest = 50
	if c.must(depth < deepest); c.bad {
		return
	}

	for _, key := range []string{"/XObject", "/Pattern"} {
		for _, item := range c.Entry(v[key]) {
			c.form(item, depth)
		}
	}

	for _, state := range c.Entry(v["/ExtGState"]) {
		entries := c.Entry(state)
		c.must(entries["/Font"] == nil)
		if mask := c.Entry(entries["/SMask"]); mask != nil {
			c.form(mask["/G"], depth)
		}
	}

	for _, font := range c.Entry(v["/Font"]) {
		if known := c.font(font); known != nil && known.glyphs != nil && !c.seen["glyphs "+known.name] {
			c.seen["glyphs "+known.name] = true
			for _, glyph := range known.glyphs {
				c.content(c.plain(glyph), known.resources)
			}
			c.resources(known.resources, depth+1)
		}
	}
}

// form looks at a form XObject or a pattern that has content.
func (c *keepCheck) form(v any, depth int) {
	ref := pdffile.Reference(v)
	if c.seen["content "+ref] {
		return
	}
	c.seen["content "+ref] = true

	entries := c.Entry(v)
	if entries["/Subtype"] == "/Image" || entries["/PatternType"] == 2. {
		return
	}

	resources := c.Entry(entries["/Resources"])
	c.content(c.plain(v), resources)
	c.resources(resources, depth+1)
}

// content looks at the operators of content: whether states are closed, and fonts have the glyphs that are shown.
func (c *keepCheck) content(text []byte, resources pdffile.Dict) {
	fonts := c.Entry(resources["/Font"])
	depth := 0
	var font *keptFont

	pdffile.ReadContent(text, func(op pdffile.Operation) {
		switch op.Operator {
		case "q":
			depth++
		case "Q":
			depth--
			c.must(depth >= 0)
		case "BI", "":
			c.must(false)
		case "Tf":
			font = nil
			if len(op.Operands) == 2 {
				name, _ := op.Operands[0].(string)
				font = c.font(fonts[name])
			}
		case "BDC":
			// Drawing a document again gives fonts the meanings of glyphs whose text is stored apart from them. It is
			// worth that only where no structure is lost.
			c.must(c.tagged || !slices.ContainsFunc(op.Operands, hasActualText))
		case "Tj", "TJ", "'", "\"":
			c.shown(font, op.Operands)
		}
	})

	c.must(depth == 0)
}

// hasActualText reports whether the properties of marked content replace its text.
func hasActualText(operand any) bool {
	properties, ok := operand.(pdffile.Dict)
	return ok && properties["/ActualText"] != nil
}

// shown checks the strings that a font shows.
func (c *keepCheck) shown(font *keptFont, operands []any) {
	for _, v := range operands {
		switch v := v.(type) {
		case []any:
			c.shown(font, v)
		case string:
			digits, is := strings.CutPrefix(v, "b:")
			c.must(is && font != nil && font.shows(digits))
		}
	}
}
