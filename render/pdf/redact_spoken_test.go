package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// TestRedactTakesGlyphsThatSayWords: glyphs go whose text only the content or their font says.
func TestRedactTakesGlyphsThatSayWords(t *testing.T) {
	t.Parallel()
	toUnicode := func(c *crafted, meaning string) {
		c.pages[0].resources = "ref << /Font << /F1 3 0 R /U << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode " + c.stream("", "/CIDInit /ProcSet findresource begin begincmap "+
			"1 begincodespacerange <00> <ff> endcodespacerange "+meaning+" endcmap end") + " >> >> >>"
	}
	for name, c := range map[string]struct {
		content string
		f       func(c *crafted)
		term    string
		gone    string
	}{
		"in the content": {"BT /F1 14 Tf 20 200 Td (left ) Tj /Span << /ActualText (Falkenberg) >> BDC (wxyz) Tj EMC ( right) Tj ET", nil, "falkenberg", "wxyz"},
		"in Resources": {"BT /F1 14 Tf 20 200 Td (left ) Tj /Span /P BDC (wxyz) Tj EMC ( right) Tj ET",
			func(c *crafted) {
				c.pages[0].resources = "/Properties << /P << /ActualText <FEFF00460061006C006B0065006E0062006500720067> >> >>"
			}, "falkenberg", "wxyz"},
		"around others":    {"/Span << /ActualText (of Falkenberg) >> BDC BT /F1 14 Tf 20 200 Td /Em << /MCID 0 >> BDC (wxyz) Tj EMC ET EMC BT /F1 14 Tf 20 100 Td (left right) Tj ET", nil, "falkenberg", "wxyz"},
		"letter by letter": {"BT /F1 14 Tf 20 200 Td (left ) Tj /Span << /ActualText (Falken) >> BDC (wx) Tj EMC /Span << /ActualText (berg) >> BDC (yz) Tj EMC ( right) Tj ET", nil, "falkenberg", "yz"},
		"beside letters":   {"BT /F1 14 Tf 20 200 Td (left Falken) Tj /Span << /ActualText (berg) >> BDC (wxyz) Tj EMC ( right) Tj ET", nil, "falkenberg", "wxyz"},
		"in a form": {"/X Do BT /F1 14 Tf 20 100 Td (left right) Tj ET", func(c *crafted) {
			c.pages[0].resources = "/XObject << /X " + c.form("BT /F1 14 Tf 20 200 Td /Span << /ActualText (Falkenberg) >> BDC (wxyz) Tj EMC ET", "") + " >>"
		}, "falkenberg", "wxyz"},
		"a glyph's word": {"BT /U 14 Tf 20 200 Td (left w right) Tj ET", func(c *crafted) {
			toUnicode(c, "1 beginbfchar <77> <00460061006C006B0065006E0062006500720067> endbfchar")
		}, "falkenberg", "w"},
		"a glyph's letter": {"BT /U 14 Tf 20 200 Td (left w right) Tj ET", func(c *crafted) { toUnicode(c, "1 beginbfchar <77> <5C0F> endbfchar") }, "小", "w"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := one(c.content, "", c.f).write()
			made := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{c.term}}, document)
			shown := string(pdftest.Transform(t, made, "--qdf", "--object-streams=disable"))
			for _, content := range shownStrings(shown) {
				if strings.Contains(content, c.gone) {
					t.Errorf("%q is still shown", content)
				}
			}
			texts, _ := readings(t, pdftest.Save(t, made))
			for i, text := range texts {
				if !strings.Contains(text, "left") || !strings.Contains(text, "right") {
					t.Errorf("reader %d finds %q", i, text)
				}
			}
			for _, where := range judge(t, made, "", c.term, nil) {
				t.Errorf("LEAK: %s", where)
			}
		})
	}
}

// shownStrings are the strings in the streams of an unpacked document.
func shownStrings(document string) (all []string) {
	for _, body := range bodies.FindAllStringSubmatch(document, -1) {
		if strings.Contains(body[1], "begincmap") {
			continue
		}
		for _, text := range shown.FindAllString(body[1], -1) {
			all = append(all, rawString(text))
		}
	}
	return all
}

// TestRedactWordsFromTheRight finds words in a script from the right, whichever way they are stored.
func TestRedactWordsFromTheRight(t *testing.T) {
	t.Parallel()
	const word = "\u05E9\u05DC\u05D5\u05DD" // alef is 05D0
	for name, order := range map[string][]rune{"as read": []rune(word), "as seen": {0x5DD, 0x5D5, 0x5DC, 0x5E9}} {
		var digits, meanings strings.Builder
		for i, r := range order {
			fmt.Fprintf(&digits, "%04x", 0x24+i)
			fmt.Fprintf(&meanings, "1 beginbfchar <%04x> <%04x> endbfchar ", 0x24+i, r)
		}
		meanings.WriteString("2 beginbfchar <0003> <0020> <0044> <05D0> endbfchar")
		document := pdftest.Lettered(t, "004400440003"+digits.String()+"000300440044", meanings.String())
		made := makeOne(t, redact.Job.Name, redact.Args{Input: input(""), Terms: []string{word}}, document)
		texts, _ := readings(t, pdftest.Save(t, made))
		for i, text := range texts {
			if got := sortedLetters(text); got != "\u05D0\u05D0\u05D0\u05D0" {
				t.Errorf("%s: reader %d finds %q", name, i, text)
			}
		}
	}
}

// TestRedactOnePlaceOfAForm takes from a form only where the area is: the same form stays whole elsewhere, on this page
// and on others.
func TestRedactOnePlaceOfAForm(t *testing.T) {
	t.Parallel()
	c := craft("/X Do q 1 0 0 1 0 -150 cm /X Do Q", "/X Do")
	form := c.form("BT /F1 14 Tf 20 300 Td (Falkenberg) Tj 0 -20 Td (below) Tj ET q 40 0 0 40 200 280 cm /I Do Q", "/XObject << /I "+c.image("")+" >>")
	c.pages[0].resources, c.pages[1].resources = "/XObject << /X "+form+" >>", "/XObject << /X "+form+" >>"
	made, told := redactAreas(t, redact.Args{Areas: []redact.Area{{Page: 1, X: 10, Y: 84, Width: 280, Height: 20}}}, c.write())
	if len(told) > 0 {
		t.Errorf("changes %q", told)
	}
	texts, _ := readings(t, pdftest.Save(t, made))
	for i, text := range texts {
		if strings.Count(text, "Falkenberg") != 2 || strings.Count(text, "below") != 3 {
			t.Errorf("reader %d finds %q", i, text)
		}
	}
	if images := len(imageHashes(t, pdftest.Save(t, made), "")); images != 2 {
		t.Errorf("%d kinds of images, want the whole one and the one with a part", images)
	}
}
