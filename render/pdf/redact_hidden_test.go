package pdf

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// hideout is a document in which something is hidden that a request is to take out.
type hideout struct {
	name     string
	content  []byte
	args     redact.Args
	secret   string // Falkenberg where it is empty
	password string
	// refused is true if the redaction must be refused; else it must succeed.
	refused bool
	pages   int
}

const (
	helvetica = "/F1 14 Tf "
	visible   = "BT /F1 14 Tf 20 300 Td (before Falkenberg after) Tj ET\n"
	drawImage = "q 100 0 0 100 100 200 cm /I Do Q\n"
)

// overImage covers what drawImage draws, and inImage the part of it that is of one gray.
var (
	overImage = redact.Args{Areas: []redact.Area{{Page: 1, X: 90, Y: 90, Width: 120, Height: 120}}}
	inImage   = redact.Args{Areas: []redact.Area{{Page: 1, X: 130, Y: 130, Width: 40, Height: 40}}}
)

var byTerm = redact.Args{Terms: []string{"falkenberg"}}

// one is a crafted page, changed by f.
func one(content, resources string, f func(*crafted)) *crafted {
	c := craft(content)
	c.pages[0].resources = resources
	if f != nil {
		f(c)
	}
	return c
}

// hideouts are all of them.
func hideouts(t *testing.T) []hideout {
	t.Helper()
	return append(append(append(hiddenResources(), hiddenContent()...), hiddenObjects(t)...), hiddenPictures(t)...)
}

// hiddenResources are forms, images and fonts that a page lists and does not draw, or draws
// in another way than others do.
func hiddenResources() (all []hideout) {
	add := func(name string, args redact.Args, c *crafted) {
		all = append(all, hideout{name: name, content: c.write(), args: args, pages: len(c.pages)})
	}
	c := craft("/X Do", "BT /F1 14 Tf 20 300 Td (other) Tj ET")
	list := "/XObject << /X " + c.form(visible, "") + " >>"
	c.pages[0].resources, c.pages[1].resources = list, list
	add("a form that another page lists", byTerm, c)

	c = craft("/X Do", "BT /F1 14 Tf 20 300 Td (other) Tj ET", "BT /F1 14 Tf 20 300 Td (third) Tj ET")
	shared := c.add("<< /Font << /F1 3 0 R >> /XObject << /X " + c.form(visible, "") + " >> >>")
	for i := range c.pages {
		c.pages[i].resources = "ref " + shared
	}
	add("Resources that all pages share", byTerm, c)

	c = craft("/X Do", "BT /F1 14 Tf 20 300 Td (other) Tj ET")
	c.tree = "/Resources << /Font << /F1 3 0 R >> /XObject << /X " + c.form(visible, "") + " >> >>"
	c.pages[0].resources, c.pages[1].resources = "-", "-"
	add("Resources that pages inherit", byTerm, c)

	c = craft(visible, "BT /F1 14 Tf 20 300 Td (other) Tj ET")
	c.pages[1].resources = "/XObject << /X " + c.form(visible, "") + " >>"
	add("a form that no page draws", byTerm, c)

	c = craft(visible)
	c.pages[0].resources = "/XObject << /X " + c.form(visible, "") + " >>"
	add("a form that its page does not draw", byTerm, c)

	c = craft("/Y Do " + visible)
	c.pages[0].resources = "/XObject << /Y " + c.form("0 0 9 9 re f", "/XObject << /X "+c.form(visible, "")+" >>") + " >>"
	add("a form that a form lists", byTerm, c)

	c = craft(drawImage, "BT /F1 14 Tf 20 300 Td (other) Tj ET")
	list = "/XObject << /I " + c.image("") + " >>"
	c.pages[0].resources, c.pages[1].resources = list, list
	add("an image that another page lists", overImage, c)

	c = craft(drawImage, "BT /F1 14 Tf 20 300 Td (other) Tj ET", "BT /F1 14 Tf 20 300 Td (third) Tj ET")
	shared = c.add("<< /Font << /F1 3 0 R >> /XObject << /I " + c.image("") + " >> >>")
	for i := range c.pages {
		c.pages[i].resources = "ref " + shared
	}
	add("an image of Resources that all pages share", overImage, c)

	c = craft("/X Do", "BT /F1 14 Tf 20 300 Td (other) Tj ET")
	list = "/XObject << /X " + c.form(drawImage, "/XObject << /I "+c.image("")+" >>") + " >>"
	c.pages[0].resources, c.pages[1].resources = list, list
	add("an image of a form that another page lists", overImage, c)

	c = craft(drawImage + "/P gs")
	c.pages[0].resources = "/XObject << /I " + c.image("") + " >> /Pattern << /T " +
		c.stream("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 300 400] /XStep 300 /YStep 400 /Resources << /Font << /F1 3 0 R >> >>", visible) + " >>"
	add("a pattern that nothing is filled with", redact.Args{Terms: byTerm.Terms, Areas: overImage.Areas}, c)

	c = craft(visible)
	c.pages[0].resources = "/ColorSpace << /C [/Separation /Falkenberg /DeviceGray << /FunctionType 2 /Domain [0 1] /C0 [1] /C1 [0] /N 1 >>] >>"
	add("the name of an ink that is not used", byTerm, c)

	c = craft("/C cs 1 scn 0 0 20 20 re f " + visible)
	c.pages[0].resources = "/ColorSpace << /C [/Separation /Falkenberg /DeviceGray << /FunctionType 2 /Domain [0 1] /C0 [1] /C1 [0] /N 1 >>] >>"
	add("the name of an ink", byTerm, c)

	c = craft("/Falkenberg Do " + visible)
	c.pages[0].resources = "/XObject << /Falkenberg " + c.form("0 0 9 9 re f", "") + " >>"
	add("the name of a form", byTerm, c)

	c = craft("BT /F2 14 Tf 20 200 Td (other) Tj ET " + visible)
	c.pages[0].resources = "/XObject << >>"
	c.pages[0].content = strings.ReplaceAll(c.pages[0].content, "/F1", "/F2")
	c.pages[0].resources = "ref << /Font << /F2 " + c.add("<< /Type /Font /Subtype /Type1 /BaseFont /FALKEN+FalkenbergSans /FontDescriptor << /Type /FontDescriptor /FontName /FalkenbergSans /FontFamily (Falkenberg) /Flags 32 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 700 /Descent 200 /CapHeight 700 /StemV 80 >> >>") + " >> >>"
	add("the name of a font", byTerm, c)

	c = craft(visible)
	c.pages[0].entries = "/Thumb " + c.stream("/Width 40 /Height 40 /ColorSpace /DeviceGray /BitsPerComponent 8", secretPixels()) + " /PieceInfo << /Falkenberg << /LastModified (D:2026) /Private (Falkenberg) >> >>"
	add("the thumbnail of a page", redact.Args{Terms: byTerm.Terms, Areas: overImage.Areas}, c)

	c = craft(drawImage)
	other := c.image("/Metadata " + c.stream("/Type /Metadata /Subtype /XML", "<x>Falkenberg</x>"))
	c.pages[0].resources = "/XObject << /I " + c.image("/Alternates [<< /Image "+other+" >>] /OPI << /2.0 << /Type /OPI /Version 2.0 /F (Falkenberg.tif) >> >>") + " >>"
	add("the alternate of an image", overImage, c)
	return all
}

