package redact

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Eraser takes codes and images out of the content of a page. A form that loses something is copied for the place
// where it is drawn, so that other places keep what they show.
type Eraser struct {
	*pdffile.File

	Update  *pdffile.Update
	Numbers map[string]int // of the first operation of each stream
	Page    PageCodes
	next    int          // the next run of the page
	gone    map[int]bool // the codes that go
	pixels  []job.Box    // where images lose their pixels, in the page's coordinates
	images  []erasedImage
	Reader  codeReader // of a page that is only read
	copies  int
	steps   int
	err     error
}

// codeReader gets the codes of a page, in the order of its content: sizes are those of the codes in bytes, nil if they
// are unknown. begin and end get the marks around them, with the text that replaces them.
type codeReader interface {
	Begin(text string, ok bool)
	End()
	Show(items []any, first, end int, sizes []int, font any)
}

// erasedImage is an image that loses pixels at a place where a page draws it: Name is that of its new version in an
// object, a dictionary of images.
type erasedImage struct {
	Holder int          `json:"holder"`
	Name   string       `json:"name"`
	Image  int          `json:"image"`
	Matrix [6]float64   `json:"matrix"`
	Places [][4]float64 `json:"places"`
}

// errPlace means that the glyphs of a text are not known by its codes.
var errPlace = fmt.Errorf("a text whose glyphs cannot be told apart")

// erase takes codes and pixels out of pages of an opened document, by page number, and writes the result to a file.
func (r *redaction) erase(open, to string, found searchResult) ([]erasedImage, error) {
	f, pages, err := r.readPages(open)
	if err != nil {
		return nil, err
	}

	update := f.NewUpdate()
	var images []erasedImage
	for number, page := range pages {
		codes := found.codes[number]
		pixels := r.gone[number+1]
		if codes == nil {
			continue
		}

		e := &Eraser{
			File: f, Update: update, Numbers: found.numbers, Page: *codes, gone: found.gone[number],
			pixels: pixels, images: images,
		}
		if err := e.erasePage(page); err != nil {
			return nil, &job.Error{Kind: job.RedactionIncomplete, Text: "cannot be redacted: it has " + err.Error(), Page: number + 1, Cause: err}
		}
		images = e.images
	}

	return images, r.WriteUpdated(open, to, update)
}

// erasePage rewrites a page if it loses something.
func (e *Eraser) erasePage(page pdffile.Page) error {
	entries := pdffile.Without(page.Entries)
	ref := page.Ref
	links := e.links(entries["/Annots"])
	stream := &erasing{Eraser: e, matrix: job.Affine{1, 0, 0, 1, 0, 0}}

	content, resources, changed := stream.erase(contentRefs(e.File, page), e.Entry(entries["/Resources"]))
	if e.err != nil {
		return e.err
	}

	if changed {
		body := e.Update.Reserve()
		e.Update.Set(body, pdffile.Deflated(pdffile.Dict{}, content))
		entries["/Contents"], entries["/Resources"] = body, resources
	}
	if links != nil {
		entries["/Annots"] = links
	}

	e.Update.Set(ref, entries)
	return nil
}

// links returns the links of a page that are not over a redacted place.
func (e *Eraser) links(v any) (left []any) {
	list, _ := e.Target(v).([]any)
	for _, item := range list {
		corners := job.Floats(e.Target(e.Entry(item)["/Rect"]))
		over := false
		if len(corners) == 4 {
			rect := job.Box{
				min(corners[0], corners[2]), min(corners[1], corners[3]),
				max(corners[0], corners[2]), max(corners[1], corners[3]),
			}
			for _, place := range e.pixels {
				over = over || rect.Touches(place)
			}
		}

		if !over {
			left = append(left, item)
		}
	}
	return left
}

// erasing is the work on one stream, where it is drawn.
type erasing struct {
	*Eraser

	depth     int
	matrix    job.Affine
	saved     []job.Affine
	resources pdffile.Dict
	fonts     pdffile.Dict
	font      string
	keptFonts []string
	operation int

	out     []byte
	objects pdffile.Dict // what is drawn, with the copies
	holder  string       // reference of the objects
	changed bool
	// open is the last code of the line if that has gone: the next one has to be put in its place.
	open *shownCode
}

