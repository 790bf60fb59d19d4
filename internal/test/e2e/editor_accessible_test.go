package e2e

import (
	"testing"

	"github.com/go-rod/rod/lib/input"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// inaccessibleHTML lacks a language, a level of headings and alternative texts.
const inaccessibleHTML = `<style>body { margin: 0 } img { display: block }</style>
<h1>Boxes</h1>
<h3>Terms &amp; {{items.[0]}}</h3>
<svg role="img" width="20" height="20"><rect width="20" height="20"/></svg>
<div style="break-before: page"></div>
<svg role="img" width="20" height="20"><circle cx="10" cy="10" r="9"/></svg>
`

// TestEditorListsWhatPreventsAccessibility: the list has the API's warnings while a user types, leads to their lines,
// and costs previews nothing while it is closed.
func TestEditorListsWhatPreventsAccessibility(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, maya := startWide(t)
	editorOf(t, app, maya, inaccessibleHTML)
	if _, err := maya.page.Eval(`() => {
		const ask = window.fetch;
		window.previews = [];
		window.fetch = (url, how) => { if (url.includes("/pages?scale=")) previews.push(url.includes("accessible")); return ask(url, how); };
	}`); err != nil {
		t.Fatal(err)
	}
	const pane = `document.querySelector("[data-pane=accessible]")`
	const items = `[...` + pane + `.querySelectorAll("li")].map(one => one.textContent)`
	const said = pane + `.querySelector("[role=status]").textContent`
	maya.focus(`[data-side="accessible"]`)
	maya.keys(input.Enter)
	maya.holds("the errors are counted", said+` === "4 errors prevent PDF/UA-1."`)
	for _, want := range []string{
		"ErrorThe document does not name its language. Set lang on the html element.Line 1",
		`ErrorH3 "Terms & three", page 1. A heading of level 3 follows one of level 1. Use h2, and set its size with CSS.Line 3`,
		`ErrorFigure 1, page 1. An image has no alternative text. Set alt (aria-label for SVG), or alt="" for decoration.Source`,
		`ErrorFigure 2, page 2. An image has no alternative text. Set alt (aria-label for SVG), or alt="" for decoration.Source`,
	} {
		maya.holds("listed: "+want, items+`.includes(args[0])`, want)
	}
	maya.holds("one preview was tagged", `previews.join() === "true"`)
	maya.pictures("accessibility")
	for _, theme := range []string{"light", "dark"} {
		if _, err := maya.page.Eval(`theme => { document.documentElement.dataset.theme = theme }`, theme); err != nil {
			t.Fatal(err)
		}
		maya.obeys("the list in "+theme, axeSource(t), allRules)
	}
	maya.width(390)
	maya.check("#sw-data")
	maya.fits("the list on a phone")
	maya.picture("accessibility-390")
	maya.check("#sw-prev")
	maya.width(1440)
	const active = `document.querySelector(".cm-content[aria-label=HTML] .cm-activeLine")?.textContent === args[0] && document.activeElement.matches(".cm-content")`
	maya.click("[data-pane=accessible] li:nth-child(2) a", "Line 3")
	maya.holds("the line of the heading", active, "<h3>Terms &amp; {{items.[0]}}</h3>")
	maya.focus("[data-pane=accessible] li:nth-child(4) a")
	maya.keys(input.Enter)
	maya.holds("the line of the image on the second page", active, `<svg role="img" width="20" height="20"><circle cx="10" cy="10" r="9"/></svg>`)
	maya.write(`<html lang="en"><title>Boxes</title><h1>Boxes</h1><h3>{{items.[0]}}</h3></html>`)
	maya.holds("the list follows", said+` === "1 error prevents PDF/UA-1."`)
	maya.write(`<html lang="en"><title>Boxes</title><h1>Boxes</h1><h2>{{items.[0]}}</h2></html>`)
	maya.holds("nothing is left", said+` === "No errors. The PDF can claim PDF/UA-1." && `+items+`.length === 0`)
	maya.write(`<html lang="en"><title>Boxes</title><h1>Boxes</h1><h2>{{items`)
	maya.holds("an error stops the list", said+` === "Not updated since the error."`)
	maya.click("[data-side=data]", "Data")
	maya.write(`<html lang="en"><title>Boxes</title><h1>Boxes</h1><h4>Skipped</h4></html>`)
	maya.holds("a closed list costs nothing", `document.querySelector("[data-stage]:not([aria-busy])") && previews.at(-1) === false`)
	maya.calm("the editor")
}

// check chooses a radio button.
func (s *screen) check(selector string) {
	s.t.Helper()
	if _, err := s.page.Eval(`selector => { document.querySelector(selector).checked = true }`, selector); err != nil {
		s.t.Fatal(err)
	}
}
