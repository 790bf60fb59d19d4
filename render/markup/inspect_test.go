package markup

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
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
<p>Pay at <a href="https://example.com/pay?a=1&b=2" target="_blank" rel="noopener">our site</a> or <a href="mailto:a@b.c">write</a>.
1 < 2 && a<b; javascript: is a word; on Monday = fine</p><a name="top" href="#top">Top</a>
<form action="https://example.com/post"><input name=q value="src=x"><button>Go</button></form>
<blockquote cite="https://example.com/">Quote</blockquote><!-- <script>alert(1)</script> <img src=http://x> -->
</body></html>`

func TestInspectStatic(t *testing.T) {
	if got := Inspect(invoice); got != (Traits{}) {
		t.Errorf("Inspect(invoice) = %+v, want nothing", got)
	}
}

// Shorthands of what a case must come out as.
var (
	nothing = Traits{}
	script  = Traits{Script: true}
	network = Traits{Network: true}
	both    = Traits{Script: true, Network: true}
)

type inspectCase struct {
	doc  string
	want Traits
}

func check(t *testing.T, cases []inspectCase) {
	t.Helper()
	for _, c := range cases {
		folded := strings.ToUpper(c.doc)
		if strings.ContainsAny(c.doc, "&\\") {
			folded = c.doc // character references and escapes have case
		}
		for _, doc := range []string{c.doc, folded, "<!DOCTYPE html><body><p>before</p>" + c.doc + "<p>after"} {
			if got := Inspect(doc); got != c.want {
				t.Errorf("Inspect(%q) = %+v, want %+v", doc, got, c.want)
			}
		}
	}
}

func TestInspectScript(t *testing.T) {
	check(t, []inspectCase{
		{`<script>let a = 1</script>`, script},
		{`<script type=module>let a</script>`, script},
		{`<script type="importmap">{}</script>`, script},
		{`<script type=speculationrules>{}</script>`, script},
		{`<script/x>1</script>`, script},
		{`<svg><script>1</script></svg>`, script},
		{`<script src=https://a.example/x.js></script>`, both},
		{`<script src="data:text/javascript,1"></script>`, script},
		{`<b onclick=go()>`, script},
		{`<img/onerror='x()'/src='data:,'>`, script},
		{`<svg onload="x()">`, script},
		{`<body onload='x()'>`, script},
		{`<details open ontoggle=x()>`, script},
		{`<a href="javascript:x()">`, script},
		{"<a href=\" \x01java\tscr\nipt:x()\">", script},
		{`<a href="jav&#x61;script:x()">`, script},
		{`<a href="java&Tab;script&colon;x()">`, script},
		{`<a href=vbscript:x>`, script},
		{`<form action=javascript:x()>`, script},
		{`<button formaction=" javascript:x()">`, script},
		{`<svg><a xlink:href="javascript:x()">`, script},
		{`<iframe>`, both},
		{`<iframe srcdoc="<p>x">`, both},
		{`<iframe src="data:text/html,x">`, both},
		{`<p srcdoc=x>`, both},
		{`<frameset><frame src=x></frameset>`, both},
		{`<fencedframe>`, both},
		{`<portal src=x>`, both},
		{`<object data=x>`, both},
		{`<object data="data:text/html,x">`, both},
		{`<embed src=x>`, both},
		{`<applet code=x>`, both},
		{`<base href="//a.example/">`, both},
		{`<base target=x>`, both},
		{`<meta http-equiv=refresh content="0;url=x">`, both},
		{`<meta http-equiv=" Refresh " content=1>`, both},
		{`<meta http-equiv="Content-Security-Policy" content="report-uri x">`, both},
		{`<meta http-equiv=link content=x>`, both},
		{`<svg><set attributeName=href to=x>`, both},
		{`<svg><animate attributeName="xlink:href" values="javascript:x()">`, both},
		{`<svg><animate attributeName=href values="x;javascript:x()">`, both},
		{`<noscript><p>x</p></noscript>`, both},
		{`<template><b onclick=x()></template>`, script},
		{`<svg><foreignObject><b onclick=x()></b></foreignObject></svg>`, script},
	})
}