// erase returns the rewritten content of streams, its Resources, and whether it has lost something.
func (s *erasing) erase(refs []string, resources pdffile.Dict) (content []byte, own pdffile.Dict, changed bool) {
	s.resources, s.fonts = resources, s.Entry(resources["/Font"])
	s.objects = pdffile.Without(s.Entry(resources["/XObject"]))

	for _, ref := range refs {
		stream, ok := s.Stream(ref)
		plain, rest, err := PlainStream(s.File, stream)
		if !ok || err != nil || rest != "" {
			if s.Target(ref) != nil {
				s.fail(fmt.Errorf("content that cannot be read: %w", pdffile.ErrUnread))
			}
			continue
		}
		s.operation = s.Numbers[ref]
		pdffile.ReadContent(plain, s.operate)
	}

	own = pdffile.Without(resources)
	if s.holder != "" {
		s.Update.Set(s.holder, s.objects)
		own["/XObject"] = s.holder
	}
	return s.out, own, s.changed
}

func (e *Eraser) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// operate copies an operation without what goes.
func (s *erasing) operate(op pdffile.Operation) {
	if s.steps++; s.steps > maxSteps {
		s.fail(fmt.Errorf("more than %d operations", maxSteps))
	}
	if s.err != nil {
		return
	}

	var last any
	if n := len(op.Operands); n > 0 {
		last = op.Operands[n-1]
	}

	switch op.Operator {
	case "q":
		s.saved, s.keptFonts = append(s.saved, s.matrix), append(s.keptFonts, s.font)
	case "Q":
		if n := len(s.saved) - 1; n >= 0 {
			s.matrix, s.saved = s.saved[n], s.saved[:n]
			s.font, s.keptFonts = s.keptFonts[n], s.keptFonts[:n]
		}
	case "cm":
		if v := job.NumbersOf(op.Operands); len(v) == 6 {
			s.matrix = job.Affine(v).Then(s.matrix)
		}
	case "Tf":
		if len(op.Operands) > 1 {
			s.font, _ = op.Operands[len(op.Operands)-2].(string)
		}
	case "BT", "ET", "Td", "TD", "Tm", "T*":
		s.open = nil
	case "Tj", "TJ", "'", `"`:
		s.show(op)
		return
	case "Do":
		name, _ := last.(string)
		op.Operands = []any{s.draw(name)}
	case "BMC", "BDC":
		if s.Reader != nil {
			s.Reader.Begin(s.replacement(op))
		}
	case "EMC":
		if s.Reader != nil {
			s.Reader.End()
		}
	case "BI":
		if name := s.inline(op); name != "" {
			op = pdffile.Operation{Operator: "Do", Operands: []any{name}}
		}
	}

	s.out = pdffile.AppendOperation(s.out, op)
}

// touched returns the places where a drawn image loses pixels.
func (s *erasing) touched() (places [][4]float64) {
	around := job.Box(s.matrix.Around(0, 0, 1, 1))
	for _, place := range s.pixels {
		if place.Touches(around) {
			places = append(places, place)
		}
	}
	return places
}

// draw returns the name of what is drawn in the place of an object.
func (s *erasing) draw(name string) string {
	ref := pdffile.Reference(s.objects[name])
	entries := s.Entry(s.objects[name])

	switch {
	case ref == "" || entries == nil || s.depth > pdffile.MaxDepth:
		return name
	case entries["/Subtype"] == "/Image":
		if places := s.touched(); len(places) > 0 {
			return s.blank(ref, places)
		}
		return name
	}

	below := &erasing{Eraser: s.Eraser, depth: s.depth + 1, matrix: s.matrix}
	if m := job.Floats(s.Target(entries["/Matrix"])); len(m) == 6 {
		below.matrix = job.Affine(m).Then(s.matrix)
	}
	resources := s.Entry(entries["/Resources"])
	if resources == nil {
		resources = s.resources
	}

	content, own, changed := below.erase([]string{ref}, resources)
	if !changed {
		return name
	}

	entries = pdffile.Without(entries, "/Length", "/Filter", "/DecodeParms")
	entries["/Resources"] = own
	form := s.Update.Reserve()
	s.Update.Set(form, pdffile.Deflated(entries, content))
	return s.add(form)
}

// add gives an object a name in the stream's Resources.
func (s *erasing) add(ref string) string {
	if s.holder == "" {
		s.holder = s.Update.Reserve()
	}
	s.changed = true
	for {
		s.copies++
		name := fmt.Sprintf("/Redacted%d", s.copies)
		if s.objects[name] == nil {
			s.objects[name] = ref
			return name
		}
	}
}

