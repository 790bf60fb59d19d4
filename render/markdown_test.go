package render

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// markdownPage is a page with what pages have, as a browser sets it.
const markdownPage = `<style>.c{columns:2;column-gap:8mm}.c h2{column-span:all}table.b{width:100%;border-collapse:collapse}
.b td,.b th{border-bottom:1px solid #ccc;padding:6px 8px;text-align:left}.b td.n{text-align:right}.r,.r td,.r th{border:1px solid;border-collapse:collapse}</style>
<body style="font:11pt sans-serif"><h1>Two columns</h1><div class=c><p>Alpha begins here. The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump.
Sphinx of black quartz judge my vow. The five boxing wizards jump quickly at dawn today.</p><p>Beta paragraph. The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump.</p>
<h2>Full width</h2><p>Gamma paragraph. The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump. Sphinx of black quartz judge my vow.</p>
<p>Delta the end. Sphinx of black quartz judge my vow. Pack my box.</p></div>
<h2>Items</h2><table class=b><tr><th>Description<th>Qty<th>Price<th>Total</tr><tr><td>A long description of the first item that will certainly wrap over more than one line because it is so very long<td class=n>2<td class=n>10.00<td class=n>20.00</tr>
<tr><td>Pen<td class=n>1<td class=n>1.50<td class=n>1.50</tr><tr><td>Ink, blue<td class=n>3<td class=n>4.00<td class=n>12.00</tr></table>
<h2>Unruled</h2><table style="width:60%"><tr><th align=left>City<th align=left>Country<th align=left>People</tr><tr><td>Paris<td>France<td>2,100,000</tr><tr><td>Berlin<td>Germany<td>3,700,000</tr></table>
<h2>Ruled</h2><table class=r><tr><th>Name<th>Note</tr><tr><td>Pen<td>a | b</tr><tr><td>Ink<td></tr></table>
<div style="display:flex;gap:30mm;margin-top:8mm"><div>Acme Ltd<br>Road 1<br>Berlin</div><div>Customer Ltd<br>Lane 7<br>Wien</div></div>
<div style="break-before:page"></div><p>Some <b>bold</b> and <i>italic</i> text with <a href="https://example.com/a">a link</a>, and 2 * 3 &lt; 7 [x].</p>
<ul><li>one<li>two<ul><li>nested</ul></ul><ol><li>first<li>second</ol>
<p>A note.<sup>1</sup></p><p dir=rtl lang=he>שלום עולם, זה טקסט</p><p>日本語の文です。</p>`

const markdownWant = `<!-- page 1 -->

# Two columns

Alpha begins here. The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump. Sphinx of black quartz judge my vow. The five boxing wizards jump quickly at dawn today.

Beta paragraph. The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump.

## Full width

Gamma paragraph. The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. How vexingly quick daft zebras jump. Sphinx of black quartz judge my vow.

Delta the end. Sphinx of black quartz judge my vow. Pack my box.

## Items

| Description | Qty | Price | Total |
| --- | --- | --- | --- |
| A long description of the first item that will certainly wrap over more than one line because it is so very long | 2 | 10.00 | 20.00 |
| Pen | 1 | 1.50 | 1.50 |
| Ink, blue | 3 | 4.00 | 12.00 |

## Unruled

| City | Country | People |
| --- | --- | --- |
| Paris | France | 2,100,000 |
| Berlin | Germany | 3,700,000 |

## Ruled

| Name | Note |
| --- | --- |
| Pen | a \| b |
| Ink |  |

Acme Ltd  
Road 1  
Berlin

Customer Ltd  
Lane 7  
Wien

<!-- page 2 -->

Some **bold** and *italic* text with [a link](<https://example.com/a>), and 2 \* 3 \< 7 \[x\].

- one
- two
   - nested
1. first
2. second

A note.<sup>1</sup>

שלום עולם, זה טקסט

日本語の文です。
`

// officePage is a page as LibreOffice sets it.
const officePage = `<p>First paragraph of the office document, which is long enough to wrap over at least two lines of the page so that lines are joined.</p>
<h2>A list</h2><ul><li>apple</li><li>pear<ul><li>green</li><li>yellow</li></ul></li><li>plum</li></ul><ol><li>one</li><li>two</li></ol>
<h2>A table</h2><table border="1"><tr><th>Name</th><th>Amount</th><th>Note</th></tr><tr><td>Pen</td><td>3</td><td>a | b</td></tr>
<tr><td>Ink</td><td>14</td><td>blue and black, in large bottles that need more than one line in this narrow cell of the table</td></tr></table><p>The <b>end</b> of it.</p>`

const officeWant = `First paragraph of the office document, which is long enough to wrap over at least two lines of the page so that lines are joined.

# A list

- apple
- pear
   - green
   - yellow
- plum
1. one
2. two

# A table

| Name | Amount | Note |
| --- | --- | --- |
| Pen | 3 | a \| b |
| Ink | 14 | blue and black, in large bottles that need more than one line in this narrow cell of the table |

The **end** of it.
`

// TestMarkdownOfPages compares what is read of pages that a browser and LibreOffice have laid out with their
// original text.
func TestMarkdownOfPages(t *testing.T) {
	r := start(t, Config{})
	read := func(content engine.Content) string {
		t.Helper()
		file := PDFFile{Content: content}
		args := pdf.MarkdownArgs{Selection: pdf.Selection{Input: file.Input()}}
		body, about, err := RunBoth(t.Context(), r.For(account), pdf.MarkdownJob, args, file.File())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = body.Close() }()
		if len(about.Read) > 0 {
			t.Errorf("pages %v were read by OCR, which was not asked for", about.Read)
		}
		var text pdf.MarkdownText
		if err := json.NewDecoder(body.Open()).Decode(&text); err != nil {
			t.Fatal(err)
		}
		return text.Markdown
	}
	doc, err := r.For(account).PDF(t.Context(), Source{HTML: markdownPage}, PageSettings{}, letter)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = doc.Body.Close() }()
	if got := read(doc.Body); got != markdownWant {
		t.Errorf("of a browser's pages, got\n%s\nwant\n%s", got, markdownWant)
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "page.html")
	if err := os.WriteFile(in, []byte(officePage), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "soffice", "-env:UserInstallation=file://"+dir+"/profile", "--headless", "--infilter=HTML (StarWriter)", "--convert-to", "pdf:writer_pdf_Export", "--outdir", dir, in)
	cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("soffice: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "page.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(read(spool.FromBytes(content)), "\n\n")
	if got != officeWant {
		t.Errorf("of an office's page, got\n%s\nwant\n%s", got, officeWant)
	}
}
