package office

import (
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/officefile"
)

// wordField is a field of a docx with a stored result.
func wordField(code, stored string) string {
	return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> ` + code + ` </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` +
		`<w:r><w:t>` + stored + `</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
}

// labelled is a paragraph of a docx with a label before its runs.
func labelled(label, runs string) string {
	return `<w:p><w:r><w:t xml:space="preserve">` + label + ` </w:t></w:r>` + runs + `</w:p>`
}

// TestStoredResultsOfFields has results in the file that an update would not return.
func TestStoredResultsOfFields(t *testing.T) {
	t.Parallel()
	const bookmark = `<w:bookmarkStart w:id="1" w:name="Here"/><w:r><w:t>target</w:t></w:r><w:bookmarkEnd w:id="1"/>`
	nested := `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> IF "</w:instrText></w:r>` + wordField("MERGEFIELD Sex", "f") +
		`<w:r><w:instrText>" = "f" "Ms" "Mr" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` + wordField("QUOTE Ms", "Madam") + `<w:r><w:fldChar w:fldCharType="end"/></w:r>`
	one := `<w:r><w:fldChar w:fldCharType="begin"/><w:instrText> TIME </w:instrText><w:fldChar w:fldCharType="separate"/><w:t>noon</w:t><w:fldChar w:fldCharType="end"/></w:r>`
	body := labelled("01", bookmark) + labelled("02", wordField(`DATE \@ "d MMMM yyyy"`, "1 January 2020")) + labelled("03", nested) +
		labelled("04", wordField(`FILENAME \p`, "contract.docx")) + labelled("05", wordField(`REF gone`, "ref")) + labelled("06", wordField(`REF here \h`, "link")) +
		labelled("07", wordField("PAGEREF gone", "77")) + labelled("08", wordField("PAGEREF Here", "88")) + labelled("09", wordField("NUMPAGES", "99")) +
		labelled("10", `<w:fldSimple w:instr=" IF 1 = 1 &quot;a&quot; &quot;b&quot; "><w:r><w:t>simple</w:t></w:r></w:fldSimple>`) + labelled("11", one) +
		labelled("12", wordField("= 2 + 3", "sum")) + labelled("13", wordField("DOCPROPERTY Customer", "Acme")) + labelled("14", wordField("SEQ Figure", "7")) +
		labelled("15", wordField(`STYLEREF "Heading 1"`, "Heading")) + labelled("16", wordField("MERGEFIELD Name", "Ada")) +
		labelled("17", `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> FILENAME </w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`) +
		labelled("18", `<w:fldSimple w:instr=" REF Here \h "><w:r><w:t>jump</w:t></w:r></w:fldSimple>`)
	const want = "01 target 02 1 January 2020 03 Madam 04 contract.docx 05 ref 06 link 07 77 08 1 09 1 10 simple 11 noon 12 sum 13 Acme 14 7 15 Heading 16 Ada 17 mine.docx 18 jump"

	made, _ := convertWith(t, docx(t, body, ""), Conversion{Name: "mine.docx", To: ToPDF})
	if got := words(t, made); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if links := strings.Count(string(made), "/Subtype/Link"); links < 2 {
		t.Errorf("%d links, want those of two references", links)
	}

	today := "02 " + time.Now().Format("2 January 2006")
	updated, _ := convertWith(t, docx(t, body, ""), Conversion{Name: "mine.docx", To: ToPDF, Results: Results{Fields: officefile.FieldsUpdate}})
	got := words(t, updated)
	if !strings.Contains(got, today) { // Midnight may have passed.
		today = "02 " + time.Now().Format("2 January 2006")
	}
	for _, text := range []string{today, "04 mine.docx", "18 target"} {
		if !strings.Contains(got, text) {
			t.Errorf("updated: %q is missing in %s", text, got)
		}
	}
	if strings.Contains(got, "contract.docx") || strings.Contains(got, "/") {
		t.Errorf("updated: %s", got)
	}
}

