package render

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
)

// nextDocuments show whatever one before them could have left behind: they use
// every default of the browser, and the names that the lists use.
var nextDocuments = []string{
	`<!doctype html><html><head><meta charset=utf-8><title>next</title><style>
@page{@bottom-right{content:counter(page) " " counter(n)}} :focus{outline:5px solid lime} p{width:7em;hyphens:auto;transition:color 1s}
.x{color:green} #x{font-style:italic} @font-face{font-family:Other;src:local("Liberation Serif")} .f{font-family:Own,Other} .v{margin-left:var(--x,50px)}
.one{list-style:own} [lang=de]{color:purple} :lang(ar){color:teal} b:dir(rtl){color:navy} .s{color:CanvasText;background:Canvas;border:1px solid ButtonText}
@layer one{i{color:olive}} @layer two{i{color:maroon}}</style></head><body><h1>Next</h1><p class=x>Donaudampfschifffahrtsgesellschaft <b>bold</b> <i>italic</i> <q>quoted <q>twice</q></q>
<p id=x><a href="https://site.invalid/">link</a> <a href="#x">anchor</a><p class=f>own font<p class=v>margin<p class=s>system colours
<ol><li>one<li>two</ol><ol class=one><li>own</ol><table border=1><tr><td>cell<td bgcolor=silver>cell</table><hr>
<form><input value=v><input type=checkbox checked><input type=radio name=x checked><select name=x><option>a<option>b</select><textarea>text</textarea><button>button</button></form>
<details name=x open><summary>summary</summary>detail</details><meter value=.5></meter><progress value=.5></progress>
<svg width=40 height=40><defs><linearGradient id=y><stop stop-color=red /><stop offset=1 stop-color=blue /></linearGradient></defs><rect width=40 height=40 fill="url(#y)"/></svg></body></html>`,
	`<p>quirks<table><tr><td>inherits<font size=2>size</font></table><a href="https://site.invalid/">link</a><ul type=square><li>one</ul><input value=v><p id=x class=x>last`,
}

// TestNothingLingers prints documents with every element and attribute of the
// HTML standard, and after each another of the same account: not a byte of that
// may differ from what it is alone.
func TestNothingLingers(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "linger-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p, err := chrome.Start(t.Context(), chrome.Config{Proxy: "http://127.0.0.1:9", Slots: 2, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	var alone [][]byte
	for i, next := range nextDocuments {
		if modeOf(next) != chrome.ModeInline {
			t.Fatalf("document %d does not take the warm page: nothing is tested", i)
		}
		alone = append(alone, printBytes(t, p, fmt.Sprint("alone ", i), next))
	}
	warm := 0
	for _, first := range lingerDocuments(t) {
		if modeOf(first) != chrome.ModeInline {
			continue // It does not meet the next one.
		}
		warm++
		for i, next := range nextDocuments {
			printBytes(t, p, "both", first)
			if !bytes.Equal(printBytes(t, p, "both", next), alone[i]) {
				t.Errorf("document %d is printed in another way after %s", i, first)
			}
		}
	}
	if warm < 250 {
		t.Errorf("only %d documents take the warm page: the test shows little", warm)
	}
}

// TestLingeringDocumentsAreIsolated holds what was seen to change the next document.
func TestLingeringDocumentsAreIsolated(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		`<meta name=color-scheme content=dark>`, `<META NAME=" Color-Scheme " content=dark>`, `<style title=a>p{}</style>`,
		`<meta http-equiv=content-language content=de>`, `<body link=red>`, `<body vlink=red>`, `<body alink=red>`,
		`<input autofocus>`, `<button AUTOFOCUS>`, `<meta name=referrer content=no-referrer>`, `<marquee>`, `<dialog open>`,
		`<style>@property --x{}</style>`, `<style>@\70roperty --x{}</style>`, `<whatever>`, `<p whatever>`,
	} {
		if got := modeOf(doc); got == chrome.ModeInline {
			t.Errorf("%s takes the warm page", doc)
		}
	}
}

var printDates = regexp.MustCompile(`D:\d{14}`)

func printBytes(t *testing.T, p *chrome.Pool, account, html string) []byte {
	t.Helper()
	doc, err := p.PDF(t.Context(), chrome.Job{Account: account, RenderMode: chrome.ModeInline, HTML: html}, chrome.PDF{PrintBackground: true, Tagged: true})
	if err != nil {
		t.Fatalf("print %s: %v", html, err)
	}
	defer doc.Body.Close()
	data, err := io.ReadAll(doc.Body.Open())
	if err != nil {
		t.Fatal(err)
	}
	return printDates.ReplaceAll(data, nil)
}

// lingerDocuments reads the lists.
func lingerDocuments(t *testing.T) (docs []string) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "linger", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, name := range strings.Fields(read("elements")) {
		docs = append(docs, fmt.Sprintf("<!doctype html><title>first</title><%[1]s>first</%[1]s>", name))
	}
	for line := range strings.Lines(read("attributes")) {
		attributes, elements, ok := strings.Cut(line, " : ")
		if !ok {
			continue
		}
		for _, name := range strings.Fields(elements) {
			for _, attribute := range strings.Fields(attributes) {
				docs = append(docs, fmt.Sprintf("<!doctype html><%[1]s %[2]s>first</%[1]s>", name, attributeText(attribute)))
			}
		}
	}
	for line := range strings.Lines(read("styles")) {
		docs = append(docs, "<!doctype html><style>"+strings.TrimSpace(line)+"</style><p class=x id=x>first <b>bold</b>", "<style>"+strings.TrimSpace(line)+"</style><p>quirks")
	}
	return docs
}

// attributeText writes a=b;c=d as a="b" c="d".
func attributeText(list string) string {
	var b strings.Builder
	for i, one := range strings.SplitN(list, ";content=", 2) {
		if i == 1 {
			one = "content=" + one
		}
		name, value, _ := strings.Cut(one, "=")
		fmt.Fprintf(&b, `%s="%s" `, name, strings.ReplaceAll(value, "~", " "))
	}
	return b.String()
}
