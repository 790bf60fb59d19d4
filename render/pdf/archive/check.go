package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// archiveCheck looks at all of a document by the rules of PDF/A.
type archiveCheck struct {
	*pdffile.File

	level  Level
	seen   map[string]bool
	faults []string
	read   int // bytes of content
}

// Check returns the reasons why a document is not PDF/A, in words that continue "the
// document". The rules are those of ISO 19005 that concern a file's objects and the
// operators on its pages. The contents of fonts are not checked.
func Check(f *pdffile.File, level Level) []string {
	c := &archiveCheck{File: f, level: level, seen: map[string]bool{}}
	c.trailer()
	c.catalog()
	c.describes()
	c.intent()
	c.pages()
	c.walk(f.Root(), nil, 0)
	if info := f.Trailer("/Info"); info != nil {
		c.walk("", info, 0)
	}
	slices.Sort(c.faults)
	return slices.Compact(c.faults)
}

// CheckArgs are the arguments of a CheckJob, which fails unless a document is
// PDF/A of that level. It has no output.
type CheckArgs struct {
	Input job.Input
	Level Level
}

// CheckJob fails unless a document conforms to a level of PDF/A.
var CheckJob = job.Define("pdf.pdfa.check", engine.ReadTime, checkLevel)

func checkLevel(ctx context.Context, w *engine.Work, args CheckArgs) (struct{}, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, mustBeArchive(ctx, doc, args.Level)
}

// mustBeArchive fails unless the document is PDF/A.
func mustBeArchive(ctx context.Context, d *job.Document, level Level) error {
	f, err := d.ReadSelf()
	if err != nil {
		return d.Fail(job.Damaged, err)
	}
	faults := Check(f, level)

	if level != Level1B { // which has no such rule
		pages, err := job.RunScript[[]int](ctx, d, "glyphs.js", []byte(archiveGlyphsScript), archiveInput{Input: d.Name})
		// Without MuPDF, as in the core image, only LibreOffice makes PDF/A.
		if err != nil && !errors.Is(err, engine.ErrNoProgram) {
			return err
		}
		if len(pages) > 0 {
			faults = slices.Insert(faults, 0, "has text without a glyph in its font (.notdef) on page "+job.RangeText(pages))
		}
	}

	if len(faults) > 0 {
		return &job.Error{Kind: job.NoArchive, Text: "cannot be converted to PDF/A-" + string(level) + ": the result " + shortFaults(faults)}
	}
	return nil
}

// maxFaults bounds the list of faults, which is read by people.
const maxFaults = 100

