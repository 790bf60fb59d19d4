package chrome

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestClippedContentIsWarnedOf has elements cut off their content: the warning names each, and none names what its
// author hides or abbreviates.
func TestClippedContentIsWarnedOf(t *testing.T) {
	t.Parallel()
	p := startPool(t, nil)
	const lines = `<p>ONE<p style="margin-top:400px">TWO<p style="margin-top:900px">LAST`
	cells := "<table><tr>" + strings.Repeat("<td style='min-width:150px'>cell", 12) + "</table>"
	for name, c := range map[string]struct{ html, want string }{
		"a body with an inner scroller": {`<style>html,body{height:100%;margin:0;overflow:hidden}main{height:100%;overflow:auto}</style><main>` + lines + `</main>`, "main shows 1056 of "},
		"an app of flex boxes":          {`<style>body{margin:0;height:100vh;display:flex;flex-direction:column}.content{flex:1;overflow-y:scroll;min-height:0}</style><nav>Nav</nav><div class=content>` + lines + `</div>`, "div.content shows "},
		"a fixed height":                {`<div id=box style="height:300px;overflow:hidden">` + lines + `</div>`, "div#box shows 300 of "},
		"a maximum height":              {`<div id=box style="max-height:300px;overflow-y:auto">` + lines + `</div>`, "div#box shows 300 of "},
		"a body that clips":             {`<style>html,body{margin:0;height:100%;overflow:hidden}</style>` + lines, "body shows "},
		"clip":                          {`<div id=box style="height:300px;overflow:clip">` + lines + `</div>`, "div#box shows 300 of "},
		"containment":                   {`<div id=box style="height:300px;contain:paint">` + lines + `</div>`, "div#box shows 300 of "},
		"a wide table":                  {`<div id=box style="width:500px;overflow-x:auto">` + cells + `</div>`, "div#box shows 500 of "},
		"a wide hidden table":           {`<div id=box style="width:500px;overflow:hidden">` + cells + `</div>`, "div#box shows 500 of "},
		"a line of code":                {`<pre style="overflow:auto;width:300px">` + strings.Repeat("0123456789", 9) + `</pre>`, "pre shows 300 of "},
		"right-to-left":                 {`<div id=box dir=rtl style="width:500px;overflow-x:auto">` + cells + `</div>`, "div#box shows 500 of "},
		"pictures":                      {`<div id=box style="height:100px;overflow:auto"><svg width=50 height=90></svg><br><svg width=50 height=90></svg></div>`, "div#box shows 100 of "},
		"a text area":                   {`<textarea id=notes rows=2>` + strings.Repeat("line\n", 9) + `</textarea>`, "textarea#notes shows "},
		"an input":                      {`<input id=name size=5 value="a long value that does not fit">`, "input#name shows "},
		"a list":                        {`<select id=list size=2><option>1<option>2<option>3<option>4</select>`, "select#list shows "},
		"only in print":                 {`<style>@media print{#box{height:300px;overflow:hidden}}</style><div id=box>` + lines + `</div>`, "div#box shows 300 of "},

		"only on screens":         {`<style>@media screen{#box{height:300px;overflow:hidden}}</style><div id=box>` + lines + `</div>`, ""},
		"a hidden body":           {`<style>html{overflow:hidden}</style>` + lines, ""},
		"a body that is the page": {`<style>body{height:100vh;overflow:auto}</style>` + lines, ""},
		"a clearing box":          {`<div style="overflow:hidden"><p style="float:left">text<p>text</div>`, ""},
		"a rounded card":          {`<div style="overflow:hidden;border-radius:9px;height:200px">text</div>`, ""},
		"an ellipsis":             {`<p style="width:100px;overflow:hidden;white-space:nowrap;text-overflow:ellipsis">a long text that is abbreviated</p>`, ""},
		"a line clamp":            {`<p style="width:100px;overflow:hidden;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2">a long text that is abbreviated after lines</p>`, ""},
		"text for screen readers": {`<p style="position:absolute;width:1px;height:1px;overflow:hidden">a text that is only heard</p>text`, ""},
		"an image replacement":    {`<h1 style="text-indent:-9999px;overflow:hidden;height:50px">Name</h1>text`, ""},
		"a closed box":            {`<div style="max-height:0;overflow:hidden">` + lines + `</div>text`, ""},
		"an invisible box":        {`<div style="height:100px;overflow:auto;visibility:hidden">` + lines + `</div>text`, ""},
		"a slide show":            {`<div style="width:300px;overflow:hidden"><div style="display:flex;width:900px"><p style="width:300px">one<p style="width:300px">two<p style="width:300px">three</div></div>`, ""},
		"a cropped picture":       {`<div style="height:50px;width:50px;overflow:hidden"><svg width=80 height=80></svg></div>`, ""},
		"a tight line":            {`<p style="height:1em;line-height:1;overflow:hidden;font-family:Noto Sans CJK SC">Ägypten</p>`, ""},
		"a text area that fits":   {`<textarea rows=9>line</textarea><input value=short><select><option>1<option>2</select>`, ""},
		"content that leaves it":  {`<div style="height:50px;overflow:hidden">text<div style="position:absolute;top:300px">elsewhere</div></div>`, ""},
	} {
		for _, mode := range []RenderMode{ModeInline, ModeRealm} {
			warnings, _ := printedWith(t, p, Job{HTML: "<!doctype html>" + c.html, RenderMode: mode})
			switch {
			case c.want == "" && len(warnings) > 0:
				t.Errorf("%s, %v: %v", name, mode, warnings)
			case c.want != "":
				warned(t, warnings, ContentClipped, c.want)
			}
		}
	}
}

