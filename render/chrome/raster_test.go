package chrome

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestFilteredTextIsText: filters that are decoration leave text as text; of others, the document is told.
func TestFilteredTextIsText(t *testing.T) {
	t.Parallel()
	p := startPool(t, nil)
	for name, c := range map[string]struct{ html, want string }{
		"a shadow of a card":     {`<div style="background:#fff;filter:drop-shadow(0 2px 4px rgba(0,0,0,.5))">WORD<b>bold</b></div>`, ""},
		"a shadow of text":       {`<h1 style="filter:drop-shadow(2px 2px 0 #888)">WORD</h1>`, ""},
		"a shadow of a group":    {`<div style="filter:drop-shadow(0 0 3px red)"><p>WORD<p style="background:#eee">card<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"></div>`, ""},
		"two shadows":            {`<div style="background:#fff;filter:drop-shadow(0 1px 1px #888) drop-shadow(0 2px 2px #888)">WORD</div>`, ""},
		"filters without effect": {`<p style="filter:blur(0) brightness(1) grayscale(0) opacity(1)">WORD`, ""},
		"opacity":                {`<p style="filter:opacity(50%)">WORD`, ""},
		"grey in grey":           {`<div style="filter:grayscale(1)"><h1>WORD</h1><p style="background:#eee">text</div>`, ""},
		"a style in print":       {`<style>@media print{p{filter:drop-shadow(0 0 2px #000)}}</style><p>WORD`, ""},
		"a style on screens":     {`<style>@media screen{p{filter:sepia(1)}}</style><p>WORD`, ""},
		"an image":               {`<p>WORD<img style="filter:grayscale(1)" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">`, ""},
		"a backdrop":             {`<p style="backdrop-filter:blur(2px)">WORD`, ""},
		"blend modes":            {`<p style="mix-blend-mode:multiply;opacity:.9;will-change:filter;transform:translate3d(0,0,0)">WORD`, ""},
		"a mask":                 {`<p style="mask-image:linear-gradient(#000,#0008)">WORD`, ""},

		"colours":        {`<div id=it class=box style="color:red;filter:grayscale(1)">LOST</div><p>WORD`, "div#it: its filter grayscale(1)"},
		"a blur":         {`<div class=box style="filter:blur(3px)">LOST</div><p>WORD`, "div.box: its filter blur(3px)"},
		"an SVG filter":  {`<svg width=0 height=0><filter id=f><feOffset dx=1 /></filter></svg><div style="filter:url(#f)">LOST</div><p>WORD`, "div: its filter url("},
		"text of an SVG": {`<svg width=90 height=30><filter id=f><feOffset dx=1 /></filter><text y=20 filter="url(#f)">LOST</text></svg><p>WORD`, "text: its filter url("},
		"a perspective":  {`<div style="transform:perspective(300px) rotateY(40deg)">LOST</div><p>WORD`, "div: its perspective"},
		"a reflection":   {`<div style="-webkit-box-reflect:below">LOST</div><p>WORD`, "div: its reflection"},
		"a pattern":      {`<svg width=90 height=90><pattern id=p width=80 height=80 patternUnits=userSpaceOnUse><text y=20>LOST</text></pattern><rect width=80 height=80 fill="url(#p)"/></svg><p>WORD`, "pattern#p: the SVG pattern"},
	} {
		for _, mode := range []RenderMode{ModeInline, ModeOnce} {
			warnings, text := printedWith(t, p, Job{HTML: "<!doctype html>" + c.html, RenderMode: mode})
			if strings.Count(text, "WORD") != 1 || strings.Contains(text, "LOST") {
				t.Errorf("%s, %v: the text is %q", name, mode, text)
			}
			switch {
			case c.want == "" && len(warnings) > 0:
				t.Errorf("%s, %v: %v", name, mode, warnings)
			case c.want != "":
				warned(t, warnings, textRasterized, c.want, "turns its text into an image")
			}
		}
	}
}

// TestFilteredTextInFramesIsText does the same in frames, of other sites too.
func TestFilteredTextInFramesIsText(t *testing.T) {
	t.Parallel()
	const shadow, blur = `<p class=card style='background:#fff;filter:drop-shadow(0 1px 2px #888)'>WORD`, `<p class=card style='filter:blur(3px)'>LOST`
	const warning = "p.card in iframe#it: its filter blur(3px)"
	encoded := func(html string) string {
		return "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(html))
	}
	s := newSite(t)
	s.page("site.test/shadow", shadow)
	s.page("site.test/blur", blur)
	s.page("site.test/outer", `<iframe id=it src="/blur"></iframe>`)
	s.page("site.test/own-shadow", `<iframe id=it src="/shadow"></iframe>`)
	s.page("site.test/own-blur", `<p>WORD<iframe id=it src="/blur"></iframe>`)
	s.page("site.test/nested", `<p>WORD<iframe src="/outer"></iframe>`)
	s.page("site.test/foreign", `<p>WORD<iframe id=it src="http://other.test/"></iframe>`)
	s.page("other.test/", blur)
	p := startWithSite(t, s)
	for name, c := range map[string]struct {
		job  Job
		want string
	}{
		"a shadow in srcdoc":       {Job{RenderMode: ModeRealm, HTML: `<iframe srcdoc="` + shadow + `"></iframe>`}, ""},
		"a shadow in data":         {Job{RenderMode: ModeRealm, HTML: `<iframe src="` + encoded(shadow) + `"></iframe>`}, ""},
		"a blur in srcdoc":         {Job{RenderMode: ModeRealm, HTML: `<p>WORD<iframe id=it srcdoc="` + blur + `"></iframe>`}, warning},
		"a blur in data":           {Job{RenderMode: ModeRealm, HTML: `<p>WORD<iframe id=it src="` + encoded(blur) + `"></iframe>`}, warning},
		"a blur in an object":      {Job{RenderMode: ModeRealm, HTML: `<p>WORD<object id=it data="` + encoded(blur) + `"></object>`}, "p.card in object#it: its filter blur(3px)"},
		"a hidden frame":           {Job{RenderMode: ModeRealm, HTML: `<p>WORD<iframe hidden srcdoc="` + blur + `"></iframe>`}, ""},
		"an invisible frame":       {Job{RenderMode: ModeRealm, HTML: `<p>WORD<iframe style="visibility:hidden" srcdoc="` + blur + `"></iframe>`}, ""},
		"a shadow on a page":       {Job{URL: "http://site.test/own-shadow"}, ""},
		"a blur on a page":         {Job{URL: "http://site.test/own-blur"}, warning},
		"a blur in a nested frame": {Job{URL: "http://site.test/nested"}, warning},
		"a blur of another site":   {Job{URL: "http://site.test/foreign"}, warning},
	} {
		warnings, text := printedWith(t, p, c.job)
		if strings.Count(text, "WORD") != 1 || strings.Contains(text, "LOST") {
			t.Errorf("%s: the text is %q", name, text)
		}
		switch {
		case c.want == "" && len(warnings) > 0:
			t.Errorf("%s: %v", name, warnings)
		case c.want != "":
			warned(t, warnings, textRasterized, c.want, "turns its text into an image")
		}
	}
}
