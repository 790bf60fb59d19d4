package pdfcheck

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Remedies that several rules have.
const (
	fixConvert  = "Convert the file with pdf.pdfa, or create it with options.standards."
	fixTag      = "Create the file with options.standards, or tag it in an editor for accessible PDFs."
	fixRewrite  = "Rewrite the file, for example with pdf.repair."
	fixEmbed    = "Embed the font, for example with pdf.pdfa."
	fixProfile  = "Add an output intent with an ICC profile, for example with pdf.pdfa."
	fixRemove   = "Remove it from the file, for example with pdf.pdfa."
	fixTable    = "Write tables of table, tr, th and td, without other elements between them."
	fixLanguage = "Set the language: lang on the html element, or Lang in the catalog."
)

var languagePattern = regexp.MustCompile(`^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$`)

func fileRules() []*rule {
	header := regexp.MustCompile(`^%PDF-1\.[0-7][\r\n]`)
	has := func(key string) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return o.Dict[key] != nil }
	}
	named := func(key string) func(*checker, object) bool {
		return func(c *checker, o object) bool { return c.Entry(o.Dict["/Names"])[key] != nil }
	}

	return []*rule{
		{ua: "6.1-1", a2: "6.1.2-1", of: ofFile,
			message: "The file does not begin with %PDF-1.0 to %PDF-1.7 and an end of line.", fix: fixRewrite,
			violates: func(c *checker, _ object) bool { return !header.Match(c.src.Original) }},
		{a1: "6.1.2-1", of: ofFile, message: "The file does not begin with its header.", fix: fixRewrite,
			violates: func(c *checker, _ object) bool { return !bytes.HasPrefix(c.src.Original, []byte("%PDF-")) }},
		{a1: "6.1.2-2", a2: "6.1.2-2", of: ofFile,
			message: "The header is not followed by a comment of four bytes above 127.", fix: fixRewrite,
			violates: func(c *checker, _ object) bool { return !binaryComment(c.src.Original) }},
		{a1: "6.1.3-1", a2: "6.1.3-1", of: ofFile,
			message: "The file has no identifier: ID in the trailer.", fix: fixConvert,
			violates: func(c *checker, _ object) bool { return !c.src.Copied && len(c.list(c.Trailer("/ID"))) != 2 }},
		{a1: "6.1.3-2", a2: "6.1.3-2", of: ofFile,
			message: "The file is encrypted.", fix: "Remove the encryption with pdf.unlock.",
			violates: func(c *checker, _ object) bool { return c.src.Encrypt != nil }},
		{ua: "7.16-1", of: ofFile,
			message: "The encryption does not permit screen readers to read the text.",
			fix:     "Remove the encryption, or permit it, with pdf.unlock or pdf.protect.",
			violates: func(c *checker, _ object) bool {
				const accessible = 1 << 9
				allowed, ok := c.src.Encrypt["/P"].(float64)
				return c.src.Encrypt != nil && ok && int64(allowed)&accessible == 0
			}},
		{a1: "6.1.3-3", a2: "6.1.3-3", of: ofFile, message: "Data follow the end of the file.", fix: fixRewrite,
			violates: func(c *checker, _ object) bool {
				end := bytes.LastIndex(c.src.Original, []byte("%%EOF"))
				return end >= 0 && !slices.Contains([]string{"", "\n", "\r", "\r\n"}, string(c.src.Original[end+len("%%EOF"):]))
			}},
		{a1: "6.1.4-3", of: ofFile, message: "The cross-reference table is a stream.", fix: fixConvert,
			violates: func(c *checker, _ object) bool { return !c.src.Copied && c.Trailer("/Type") == "/XRef" }},
		{a1: "6.1.11-2", of: ofFile,
			message: "The file has attachments.", fix: "Remove them with pdf.attachments, or use PDF/A-3.",
			violates: named("/EmbeddedFiles")},
		{a1: "6.1.13-1", of: ofFile, message: "The file has layers.", fix: fixConvert, violates: has("/OCProperties")},
		{ua: "6.2-1", a2: "6.7.2.2-1", only: "a", of: ofFile, message: "The file is not marked as tagged.", fix: fixTag,
			violates: func(c *checker, o object) bool { return c.get(c.Entry(o.Dict["/MarkInfo"]), "/Marked") != true }},
		{ua: "7.1-4", of: ofFile,
			message: "The tags of the file are marked as suspect.", fix: "Check the tags, and set Suspects to false.",
			violates: func(c *checker, o object) bool { return c.get(c.Entry(o.Dict["/MarkInfo"]), "/Suspects") == true }},
		{ua: "7.1-10", of: ofFile, message: "Readers are not asked to display the title of the document.", fix: fixTag,
			violates: func(c *checker, o object) bool {
				return c.get(c.Entry(o.Dict["/ViewerPreferences"]), "/DisplayDocTitle") != true
			}},
		{ua: "7.1-11", a2: "6.7.3.3-1", only: "a", of: ofFile, message: "The file has no structure tree.", fix: fixTag,
			violates: func(c *checker, o object) bool { return c.Entry(o.Dict["/StructTreeRoot"]) == nil }},
		{ua: "7.2-29", of: ofFile,
			message: "The language of the document is not a language tag, such as en-GB.", fix: fixLanguage,
			violates: wrongLanguage(true)},
		{a2: "6.7.4-1", only: "a", of: ofFile,
			message: "The language of the document is not a language tag, such as en-GB.", fix: fixLanguage,
			violates: wrongLanguage(false)},
		{ua: "7.2-34", of: ofNoLanguage, message: "The language of the text is unknown.", fix: fixLanguage},
		{a1: "6.9-1", a2: "6.4.1-3", of: ofFile, message: "Readers are asked to draw the form fields.", fix: fixConvert,
			violates: func(c *checker, o object) bool {
				return c.get(c.Entry(o.Dict["/AcroForm"]), "/NeedAppearances") == true
			}},
		{a2: "6.4.2-1", of: ofFile, message: "The form is an XFA form.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return c.Entry(o.Dict["/AcroForm"])["/XFA"] != nil }},
		{a2: "6.4.2-2", of: ofFile, message: "Readers are asked to render an XFA form.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return c.get(o.Dict, "/NeedsRendering") == true }},
		{a1: "6.6.2-3", a2: "6.5.2-1", of: ofFile,
			message: "Events of the document start actions.", fix: fixRemove, violates: has("/AA")},
		{a2: "6.10-1", of: ofFile,
			message: "The file has alternate presentations.", fix: fixRemove,
			violates: named("/AlternatePresentations")},
		{a2: "6.11-1", of: ofFile,
			message: "The file has requirements for its reader.", fix: fixRemove, violates: has("/Requirements")},
		{a1: "6.2.2-1", of: ofFile,
			message:  "The profile of an output intent is not an RGB, CMYK or gray profile of ICC version 2.",
			fix:      fixProfile,
			violates: wrongProfile(3)},
		{a2: "6.2.3-1", of: ofFile,
			message:  "The profile of an output intent is not an RGB, CMYK or gray profile of ICC version 4 or lower.",
			fix:      fixProfile,
			violates: wrongProfile(5)},
		{a1: "6.2.2-2", a2: "6.2.3-2", of: ofFile,
			message: "The output intents have different profiles.", fix: fixProfile,
			violates: func(c *checker, o object) bool {
				first := ""
				for _, item := range c.list(o.Dict["/OutputIntents"]) {
					ref := pdffile.Reference(c.Entry(item)["/DestOutputProfile"])
					if first != "" && ref != "" && ref != first {
						return true
					}
					first = cmp.Or(first, ref)
				}
				return false
			}},
		{ua: "7.10-1", a2: "6.9-1", of: ofLayers,
			message:  "A configuration of layers has no name.",
			fix:      "Name the configuration, or remove the layers with pdf.pdfa.",
			violates: func(c *checker, o object) bool { return !c.filled(o.Dict, "/Name") }},
		{ua: "7.10-2", a2: "6.9-4", of: ofLayers,
			message: "A configuration of layers changes them automatically (AS).", fix: fixRemove, violates: has("/AS")},
		{ua: "7.2-2", of: ofOutline, message: "The language of the bookmarks is unknown.", fix: fixLanguage,
			violates: func(c *checker, _ object) bool { return c.catalog["/Lang"] == nil }},
		{a1: "6.6.1-1", of: ofAction,
			message: "An action is of a kind that PDF/A does not allow.", fix: fixRemove,
			violates: wrongAction("GoTo", "GoToR", "Thread", "URI", "Named", "SubmitForm")},
		{a2: "6.5.1-1", of: ofAction,
			message: "An action is of a kind that PDF/A does not allow.", fix: fixRemove,
			violates: wrongAction("GoTo", "GoToR", "GoToE", "Thread", "URI", "Named", "SubmitForm")},
		{a1: "6.6.1-2", a2: "6.5.1-2", of: ofAction,
			message: "A named action is not one of NextPage, PrevPage, FirstPage and LastPage.", fix: fixRemove,
			violates: func(c *checker, o object) bool {
				return c.name(o.Dict, "/S") == "Named" &&
					!slices.Contains([]string{"NextPage", "PrevPage", "FirstPage", "LastPage"}, c.name(o.Dict, "/N"))
			}},
		{a1: "6.6.2-2", a2: "6.4.1-2", of: ofField,
			message: "Events of a form field start actions.", fix: fixRemove, violates: has("/AA")},
		{ua: "7.2-25", of: ofField,
			message: "The language of the descriptions of form fields is unknown.", fix: fixLanguage,
			violates: func(c *checker, o object) bool {
				return c.filled(o.Dict, "/TU") && c.catalog["/Lang"] == nil && o.Dict["/Lang"] == nil &&
					(c.owners[o.ref] == nil || !c.owners[o.ref].lang)
			}},
	}
}

// wrongLanguage returns a rule about the language of a part. PDF/A allows an empty one, which means unknown.
func wrongLanguage(empty bool) func(*checker, object) bool {
	return func(c *checker, o object) bool {
		text := pdffile.Text(c.get(o.Dict, "/Lang"))
		return o.Dict["/Lang"] != nil && (text != "" || empty) && !languagePattern.MatchString(text)
	}
}

// binaryComment reports whether the second line is a comment of four bytes above 127.
func binaryComment(content []byte) bool {
	const maximum = 64
	start := bytes.Index(content[:min(len(content), pdffile.HeaderWithin)], []byte("%PDF-"))
	if start < 0 {
		return false
	}

	line := content[start:min(len(content), start+maximum)]
	end := bytes.IndexAny(line, "\r\n")
	if end < 0 {
		return false
	}

	line = bytes.TrimLeft(line[end:], "\r\n")
	if len(line) < 5 || line[0] != '%' {
		return false
	}

	for _, b := range line[1:5] {
		if b <= 127 {
			return false
		}
	}
	return true
}

func wrongAction(allowed ...string) func(*checker, object) bool {
	return func(c *checker, o object) bool { return !slices.Contains(allowed, c.name(o.Dict, "/S")) }
}

// identityRules are those about the metadata.
func identityRules() []*rule {
	read := func(f func(c *checker, x *xmp) bool) func(*checker, object) bool {
		return func(c *checker, _ object) bool { return c.xmp.there && c.xmp.readable && !c.xmp.broken && f(c, &c.xmp) }
	}

	part := func(name, number string) func(*checker, object) bool {
		return read(func(_ *checker, x *xmp) bool {
			return (x.has(name) || x.has(xmpPDFA+"conformance") && name == xmpPDFA+"part") && x.value(name) != number
		})
	}
	level := func(allowed string) func(*checker, object) bool {
		return read(func(_ *checker, x *xmp) bool {
			v := x.value(xmpPDFA + "conformance")
			return x.has(xmpPDFA+"part") && (len(v) != 1 || !strings.Contains(allowed, v))
		})
	}

	attribute := func(name string) func(*checker, object) bool {
		return read(func(_ *checker, x *xmp) bool { return strings.Contains(x.packet, " "+name+"=") })
	}

	const differ = " of the document information differs from the XMP metadata."
	fixSame := "Write the same value to both, for example with pdf.pdfa."
	same := func(key, name string) func(*checker, object) bool {
		return read(func(c *checker, x *xmp) bool {
			text, there := c.info(key)
			return there && text != x.value(name)
		})
	}
	date := func(key, name string) func(*checker, object) bool {
		return read(func(c *checker, x *xmp) bool {
			text, there := c.info(key)
			return there && (!x.has(name) || differs(text, x.value(name)))
		})
	}

	return []*rule{
		{ua: "7.1-8", a1: "6.7.2-1", a2: "6.6.2.1-1", of: ofFile,
			message: "The file has no XMP metadata.", fix: fixConvert,
			violates: func(c *checker, _ object) bool { return !c.xmp.there }},
		{a1: "6.7.2-2", of: ofFile,
			message: "The XMP metadata are compressed.", fix: fixConvert,
			violates: func(c *checker, _ object) bool { return c.xmp.filtered }},
		{a1: "6.7.9-1", a2: "6.6.2.1-4", of: ofFile,
			message: "The XMP metadata are not well-formed XML.", fix: fixConvert,
			violates: func(c *checker, _ object) bool { return c.xmp.readable && c.xmp.broken }},
		{a1: "6.7.5-1", a2: "6.6.2.1-2", of: ofFile,
			message: "The header of the XMP packet has the attribute bytes.", fix: fixConvert,
			violates: attribute("bytes")},
		{a1: "6.7.5-2", a2: "6.6.2.1-3", of: ofFile,
			message: "The header of the XMP packet has the attribute encoding.", fix: fixConvert,
			violates: attribute("encoding")},
		{ua: "5-1", of: ofFile,
			message: "The file does not claim PDF/UA: pdfuaid:part is missing.", fix: fixTag,
			violates: read(func(_ *checker, x *xmp) bool { return !x.has(xmpPDFUA + "part") })},
		{ua: "5-2", of: ofFile,
			message: "The file claims another part of PDF/UA than 1.", fix: fixTag,
			violates: part(xmpPDFUA+"part", "1")},
		{ua: "7.1-9", of: ofFile,
			message:  "The document has no title in its XMP metadata (dc:title).",
			fix:      "Set the title: the title element of the HTML, or options.metadata.title.",
			violates: read(func(_ *checker, x *xmp) bool { return !x.has(xmpDC + "title") })},
		{ua: "7.2-33", of: ofFile, message: "The language of the metadata is unknown.", fix: fixLanguage,
			violates: read(func(c *checker, x *xmp) bool {
				return slices.Contains(slices.Collect(maps.Values(x.languages)), true) && c.catalog["/Lang"] == nil
			})},
		{a1: "6.7.11-1", a2: "6.6.4-1", of: ofFile,
			message: "The file does not claim PDF/A: pdfaid:part is missing.", fix: fixConvert,
			violates: read(func(_ *checker, x *xmp) bool { return !x.has(xmpPDFA+"part") && !x.has(xmpPDFA+"conformance") })},
		{a1: "6.7.11-2", of: ofFile,
			message: "The file claims another part of PDF/A than 1.", fix: fixConvert,
			violates: part(xmpPDFA+"part", "1")},
		{a2: "6.6.4-2", part: 2, of: ofFile,
			message: "The file claims another part of PDF/A than 2.", fix: fixConvert,
			violates: part(xmpPDFA+"part", "2")},
		{a2: "6.6.4-2", part: 3, of: ofFile,
			message: "The file claims another part of PDF/A than 3.", fix: fixConvert,
			violates: part(xmpPDFA+"part", "3")},
		{a1: "6.7.11-3", of: ofFile,
			message: "The file claims no level of PDF/A-1.", fix: fixConvert, violates: level("AB")},
		{a2: "6.6.4-3", only: "b", of: ofFile,
			message: "The file claims no level of PDF/A.", fix: fixConvert, violates: level("ABU")},
		{a2: "6.6.4-3", only: "u", of: ofFile,
			message: "The file does not claim level U or A.", fix: fixTag, violates: level("AU")},
		{a2: "6.6.4-3", only: "a", of: ofFile,
			message: "The file does not claim level A.", fix: fixTag, violates: level("A")},
		{a1: "6.7.3-1", of: ofFile,
			message: "CreationDate" + differ, fix: fixSame, violates: date("/CreationDate", xmpBasic+"CreateDate")},
		{a1: "6.7.3-2", of: ofFile, message: "Title" + differ, fix: fixSame, violates: same("/Title", xmpDC+"title")},
		{a1: "6.7.3-3", of: ofFile,
			message: "Author" + differ, fix: fixSame,
			violates: read(func(c *checker, x *xmp) bool {
				text, there := c.info("/Author")
				return there && (text != x.value(xmpDC+"creator") || x.items[xmpDC+"creator"] > 1)
			})},
		{a1: "6.7.3-4", of: ofFile,
			message: "Subject" + differ, fix: fixSame, violates: same("/Subject", xmpDC+"description")},
		{a1: "6.7.3-5", of: ofFile,
			message: "Keywords" + differ, fix: fixSame, violates: same("/Keywords", xmpPDF+"Keywords")},
		{a1: "6.7.3-6", of: ofFile,
			message: "Creator" + differ, fix: fixSame, violates: same("/Creator", xmpBasic+"CreatorTool")},
		{a1: "6.7.3-7", of: ofFile,
			message: "Producer" + differ, fix: fixSame, violates: same("/Producer", xmpPDF+"Producer")},
		{a1: "6.7.3-8", of: ofFile,
			message: "ModDate" + differ, fix: fixSame, violates: date("/ModDate", xmpBasic+"ModifyDate")},
	}
}

// syntaxRules are those about objects of any kind.
func syntaxRules() []*rule {
	filter := func(newer ...string) func(*checker, object) bool {
		allowed := append([]string{
			"ASCIIHexDecode", "ASCII85Decode", "FlateDecode", "RunLengthDecode", "CCITTFaxDecode", "JBIG2Decode",
			"DCTDecode",
		}, newer...)
		return func(c *checker, o object) bool {
			return slices.ContainsFunc(c.filters(o.Dict), func(name string) bool {
				return !slices.Contains(allowed, name)
			})
		}
	}
	const limits = "Create the file again with shorter values, for example by pdf.pdfa."

	return []*rule{
		{a1: "6.1.7-1", a2: "6.1.7.1-1", of: ofWrongLength,
			message: "The length of a stream is wrong.", fix: fixRewrite},
		{a1: "6.1.7-3", a2: "6.1.7.1-3", of: ofStream,
			message: "The data of a stream are in another file.", fix: fixConvert,
			violates: func(_ *checker, o object) bool {
				return o.Dict["/F"] != nil || o.Dict["/FFilter"] != nil || o.Dict["/FDecodeParms"] != nil
			}},
		{a1: "6.1.10-1", of: ofStream,
			message: "A stream has a filter that PDF/A-1 does not allow, such as LZWDecode or JPXDecode.", fix: fixConvert,
			violates: filter()},
		{a2: "6.1.7.2-1", of: ofStream,
			message: "A stream has a filter that PDF/A does not allow, such as LZWDecode.", fix: fixConvert,
			violates: filter("JPXDecode", "Crypt")},
		{a2: "6.1.7.2-1", of: ofStream,
			message: "A stream is encrypted (Crypt).", fix: fixConvert,
			violates: func(c *checker, o object) bool {
				parameters := c.items(o.Dict["/DecodeParms"])
				for i, name := range c.filters(o.Dict) {
					if name == "Crypt" && i < len(parameters) && !slices.Contains([]string{"", "Identity"}, c.name(c.Entry(parameters[i]), "/Name")) {
						return true
					}
				}
				return false
			}},
		{a1: "6.1.10-2", of: ofInlineLZW,
			message: "An image in the page content is compressed with LZW.", fix: fixConvert},
		{a2: "6.1.10-1", of: ofInlineFilter,
			message: "An image in the page content has a filter that PDF/A does not allow.", fix: fixConvert},
		{a1: "6.1.12-1", a2: "6.1.13-1", of: ofLargeInteger,
			message: "An integer exceeds 2,147,483,647 in size.", fix: limits},
		{a1: "6.1.12-2", of: ofLargeReal, message: "A real number exceeds 32,767 in size.", fix: limits},
		{a1: "6.1.12-3", of: ofLongString,
			message: "A string has more than 65,535 bytes.", fix: limits,
			violates: func(_ *checker, o object) bool {
				n, _ := o.Dict["length"].(float64)
				return n > 65535
			}},
		{a2: "6.1.13-3", of: ofLongString, message: "A string has more than 32,767 bytes.", fix: limits},
		{a1: "6.1.12-4", a2: "6.1.13-4", of: ofLongName, message: "A name has more than 127 bytes.", fix: limits},
		{a1: "6.1.12-5", of: ofLongArray, message: "An array has more than 8,191 elements.", fix: limits},
		{a1: "6.1.12-6", of: ofLongDict, message: "A dictionary has more than 4,095 entries.", fix: limits},
		{a1: "6.1.11-1", of: ofFileSpec,
			message: "The file has an embedded file.",
			fix:     "Remove the attachments with pdf.attachments, or use PDF/A-3."},
		{ua: "7.11-1", of: ofFileSpec,
			message: "An embedded file has no name: F or UF.", fix: "Attach the file again with pdf.attachments.",
			violates: func(c *checker, o object) bool { return !c.filled(o.Dict, "/F") || !c.filled(o.Dict, "/UF") }},
		{a2: "6.8-2", of: ofFileSpec,
			message: "An embedded file has no name: F or UF.", fix: "Attach the file again with pdf.attachments.",
			violates: func(_ *checker, o object) bool { return o.Dict["/F"] == nil || o.Dict["/UF"] == nil }},
		{a2: "6.8-5", part: 2, of: ofFileSpec,
			message: "An embedded file is not a PDF, which PDF/A-2 requires.",
			fix:     "Remove the attachment with pdf.attachments, or use PDF/A-3.",
			violates: func(c *checker, o object) bool {
				s, _, ok := c.stream(c.Entry(o.Dict["/EF"])["/F"])
				beginning, readable := c.beginning(s, pdffile.HeaderWithin)
				return ok && readable && !bytes.Contains(beginning, []byte("%PDF-"))
			}},
		{a2: "6.8-3", part: 3, of: ofFileSpec,
			message:  "The relation of an embedded file to the document is not given (AFRelationship).",
			fix:      "Attach the file again with pdf.attachments.",
			violates: func(_ *checker, o object) bool { return o.Dict["/AFRelationship"] == nil }},
		{a2: "6.8-1", part: 3, of: ofFileSpec,
			message: "The media type of an embedded file is not given (Subtype).",
			fix:     "Attach the file again with pdf.attachments.",
			violates: func(c *checker, o object) bool {
				return !mediaType.MatchString(c.name(c.Entry(c.Entry(o.Dict["/EF"])["/F"]), "/Subtype"))
			}},
		{a2: "6.8-4", part: 3, of: ofFileSpec,
			message:  "An embedded file is not associated with a part of the document (AF).",
			fix:      "Attach the file again with pdf.attachments.",
			violates: func(c *checker, o object) bool { return c.Dict(o.ref)["/EF"] != nil && !c.related[o.ref] }},
	}
}

var mediaType = regexp.MustCompile(`^[-\w+.]+/[-\w+.]+$`)

// filters returns the names of a stream's filters.
func (c *checker) filters(entries pdffile.Dict) (names []string) {
	for _, v := range c.items(entries["/Filter"]) {
		name, _ := c.Target(v).(string)
		names = append(names, strings.TrimPrefix(name, "/"))
	}
	return names
}

// items returns the items of an array, or the only one.
func (c *checker) items(v any) []any {
	if list := c.list(v); list != nil || c.Target(v) == nil {
		return list
	}
	return []any{v}
}

// beginning returns the first bytes of a stream's content, and false if they cannot be read.
func (c *checker) beginning(s pdffile.Stream, size int) ([]byte, bool) {
	content := s.Content
	switch filters := c.filters(s.Entries); {
	case slices.Equal(filters, []string{"FlateDecode"}) && s.Entries["/DecodeParms"] == nil:
		content, _ = pdffile.Inflate(content, size) // which may have more
	case len(filters) > 0:
		return nil, false
	}
	return content[:min(len(content), size)], true
}