// TestClippedFramesAreWarnedOf does the same for documents in frames, of other sites too.
func TestClippedFramesAreWarnedOf(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("site.test/", `<iframe id=own src="/long"></iframe><iframe id=other src="http://other.test/"></iframe><iframe id=fits src="/short"></iframe>`)
	s.page("site.test/long", `<p style="margin-bottom:900px">text<p>LAST`)
	s.page("site.test/short", `<p>text`)
	s.page("other.test/", `<div class=box style="height:30px;overflow:auto"><p>text<p style="margin-top:90px">LAST</div>`)
	p := startWithSite(t, s)
	warnings, _ := printedWith(t, p, Job{URL: "http://site.test/"})
	warned(t, warnings, ContentClipped, "iframe#own shows 150 of ")
	warned(t, warnings, ContentClipped, "div.box in iframe#other shows 30 of ")
	if len(warnings) != 2 {
		t.Errorf("got %v", warnings)
	}
	warnings, _ = printedWith(t, p, Job{RenderMode: ModeRealm, HTML: `<iframe id=own srcdoc="<p style='margin-bottom:900px'>text<p>LAST"></iframe><object data="data:text/html,<p style='margin-bottom:900px'>text<p>LAST"></object>`})
	warned(t, warnings, ContentClipped, "iframe#own shows 150 of ")
	warned(t, warnings, ContentClipped, "object shows 150 of ")
}

