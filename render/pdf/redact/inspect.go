package redact

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Inspector searches all objects of a document for secrets: strings in all encodings, names, the text of content
// and other streams.
type Inspector struct {
	*pdffile.File

	terms redactionTerms
	// seen lists forms and contents that are on pages, whose text two programs have read in place: other content is
	// read as one text.
	seen  map[string]bool
	known map[string]bool // strings in which there is nothing
	Fonts map[string]*FontMeaning
	page  map[string]int // the page of content
}

// inspect returns the place of a secret in a document; empty means none. The ID of a source is searched, while that
// of a result is random.
func inspect(content []byte, s redactionTerms, source bool) (where string, err error) {
	f, err := pdffile.Read(content)
	if err != nil {
		return "", err
	}

	in := &Inspector{File: f, terms: s, seen: map[string]bool{}, known: map[string]bool{}, Fonts: map[string]*FontMeaning{}, page: map[string]int{}}
	pages, err := f.Pages(job.MaxPages)
	if err != nil {
		return "", err
	}

	if id := in.value(f.Trailer("/ID"), "/ID"); id != "" && source {
		return id, nil
	}
	for i, page := range pages {
		if where := in.pageContent(i+1, page); where != "" {
			return where, nil
		}
	}

	for _, ref := range f.References() {
		value, body, err := f.Object(ref)
		if err != nil {
			return "", err
		}
		if entries, _ := value.(pdffile.Dict); body != 0 && (entries["/Type"] == "/XRef" || entries["/Type"] == "/ObjStm") {
			continue
		}
		if what := in.value(value, ""); what != "" {
			return what, nil
		}
		if body == 0 {
			continue
		}

		stream, ok := f.Stream(ref)
		if !ok {
			return "", fmt.Errorf("stream %s: %w", ref, pdffile.ErrUnread)
		}
		if what := in.stream(ref, stream); what != "" {
			return what, nil
		}
	}

	return "", nil
}

// pageContent searches a page's content, and records the forms that it draws.
func (in *Inspector) pageContent(number int, page pdffile.Page) string {
	node := page.Entries
	for depth := 0; node["/Resources"] == nil && node["/Parent"] != nil && depth < pdffile.MaxDepth; depth++ {
		node = in.Entry(node["/Parent"])
	}
	resources := in.Entry(node["/Resources"])

	content, err := (&scrubber{File: in.File}).content(page.Entries["/Contents"])
	list, ok := in.Target(page.Entries["/Contents"]).([]any)
	if !ok {
		list = []any{page.Entries["/Contents"]}
	}
	for _, v := range list {
		in.seen[pdffile.Reference(v)] = true
	}

	if err != nil {
		return fmt.Sprintf("page %d: its content cannot be read", number)
	}
	if in.shows(content, resources, false) {
		return fmt.Sprintf("page %d: text that cannot be seen, or that readers take for another", number)
	}

	in.draws(number, resources, 0)
	return ""
}

// draws records the forms in Resources. The result's own are drawn.
func (in *Inspector) draws(number int, resources pdffile.Dict, depth int) {
	for _, v := range in.Entry(resources["/XObject"]) {
		ref := pdffile.Reference(v)
		entries := in.Entry(v)
		if ref == "" || in.seen[ref] || entries["/Subtype"] != "/Form" || depth > pdffile.MaxDepth {
			continue
		}
		in.seen[ref], in.page[ref] = true, number
		in.draws(number, in.Entry(entries["/Resources"]), depth+1)
	}
}

// value searches strings and names, and returns the place of a secret.
func (in *Inspector) value(v any, key string) string {
	switch v := v.(type) {
	case string:
		if pdffile.Reference(v) != "" || in.known[v] {
			return ""
		}
		in.known[v] = true
		if strings.HasPrefix(v, "/") {
			if in.terms.inName(v) {
				return "a name at " + quotable(key, in.terms)
			}
			return ""
		}
		if _, hit := in.terms.cleanString(v); hit {
			return "a text at " + quotable(key, in.terms)
		}
	case []any:
		for i, item := range v {
			if i == 3 && v[0] == "/Indexed" {
				continue
			}
			if what := in.value(item, key); what != "" {
				return what
			}
		}
	case pdffile.Dict:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if what := in.value(name, key); what != "" {
				return what
			}
			if what := in.value(v[name], name); what != "" {
				return what
			}
		}
	}

	return ""
}

// quotable returns a key if it is well known and not a secret, or else "an object".
func quotable(key string, s redactionTerms) string {
	if key == "" || !knownNames()[strings.TrimPrefix(key, "/")] || s.in(key) {
		return "an object"
	}
	return key
}