// blank notes that an image loses pixels, and returns the name of its new version. Until that is made, it is empty.
func (s *erasing) blank(ref string, places [][4]float64) string {
	empty := s.Update.Reserve()
	s.Update.Set(empty, pdffile.Stream{Entries: pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 1, 1}, "/Resources": pdffile.Dict{}}})
	name := s.add(empty)
	s.images = append(s.images, erasedImage{Holder: objectNumber(s.holder), Name: name[1:], Image: objectNumber(ref), Matrix: s.matrix, Places: places})
	return name
}

func objectNumber(ref string) int {
	number, _ := strconv.Atoi(strings.Fields(ref)[0])
	return number
}

// inlineKeys are the short keys and names of images in content.
var inlineKeys = map[string]string{
	"/BPC": "/BitsPerComponent", "/CS": "/ColorSpace", "/D": "/Decode", "/DP": "/DecodeParms", "/F": "/Filter", "/H": "/Height", "/IM": "/ImageMask", "/I": "/Interpolate", "/W": "/Width",
	"/G": "/DeviceGray", "/RGB": "/DeviceRGB", "/CMYK": "/DeviceCMYK",
	"/AHx": "/ASCIIHexDecode", "/A85": "/ASCII85Decode", "/LZW": "/LZWDecode", "/Fl": "/FlateDecode", "/RL": "/RunLengthDecode", "/CCF": "/CCITTFaxDecode", "/DCT": "/DCTDecode",
}

// inline makes an object of an image in the content that loses pixels, and returns its name; "" if it loses none.
func (s *erasing) inline(op pdffile.Operation) string {
	places := s.touched()
	if len(places) == 0 {
		return ""
	}

	short, _ := op.Operands[0].(pdffile.Dict)
	entries := pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Image"}
	spaces := s.Entry(s.resources["/ColorSpace"])
	for key, v := range short {
		if long := inlineKeys[key]; long != "" {
			key = long
		}
		if name, ok := v.(string); ok && key == "/ColorSpace" && spaces[name] != nil {
			v = spaces[name]
		}
		entries[key] = longValue(v)
	}

	ref := s.Update.Reserve()
	s.Update.Set(ref, pdffile.Stream{Entries: entries, Content: op.Image})
	return s.blank(ref, places)
}

// longValue returns an operand as an object's value, with its names written out.
func longValue(v any) any {
	switch v := v.(type) {
	case string:
		if long := inlineKeys[v]; long != "" {
			return long
		}
	case pdffile.Number:
		n, _ := strconv.ParseFloat(string(v), 64)
		return n
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if text, ok := item.(string); ok && i > 0 && strings.HasPrefix(text, "b:") {
				list[i] = item // colours
				continue
			}
			list[i] = longValue(item)
		}
		return list
	case pdffile.Dict:
		entries := maps.Clone(v)
		for key, item := range entries {
			entries[key] = longValue(item)
		}
		return entries
	}
	return v
}

// run returns the codes of this execution of an operation.
func (e *Eraser) run(operation int) (first, end int) {
	for i := e.next; i < len(e.Page.runs); i++ {
		if r := e.Page.runs[i]; r.operation == operation {
			e.next = i + 1
			return r.first, r.end
		}
	}
	return 0, 0 // MuPDF does not draw it
}

// show writes an operation that shows text, without the codes that go. What follows a code that has gone is put where
// it was by a distance.
func (s *erasing) show(op pdffile.Operation) {
	first, end := s.run(s.operation)
	s.operation++

	items := []any{}
	if n := len(op.Operands); n > 0 {
		if list, ok := op.Operands[n-1].([]any); ok {
			items = list
		} else {
			items = op.Operands[n-1:]
		}
	}

	if s.Reader != nil {
		sizes, err := s.sizes(items, end-first)
		if err != nil {
			sizes = nil
		}
		s.Reader.Show(items, first, end, sizes, s.fonts[s.font])
		return
	}
	if op.Operator == "'" || op.Operator == `"` {
		s.open = nil
	}

	loses := false
	for i := first; i < end; i++ {
		loses = loses || s.gone[i]
	}
	if !loses && s.open == nil {
		s.out = pdffile.AppendOperation(s.out, op)
		return
	}

	s.changed = true
	if op.Operator == `"` && len(op.Operands) == 3 {
		s.out = pdffile.AppendOperation(s.out, pdffile.Operation{Operator: "Tw", Operands: op.Operands[:1]})
		s.out = pdffile.AppendOperation(s.out, pdffile.Operation{Operator: "Tc", Operands: op.Operands[1:2]})
	}
	if op.Operator == "'" || op.Operator == `"` {
		s.out = pdffile.AppendOperation(s.out, pdffile.Operation{Operator: "T*"})
	}

	left, err := s.without(items, first, end)
	if err != nil {
		s.fail(err)
		return
	}
	if len(left) > 0 {
		s.out = pdffile.AppendOperation(s.out, pdffile.Operation{Operator: "TJ", Operands: []any{left}})
	}
}