// hiddenContent is text of pages that is hard to see or to read.
func hiddenContent() (all []hideout) {
	add := func(name string, args redact.Args, refused bool, c *crafted) {
		all = append(all, hideout{name: name, content: c.write(), args: args, refused: refused, pages: len(c.pages)})
	}
	plain := func(name, content string) { add(name, byTerm, false, craft(content)) }
	text := func(s string) string { return "BT " + helvetica + s + " ET\n" }
	plain("a mile off the page", text("20000 20000 Td (Falkenberg) Tj")+visible)
	plain("below the page", text("20 -20000 Td (Falkenberg) Tj")+visible)
	plain("a hundred miles off the page", text("20000000 20000000 Td (Falkenberg) Tj")+visible)
	plain("a comment", "% Falkenberg\n"+visible)
	plain("a comment on a page without the word", text("20 300 Td (other) Tj % Falkenberg\n"))
	plain("an inline Alt", "/Figure << /MCID 0 /Alt (of Falkenberg) >> BDC 0 0 9 9 re f EMC "+visible)
	plain("an inline Alt in hexadecimal digits", "/Figure << /Alt <FEFF00460061006C006B0065006E0062006500720067> >> BDC 0 0 9 9 re f EMC "+visible)
	plain("an inline E", "/Span << /E (Falkenberg) /Lang (en) >> BDC "+text("20 200 Td (F.) Tj")+"EMC "+visible)
	plain("a private property", "/Span << /Secret << /Of [(Falkenberg)] >> >> BDC "+text("20 200 Td (F.) Tj")+"EMC "+visible)
	plain("a point with properties", "/Tag << /Who (Falkenberg) >> DP "+visible)
	plain("a tag", "/Falkenberg BMC "+text("20 200 Td (F.) Tj")+"EMC "+visible)
	plain("an operand of nothing", "(Falkenberg) 0 0 9 9 re f "+visible)
	plain("an operator of no standard", "BX (Falkenberg) secret EX "+visible)
	plain("behind the last operator", visible+"(Falkenberg)")
	plain("without a size", "BT /F1 0 Tf 20 200 Td (Falkenberg) Tj ET "+visible)
	plain("clipped", "q 0 0 1 1 re W n "+text("20 200 Td (Falkenberg) Tj")+"Q "+visible)
	plain("as a clip", "q "+text("7 Tr 20 200 Td (Falkenberg) Tj")+"Q "+visible)
	plain("invisible", text("3 Tr 20 200 Td (Falkenberg) Tj"))
	plain("white on white", "1 g "+text("20 200 Td (Falkenberg) Tj"))
	plain("letter by letter", text("20 200 Td (F) Tj 9 0 Td (a) Tj 8 0 Td (l) Tj 4 0 Td (k) Tj 7 0 Td (e) Tj 8 0 Td (n) Tj 8 0 Td (b) Tj 8 0 Td (e) Tj 8 0 Td (r) Tj 5 0 Td (g) Tj"))
	plain("turned by 30 degrees", text("0.866 0.5 -0.5 0.866 60 60 Tm (Falkenberg) Tj"))
	plain("capitals in a ragged array", text("20 200 Td [(FA) -50 (L) 30 (KENB) -20 (ERG)] TJ"))
	plain("before the end of a text", text("20 200 Td (Fal\\\nken\\142erg) Tj"))

	c := craft("/A Do /B Do")
	c.pages[0].resources = "/XObject << /A " + c.form(text("20 200 Td (Falken) Tj"), "") + " /B " + c.form(text("64.5 200 Td (berg) Tj"), "") + " >>"
	add("across two forms", byTerm, false, c)

	c = craft("/G gs 0 0 300 400 re f /N gs " + visible)
	c.pages[0].resources = "/ExtGState << /N << /SMask /None >> /G << /SMask << /S /Luminosity /G " +
		c.stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Group << /S /Transparency /CS /DeviceGray >> /Resources << /Font << /F1 3 0 R >> >>", "1 g "+visible) + " >> >> >>"
	add("a soft mask", byTerm, true, c)

	c = craft("/Pattern cs /T scn 0 0 300 400 re f " + visible)
	c.pages[0].resources = "/Pattern << /T " + c.stream("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 300 400] /XStep 300 /YStep 400 /Resources << /Font << /F1 3 0 R >> >>", visible) + " >>"
	add("the tile of a pattern", byTerm, true, c)

	glyphs := func(content string) *crafted {
		c := craft(content)
		font := c.add("<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1000 1000] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 97 /LastChar 98 /Widths [1000 1000] /Encoding << /Type /Encoding /Differences [97 /a /b] >>" +
			" /Resources << /Font << /F1 3 0 R >> >> /CharProcs << /a " + c.stream("", "1000 0 d0 0 0 500 500 re f") + " /b " + c.stream("", "1000 0 d0 BT /F1 100 Tf (Falkenberg) Tj ET") + " >> >>")
		c.pages[0].resources = "ref << /Font << /F1 3 0 R /T3 " + font + " >> >>"
		return c
	}
	add("the glyph of a Type 3 font", byTerm, true, glyphs("BT /T3 20 Tf 20 200 Td (ab) Tj ET "+visible))
	add("a glyph of a Type 3 font that is not shown", byTerm, false, glyphs("BT /T3 20 Tf 20 200 Td (aa) Tj ET "+visible))
	add("the glyph of a Type 3 font in an area", redact.Args{Areas: []redact.Area{{Page: 1, X: 10, Y: 170, Width: 60, Height: 40}}}, false,
		glyphs("BT /T3 20 Tf 20 200 Td (b) Tj ET BT /F1 14 Tf 20 300 Td (other) Tj ET"))

	toUnicode := func(map1, content string) *crafted {
		c := craft(content)
		c.pages[0].resources = "ref << /Font << /F1 3 0 R /U << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode " + c.stream("", "/CIDInit /ProcSet findresource begin begincmap "+
			"1 begincodespacerange <00> <ff> endcodespacerange "+map1+" endcmap end") + " >> >> >>"
		return c
	}
	add("letters by ToUnicode", byTerm, false, toUnicode("9 beginbfchar <09> <0072> <0A> <0067> <01> <0046> <06> <006E> <07> <0062> <02> <0061> <03> <006C> <04> <006B> <05> <0065> endbfchar",
		"BT /U 14 Tf 20 200 Td [<0102> 10 <0304050607>] TJ <05090A> Tj ET "))
	add("soft hyphens", byTerm, false, toUnicode("1 beginbfchar <AD> <00AD> endbfchar 1 beginbfrange <20> <7e> <0020> endbfrange", "BT /U 14 Tf 20 200 Td (Fal\\255ken\\255berg) Tj ET "))
	add("a word that is one glyph", byTerm, false, toUnicode("1 beginbfchar <41> <00460061006C006B0065006E0062006500720067> endbfchar", "BT /U 14 Tf 20 200 Td (A) Tj ET "))
	add("a meaning that no glyph has", byTerm, false, toUnicode("2 beginbfchar <41> <0041> <42> <00460061006C006B0065006E0062006500720067> endbfchar", "BT /U 14 Tf 20 200 Td (A) Tj ET "+visible))
	add("a meaning that lies", byTerm, true, toUnicode("2 beginbfrange <20> <7e> <0041> <80> <ff> <0041> endbfrange", "BT /U 14 Tf 20 200 Td (Falkenberg) Tj ET "+visible))

	c = craft("BT /F1 14 Tf 20 200 Td (Account 12-34-56 of A) Tj ET % 12-34-56\n/Figure << /Alt (12-34-56) >> BDC 0 0 1 1 re f EMC", "/X Do")
	c.pages[1].resources = "/XObject << /X " + c.form("BT /F1 14 Tf 20 200 Td (Account 12-34-56 of A) Tj ET", "") + " /Y " + c.form("BT /F1 14 Tf (12-34-56) Tj ET", "") + " >>"
	all = append(all, hideout{name: "a pattern in all of these", content: c.write(), args: redact.Args{Patterns: []string{`\d\d-\d\d-\d\d`}}, secret: "12-34-56", pages: 2})
	return all
}