// TestRightToLeftPagesShrink: what is wider than the page is shrunk, as in other documents, and what cannot be shrunk
// enough is warned of.
func TestRightToLeftPagesShrink(t *testing.T) {
	t.Parallel()
	p := startPool(t, nil)
	row := func(n int) string {
		text := "<table><tr>"
		for i := range n {
			text += fmt.Sprintf("<td style='min-width:90px'>C%d.", i)
		}
		return text + "</table>"
	}
	boxes := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("<div style='flex:0 0 90px'>C%d.</div>", i)
		}
		return text
	}
	for name, html := range map[string]string{
		"ltr":         `<body>%s`,
		"html":        `<html dir=rtl>%s`,
		"body":        `<body dir=rtl>%s`,
		"css":         `<style>body{direction:rtl}</style>%s`,
		"css of html": `<style>:root{direction:rtl}</style>%s`,
		"a block":     `<p>left<div dir=rtl>%s</div>`,
		"auto":        `<div dir=auto>שלום%s</div>`,
		"offset":      `<html dir=rtl><div style="position:relative;left:-40px">%s</div>`,
		"sized pages": `<html dir=rtl><style>@page{size:letter;margin:10mm}</style>%s`,
		"both sides":  `<html dir=rtl>%s<div dir=ltr>` + row(11) + `</div>`,
		"flex":        `<div style="direction:rtl;display:flex">` + boxes(11) + `</div>`,
		"grid":        `<div style="direction:rtl;display:grid;grid-template-columns:repeat(11,90px)">` + boxes(11) + `</div>`,
		"text":        `<html dir=rtl><div style="display:inline-block;white-space:nowrap">` + strings.Repeat("words and ", 14) + `C0. C1. C10. end</div>`,
	} {
		for _, mode := range []RenderMode{ModeInline, ModeRealm} {
			full := html
			if strings.Contains(html, "%s") {
				full = fmt.Sprintf(html, row(11))
			}
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: "<!doctype html>" + full, RenderMode: mode}, PDF{})
			if err != nil {
				t.Fatal(err)
			}
			if len(doc.Warnings) > 0 {
				t.Errorf("%s, %v: %v", name, mode, doc.Warnings)
			}
			text := pdfText(t, doc)
			for _, word := range []string{"C0.", "C1.", "C10."} {
				if !strings.Contains(text, word) && !strings.Contains(text, "."+word[:len(word)-1]) {
					t.Errorf("%s, %v: no %s in %q", name, mode, word, text)
				}
			}
			if !strings.Contains(html, "%s") {
				continue
			}
			warnings, _ := printedWith(t, p, Job{HTML: "<!doctype html>" + fmt.Sprintf(html, row(20)), RenderMode: mode})
			warned(t, warnings, ContentClipped, "is cut off at the ")
		}
	}
	for _, scale := range []float64{0.6, 1.2} {
		doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: "<!doctype html><html dir=rtl>" + row(4)}, PDF{Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		if text := pdfText(t, doc); !strings.Contains(text, "C0") || !strings.Contains(text, "C3") {
			t.Errorf("scale %g: %q", scale, text)
		}
	}
	warnings, _ := printedWith(t, p, Job{HTML: `<p style="margin-left:-40px">Negative offset`})
	warned(t, warnings, ContentClipped, "p begins at ", "cut off at the left edge")
	for _, html := range []string{
		`<div style="direction:rtl;display:flex">` + boxes(20) + `</div>`,
		`<div style="direction:rtl;display:grid;grid-template-columns:repeat(20,90px)">` + boxes(20) + `</div>`,
		`<div style="display:flex">` + boxes(20) + `</div>`,
		`<div style="display:flex;flex-direction:row-reverse">` + boxes(20) + `</div>`,
		`<div style="display:flex;justify-content:center">` + boxes(20) + `</div>`,
		`<div style="display:grid;justify-content:end;grid-template-columns:repeat(20,90px)">` + boxes(20) + `</div>`,
		`<div style="margin-left:-300px">Text beyond the edge</div>`,
	} {
		t.Run(html[:50], func(t *testing.T) {
			t.Parallel()
			warnings, _ := printedWith(t, p, Job{HTML: html})
			warned(t, warnings, ContentClipped, "cut off at the ")
		})
	}
	for _, html := range []string{
		`<p style="text-indent:-9999px">Hidden`, `<p style="position:absolute;left:-9999px">Hidden<p>text`, `<div style="margin:0 -15px"><p style="padding:0 15px">Row</div>`,
		`<html dir=rtl><p>שלום`, `<html dir=rtl><div style="position:absolute;left:-300px;width:100px">slides in</div>`,
	} {
		if warnings, _ := printedWith(t, p, Job{HTML: "<!doctype html><body style='margin:0'>" + html}); len(warnings) > 0 {
			t.Errorf("%s: %v", html, warnings)
		}
	}
}

// TestElementsInScrollersAreWhole photographs elements of which a scroller around them shows a part, or nothing.
func TestElementsInScrollersAreWhole(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, nil)
	const element = `<div id=it style="width:200px;height:%dpx;background:linear-gradient(#f00 50%%,#00f 50%%)"></div><p style="margin-top:900px">end`
	for name, html := range map[string]string{
		"in view":         `<div style="height:500px;overflow:auto">%s</div>`,
		"below":           `<div style="height:500px;overflow:auto"><p style="height:700px">text</p>%s</div>`,
		"cut":             `<div style="height:100px;overflow:auto">%s</div>`,
		"hidden":          `<div style="height:100px;overflow:hidden">%s</div>`,
		"an app":          `<style>html,body{height:100%%;margin:0;overflow:hidden}main{height:100%%;overflow:auto}</style><main><p style="height:900px">text</p>%s</main>`,
		"flex":            `<style>body{margin:0;height:100vh;display:flex;flex-direction:column}main{flex:1;overflow:auto;min-height:0}</style><nav>Nav</nav><main><p style="height:900px">text</p>%s</main><footer>Foot</footer>`,
		"two":             `<div style="height:300px;overflow:auto"><div style="height:200px;overflow:auto"><p style="height:700px">text</p>%s</div></div>`,
		"sideways":        `<div style="width:100px;overflow:auto"><div style="width:900px;padding-left:500px">%s</div></div>`,
		"right-to-left":   `<div dir=rtl style="width:100px;overflow:auto"><div style="width:900px;padding-right:500px">%s</div></div>`,
		"contained":       `<div style="height:100px;contain:paint">%s</div>`,
		"a wide rtl page": `<html dir=rtl><body><div style="width:1500px;padding-right:1200px;box-sizing:border-box">%s</div>`,
	} {
		for i, height := range []int{60, 1600} {
			if i > 0 && strings.Contains(name, "rtl") {
				continue
			}
			img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: "<!doctype html>" + fmt.Sprintf(html, fmt.Sprintf(element, height))}, Screenshot{Selector: "#it"})
			if err != nil {
				t.Errorf("%s, %d px: %v", name, height, err)
				continue
			}
			if len(img.Warnings) > 0 {
				t.Errorf("%s, %d px: %v", name, height, img.Warnings)
			}
			pic := pixels(t, img)
			if size := pic.Bounds().Size(); size.X != 200 || size.Y != height {
				t.Errorf("%s: %v, want 200 × %d", name, size, height)
			}
			for _, x := range []int{3, 196} {
				if top, bottom := colorAt(pic, x, 3), colorAt(pic, x, height-4); top != "ff0000ff" || bottom != "0000ffff" {
					t.Errorf("%s, %d px: %s above %s, want red above blue", name, height, top, bottom)
				}
			}
		}
	}
}