// stream searches the data of a stream.
func (in *Inspector) stream(ref string, s pdffile.Stream) string {
	if in.seen[ref] && !isContent(s.Entries) {
		return "" // a page's, which was looked at
	}

	plain, rest, err := PlainStream(in.File, s)
	image := s.Entries["/Subtype"] == "/Image"
	switch {
	case err != nil:
		return "a stream with a filter that is not read"
	case rest != "" || image:
		if len(in.terms.binary(plain, fewestBinary)) > 0 {
			return "the data of an image"
		}
		return ""
	case isContent(s.Entries):
		resources := in.Entry(s.Entries["/Resources"])
		if in.shows(plain, resources, !in.seen[ref]) {
			if n := in.page[ref]; n > 0 {
				return fmt.Sprintf("page %d: text of a form", n)
			}
			return "the text of a pattern or a soft mask"
		}
		return ""
	case isMap(plain, s.Entries):
		for _, text := range mapStrings.FindAll(plain, -1) {
			if raw, wide := mapString(text); in.terms.in(wide) || in.terms.long(fewestRaw).in(rawText(raw)) {
				return "what a glyph means"
			}
		}
		return ""
	case s.Entries["/Length1"] != nil || s.Entries["/Subtype"] == "/Type1C" || s.Entries["/Subtype"] == "/CIDFontType0C" || s.Entries["/Subtype"] == "/OpenType" || s.Entries["/N"] != nil:
		if len(in.terms.binary(plain, fewestBinary)) > 0 {
			return "the data of a font or of a colour space"
		}
		return ""
	}

	return in.other(plain)
}

// other searches a stream of unknown purpose, which may be the glyph of a font, as content and as raw bytes.
func (in *Inspector) other(plain []byte) string {
	if in.shows(plain, nil, true) {
		return "the text of a glyph"
	}
	if len(in.terms.binary(plain, fewestBinary)) > 0 {
		return "a stream that is no part of a page"
	}
	return ""
}

// shows reports whether content shows a secret: line by line, or also as one text.
func (in *Inspector) shows(content []byte, resources pdffile.Dict, whole bool) bool {
	fonts := in.Entry(resources["/Font"])
	all := newShownText()
	line := newShownText()
	found := false
	font := &FontMeaning{}

	flush := func() {
		if !found {
			found = line.have(in.terms)
		}
		all.add(line)
		line = newShownText()
	}

	pdffile.ReadContent(content, func(op pdffile.Operation) {
		switch op.Operator {
		case "Tf":
			if len(op.Operands) > 1 {
				name, _ := op.Operands[len(op.Operands)-2].(string)
				font = in.Meaning(fonts[name])
			}
		case "Td", "TD", "Tm", "T*", "BT", "'", `"`:
			flush()
		}
		for _, v := range op.Operands {
			if showsText(op.Operator) {
				line.show(v, font)
				continue
			}
			found = found || in.operandHas(op.Operator, v, whole)
		}
		if op.Operator == "BI" && len(in.terms.binary(op.Image, fewestBinary)) > 0 {
			found = true
		}
	})

	flush()
	return found || whole && all.have(in.terms)
}

func showsText(operator string) bool {
	return operator == "TJ" || operator == "Tj" || operator == "'" || operator == `"`
}

// operandHas reports whether an operand that is not shown contains a secret.
func (in *Inspector) operandHas(operator string, v any, whole bool) bool {
	text, _ := v.(string)
	hasProperties := operator == "BDC" || operator == "DP" || operator == "BI"
	return (hasProperties || whole || strings.HasPrefix(text, "b:")) && in.value(v, "") != ""
}

// shownText is a text as it means something by its font, and by its bytes.
type shownText struct{ meant, encoded, raw strings.Builder }

func newShownText() *shownText { return &shownText{} }

func (r *shownText) add(other *shownText) {
	r.meant.WriteString(other.meant.String())
	r.encoded.WriteString(other.encoded.String())
	r.raw.WriteString(other.raw.String())
}

// show adds shown text: a string, or a list of strings with their distances.
func (r *shownText) show(v any, font *FontMeaning) {
	const space = -200 // thousandths of the font's size
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}

	for _, item := range list {
		if n, ok := item.(pdffile.Number); ok {
			var apart float64
			if _, err := fmt.Sscan(string(n), &apart); err == nil && apart < space {
				r.meant.WriteByte(' ')
				r.encoded.WriteByte(' ')
			}
			continue
		}
		raw, ok := RawBytes(item)
		if !ok {
			continue
		}
		r.meant.WriteString(font.meant(raw))
		r.encoded.WriteString(font.encoded(raw))
		r.raw.Write(raw)
	}
}