func TestInspectScriptNetwork(t *testing.T) {
	// Code has case, so these are not folded.
	for doc, want := range map[string]Traits{
		`<script>chart.draw([1, 2, 3])</script>`:                                       script,
		`<script>document.createElementNS("http://www.w3.org/2000/svg", "g")</script>`: script,
		`<b onclick=x()></b><svg xmlns="http://www.w3.org/2000/svg"></svg>`:            script,
		`<script>fetch(a)</script>`:                                                    both,
		`<script>new XMLHttpRequest</script>`:                                          both,
		`<script>navigator.sendBeacon(a)</script>`:                                     both,
		`<script>new EventSource(a)</script>`:                                          both,
		`<script>new WebSocket(a)</script>`:                                            both,
		`<script>new WebTransport(a)</script>`:                                         both,
		`<script>new RTCPeerConnection()</script>`:                                     both,
		`<script>new SharedWorker(a)</script>`:                                         both,
		`<script>navigator.serviceWorker.register(a)</script>`:                         both,
		`<script>location = a</script>`:                                                both,
		`<script>open(a)</script>`:                                                     both,
		`<script>import(a)</script>`:                                                   both,
		`<script>i.src = a</script>`:                                                   both,
		`<script>localStorage.a = 1</script>`:                                          both,
		`<b onclick="document.cookie">`:                                                both,
		`<a href="javascript:fetch(1)">`:                                               both,
		`<img data-src="https://a.example/x.png"><b onclick=x()>`:                      both,
	} {
		if got := Inspect(doc); got != want {
			t.Errorf("Inspect(%q) = %+v, want %+v", doc, got, want)
		}
	}
}