// hiddenObjects are texts that no page shows.
func hiddenObjects(t *testing.T) (all []hideout) {
	t.Helper()
	add := func(name string, f func(c *crafted)) {
		all = append(all, hideout{name: name, content: one(visible, "", f).write(), args: byTerm, pages: 1})
	}
	link := func(address string) string {
		return "/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI " + address + " >> >>]"
	}
	add("a percent-encoded address", func(c *crafted) { c.pages[0].entries = link("(https://example.com/?q=%46%61lkenber%67)") })
	add("a twice encoded address", func(c *crafted) { c.pages[0].entries = link("(https://example.com/?q=%2546alkenberg)") })
	add("an address in octal", func(c *crafted) { c.pages[0].entries = link("(https://example.com/\\106alkenberg)") })
	add("a wide address", func(c *crafted) { c.pages[0].entries = link("<FEFF00460061006C006B0065006E0062006500720067>") })
	add("the action of an action", func(c *crafted) {
		c.pages[0].entries = "/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /PA << /S /URI /URI (http://x/%46alkenberg) >> /A << /S /Launch /F (Falkenberg.exe) /Next << /S /GoToR /F << /F (Falkenberg.pdf) >> /D (x) >> >> /Contents (Falkenberg) /T (Falkenberg) /Subj (Falkenberg) /NM (Falkenberg) >>]"
	})
	add("the ID of the file", func(c *crafted) { c.trailer = "/ID [(Falkenberg's file) <46616C6B656E62657267>]" })
	add("entries of the trailer", func(c *crafted) { c.trailer = "/Falkenberg (Falkenberg) /DocChecksum /Falkenberg" })
	add("entries of the catalog", func(c *crafted) {
		c.catalog = "/Who (Falkenberg) /Falkenberg << /Of [(Falkenberg)] >> /SpiderInfo << /C [(Falkenberg)] >> /Lang (Falkenberg) /URI << /Base (http://%46alkenberg/) >>"
	})
	add("entries of a page", func(c *crafted) {
		c.pages[0].entries = "/Falkenberg (Falkenberg) /LastModified (Falkenberg) /ID (Falkenberg) /AA << /O << /S /JavaScript /JS (Falkenberg) >> >>"
	})
	add("information", func(c *crafted) {
		c.info = "/Title (On Fal\\153enberg) /Subject <46616C6B656E62657267> /Falkenberg (x) /Keywords <FEFF00460061006C006B0065006E0062006500720067> /Producer (\\357\\273\\277Falkenberg)"
	})
	add("XMP in UTF-16 and with entities", func(c *crafted) {
		c.catalog = "/Metadata " + c.stream("/Type /Metadata /Subtype /XML", "\xfe\xff\x00F\x00a\x00l\x00k\x00e\x00n\x00b\x00e\x00r\x00g &#70;alkenberg")
	})
	add("labels, layers and an outline", func(c *crafted) {
		outlines := c.add("<< /Type /Outlines /First 150 0 R /Last 150 0 R /Count 1 >>")
		c.objects[150] = "<< /Title (See %46alkenberg) /Parent " + outlines + " /A << /S /URI /URI (http://x/Falken%62erg) >> >>"
		group := c.add("<< /Type /OCG /Name (Falkenberg's layer) /Usage << /CreatorInfo << /Creator (Falkenberg) /Subtype /Falkenberg >> >> >>")
		c.catalog = "/Outlines " + outlines + " /PageLabels << /Nums [0 << /P (Falkenberg) >>] >> /OCProperties << /OCGs [" + group + "] /D << /Name (Falkenberg) /Creator (Falkenberg) /Order [(Falkenberg) " + group + "] >> >>"
	})
	add("named places", func(c *crafted) {
		c.catalog = "/Dests << /Falkenberg [10 0 R /Fit] >> /Names << /Dests << /Names [(Falkenberg) << /D [10 0 R /Fit] /Falkenberg (Falkenberg) >>] >> /JavaScript << /Names [(Falkenberg) << /S /JavaScript /JS (Falkenberg) >>] >> /Falkenberg << /Names [(x) (Falkenberg)] >> >>"
		c.pages[0].entries = "/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest /Falkenberg >> << /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest (Falkenberg) >>]"
	})
	add("the structure of a document", func(c *crafted) {
		root := c.add("<< /Type /StructTreeRoot /K 150 0 R /RoleMap << /Falkenberg /P >> /ClassMap << /Falkenberg << /O /Layout >> >> /IDTree << /Names [(Falkenberg) 150 0 R] >> >>")
		c.objects[150] = "<< /Type /StructElem /S /Falkenberg /P " + root + " /Pg 10 0 R /T (Falkenberg) /E (Falkenberg) /Alt (Falkenberg) /ActualText (Falkenberg) /ID (Falkenberg) /C /Falkenberg /A << /O /UserProperties /P [<< /N (Name) /V (Falkenberg) /F (Falkenberg) >>] >> >>"
		c.catalog = "/MarkInfo << /Marked true >> /StructTreeRoot " + root
	})
	add("comments of all kinds", func(c *crafted) {
		form := c.form(visible, "")
		c.objects[150] = "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (Falkenberg) /RC (<p>Falkenberg</p>) /T (Falkenberg) /Popup 151 0 R /AP << /N " + form + " >> >>"
		c.objects[151] = "<< /Type /Annot /Subtype /Popup /Rect [0 0 99 99] /Parent 150 0 R /Contents (Falkenberg) >>"
		c.pages[0].entries = "/Annots [150 0 R 151 0 R << /Type /Annot /Subtype /Text /Rect [0 0 9 9] /IRT 150 0 R /F 2 /Contents (Falkenberg) >> << /Type /Annot /Subtype /FreeText /Rect [20 100 200 130] /DA (/F1 12 Tf) /DS (Falkenberg) /Contents (Falkenberg) >> << /Type /Annot /Subtype /Redact /Rect [0 0 9 9] /OverlayText (Falkenberg) >>]"
	})
	add("a form with XFA and scripts", func(c *crafted) {
		c.objects[150] = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (Falkenberg) /TM (Falkenberg) /V (Falkenberg) /DV (Falkenberg) /DA (/Falkenberg 12 Tf 0 g) /Rect [20 100 200 130] /MK << /CA (Falkenberg) >> /AA << /K << /S /JavaScript /JS (Falkenberg) >> >> /P 10 0 R >>"
		c.catalog = "/AcroForm << /Fields [150 0 R] /DA (/F1 12 Tf Falkenberg) /DR << /Font << /F1 3 0 R /Falkenberg 3 0 R >> >> /XFA [(preamble) " + c.stream("", "<x>Falkenberg</x>") + "] >>"
		c.pages[0].entries = "/Annots [150 0 R]"
	})
	add("threads, files and an output intent", func(c *crafted) {
		file := "<< /Type /Filespec /F (Falkenberg.txt) /UF (Falkenberg.txt) /Desc (Falkenberg) /EF << /F " + c.stream("/Type /EmbeddedFile", "Falkenberg") + " >> >>"
		c.objects[150] = "<< /Type /Thread /F 151 0 R /I << /Title (Falkenberg) >> >>"
		c.objects[151] = "<< /Type /Bead /T 150 0 R /N 151 0 R /V 151 0 R /P 10 0 R /R [0 0 9 9] >>"
		c.pages[0].entries = "/B [151 0 R]"
		c.catalog = "/Threads [150 0 R] /AF [" + file + "] /Collection << /D (Falkenberg) >> /Names << /EmbeddedFiles << /Names [(Falkenberg.txt) " + file + "] >> >> /OutputIntents [<< /Type /OutputIntent /S /GTS_PDFX /Info (Falkenberg) /OutputConditionIdentifier (Falkenberg) /RegistryName (Falkenberg) >>]"
	})
	add("an object that nothing refers to", func(c *crafted) { c.stream("", visible); c.add("(Falkenberg)") })
	add("behind the end of the file", func(c *crafted) { c.behind = "Falkenberg\n%Falkenberg" })
	add("a profile that is none", func(c *crafted) {
		c.pages[0].content = "/C cs 1 1 1 scn " + visible
		c.pages[0].resources = "/ColorSpace << /C [/ICCBased " + c.add(deflated("/N 3 /Alternate /DeviceRGB", strings.Repeat("\x00", 128)+"desc Falkenberg")) + "] >>"
	})

	hidden := one(visible, "", nil).write()
	all = append(all, hideout{name: "an earlier version of the page", content: updated(t, hidden, 11, streamText("", "BT /F1 14 Tf 20 300 Td (harmless) Tj ET")), args: redact.Args{Terms: []string{"harmless"}}, pages: 1})
	comment := one("% Falkenberg\n"+visible, "", func(c *crafted) {
		c.info, c.trailer = "/Title (Falkenberg)", "/ID [(Falkenberg) (Falkenberg)]"
		c.pages[0].entries = link("(http://x/%46alkenberg)")
	}).write()
	all = append(all, hideout{name: "objects in streams", content: pdftest.Transform(t, comment, "--object-streams=generate"), args: byTerm, pages: 1})
	for name, options := range map[string][]string{"AES-256": {"--encrypt", "user", "owner", "256", "--"}, "RC4": {"--allow-weak-crypto", "--encrypt", "user", "owner", "128", "--"}} {
		all = append(all, hideout{name: "encrypted by " + name, content: pdftest.Transform(t, comment, options...), args: redact.Args{Input: job.Input{Password: "user"}, Terms: byTerm.Terms}, password: "user", pages: 1, refused: true})
	}
	polish := one("BT /P 14 Tf 20 300 Td (\\225ukasiewicz) Tj ET", "ref << /Font << /P << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Differences [149 /Lslash] >> >> >> >>", func(c *crafted) {
		c.info = "/Title (\\225ukasiewicz) /Author <FEFF0141\n0075006B> /Subject (of \\225UKASIEWICZ)"
		c.pages[0].entries = link("(http://x/%C5%81ukasiewicz)")
	})
	all = append(all, hideout{name: "letters of other countries", content: polish.write(), args: redact.Args{Terms: []string{"ŁUKASIEWICZ"}}, secret: "ukasiewicz", pages: 1})
	return all
}

