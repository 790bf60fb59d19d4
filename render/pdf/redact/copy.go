package redact

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// dropped lists entries that no page shows: notes of applications, other versions of images, and content of other
// files.
var dropped = map[string]bool{
	"/Metadata": true, "/PieceInfo": true, "/LastModified": true, "/AF": true, "/Thumb": true, "/OPI": true, "/Alternates": true, "/CharSet": true, "/FFilter": true, "/FDecodeParms": true,
	"/PA": true, "/AA": true, "/CreatorInfo": true, "/Length": true,
}

// name returns a name for the result: a name that a user has chosen and that contains a secret is replaced.
func (s *scrubber) name(name string) string {
	if better, known := s.names[name]; known {
		return better
	}
	better := name
	if s.terms.inName(name) {
		better = fmt.Sprintf("/N%d", len(s.names)+1)
		s.found = true
	}
	s.names[name] = better
	return better
}

// value copies a value.
func (s *scrubber) value(v any) any {
	switch v := v.(type) {
	case string:
		switch {
		case pdffile.Reference(v) != "":
			return s.object(v, nil)
		case strings.HasPrefix(v, "/"):
			return s.name(v)
		}

		better, hit := s.terms.cleanString(v)
		s.found = s.found || hit
		return better
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if text, ok := item.(string); ok && i == 3 && v[0] == "/Indexed" && pdffile.Reference(text) == "" {
				list[i] = item // colours
				continue
			}
			list[i] = s.value(item)
		}
		return list
	case pdffile.Dict:
		return s.dict(v)
	}

	return v
}

// dict copies a dictionary without the dropped entries.
func (s *scrubber) dict(entries pdffile.Dict) pdffile.Dict {
	kept := pdffile.Dict{}
	for key, v := range entries {
		if dropped[key] {
			continue
		}

		if key == "/CIDSystemInfo" && pdffile.Reference(v) == "" {
			kept[key] = s.dict(s.Entry(v))
			continue
		}
		if text, ok := v.(string); ok && key == "/ActualText" && s.meanings && pdffile.Reference(v) == "" {
			_, hit := s.terms.cleanString(text)
			s.found, kept[key] = s.found || hit, v
			continue
		}

		if better := s.value(v); better != nil {
			kept[s.name(key)] = better
		}
	}

	return kept
}

// object copies the target of a reference, and returns its new reference. A form without Resources uses the
// inherited ones.
func (s *scrubber) object(v any, inherited pdffile.Dict) any {
	ref := pdffile.Reference(v)
	if ref == "" {
		return s.value(v)
	}
	if made := s.refs[ref]; made != "" {
		return made
	}

	value, body, err := s.Object(ref)
	if err != nil || value == nil {
		return nil
	}
	entries, _ := value.(pdffile.Dict)
	if kind, _ := entries["/Subtype"].(string); entries["/Rect"] != nil && kind != "" && kind != "/Link" || entries["/Type"] == "/Page" || entries["/Type"] == "/Pages" {
		return nil // a comment that was on a page, or a page that is in none
	}

	if entries["/Subtype"] == "/Type3" && entries["/CharProcs"] != nil {
		var codes map[byte]bool
		return s.font(v, codes, inherited)
	}

	made := s.update.Reserve()
	s.refs[ref] = made
	s.todo = append(s.todo, func() error {
		if body != 0 {
			return s.stream(ref, made, inherited)
		}
		if entries["/Subtype"] == "/Link" {
			entries = pdffile.Without(entries, "/AP", "/T", "/Subj", "/NM", "/RC", "/Popup", "/M")
		}
		s.update.Set(made, s.value(value))
		return nil
	})

	return made
}

// stream copies a stream.
func (s *scrubber) stream(ref, made string, inherited pdffile.Dict) error {
	from, ok := s.Stream(ref)
	if !ok {
		return fmt.Errorf("stream %s: %w", ref, pdffile.ErrUnread)
	}

	if from.Entries["/F"] != nil {
		from.Entries = pdffile.Without(from.Entries, "/F") // in another file
		from.Content = nil
	}

	entries := pdffile.Without(from.Entries, "/Resources")
	content := from.Content
	plain, rest, err := PlainStream(s.File, from)

	switch {
	case isContent(from.Entries):
		if err != nil || rest != "" {
			return fmt.Errorf("content %s: %w", ref, ErrFilter)
		}

		resources := s.Entry(from.Entries["/Resources"])
		if resources == nil {
			resources = inherited
		}
		better, used := s.own(plain, resources)
		entries["/Resources"] = used
		content = s.plain(entries, better)
	case err == nil && rest == "/DCTDecode" && bytes.HasPrefix(plain, []byte("\xff\xd8")):
		better := bareJPEG(plain)
		if len(better) < len(plain) {
			entries["/Filter"], content = "/DCTDecode", better
			if list, ok := s.Target(from.Entries["/DecodeParms"]).([]any); ok && len(list) > 0 {
				entries["/DecodeParms"] = list[len(list)-1]
			}
		}
	case err == nil && rest == "" && from.Entries["/Subtype"] != "/Image":
		if better := s.text(plain, from.Entries); !bytes.Equal(better, plain) {
			s.found = true
			content = s.plain(entries, better)
		}
	}

	resources := entries["/Resources"]
	delete(entries, "/Resources")
	entries = s.dict(entries)
	if resources != nil {
		entries["/Resources"] = resources
	}

	s.update.Set(made, pdffile.Stream{Entries: entries, Content: content})
	return nil
}

// plain sets entries for a stream with a content, and returns the content as written.
func (s *scrubber) plain(entries pdffile.Dict, content []byte) []byte {
	delete(entries, "/DecodeParms")
	return pdffile.Deflated(entries, content).Content
}

