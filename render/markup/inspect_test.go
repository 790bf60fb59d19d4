package markup

import (
	"strings"
	"testing"
)

// invoice is the document most callers send: inline style, inline images,
// plain links.
const invoice = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Invoice 2026-114 &amp; terms</title>
<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Type" content="text/html; charset=utf-8">
<style>
@page { size: A4; margin: 20mm }
@font-face { font-family: Brand; src: local("Inter"), url(data:font/woff2;base64,d09GMgABAAAAA) format("woff2") }
/* url(https://example.com) in a comment, 'and a quote */
body { font: 14px/1.5 "Brand", sans-serif; background: url("data:image/png;base64,iVBORw0KGgo=") }
li::before { content: "\2022  url(https://example.com/)" } .md\:flex, .w-1\/2 { display: flex }
td:nth-child(2) { text-align: right; width: calc(100% - 2em) } .logo { mask: url(#cut); color: var(--brand, #333) }
</style></head><body>
<h1 style="color: #123; background-image: linear-gradient(90deg, #fff, rgba(0,0,0,.1))">Invoice</h1>
<img alt="Logo (old)" src="data:image/svg+xml;base64,PHN2Zy8+"><img src='DATA:image/png,x'>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 1 1"><defs><g id="a"/></defs>
<use xlink:href="#a"/><use href="#a" fill="url(#g)"/><image href="data:image/png;base64,AAAA"/><a href="https://example.com"><text>x</text></a></svg>
<p onlyname>Pay at <a href="https://example.com/pay?a=1&b=2" target="_blank" rel="noopener">our site</a> or <a href="mailto:a@b.c">write</a>.
1 < 2 && a<b; javascript: is a word; on Monday = fine</p><a name="top" href="#top">Top</a>
<form action="https://example.com/post"><input name=q value="src=x"><button>Go</button></form>
<blockquote cite="https://example.com/">Quote</blockquote><!-- <script>alert(1)</script> <img src=http://x> -->
</body></html>`

func TestInspectStatic(t *testing.T) {
	if got := Inspect(strings.Replace(invoice, "<p onlyname>", "<p>", 1)); got != (Traits{}) {
		t.Errorf("Inspect(invoice) = %+v, want nothing", got)
	}
}

func invoiceOf(size int) string {
	var b strings.Builder
	head, tail, _ := strings.Cut(strings.Replace(invoice, "<p onlyname>", "<p>", 1), "</body>")
	b.WriteString(head)
	b.WriteString("<table>")
	for b.Len() < size-len(tail) {
		b.WriteString("<tr class=\"row\"><td>Consulting, on site, with a longer text</td><td style=\"text-align:right\">12.50</td></tr>\n")
	}
	b.WriteString("</table>" + tail)
	return b.String()
}

func BenchmarkInspect(b *testing.B) {
	docs := []struct{ name, doc string }{
		{"5KB", invoiceOf(5 << 10)},
		{"10MiB-rows", invoiceOf(10 << 20)},
		{"10MiB-text", invoice + strings.Repeat("Plain text goes on. ", 10<<20/20)},
		{"10MiB-image", invoice + `<img src="data:image/png;base64,` + strings.Repeat("iVBORw0K", 10<<20/8) + `">`},
	}
	for _, d := range docs {
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(len(d.doc)))
			b.ReportAllocs()
			for b.Loop() {
				Inspect(d.doc)
			}
		})
	}
}