func (r *shownText) have(s redactionTerms) bool {
	if len(r.raw.String()) == 0 {
		return false
	}
	if s.in(r.meant.String()) {
		return true
	}
	longTerms, raw := s.long(fewestRaw), []byte(r.raw.String())
	return len(longTerms.terms) > 0 && (longTerms.in(r.encoded.String()) || longTerms.in(rawText(raw)) || longTerms.in(wideText(raw)))
}

// FontMeaning is which letters the codes of a font are.
type FontMeaning struct {
	Unicode map[string]string // by the bytes of codes
	wide    bool              // codes have two bytes
	names   map[byte]string
}

var mapSections = regexp.MustCompile(`(?s)begin(bfchar|bfrange)(.*?)end`)

// Meaning reads a font.
func (in *Inspector) Meaning(v any) *FontMeaning {
	ref := pdffile.Reference(v)
	if known := in.Fonts[ref]; known != nil && ref != "" {
		return known
	}

	entries := in.Entry(v)
	m := &FontMeaning{Unicode: map[string]string{}, wide: entries["/Subtype"] == "/Type0", names: map[byte]string{}}
	in.Fonts[ref] = m

	differences, _ := in.Target(in.Entry(entries["/Encoding"])["/Differences"]).([]any)
	code := 0
	for _, item := range differences {
		switch item := item.(type) {
		case float64:
			code = int(item)
		case string:
			if name := strings.TrimPrefix(item, "/"); len(name) == 1 && code < 256 && code >= 0 {
				m.names[byte(code)] = name
			}
			code++
		}
	}

	stream, ok := in.Stream(pdffile.Reference(entries["/ToUnicode"]))
	if !ok {
		return m
	}
	plain, _, err := PlainStream(in.File, stream)
	if err != nil {
		return m
	}

	for _, section := range mapSections.FindAllSubmatch(plain, -1) {
		m.section(string(section[1]), section[2])
	}

	return m
}

// section reads a part of a map: pairs of codes and letters, or ranges of them.
func (m *FontMeaning) section(kind string, text []byte) {
	pdffile.ReadContent(append(text, " end"...), func(op pdffile.Operation) {
		step := 2
		if kind == "bfrange" {
			step = 3
		}

		for i := 0; i+step <= len(op.Operands); i += step {
			first, _ := RawBytes(op.Operands[i])
			if step == 2 {
				letters, _ := RawBytes(op.Operands[i+1])
				m.Unicode[string(first)] = wideText(letters)
				continue
			}
			last, _ := RawBytes(op.Operands[i+1])
			m.span(first, last, op.Operands[i+2])
		}
	})
}

func (m *FontMeaning) span(first, last []byte, to any) {
	if len(first) == 0 || len(first) > 2 || len(first) != len(last) {
		return
	}
	number := func(b []byte) (n int) {
		for _, c := range b {
			n = n<<8 | int(c)
		}
		return n
	}

	list, isList := to.([]any)
	letters, _ := RawBytes(to)
	from := number(first)

	for n := from; n <= number(last); n++ {
		code := []byte{byte(n)}
		if len(first) == 2 {
			code = []byte{byte(n >> 8), byte(n)}
		}
		switch {
		case isList && n-from < len(list):
			item, _ := RawBytes(list[n-from])
			m.Unicode[string(code)] = wideText(item)
		case len(letters) == 2:
			m.Unicode[string(code)] = string(rune(number(letters) + n - from))
		}
	}
}

// meant reads shown text as readers do.
func (m *FontMeaning) meant(raw []byte) string {
	if len(m.Unicode) == 0 {
		return m.encoded(raw)
	}

	var out strings.Builder
	for len(raw) > 0 {
		n := 1
		if m.wide {
			n = min(2, len(raw))
		}
		letters, ok := m.Unicode[string(raw[:n])]
		if !ok && !m.wide {
			letters = m.letter(raw[0])
		}
		out.WriteString(letters)
		raw = raw[n:]
	}

	return out.String()
}

// encoded reads shown text by the names of glyphs.
func (m *FontMeaning) encoded(raw []byte) string {
	var out strings.Builder
	for _, c := range raw {
		out.WriteString(m.letter(c))
	}
	return out.String()
}

func (m *FontMeaning) letter(c byte) string {
	if name := m.names[c]; name != "" {
		return name
	}
	return string(rune(c))
}