func TestInspectNetwork(t *testing.T) {
	check(t, []inspectCase{
		{`<img src=http://a.example/x.png>`, network},
		{`<img src=//a.example/x.png>`, network},
		{`<img src=x.png>`, network},
		{`<img/src=x>`, network},
		{`<img src=file:///etc/passwd>`, network},
		{`<img src="blob:x">`, network},
		{`<image src=x>`, network},
		{`<img srcset="x 2x">`, network},
		{`<picture><source srcset=x></picture>`, network},
		{`<video>`, network},
		{`<video poster=x>`, network},
		{`<audio src=x>`, network},
		{`<track src=x>`, network},
		{`<input type=image src=x>`, network},
		{`<body background=x>`, network},
		{`<td background=x>`, network},
		{`<html manifest=x>`, network},
		{`<a ping=x href=y>`, network},
		{`<img attributionsrc>`, network},
		{`<link rel=stylesheet href=x>`, network},
		{`<link rel=preload as=image imagesrcset=x>`, network},
		{`<link rel=prefetch href=x>`, network},
		{`<link rel=preconnect href=//a.example>`, network},
		{`<link rel=dns-prefetch href=//a.example>`, network},
		{`<link rel=manifest href=x>`, network},
		{`<link rel=icon href=x>`, network},
		{`<link rel=modulepreload href=x>`, network},
		{`<link rel=stylesheet href="data:text/css,@import 'x'">`, network},
		{`<svg><image href=x /></svg>`, network},
		{`<svg><image xlink:href="//a.example/x"/></svg>`, network},
		{`<svg><use href="x.svg#a"/></svg>`, network},
		{`<svg><use href="data:image/svg+xml,x#a"/></svg>`, network},
		{`<svg><feImage href=x></svg>`, network},
		{`<svg><rect fill="url(x#a)"></svg>`, network},
		{`<svg><rect filter="url('//a.example/#f')"></svg>`, network},
		{`<svg><rect mask=url(x)></svg>`, network},
		{`<svg><rect cursor="url(x), auto"></svg>`, network},
		{`<svg><animate attributeName=fill to="url(x)"></svg>`, network},
		{`<g xml:base="//a.example/">`, network},
		{`<p style="background: url(x)">`, network},
		{`<p style="background: url&#40;x)">`, network},
		{`<p style="background: u\72l(x)">`, network},
		{`<p style='background: image-set("x" 1x)'>`, network},
		{`<p style='background: -webkit-image-set("x" 1x)'>`, network},
		{`<p style="list-style: src('x')">`, network},
		{`<style>@import "x";</style>`, network},
		{`<style>@import url(x);</style>`, network},
		{`<style>@\69mport "x";</style>`, network},
		{`<style>@font-face { font-family: a; src: url(x) }</style>`, network},
		{`<style>p { background: url( "x" ) }</style>`, network},
		{`<style>p { background: ur/**/l(x) }</style>`, network},
		{`<style>p { background: url(/**/#a) }</style>`, network},
		{`<style>p { background: \75 rl(x) }</style>`, network},
		{`<style>p { background: \000075rl(x) }</style>`, network},
		{`<style>p { background: ur\l(x) }</style>`, network},
		{`<style>p { background: url("\68ttp://a.example") }</style>`, network},
		{`<style>p { background: url(data\:x) }</style>`, network},
		{`<style>p { content: "a` + "\n" + `url(x)" }</style>`, network},
		{`<style>p { content: 'a\` + "\r\n" + `b'; background: url(x) }</style>`, network},
		{`<style>/* " */ p { background: url(x) } /* " */</style>`, network},
		{`<style>p { background: url(</style>`, network},
		{`<style>p { background: cross-fade("x", red) }</style>`, network},
		{`<svg><style>p { background: &#117;rl(x) }</style></svg>`, network},
		{`<!DOCTYPE x [<!ENTITY a SYSTEM "x">]>`, network},
		{`<title>a</title><style>@import "x"</style>`, network},
	})
}

func TestInspectNothing(t *testing.T) {
	check(t, []inspectCase{
		{``, nothing},
		{`<`, nothing},
		{`a < b & c > d <3 javascript: on`, nothing},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">`, nothing},
		{`<a href="https://a.example/?a=1">x</a>`, nothing},
		{`<area href=//a.example>`, nothing},
		{`<a href=mailto:a@a.example>`, nothing},
		{`<svg><a xlink:href="https://a.example">x</a></svg>`, nothing},
		{`<form action="https://a.example"><input name=a></form>`, nothing},
		{`<q cite="https://a.example">`, nothing},
		{`<img src="data:image/png;base64,AAAA">`, nothing},
		{`<img src=" DATA:image/png,x">`, nothing},
		{`<img src="">`, nothing},
		{`<svg xmlns="http://www.w3.org/2000/svg"><use href="#a"/><rect fill="url(#a)" clip-path='url("#b")'/></svg>`, nothing},
		{`<svg><image href="data:image/png,x"/><animate attributeName=x values="0;1"/></svg>`, nothing},
		{`<meta http-equiv=content-type content="text/html"><meta name=x content="https://a.example">`, nothing},
		{`<meta property="og:image" content="https://a.example/x.png">`, nothing},
		{`<p title="see url and src">`, nothing},
		{`<p style="color: rgb(1,2,3); width: calc(1px + 2%)">`, nothing},
		{`<style>p { background: url(data:image/png;base64,AA==) } q { mask: url( '#a' ) }</style>`, nothing},
		{`<style>p::before { content: "\201C url(x) @import" } /* url(x) @import "x" */</style>`, nothing},
		{`<style>@font-face { src: local("A"), url("data:font/woff2,x") }</style>`, nothing},
		{`<style>.md\:a, .w-1\/2, .\32 xl { top: 0 } p { & > b { top: 0 } &:hover { top: 0 } }</style>`, nothing},
		{`<style>@media print { p { top: 0 } } @page :first { margin: 1cm }</style>`, nothing},
		{`<!-- <script>x</script> <img src=x> -->`, nothing},
		{`<!--[if mso]><script src=x></script><![endif]-->`, nothing},
		{`<textarea>a > b</textarea><title>A & B</title>`, nothing},
		{`</script></p onclick=x><p class="onclick">`, nothing},
	})
}

// TestInspectDoubt lists documents that a tokenizer and a browser read
// differently, so that each hides something from one of them.
func TestInspectDoubt(t *testing.T) {
	check(t, []inspectCase{
		{`<svg><![CDATA[ > <!-- ]]><img src=x onerror=x()> -->`, both},
		{`<svg><style></svg><a title='</style><b title="'><script>x</script><i title=">`, both},
		{`<svg><title><img src=x onerror=x()></title></svg>`, both},
		{`<style/><!--</style><script>x</script>-->`, both},
		{`<title/><!--</title><script>x</script>-->`, both},
		{`<select><xmp><script>x</script></xmp>`, both},
		{`<select><style><!-- </style><b onclick=x()> --></select>`, both},
		{`<noembed><p></noembed>`, both},
		{`<plaintext><script>`, both},
		{`<noscript><!--</noscript><script>x</script>-->`, both},
		{`<math><style><!--</style><b onclick=x()>-->`, both},
		{`<textarea></p><script></textarea>`, both},
		{`<?xml-stylesheet href=x?>`, both},
		{`<!--><b onclick=x()>-->`, script},
		{`<!--a--!><b onclick=x()>-->`, script},
		{`<!-- a ><b --><b onclick=x()>`, script},
	})
}

// FuzzInspect puts known markup into text before any other document, where no
// state can hide it, and into every place where that document is text.
func FuzzInspect(f *testing.F) {
	f.Add(invoice)
	f.Add(`<svg><style>a{}</style><![CDATA[x]]></svg><title>a</title>`)
	f.Add("<a href='x' b=\"y\" c=z/>\x00<!-- - -- --!> -->")
	f.Fuzz(func(t *testing.T, doc string) {
		before := Inspect(doc)
		if got := Inspect("<p>text</p><script>1</script>" + doc); !got.Script {
			t.Errorf("script in front of %q not found", doc)
		}
		if got := Inspect("<p>text</p><img src=x>" + doc); !got.Network {
			t.Errorf("image in front of %q not found", doc)
		}
		for _, at := range textPlaces(doc) {
			if got := Inspect(doc[:at] + "<script>1</script>" + doc[at:]); !got.Script {
				t.Errorf("script at %d of %q not found", at, doc)
			}
		}
		if again := Inspect(doc); again != before {
			t.Errorf("Inspect(%q) = %+v, then %+v", doc, before, again)
		}
	})
}

// FuzzCSS checks that no style sheet leaves its bounds, and that nothing hides
// a reference from a rule of its own behind it.
func FuzzCSS(f *testing.F) {
	for _, css := range []string{"url(\"\\", "'\\\r\n", "url('\\\r", "a\\", "u/*", "@", "p{a:url(#b)}", "/*'*/\"\\26 \""} {
		f.Add(css)
	}
	f.Fuzz(func(t *testing.T, css string) {
		cssLoads(bytes.Clone([]byte(css))[:len(css):len(css)])
		// A line end closes strings; the rest closes comments and url().
		if !cssLoads([]byte(css+"\n*/)}\np{a:url(x)}")) && !strings.ContainsAny(css, `\\'"`) {
			t.Errorf("reference behind %q not found", css)
		}
	})
}

// textPlaces returns where a tree builder sees ordinary text begin: offsets of
// text tokens outside of elements whose content is text anyway.
func textPlaces(doc string) []int {
	var places []int
	z := html.NewTokenizer(strings.NewReader(doc))
	raw, at := false, 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return places
		}
		start := at
		at += len(z.Raw())
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			raw = element(name).raw
		case html.TextToken:
			if !raw {
				places = append(places, start)
			}
			raw = false
		default:
			raw = false
		}
	}
}

func invoiceOf(size int) string {
	var b strings.Builder
	head, tail, _ := strings.Cut(invoice, "</body>")
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