// without returns the items of shown text without the codes that go.
func (s *erasing) without(items []any, first, end int) (left []any, err error) {
	sizes, err := s.sizes(items, end-first)
	if err != nil {
		return nil, err
	}

	next := first
	for _, item := range items {
		if n, ok := item.(pdffile.Number); ok {
			if s.open == nil { // else the distance to the next code has it
				left = append(left, n)
			}
			continue
		}
		raw, _ := RawBytes(item)
		var kept []byte
		flush := func() {
			if len(kept) > 0 {
				left = append(left, "b:"+hex.EncodeToString(kept))
			}
			kept = nil
		}

		for len(raw) > 0 {
			size := sizes[0]
			sizes = sizes[1:]
			code := s.Page.Codes[next]
			switch {
			case s.gone[next]:
				flush()
				if s.open == nil {
					s.open = &s.Page.Codes[next] // the first of some that go: the distance is from its place
				}
			default:
				if s.open != nil {
					distance, ok := code.distance(*s.open)
					if !ok {
						return nil, errPlace
					}
					left = append(left, pdffile.Number(strconv.FormatFloat(distance, 'f', 3, 64)))
					s.open = nil
				}
				kept = append(kept, raw[:size]...)
			}
			next++
			raw = raw[size:]
		}
		flush()
	}

	return left, nil
}

// distance returns the number of a TJ that moves from the place of an earlier code to that of this one.
func (c shownCode) distance(from shownCode) (thousandths float64, ok bool) {
	x := c.matrix[0]
	y := c.matrix[1]
	if c.vertical {
		x = c.matrix[2]
		y = c.matrix[3]
	}
	square := x*x + y*y
	if square < 1e-12 {
		return 0, false
	}
	n := -1000 * ((c.x-from.x)*x + (c.y-from.y)*y) / square
	return n, !math.IsNaN(n) && math.Abs(n) < 1e9
}

// sizes returns the number of bytes of each code of shown text, which shows a number of glyphs.
func (s *erasing) sizes(items []any, glyphs int) (sizes []int, err error) {
	var texts [][]byte
	total := 0
	for _, item := range items {
		if raw, ok := RawBytes(item); ok {
			texts, total = append(texts, raw), total+len(raw)
		}
	}

	font := s.Entry(s.fonts[s.font])
	for _, raw := range texts {
		for len(raw) > 0 {
			size := 1
			switch {
			case font["/Subtype"] != "/Type0" || total == glyphs:
			case total == 2*glyphs:
				size = 2
			default:
				size = codeSize(font, raw)
			}
			size = min(size, len(raw))
			sizes, raw = append(sizes, size), raw[size:]
		}
	}

	if len(sizes) != glyphs {
		return nil, errPlace
	}
	return sizes, nil
}

// codeSize returns the size of the next code of a font whose codes have several sizes, by the name of its encoding.
func codeSize(font pdffile.Dict, raw []byte) int {
	name, _ := font["/Encoding"].(string)
	first := raw[0]
	second := byte(0)
	if len(raw) > 1 {
		second = raw[1]
	}

	switch {
	case strings.Contains(name, "UTF16") && first&0xfc == 0xd8:
		return 4
	case strings.Contains(name, "UTF16") || strings.Contains(name, "UCS2"):
		return 2
	case strings.Contains(name, "GBK2K") && first > 0x80 && second >= 0x30 && second <= 0x39,
		strings.Contains(name, "CNS-EUC") && first == 0x8e:
		return 4
	case strings.Contains(name, "RKSJ") && (first <= 0x80 || first >= 0xa0 && first <= 0xdf || first >= 0xfd),
		first <= 0x80:
		return 1
	}
	return 2
}