// unless faults the document where something is not as it should be.
func (c *archiveCheck) unless(right bool, format string, args ...any) {
	if !right && len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

func (c *archiveCheck) trailer() {
	id, _ := c.Target(c.Trailer("/ID")).([]any)
	c.unless(len(id) == 2, "has no /ID in its trailer")
	c.unless(c.Trailer("/Encrypt") == nil, "is encrypted")
}

func (c *archiveCheck) catalog() {
	catalog := c.Catalog()
	names := c.Entry(catalog["/Names"])
	c.unless(names["/JavaScript"] == nil, "has scripts")
	c.unless(c.level == Level3B || names["/EmbeddedFiles"] == nil, "has attached files")
	c.unless(catalog["/AA"] == nil, "has actions that its events start")
	c.unless(catalog["/Requirements"] == nil, "has requirements of its reader")
	form := c.Entry(catalog["/AcroForm"])
	c.unless(form["/XFA"] == nil, "has a form in XFA")
	c.unless(form["/NeedAppearances"] != true, "leaves the drawing of its fields to the reader")
	c.unless(c.level != Level1B || catalog["/OCProperties"] == nil, "has layers")
	c.action(catalog["/OpenAction"])
}

// describes checks that the XMP exists, names the level, and agrees with the document's information.
func (c *archiveCheck) describes() {
	stream, ok := c.Stream(pdffile.Reference(c.Catalog()["/Metadata"]))
	if !ok {
		c.unless(false, "has no XMP")
		return
	}
	c.unless(stream.Entries["/Filter"] == nil, "has XMP that is filtered")

	x, _ := ReadXMP(stream.Content)
	conforms := x[XMPPDFA+"conformance"] // A asks for all that B does.
	c.unless(x[XMPPDFA+"part"] == strconv.Itoa(c.level.part()) && (conforms == "B" || conforms == "A"), "has XMP that does not name the level")

	info := c.Entry(c.Trailer("/Info"))
	for key, name := range map[string]string{
		"/Title": XMPDC + "title", "/Author": XMPDC + "creator", "/Subject": XMPDC + "description", "/Keywords": XMPPDF + "Keywords",
		"/Creator": XMPBasic + "CreatorTool", "/Producer": XMPPDF + "Producer",
	} {
		text := pdffile.Text(c.Target(info[key]))
		c.unless(strings.Join(strings.Fields(text), " ") == strings.Join(strings.Fields(x[name]), " "), "has %s in its information and not the same in XMP", key)
	}

	for key, name := range map[string]string{"/CreationDate": XMPBasic + "CreateDate", "/ModDate": XMPBasic + "ModifyDate"} {
		at := job.ParseDate(pdffile.Text(c.Target(info[key])))
		same := x[name] == ""
		if at != nil {
			same = at.Format("2006-01-02T15:04:05Z07:00") == x[name]
		}
		c.unless(same, "has %s in its information and not the same in XMP", key)
	}
}

// intent checks that colours are said to be meant for a profile that is there.
func (c *archiveCheck) intent() {
	list, _ := c.Target(c.Catalog()["/OutputIntents"]).([]any)
	for _, item := range list {
		entries := c.Entry(item)
		if entries["/S"] != "/GTS_PDFA1" {
			continue
		}

		stream, ok := c.Stream(pdffile.Reference(entries["/DestOutputProfile"]))
		content, err := c.plain(stream)
		const signature, space = 36, 16
		if !ok || err != nil || len(content) < 128 || string(content[signature:signature+4]) != "acsp" || int(binary.BigEndian.Uint32(content)) > len(content) {
			break
		}

		c.unless(string(content[space:space+4]) == "RGB " && c.Target(stream.Entries["/N"]) == 3., "has a profile of colours that is not RGB")
		c.unless(entries["/OutputConditionIdentifier"] != nil, "has an output intent without a name")
		return
	}
	c.unless(false, "has no output intent with a profile of colours")
}

func (c *archiveCheck) pages() {
	pages, err := c.Pages(job.MaxInputPages)
	c.unless(err == nil, "has a tree of pages that cannot be read")
	for i, page := range pages {
		c.unless(page.Entries["/AA"] == nil, "has actions that its events start")
		c.content(page.Entries["/Contents"])
		list, _ := c.Target(page.Entries["/Annots"]).([]any)
		for _, item := range list {
			c.annotation(c.Entry(item), i+1)
		}
	}
}

// annotationKinds matches the annotations that every level allows.
var annotationKinds = regexp.MustCompile(`^/(Text|Link|FreeText|Line|Square|Circle|Highlight|Underline|Squiggly|StrikeOut|Stamp|Ink|Popup|Widget|PrinterMark|TrapNet)$`)

// newerKinds matches the additional annotations that later levels allow.
var newerKinds = regexp.MustCompile(`^/(Polygon|PolyLine|Caret|Watermark|Redact|FileAttachment)$`)

func (c *archiveCheck) annotation(a pdffile.Dict, page int) {
	kind, _ := c.Target(a["/Subtype"]).(string)
	known := annotationKinds.MatchString(kind) || c.level != Level1B && newerKinds.MatchString(kind)
	c.unless(known, "has an annotation of the kind %.40q on page %d", kind, page)

	flags, _ := c.Target(a["/F"]).(float64)
	hides := int(flags)&(pdffile.FlagInvisible|pdffile.FlagHidden|pdffile.FlagNoView|pdffile.FlagToggleNoView) != 0
	if kind != "/Popup" {
		c.unless(!hides && int(flags)&pdffile.FlagPrint != 0, "has an annotation on page %d that is hidden, or not printed", page)
	}

	if kind != "/Popup" && kind != "/Link" {
		look := c.Entry(a["/AP"])
		c.unless(look["/N"] != nil, "has an annotation without an appearance on page %d", page)
		c.unless(look["/D"] == nil && look["/R"] == nil, "has an annotation with several appearances on page %d", page)
	}

	opaque, given := c.Target(a["/CA"]).(float64)
	c.unless(c.level != Level1B || !given || opaque == 1, "has an annotation that is transparent on page %d", page)
	c.unless(a["/AA"] == nil, "has actions that its events start")
	c.action(a["/A"])
}

// action checks an action that a reader may start.
func (c *archiveCheck) action(v any) {
	entries := c.Entry(v)
	if entries == nil {
		return
	}
	switch kind := c.Target(entries["/S"]); kind {
	case "/GoTo", "/GoToR", "/URI", "/Thread", "/SubmitForm":
	case "/Named":
		name, _ := c.Target(entries["/N"]).(string)
		c.unless(slices.Contains([]string{"/NextPage", "/PrevPage", "/FirstPage", "/LastPage"}, name), "has an action of the name %.40q", name)
	default:
		c.unless(false, "has an action of the kind %.40v", kind)
	}
}

// walk looks at every object that can be reached. Each has been read by the program
// that wrote it, so that they are not endless.
func (c *archiveCheck) walk(ref string, v any, depth int) {
	if depth > 2000 {
		c.unless(false, "is nested too deep")
		return
	}

	if ref != "" {
		if c.seen[ref] {
			return
		}
		c.seen[ref] = true
		value, body, err := c.Object(ref)
		if err != nil {
			c.unless(false, "has an object that cannot be read")
			return
		}
		if entries, ok := value.(pdffile.Dict); ok && body > 0 {
			c.stream(ref, entries)
		}
		v = value
	}

	switch v := v.(type) {
	case string:
		if next := pdffile.Reference(v); next != "" {
			c.walk(next, nil, depth+1)
		}
		c.unless(v != "/DeviceCMYK", "has colours in CMYK without a profile")
	case []any:
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

// stream checks the entries of streams, and the content of those that draw.
func (c *archiveCheck) stream(ref string, entries pdffile.Dict) {
	for _, name := range job.Filters(pdffile.Dict{"/Filter": c.Target(entries["/Filter"])}) {
		c.unless(name != "/LZWDecode", "has streams that are packed with LZW")
		c.unless(name != "/Crypt", "has streams with a filter for encryption")
		c.unless(c.level != Level1B || name != "/JPXDecode", "has images in JPEG 2000")
	}
	c.unless(entries["/F"] == nil && entries["/FFilter"] == nil && entries["/FDecodeParms"] == nil, "has streams in other files")

	kind := c.Target(entries["/Subtype"])
	switch {
	case kind == "/Image":
		c.unless(entries["/Alternates"] == nil && entries["/OPI"] == nil, "has images with alternatives")
		c.unless(c.Target(entries["/Interpolate"]) != true, "has images that are to be interpolated")
		mask := c.Target(entries["/SMask"])
		c.unless(c.level != Level1B || mask == nil || mask == "/None", "has images that are transparent")
		bits, _ := c.Target(entries["/BitsPerComponent"]).(float64)
		c.unless(c.level != Level1B || bits <= 8, "has images of 16 bits")
		c.jpeg2000(ref, entries)
	case kind == "/PS":
		c.unless(false, "has PostScript on its pages")
	case entries["/BBox"] != nil:
		c.unless(entries["/PS"] == nil && c.Target(entries["/Subtype2"]) != "/PS", "has PostScript on its pages")
		c.unless(entries["/Ref"] == nil && entries["/OPI"] == nil, "has pages of other files")
		c.content(ref)
	}
}

// jpeg2000 checks that an image in JPEG 2000 is a whole JP2 file, of one, three or four channels.
func (c *archiveCheck) jpeg2000(ref string, entries pdffile.Dict) {
	if names := job.Filters(pdffile.Dict{"/Filter": c.Target(entries["/Filter"])}); !slices.Equal(names, []string{"/JPXDecode"}) {
		return
	}
	stream, _ := c.Stream(ref)
	_, header, found := bytes.Cut(stream.Content[:min(len(stream.Content), 4<<10)], []byte("ihdr")) // height, width, channels
	whole := found && len(header) >= 10 && bytes.HasPrefix(stream.Content, []byte("\x00\x00\x00\x0cjP  "))
	c.unless(whole, "has an image in JPEG 2000 without the header of its file")
	if whole {
		channels := binary.BigEndian.Uint16(header[8:])
		c.unless(channels == 1 || channels == 3 || channels == 4, "has an image in JPEG 2000 of %d channels", channels)
	}
}

// dict checks an object by its type.
func (c *archiveCheck) dict(entries pdffile.Dict) {
	c.unless(entries["/JS"] == nil || c.Target(entries["/S"]) != "/JavaScript", "has scripts")
	c.unless(entries["/EF"] == nil || c.level == Level3B, "has attached files")
	if entries["/EF"] != nil && c.level == Level3B {
		c.unless(entries["/AFRelationship"] != nil && entries["/F"] != nil && entries["/UF"] != nil, "has attached files that do not say what they are to it")
		c.unless(c.Entry(c.Entry(entries["/EF"])["/F"])["/Subtype"] != nil, "has attached files of no kind")
	}

	switch c.Target(entries["/Type"]) {
	case "/Font":
		c.font(entries)
	case "/ExtGState":
		c.state(entries)
	}

	if entries["/Title"] != nil && entries["/Parent"] != nil {
		c.action(entries["/A"])
	}
	group := c.Entry(entries["/Group"])
	c.unless(c.level != Level1B || group["/S"] != "/Transparency", "has transparency")
}

func (c *archiveCheck) font(entries pdffile.Dict) {
	name, _ := c.Target(entries["/BaseFont"]).(string)

	switch kind := c.Target(entries["/Subtype"]); kind {
	case "/Type0":
		list, _ := c.Target(entries["/DescendantFonts"]).([]any)
		c.unless(len(list) == 1 && c.Entry(list[0])["/Type"] == "/Font", "has a font without letters: %.60s", name)
	case "/Type3":
		for _, glyph := range c.Entry(entries["/CharProcs"]) {
			c.content(glyph)
		}
	default:
		d := c.Entry(entries["/FontDescriptor"])
		embedded := false
		for _, key := range []string{"/FontFile", "/FontFile2", "/FontFile3"} {
			_, is := c.Stream(pdffile.Reference(d[key]))
			embedded = embedded || is
		}
		c.unless(embedded, "has a font that is not in it: %.60s", strings.TrimPrefix(name, "/"))
	}
}

// blendings matches the allowed blend modes.
var blendings = regexp.MustCompile(`^/(Normal|Compatible|Multiply|Screen|Overlay|Darken|Lighten|ColorDodge|ColorBurn|HardLight|SoftLight|Difference|Exclusion|Hue|Saturation|Color|Luminosity)$`)

// state checks a graphics state.
func (c *archiveCheck) state(entries pdffile.Dict) {
	transfer := c.Target(entries["/TR2"])
	c.unless(entries["/TR"] == nil && (transfer == nil || transfer == "/Default"), "has transfer functions")
	c.unless(entries["/HTP"] == nil, "has origins of halftones")
	mode, _ := c.Target(entries["/OPM"]).(float64)
	c.unless(mode == 0, "has overprinting of the second kind")

	blend := c.Target(entries["/BM"])
	if list, is := blend.([]any); is && len(list) > 0 {
		blend = list[0]
	}
	if name, is := blend.(string); is {
		c.unless(blendings.MatchString(name), "mixes colours in a way that is not known")
	}

	if c.level != Level1B {
		return
	}

	mask := c.Target(entries["/SMask"])
	c.unless(mask == nil || mask == "/None", "has transparency")
	c.unless(blend == nil || blend == "/Normal" || blend == "/Compatible", "has transparency")
	for _, key := range []string{"/CA", "/ca"} {
		opaque, given := c.Target(entries[key]).(float64)
		c.unless(!given || opaque == 1, "has transparency")
	}
}

// maxChecked bounds how much content is looked at, in bytes.
const maxChecked = 1 << 30

// content looks at the operators of one stream, or of several.
func (c *archiveCheck) content(v any) {
	if ref := pdffile.Reference(v); ref != "" {
		if stream, ok := c.Stream(ref); ok {
			if c.seen["content "+ref] {
				return
			}
			c.seen["content "+ref] = true

			text, err := c.plain(stream)
			if c.read += len(text); err != nil || c.read > maxChecked {
				c.unless(false, "has pages whose content cannot be read")
				return
			}
			c.operators(text)
			return
		}
		v = c.Target(v)
	}

	if list, ok := v.([]any); ok {
		for _, item := range list {
			if pdffile.Reference(item) != "" {
				c.content(item)
			}
		}
	}
}

// plain unpacks a stream that has no filter, or the usual one.
func (c *archiveCheck) plain(stream pdffile.Stream) ([]byte, error) {
	names := job.Filters(pdffile.Dict{"/Filter": c.Target(stream.Entries["/Filter"])})
	if len(names) != 1 || stream.Entries["/DecodeParms"] != nil {
		return nil, pdffile.ErrUnread
	}

	switch names[0] {
	case "":
		return stream.Content, nil
	case "/FlateDecode":
		plain, err := pdffile.Inflate(stream.Content, job.MaxTextBytes)
		if len(plain) == job.MaxTextBytes {
			err = nil // The rest is not checked.
		}
		return plain, err
	}
	return nil, pdffile.ErrUnread
}

// operators looks at the operators of content.
func (c *archiveCheck) operators(text []byte) {
	last := "" // name before an operator
	lexer := pdffile.NewLexer(text)
	for {
		kind, word := lexer.Next()
		switch kind {
		case pdffile.EndToken:
			return
		case pdffile.NameToken:
			last = string(word)
		case pdffile.ValueToken:
			c.unless(c.level != Level1B || !isTooLarge(string(word)), "has numbers on its pages over %d", maxReal)
		case pdffile.OperatorToken:
			c.operator(string(word), last)
			if string(word) == "BI" {
				c.inline(&lexer, text)
			}
		}
	}
}

// operator looks at an operator, and the last name before it.
func (c *archiveCheck) operator(word, name string) {
	switch {
	case word == "k" || word == "K" || (word == "cs" || word == "CS") && name == "/DeviceCMYK":
		c.unless(false, "has colours in CMYK without a profile")
	case word == "ri":
		known := []string{"/RelativeColorimetric", "/AbsoluteColorimetric", "/Perceptual", "/Saturation"}
		c.unless(slices.Contains(known, name), "has a rendering intent that is not known")
	case word == "BI" || word == "ID" || word == "EI": // ID and EI of an image that did not begin
	default:
		_, defined := redact.Operators[word]
		c.unless(defined, "has an operator on its pages that is not known: %.20q", word)
	}
}

// inline checks an image in the content, and skips it.
func (c *archiveCheck) inline(lexer *pdffile.Lexer, text []byte) {
	for {
		kind, word := lexer.Next()
		if kind == pdffile.EndToken {
			return
		}
		switch string(word) {
		case "/LZW", "/LZWDecode":
			c.unless(false, "has streams that are packed with LZW")
		case "/CMYK", "/DeviceCMYK":
			c.unless(false, "has colours in CMYK without a profile")
		case "ID":
			lexer.SkipTo(afterInline(text, lexer.At()))
			return
		}
	}
}

var inlineEnd = regexp.MustCompile(`[\x00\t\n\f\r ]EI[\x00\t\n\f\r /(<\[]|[\x00\t\n\f\r ]EI$`)

// afterInline returns the end of an image's data: the first EI after which words follow, and not more data.
func afterInline(text []byte, at int) int {
	for at < len(text) {
		found := inlineEnd.FindIndex(text[at:])
		if found == nil {
			return len(text)
		}
		end := at + found[1]
		if ahead := text[end:min(len(text), end+10)]; !bytes.ContainsFunc(ahead, func(r rune) bool { return r > '~' || r < ' ' && !strings.ContainsRune("\t\n\r\f\x00", r) }) {
			return max(end-1, at+1)
		}
		at += found[0] + 1
	}
	return len(text)
}

// picturePages returns the pages of a document that show only one image.
func picturePages(f *pdffile.File) (numbers []int) {
	pages, err := f.Pages(job.MaxInputPages)
	if err != nil {
		return nil
	}
	c := &archiveCheck{File: f}
	for i, page := range pages {
		stream, ok := f.Stream(pdffile.Reference(page.Entries["/Contents"]))
		if !ok {
			continue
		}
		text, err := c.plain(stream)
		if err == nil && isPicture(text) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// isPicture reports whether content draws one image, and no more.
func isPicture(text []byte) bool {
	images := 0
	other := false
	pdffile.ReadContent(text, func(op pdffile.Operation) {
		switch op.Operator {
		case "Do", "BI":
			images++
		case "BT", "f", "F", "f*", "S", "s", "B", "B*", "b", "b*", "sh":
			other = true
		}
	})
	return images > 0 && !other
}