// bars is an image of 40 × 40 bits in a fax's coding.
var bars = "2e8c46d1766111d18cba05" + strings.Repeat("f", 175) + "c004004"

// hiddenPictures are images beneath an area.
func hiddenPictures(t *testing.T) (all []hideout) {
	t.Helper()
	add := func(name string, content string, f func(c *crafted)) {
		c := one(content, "", f)
		all = append(all, hideout{name: name, content: c.write(), args: overImage, pages: len(c.pages)})
	}
	// framed images have a part of one gray: an area there is as blank as one without an image.
	framed := func(name string, content string, f func(c *crafted)) {
		add(name, content, f)
		c := one(content, "", func(c *crafted) {
			c.pixels = framedPixels()
			f(c)
		})
		all = append(all, hideout{name: name + ", in a part of one gray", content: c.write(), args: inImage, pages: len(c.pages)})
	}
	list := func(ref string) string { return "/XObject << /I " + ref + " >>" }
	framed("an image twice", drawImage+"q 1 0 0 1 20000 20000 cm /I Do Q q 0 0 1 1 re W n 0.001 0 0 0.001 0 0 cm /I Do Q", func(c *crafted) { c.pages[0].resources = list(c.image("")) })
	framed("an image in a hidden layer", "/OC /L BDC "+drawImage+"EMC", func(c *crafted) {
		group := c.add("<< /Type /OCG /Name (Layer) >>")
		c.catalog = "/OCProperties << /OCGs [" + group + "] /D << /OFF [" + group + "] /Order [" + group + "] >> >>"
		c.pages[0].resources = list(c.image("")) + " /Properties << /L " + group + " >>"
	})
	framed("an image under a white box", drawImage+"1 g 50 150 200 200 re f", func(c *crafted) { c.pages[0].resources = list(c.image("")) })
	framed("an image whose soft mask is the picture", drawImage, func(c *crafted) {
		mask := c.image("")
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /SMask "+mask, "\x00"))
	})
	add("an image whose mask is the picture", drawImage, func(c *crafted) {
		bits, _ := hex.DecodeString(bars)
		mask := c.stream("/Type /XObject /Subtype /Image /ImageMask true /Width 40 /Height 40 /BitsPerComponent 1 /Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 40 /Rows 40 >>", string(bits))
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Mask "+mask, "\x00"))
	})
	framed("a soft mask that is an image", "/G gs 50 150 200 200 re f", func(c *crafted) {
		c.pages[0].resources = "/ExtGState << /G << /SMask << /S /Luminosity /G " + c.stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Group << /S /Transparency /CS /DeviceGray >> /Resources << "+list(c.image(""))+" >>", drawImage) + " >> >> >>"
	})
	framed("a pattern of images", "/Pattern cs /T scn 100 200 100 100 re f", func(c *crafted) {
		c.pages[0].resources = "/Pattern << /T " + c.stream("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 300 400] /XStep 300 /YStep 400 /Resources << "+list(c.image(""))+" >>", drawImage) + " >>"
	})
	inline := "q 100 0 0 100 100 200 cm BI /W 40 /H 40 /CS /G /BPC 8 /F /AHx ID " + hex.EncodeToString([]byte(secretPixels())) + "> EI Q"
	add("an image in the content", inline, nil)
	tile := func(c *crafted, entries, resources, content string) string {
		return c.stream("/Type /Pattern /PatternType 1 /TilingType 1 /BBox [0 0 300 400] /XStep 300 /YStep 400 "+entries+" /Resources << "+resources+" >>", content)
	}
	framed("a pattern of a form with an image", "/Pattern cs /T scn 100 200 100 100 re f", func(c *crafted) {
		c.pages[0].resources = "/Pattern << /T " + tile(c, "/PaintType 1", "/XObject << /X "+c.form(drawImage, list(c.image("")))+" >>", "/X Do") + " >>"
	})
	framed("a pattern of images in a form", "q 1 0 0 1 50 0 cm /X Do Q", func(c *crafted) {
		c.pages[0].resources = "/XObject << /X " + c.form("/Pattern cs /T scn 50 200 100 100 re f", "/Pattern << /T "+tile(c, "/PaintType 1 /Matrix [1 0 0 1 -50 0]", list(c.image("")), drawImage)+" >>") + " >>"
	})
	framed("lines of a pattern of images", "/Pattern CS /T SCN 100 w 100 250 m 200 250 l S", func(c *crafted) {
		c.pages[0].resources = "/Pattern << /T " + tile(c, "/PaintType 1", list(c.image("")), drawImage) + " >>"
	})
	framed("a soft mask of a pattern of images", "/G gs 50 150 200 200 re f", func(c *crafted) {
		pattern := "/Pattern << /T " + tile(c, "/PaintType 1", list(c.image("")), drawImage) + " >>"
		c.pages[0].resources = "/ExtGState << /G << /SMask << /S /Luminosity /G " + c.stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Group << /S /Transparency /CS /DeviceGray >> /Resources << "+pattern+" >>", "/Pattern cs /T scn 100 200 100 100 re f") + " >> >> >>"
	})
	framed("a soft mask within a soft mask", "/G gs 50 150 200 200 re f", func(c *crafted) {
		mask := func(resources, content string) string {
			return "/ExtGState << /G << /SMask << /S /Luminosity /G " + c.stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Group << /S /Transparency /CS /DeviceGray >> /Resources << "+resources+" >>", content) + " >> >> >>"
		}
		c.pages[0].resources = mask(mask(list(c.image("")), drawImage), "/G gs 1 g 0 0 300 400 re f")
	})
	framed("an image as the soft mask of another, which is smaller", drawImage, func(c *crafted) {
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8 /SMask "+c.image(""), strings.Repeat("\x00", 64)))
	})
	framed("an image as the soft mask of a stencil in a pattern", "/Pattern cs /T scn 100 200 100 100 re f", func(c *crafted) {
		black := c.stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /SMask "+c.image(""), "\x00")
		c.pages[0].resources = "/Pattern << /T " + tile(c, "/PaintType 1", list(black), drawImage) + " >>"
	})
	framed("a glyph that is an image", "BT /T3 100 Tf 100 200 Td (a) Tj ET", func(c *crafted) {
		font := c.add("<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] /FirstChar 97 /LastChar 97 /Widths [1] /Encoding << /Type /Encoding /Differences [97 /a] >>" +
			" /Resources << " + list(c.image("")) + " >> /CharProcs << /a " + c.stream("", "1 0 d0 /I Do") + " >> >>")
		c.pages[0].resources = "ref << /Font << /F1 3 0 R /T3 " + font + " >> >>"
	})
	framed("the appearance of a comment", "", func(c *crafted) {
		look := c.stream("/Type /XObject /Subtype /Form /BBox [0 0 100 100] /Resources << "+list(c.image(""))+" >>", "q 100 0 0 100 0 0 cm /I Do Q")
		c.pages[0].entries = "/Annots [<< /Type /Annot /Subtype /Stamp /F 4 /Rect [100 200 200 300] /AP << /N " + look + " >> >>]"
	})
	bits, err := hex.DecodeString(bars)
	if err != nil {
		t.Fatal(err)
	}
	add("an image in a fax's coding", drawImage, func(c *crafted) {
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 40 /Height 40 /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 40 /Rows 40 >>", string(bits)))
	})
	add("an image in JBIG2", drawImage, func(c *crafted) {
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 40 /Height 40 /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /JBIG2Decode", jbig2(bits)))
	})
	var photo bytes.Buffer
	gray := &image.Gray{Pix: []byte(secretPixels()), Stride: 40, Rect: image.Rect(0, 0, 40, 40)}
	if err := jpeg.Encode(&photo, gray, nil); err != nil {
		t.Fatal(err)
	}
	withThumb := "\xff\xd8\xff\xfe\x00\x0cFalkenberg" + photo.String()[2:]
	add("a photo with a remark", drawImage, func(c *crafted) {
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 40 /Height 40 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode", withThumb))
	})
	c := one("q 50 0 0 50 200 20 cm /I Do Q "+visible, "", nil)
	c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 40 /Height 40 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode", withThumb))
	all = append(all, hideout{name: "a remark of a photo that stays", content: c.write(), args: byTerm, pages: 1})
	waves := pdftest.Load(t, filepath.Join(pdftest.Corpus(t), "pkg", "testdata", "resources", "mountain.jpx"))
	add("an image in JPEG 2000", drawImage, func(c *crafted) {
		c.pages[0].resources = list(c.stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /Filter /JPXDecode", string(waves)))
	})
	add("lines in a hidden layer", "/OC /L BDC 120 220 m 133.25 277.125 190 200 140 240 c S EMC", func(c *crafted) {
		group := c.add("<< /Type /OCG /Name (Layer) >>")
		c.catalog = "/OCProperties << /OCGs [" + group + "] /D << /OFF [" + group + "] /Order [" + group + "] >> >>"
		c.pages[0].resources = "/Properties << /L " + group + " >>"
	})
	all[len(all)-1].secret = "133.25"
	add("white lines", "1 1 1 RG 120 220 m 133.25 277.125 190 200 140 240 c S", nil)
	all[len(all)-1].secret = "133.25"
	framed("an image that two forms draw", "/A Do /B Do", func(c *crafted) {
		image := list(c.image(""))
		c.pages[0].resources = "/XObject << /A " + c.form(drawImage, image) + " /B " + c.form("q 1 0 0 1 20000 0 cm "+drawImage+"Q", image) + " >>"
	})
	return all
}

// jbig2 is an image of 40 × 40 bits, in a fax's coding, as JBIG2 has it in a PDF.
func jbig2(fax []byte) string {
	page := "\x00\x00\x00\x00\x30\x00\x01\x00\x00\x00\x13" + "\x00\x00\x00\x28\x00\x00\x00\x28\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	region := "\x00\x00\x00\x28\x00\x00\x00\x28\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + string(fax)
	return page + "\x00\x00\x00\x01\x26\x00\x01" + fmt.Sprintf("\x00\x00\x00%c", len(region)) + region
}

// TestRedactHidden removes secrets from documents that hide them, or refuses: it names the
// content that cannot be removed for certain, and returns no result.
func TestRedactHidden(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	all := hideouts(t)
	const fewest = 60
	if len(all) < fewest {
		t.Errorf("there are %d documents, want %d", len(all), fewest)
	}
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			secret := h.secret
			if secret == "" {
				secret = "falkenberg"
			}
			images := map[string]bool{}
			if len(h.args.Areas) > 0 {
				images = imageHashes(t, pdftest.Save(t, h.content), h.password)
			}
			if dir := os.Getenv("SCREENSHOTS"); dir != "" {
				_ = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(h.name, " ", "-")+".pdf"), h.content, 0o600)
			}
			args := h.args
			args.Input.Name = inputName(0)
			result, err := runJob(t, redact.Job.Name, args, h.content)
			var failed *job.Error
			if errors.As(err, &failed) && failed.Kind == job.RedactionIncomplete {
				if !h.refused {
					t.Errorf("refused: %v", failed)
				}
				t.Log(failed.Text)
				if strings.Contains(strings.ToLower(failed.Text), secret) {
					t.Errorf("the message has the secret: %s", failed.Text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, result)
			for _, where := range judge(t, got, h.password, secret, images) {
				t.Errorf("LEAK: %s", where)
			}
			sound(t, got, h.password, h.pages)
			if h.refused {
				t.Error("not refused")
			}
		})
	}
}