// TestImagesOfPartsAreWarnedOf: a scroller in an image of the whole page, and a clip outside of it.
func TestImagesOfPartsAreWarnedOf(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, nil)
	const scroller = `<div id=box style="height:100px;overflow:auto"><p>text<p style="margin-top:200px">LAST</div>`
	for name, c := range map[string]struct {
		html string
		opt  Screenshot
		want string
	}{
		"the whole page":          {scroller, Screenshot{FullPage: true}, "div#box shows 100 of "},
		"an element":              {scroller, Screenshot{Selector: "#box"}, "div#box shows 100 of "},
		"the window":              {scroller, Screenshot{}, ""},
		"another element":         {scroller + "<h1>T</h1>", Screenshot{Selector: "h1"}, ""},
		"a clip outside":          {"<p>x", Screenshot{CaptureBeyondViewport: true, Clip: &Rect{X: 5000, Y: 3000, Width: 100, Height: 100}}, "clip covers 5000 to 5100 px by 3000 to 3100 px, and the page only 0 to 800 px by 0 to 600 px"},
		"a clip that sticks out":  {"<p>x", Screenshot{FullPage: true, Clip: &Rect{X: 700, Width: 200, Height: 100}}, "clip covers 700 to 900 px"},
		"a clip above":            {"<p>x", Screenshot{FullPage: true, Clip: &Rect{Y: -50, Width: 200, Height: 100}}, "by -50 to 50 px"},
		"a clip of the window":    {"<p>x", Screenshot{Clip: &Rect{X: 700, Width: 200, Height: 100}}, "and the viewport only 0 to 800 px"},
		"a clip below the window": {"<p style='height:2000px'>x", Screenshot{FullPage: true, Clip: &Rect{Y: 900, Width: 200, Height: 100}}, ""},
		"a clip of a wide page":   {"<html dir=rtl><p style='width:2000px'>x", Screenshot{FullPage: true, Clip: &Rect{X: -900, Width: 200, Height: 100}}, ""},
	} {
		img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: c.html}, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		img.Body.Close()
		switch {
		case c.want == "" && len(img.Warnings) > 0:
			t.Errorf("%s: %v", name, img.Warnings)
		case c.want != "":
			warned(t, img.Warnings, ContentClipped, c.want)
		}
	}
	for name, html := range map[string]string{
		"right-to-left":        `<html dir=rtl><body style="margin:0">%s`,
		"a right-to-left part": `<body style="margin:0"><div dir=rtl>%s</div>`,
		"a part by CSS":        `<style>div{direction:rtl}</style><body style="margin:0"><div>%s</div>`,
		"in a sized document":  `<style>@page{size:a4}</style><body style="margin:0"><div dir=rtl>%s</div>`,
	} {
		html = "<!doctype html>" + fmt.Sprintf(html, `<div style="width:1500px;height:50px;background:linear-gradient(90deg,#f00 50%,#00f 50%)">text</div>`)
		img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: html}, Screenshot{FullPage: true})
		if err != nil {
			t.Fatal(err)
		}
		if pic := pixels(t, img); pic.Bounds().Dx() != 1500 || colorAt(pic, 3, 40) != "ff0000ff" || colorAt(pic, 1496, 40) != "0000ffff" {
			t.Errorf("a wide page, %s: %v, %s to %s", name, pic.Bounds(), colorAt(pic, 3, 40), colorAt(pic, 1496, 40))
		}
	}
	for _, html := range []string{`<div dir=rtl><div style="position:absolute;left:-300px;width:100px">slides in</div></div>`, `<p>text<div dir=rtl>text</div>`, `<p style="margin-left:-50px">text`} {
		img, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: html}, Screenshot{FullPage: true})
		if err != nil {
			t.Fatal(err)
		}
		if pic := pixels(t, img); pic.Bounds().Dx() != 800 {
			t.Errorf("%s: %v", html, pic.Bounds())
		}
	}
}