// isContent reports whether entries are those of a form or of a pattern's tile.
func isContent(entries pdffile.Dict) bool {
	return entries["/Subtype"] == "/Form" || entries["/PatternType"] == 1.0 || entries["/Subtype"] == nil && entries["/FormType"] != nil
}

var (
	mapStrings  = regexp.MustCompile(`<[0-9a-fA-F\s]*>|\([^()]*\)`)
	mapComments = regexp.MustCompile(`(?m)%.*$`)
)

// text removes secrets from a stream with text: the meaning of glyphs, and the names in a font or a colour profile.
func (s *scrubber) text(plain []byte, entries pdffile.Dict) []byte {
	if isMap(plain, entries) && s.meanings {
		return plain
	}
	if isMap(plain, entries) {
		plain = mapComments.ReplaceAll(plain, nil)
		return mapStrings.ReplaceAllFunc(plain, func(text []byte) []byte {
			if raw, wide := mapString(text); s.terms.in(wide) || s.terms.long(fewestRaw).in(rawText(raw)) {
				return []byte("<FFFD>")
			}
			return text
		})
	}

	var spans [][2]int
	for _, region := range saidRegions(plain, entries) {
		for _, span := range s.terms.binary(plain[region[0]:region[1]], fewestRegion) {
			spans = append(spans, [2]int{region[0] + span[0], region[0] + span[1]})
		}
	}

	if isProfile(plain, entries) {
		spans = append(spans, s.terms.binary(plain, fewestBinary)...) // its numbers are no words
	}
	if len(spans) == 0 {
		return plain
	}

	plain = bytes.Clone(plain)
	for _, span := range spans {
		for i := span[0]; i < span[1]; i++ {
			if plain[i] != 0 {
				plain[i] = 'x'
			}
		}
	}

	return plain
}

// isMap reports whether a stream maps the glyphs of a font to letters.
func isMap(plain []byte, entries pdffile.Dict) bool {
	return entries["/Type"] == "/CMap" || bytes.Contains(plain, []byte("begincmap"))
}

// mapString reads a string of such a map.
func mapString(text []byte) (raw []byte, wide string) {
	if text[0] == '(' {
		raw = text[1 : len(text)-1]
		return raw, string(raw)
	}
	raw, _ = RawBytes("b:" + strings.Join(strings.Fields(string(text[1:len(text)-1])), ""))
	return raw, wideText(raw)
}

// fewestRegion is the minimum length of a term to search for in text that is mixed with
// other bytes.
const fewestRegion = 3

// saidRegions returns the descriptive parts of a font or profile: changing letters there does not change the
// rendering.
func saidRegions(plain []byte, entries pdffile.Dict) (regions [][2]int) {
	number := func(at, size int) (n int) {
		if at < 0 || at+size > len(plain) {
			return 0
		}

		for _, c := range plain[at : at+size] {
			n = n<<8 | int(c)
		}
		return n
	}

	switch {
	case len(plain) < 12:
	case bytes.HasPrefix(plain, []byte("%!")): // a font of Type 1: up to the encrypted part
		end := bytes.Index(plain, []byte("eexec"))
		if end < 0 {
			end = len(plain)
		}
		regions = append(regions, [2]int{0, end})
	case bytes.HasPrefix(plain, []byte("\x00\x01\x00\x00")) || bytes.HasPrefix(plain, []byte("true")) || bytes.HasPrefix(plain, []byte("OTTO")):
		regions = tableRegions(plain, tables{first: 12, size: 16, count: number(4, 2), offset: 8, length: 12, tags: "name meta DSIG"}, number)
	case entries["/Subtype"] == "/Type1C" || entries["/Subtype"] == "/CIDFontType0C":
		regions = append(regions, compactRegions(plain, number)...)
	case isProfile(plain, entries):
		regions = tableRegions(plain, tables{first: profileHeader + 4, size: 12, count: number(profileHeader, 4), offset: 4, length: 8, tags: "desc cprt dmnd dmdd vued"}, number)
	}

	return regions
}

// isProfile reports whether a stream is a profile of colours.
func isProfile(plain []byte, entries pdffile.Dict) bool {
	return entries["/N"] != nil && entries["/Type"] == nil && len(plain) > profileHeader
}

// profileHeader is the length of a colour profile's header in bytes.
const profileHeader = 128

// tables is the table of a font's or profile's parts: its position, and in each entry the offset and the length of
// a part, after its tag.
type tables struct {
	first, size, count, offset, length int
	tags                               string
}

// tableRegions are the parts with one of the tags.
func tableRegions(plain []byte, t tables, number func(at, size int) int) (regions [][2]int) {
	for entry := t.first; t.count > 0 && entry+t.size <= len(plain); entry += t.size {
		t.count--
		if tag := string(plain[entry : entry+4]); !slices.Contains(strings.Fields(t.tags), tag) {
			continue
		}
		if start, size := number(entry+t.offset, 4), number(entry+t.length, 4); start > 0 && size > 0 && start+size <= len(plain) {
			regions = append(regions, [2]int{start, start + size})
		}
	}
	return regions
}

// compactRegions are the name and the strings of a font in CFF.
func compactRegions(plain []byte, number func(at, size int) int) (regions [][2]int) {
	at := int(plain[2])

	for index := range 3 { // names, dictionaries, strings
		count := number(at, 2)
		size := number(at+2, 1)
		if count == 0 {
			at += 2
			continue
		}

		data := at + 3 + (count+1)*size - 1
		end := data + number(at+3+count*size, size)
		if size < 1 || size > 4 || end > len(plain) || data > end || data < 0 {
			return regions
		}

		if index != 1 {
			regions = append(regions, [2]int{data + 1, max(end, data+1)})
		}
		at = end
	}
	return regions
}
