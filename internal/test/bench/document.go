package bench

import (
	"fmt"
	"strings"
)

// head is the style of all documents.
const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Invoice 1234</title><style>
body{font:12px sans-serif;margin:40px}table{width:100%;border-collapse:collapse}thead{display:table-header-group}
td,th{border-bottom:1px solid #ccc;padding:4px;text-align:left}.n{text-align:right}h1{background:#246;color:#fff;padding:8px}
</style></head><body>`

// rows writes n lines of a table.
func rows(b *strings.Builder, n int) {
	b.WriteString("<table><thead><tr><th>#</th><th>Item</th><th class=n>Quantity</th><th class=n>Price</th><th class=n>Sum</th></tr></thead><tbody>\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(b, "<tr><td>%d</td><td>Widget number %d, with a long name and its colour</td><td class=n>%d</td><td class=n>%d.50</td><td class=n>%d.00</td></tr>\n",
			i, i, 3*i, 7*i, 21*i)
	}
	b.WriteString("</tbody></table>\n")
}

// invoice is a document of one page and 5 KB, without script.
func invoice() string { return document("Invoice 1234", 29) }

func document(title string, n int) string {
	var b strings.Builder
	b.WriteString(head + "<h1>" + title + "</h1><p>ACME Ltd<br>1 Example Street<br>Springfield</p>\n")
	rows(&b, n)
	b.WriteString("<p>Total: 9,000.00</p></body></html>\n")
	return b.String()
}

// scripted is the invoice with a script that fills in a field and draws.
func scripted() string {
	return strings.Replace(invoice(), "</body>", `<p id="due"></p><canvas id="bars" width="200" height="60"></canvas><script>
document.getElementById('due').textContent = 'Due in ' + (1 + 1) + ' weeks';
const bars = document.getElementById('bars').getContext('2d');
[3, 5, 2, 6, 4].forEach((v, i) => bars.fillRect(i * 40, 60 - v * 10, 30, v * 10));
</script></body>`, 1)
}

// chapters is a document of n pages, each a chapter with a heading, text and a table.
func chapters(n int) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("<style>section{break-after:page}</style>")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "<section><h1 id=c%d>Chapter %d</h1>", i, i)
		for p := 1; p <= 6; p++ {
			fmt.Fprintf(&b, "<p>%s</p>", strings.Repeat(fmt.Sprintf("Sentence %d of chapter %d has nothing to add. ", p*i, i), 8))
		}
		rows(&b, 10)
		b.WriteString("</section>\n")
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

// withContents adds a list of links to n chapters, above the first one.
func withContents(html string, n int) string {
	var b strings.Builder
	b.WriteString("<ul class=toc>")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "<li><a href=#c%d>Chapter %d</a></li>", i, i)
	}
	b.WriteString("</ul>\n<section>")
	return strings.Replace(html, "<section>", b.String(), 1)
}