// TestStoredResultsInOtherFormats has fields of ODT, RTF and of DOCX files that want an update.
func TestStoredResultsInOtherFormats(t *testing.T) {
	t.Parallel()
	paragraphs := func(texts ...string) string {
		return openedText(`<text:p>` + strings.Join(texts, `</text:p><text:p>`) + `</text:p>`)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a.odt": {opened(t, "text", paragraphs(`<text:date text:date-value="2020-01-01">1 January 2020</text:date>`, `<text:time text:time-value="08:15:00">noon</text:time>`,
			`<text:file-name text:display="full">C:\c.odt</text:file-name>`, `<text:author-name text:fixed="false">Ada</text:author-name>`, `<text:title>Title</text:title>`,
			`<text:bookmark-ref text:reference-format="text" text:ref-name="gone">ref</text:bookmark-ref>`, `<text:bookmark-start text:name="b"/>target<text:bookmark-end text:name="b"/>`,
			`<text:bookmark-ref text:reference-format="text" text:ref-name="b">target</text:bookmark-ref>`, `<text:conditional-text text:condition="ooow:1==1" text:string-value-if-true="yes" text:string-value-if-false="no">cond</text:conditional-text>`,
			`<text:page-number text:select-page="current">9</text:page-number>`, `<text:word-count>999</text:word-count>`, `<text:file-name text:display="name-and-extension"/>`,
			`<text:variable-set text:name="v" text:display="none" text:formula="ooow:1" office:value-type="float" office:value="1">hidden</text:variable-set>`)),
			`1 January 2020 noon C:\c.odt Ada Title ref target target cond 1 999 a.odt`},
		"a.rtf": {[]byte(`{\rtf1\ansi{\fonttbl{\f0 Liberation Serif;}}{\*\bkmkstart here}target{\*\bkmkend here}\par` +
			`{\field{\*\fldinst { DATE \\@ "d MMMM yyyy" }}{\fldrslt {\b 1 January 2020}}}\par {\field{\*\fldinst { IF 1 = 1 "yes" "no" }}{\fldrslt if}}\par ` +
			`{\field{\*\fldinst FILENAME}{\fldrslt c.rtf}}\par {\field{\*\fldinst { REF gone }}{\fldrslt ref}}\par {\field{\*\fldinst { REF here \\h }}{\fldrslt link}}\par ` +
			`{\field{\*\fldinst PAGE}{\fldrslt 9}}\par {\field{\*\fldinst { = 2 + 3 }}{\fldrslt {\i s}um \{\'e9\}}}\par}`), "target 1 January 2020 if c.rtf ref link 1 sum {é}"},
		"wants-update.docx": {replacePart(t, docx(t, labelled("file", wordField("FILENAME", "old.docx")), ""), "word/settings.xml", `<w:attachedTemplate`, `<w:updateFields w:val="true"/><w:attachedTemplate`), "file wants-update.docx"},
		"dirty.docx":        {docx(t, labelled("file", strings.Replace(wordField("FILENAME", "old.docx"), `"begin"`, `"begin" w:dirty="true"`, 1)), ""), "file dirty.docx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, _ := convertWith(t, c.content, Conversion{Name: name, To: ToPDF})
			if got := words(t, made); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestStoredResultsInDOC has a file name in the file that is not the source's.
func TestStoredResultsInDOC(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	body := labelled("file", wordField("FILENAME", "x")) + labelled("pages", wordField("NUMPAGES", "1"))
	content := startRaw(t, "").make(t, docx(t, body, ""), "stored.docx", rawJob{Store: map[string]any{"FilterName": "MS Word 97"}})
	for update, want := range map[officefile.FieldUpdate]string{"": "file stored.docx pages 1", officefile.FieldsUpdate: "file other.doc pages 1"} {
		made, _ := convertWith(t, content, Conversion{Name: "other.doc", To: ToPDF, Results: Results{Fields: update}})
		if got := words(t, made); got != want {
			t.Errorf("fields %q: got %q, want %q", update, got, want)
		}
	}
}

// TestReferencesOfODT has stored results of references that differ from their places. Links lead to the places.
func TestReferencesOfODT(t *testing.T) {
	t.Parallel()
	reference := func(name, attributes, stored string) string {
		return `<text:p>` + `<text:` + name + ` ` + attributes + `>` + stored + `</text:` + name + `></text:p>`
	}
	text := `<text:p><text:bookmark-start text:name="b"/>place<text:bookmark-end text:name="b"/> <text:reference-mark-start text:name="r &amp; r"/>mark<text:reference-mark-end text:name="r &amp; r"/>` +
		` <text:sequence text:ref-name="s1" text:name="Table" text:formula="ooow:Table+1" style:num-format="1" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">7</text:sequence>` +
		` <text:sequence text:ref-name="s2" text:name="Table" text:formula="ooow:Table+1" style:num-format="1" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">9</text:sequence>` +
		`<text:note text:id="n" text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note></text:p>` +
		reference("bookmark-ref", `text:reference-format="text" text:ref-name="b"`, "stored1") + reference("reference-ref", `text:reference-format="text" text:ref-name="r &amp; r"`, "stored2") +
		reference("sequence-ref", `text:reference-format="value" text:ref-name="s1"`, "stored3") + reference("note-ref", `text:reference-format="text" text:note-class="footnote" text:ref-name="n"`, "stored4") +
		reference("bookmark-ref", `text:reference-format="page" text:ref-name="b"`, "99") + reference("sequence-ref", `text:reference-format="page" text:ref-name="s2"`, "99") +
		`<text:p><text:a text:style-name="Default" xlink:type="simple" xlink:href="https://a.example"><text:bookmark-ref text:reference-format="text" text:ref-name="b">stored5</text:bookmark-ref></text:a></text:p>` +
		reference("bibliography-mark", `text:identifier="k"`, "[stored6]")
	content := opened(t, "text", openedText(text), part{"styles.xml", `<?xml version="1.0"?><office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" office:version="1.3"><office:styles/></office:document-styles>`})

	made, _ := convertWith(t, content, Conversion{Name: "a.odt", To: ToPDF})
	const want = "place mark 7 91 stored1 stored2 stored3 stored4 1 1 stored5 [stored6] 1 note"
	if got := words(t, made); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if links := strings.Count(string(made), "/Subtype/Link"); links != 4+2+2 {
		t.Errorf("%d links, want those of four references, two pages and a footnote", links)
	}
	// Links look like text, as references do.
	if _, page := look(t, made); where(page, 2).Dx() > 0 {
		t.Error("a link is blue")
	}
	updated, _ := convertWith(t, content, Conversion{Name: "a.odt", To: ToPDF, Results: Results{Fields: officefile.FieldsUpdate}})
	if got := words(t, updated); strings.Contains(got, "stored1") || strings.Contains(got, "stored2") {
		t.Errorf("updated: %s", got)
	}
}

// TestStoredResultsOfSlides has dates of presentations.
func TestStoredResultsOfSlides(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	slide := func(text string) string {
		return `<office:body><office:presentation><draw:page draw:name="one"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="20cm" svg:height="2cm"><draw:text-box><text:p>` + text +
			`</text:p></draw:text-box></draw:frame></draw:page></office:presentation></office:body>`
	}
	source := opened(t, "presentation", slide(`day <text:date text:date-value="2020-01-01">1 January 2020</text:date> page <text:page-number>9</text:page-number>`))
	written := startRaw(t, "").make(t, opened(t, "presentation", slide(`day DAY page <text:page-number>9</text:page-number>`)), "a.odp", rawJob{Store: map[string]any{"FilterName": "Impress MS PowerPoint 2007 XML"}})
	slides := replacePart(t, written, "ppt/slides/slide1.xml", "day DAY page ",
		`day </a:t></a:r><a:fld id="{5B0B2A7B-6E1B-4E1A-8B8D-0123456789AB}" type="datetime1"><a:rPr lang="en-GB"/><a:pPr><a:buNone/></a:pPr><a:t>1 January 2020</a:t></a:fld><a:r><a:t> page `)
	for name, content := range map[string][]byte{"a.odp": source, "a.pptx": slides} {
		for update, stored := range map[officefile.FieldUpdate]bool{"": true, officefile.FieldsUpdate: false} {
			made, _ := convertWith(t, content, Conversion{Name: name, To: ToPDF, Results: Results{Fields: update}})
			if got := words(t, made); (got == "day 1 January 2020 page 1") != stored {
				t.Errorf("%s, fields %q: got %q", name, update, got)
			}
		}
	}
}
