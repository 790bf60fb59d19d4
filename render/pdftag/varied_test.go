package pdftag

import "strings"

// pixel is the source of an image.
const pixel = `src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" width=20 height=20`

// lorem is text of several lines.
var lorem = strings.Repeat("Lorem ipsum dolor sit amet, consectetur adipiscing elit. ", 8)

// varied are bodies of documents, after a heading.
var varied = []struct {
	name, body string
	faults     []Rule
}{
	{name: "table-row-headers", body: `<table><tr><th scope=row>A<td>1<tr><th scope=row>B<td>2</table>`},
	{name: "table-groups", body: `<table><colgroup span=2><thead><tr><th scope=colgroup colspan=2>AB<tbody><tr><th scope=rowgroup rowspan=2>x<td>1<tr><td>2<tbody><tr><td>3<td>4</table>`},
	{name: "table-wide-spans", body: `<table><tr><th colspan=3>T<tr><td rowspan=2>a<td colspan=2>b<tr><td>c<td>d<tr><td colspan=9>e</table>`},
	{name: "table-crossing-spans", body: `<table><tr><th rowspan=3>a<th colspan=2>b<tr><td>c<td rowspan=3>d<tr><td>e<tr><td colspan=2>f</table>`},
	{name: "table-empty-cells", body: `<table><tr><th><th>B<tr><th>r<td><tr><td><td></table>`},
	{name: "table-of-blocks", body: `<table><tr><th>H<tr><td><h2>In a cell</h2><ul><li>x</ul><p>a<p>b<tr><td><img alt=Dot ` + pixel + `></table>`},
	{name: "table-in-tables", body: `<table><tr><td>a<table><tr><th>b<table><tr><td>c</table></table></table>`},
	{name: "table-collapsed", body: `<style>table{border-collapse:collapse}td,th{border:2px dotted red}tr:nth-child(2){background:#eee}</style><table><tr><th>A<tr><td>1<tr><td>2</table>`},
	{name: "table-hidden-rows", body: `<table><tr><th>A<th>B<tr hidden><td>1<td>2<tr><td>3<td style="display:none">4</table>`},
	{name: "table-footer-first", body: `<table><tfoot><tr><td>Sum<td>3</tfoot><tr><th>A<th>B<tr><td>1<td>2</table>`},
	{name: "table-captions", body: `<table><caption><h2>Heading</h2><p>Text</caption><tr><th>A</table><figure><table><tr><td>x</table><figcaption>Below</figcaption></figure>`},
	{name: "table-row-roles", body: `<div role=table aria-label=T><div role=rowgroup><div role=row><span role=columnheader>A</span><span role=rowheader>B</span></div></div><div role=row><span role=cell>1</span></div></div>`},
	{name: "table-grid-role", body: `<div role=grid><div role=row><div role=gridcell>1</div><div role=gridcell>2</div></div></div>`},
	{name: "table-over-pages", body: `<table><thead><tr><th>A<th>B</thead>` + strings.Repeat(`<tr><td>x<td>`+lorem[:120], 60) + `</table>`},
	{name: "list-mixed", body: `<ol><li>a<ul><li>b<ol type=i><li>c</ol></ul><li value=9>d</ol>`},
	{name: "list-broken", body: `<ul>text<li>a</li>more<b>bold</b><ul><li>directly nested</ul></ul><li>alone`},
	{name: "list-of-blocks", body: `<ol><li><h2>Head</h2><p>a<li><table><tr><td>x</table><li><blockquote>q</blockquote><li><pre>code</pre></ol>`},
	{name: "list-styles", body: `<style>li{list-style-type:upper-greek}ol+ol li{list-style-type:"→ "}ul li{list-style:none}</style><ol><li>a<li>b</ol><ol><li>c</ol><ul><li>d</ul>`},
	{name: "list-reversed", body: `<ol reversed start=3><li>c<li>b<li>a</ol><ol style="list-style-type:cjk-ideographic"><li>一</ol>`},
	{name: "list-image-markers", body: `<ul style='list-style-image:url("data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22 width=%229%22 height=%229%22><rect width=%229%22 height=%229%22/></svg>")'><li>a<li>b</ul>`},
	{name: "list-in-columns", body: `<ul style="columns:3">` + strings.Repeat("<li>item", 40) + `</ul>`},
	{name: "list-flex", body: `<ul style="display:flex;gap:9px;padding:0"><li>a<li>b</ul><ol style="display:grid"><li>c<li>d</ol>`},
	{name: "definitions", body: `<dl><div><dt>A<dt>B<dd>1<dd><p>2<p>3</div><dt>C</dl><dl><dd>alone</dl>`},
	{name: "footnotes", body: `<p>Text<sup><a id=r1 href="#f1" role=doc-noteref>1</a></sup>, again<sup><a href="#f1">1</a></sup><aside role=doc-footnote id=f1>Note <a href="#r1">↩</a></aside>`},
	{name: "details", body: `<details><summary>Closed</summary>not shown</details><details open><summary>Open <b>bold</b></summary><p>shown<ul><li>x</ul></details>`},
	{name: "quotes", body: `<blockquote cite="https://example.com/"><p>a<blockquote>b</blockquote><footer>— <cite>C</cite></footer></blockquote><p><q>d <q>e</q></q>`},
	{name: "code", body: `<pre><code>a <b>b</b>
	c</code></pre><p><code>x<sub>1</sub></code> <samp>y</samp> <var>z</var><pre style="white-space:pre-wrap">` + lorem + `</pre>`},
	{name: "columns", body: `<div style="columns:2"><p>` + lorem + `<h2 style="column-span:all">Across</h2><p>` + lorem + `</div>`},
	{name: "columns-over-pages", body: `<div style="columns:3">` + strings.Repeat("<p>"+lorem, 20) + `</div>`},
	{name: "grid", body: `<div style="display:grid;grid:auto/1fr 1fr"><div style="order:2">second</div><div>first</div><p style="grid-column:1/-1">across</div>`},
	{name: "subgrid", body: `<dl style="display:grid;grid-template-columns:auto 1fr"><div style="display:grid;grid-column:1/-1;grid-template-columns:subgrid"><dt>a<dd>b</div></dl>`},
	{name: "flex", body: `<div style="display:flex;flex-direction:row-reverse"><span>a</span>text<p>b<h2>c</h2></div>`},
	{name: "inline-blocks", body: `<p>a <span style="display:inline-block;border:1px solid">b<br>c</span> <span style="display:inline-flex"><b>d</b></span>`},
	{name: "positions", body: `<div style="position:relative"><p style="position:absolute;left:50px">absolute</p><p style="position:sticky;top:0">sticky</p></div><p style="position:fixed;bottom:0">fixed</p><p style="float:right">float`},
	{name: "fixed-over-pages", body: `<div style="position:fixed;top:0"><b>Each</b> page <a href="https://example.com/">link</a></div><p style="break-after:page">a<p style="break-after:page">b<p>c`},
	{name: "transforms", body: `<p style="transform:rotate(5deg) skew(2deg)">a <b style="display:inline-block;transform:scaleX(-1)">b</b><div style="perspective:99px"><p style="transform:rotateY(30deg)">c</div>`},
	{name: "writing-modes", body: `<p style="writing-mode:vertical-rl" lang=ja>縦書きの<b>文章</b>123</p><p style="writing-mode:sideways-lr">sideways<p style="text-orientation:upright;writing-mode:vertical-lr">up`},
	{name: "opacity-groups", body: `<div style="opacity:.6"><h2>a</h2><div style="opacity:.6"><p>b <a href="https://example.com/">c</a><ul><li>d</ul></div></div>`},
	{name: "blend-modes", body: `<div style="background:red"><p style="mix-blend-mode:screen">a<img alt=Dot style="mix-blend-mode:difference" ` + pixel + `></div>`},
	{name: "clips", body: `<div style="overflow:hidden;height:2em;border-radius:9px"><p>shown<p>cut</div><p style="clip-path:polygon(0 0,99% 0,50% 99%)">clipped`},
	{name: "backgrounds-of-text", body: `<p style="background:repeating-linear-gradient(45deg,#eee 0 9px,#fff 9px 18px)">a <mark>b</mark> <span style="box-decoration-break:clone;border:1px solid;padding:2px">` + lorem + `</span>`},
	{name: "text-decorations", body: `<p><u style="text-decoration:underline wavy red">a</u> <s>b</s> <em style="text-emphasis:dot">c</em> <b style="-webkit-text-stroke:1px red">d</b> <i style="text-shadow:0 0 3px red">e</i>`},
	{name: "first-letters", body: `<style>p::first-letter{font-size:3em;float:left}p::first-line{font-weight:bold}</style><p>` + lorem + `<p>«Quoted</p>`},
	{name: "long-words", body: `<p style="width:90px;overflow-wrap:anywhere">` + strings.Repeat("Donaudampfschiff", 20) + `<p lang=de style="hyphens:auto;width:60px">Donaudampfschifffahrtsgesellschaft<p>a&shy;b&#8203;c<wbr>d`},
	{name: "spaces", body: `<p>a&nbsp;&emsp;&thinsp;b&#8239;c<p> <p>&nbsp;<p>	tab<pre>

two lines

</pre>`},
	{name: "emoji-sequences", body: `<h2>😀 Heading</h2><p>👩‍👩‍👧 🏳️‍🌈 👍🏽 🇩🇪 1️⃣ ❤️ ☺<ul><li>✅ done</ul>`},
	{name: "cjk-ruby", body: `<p lang=ja><ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>と<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby><p lang=zh>繁體，中文。<p lang=ko>한국어`},
	{name: "rtl-mixed", body: `<p dir=rtl lang=ar>النص <bdi>abc</bdi> <bdo dir=ltr>שלום</bdo> 123 (أ)<ul dir=rtl lang=he><li>א<li>ב</ul><p dir=auto lang=fa>فارسی ۱۲۳`},
	{name: "indic", body: `<p lang=hi>क्षत्रिय स्त्री<p lang=bn>বাংলা<p lang=ta>தமிழ்<p lang=th>ภาษาไทย`},
	{name: "marks", body: `<p>e&#769; a&#776;&#771; ﬁ ﬀ office ＡＢＣ ① ½ x² H₂O<p lang=vi>Tiếng Việt đẹp`},
	{name: "figures", body: `<figure><img alt="A dot" ` + pixel + `><figcaption>Fig. 1</figcaption></figure><figure><pre>code</pre></figure><p>text <img alt="" ` + pixel + `> text <img alt=Inline ` + pixel + `>`},
	{name: "pictures", body: `<picture><source srcset="x.webp" media="(min-width:9999px)"><img alt=Dot ` + pixel + `></picture><img alt="Turned" style="transform:rotate(9deg);object-fit:cover;border-radius:50%" ` + pixel + `><map name=m><area href="https://example.com/" alt=Area coords="0,0,9,9"></map><img usemap="#m" alt=Map ` + pixel + `>`},
	{name: "svg-charts", body: `<svg role=img aria-label="Chart" width=200 height=99><style>text{font:9px sans-serif}</style><g transform="translate(9 9)"><rect width=20 height=50 /><text y=70>2025</text></g><path d="M0 0L99 50" stroke=red stroke-dasharray=4 /><image href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" width=9 height=9 /></svg>`},
	{name: "svg-filters", body: `<svg role=img aria-label="Soft" width=99 height=99><filter id=f><feGaussianBlur stdDeviation=2 /></filter><mask id=m><circle cx=50 cy=50 r=40 fill=white /></mask><rect width=99 height=99 filter="url(#f)" mask="url(#m)"/></svg>`},
	{name: "svg-text", body: `<svg width=200 height=60><title>Words</title><text y=20>Plain <tspan dy=9>moved</tspan></text><text y=50 textLength=150>stretched</text><a href="https://example.com/"><text x=150 y=20>link</text></a></svg>`},
	{name: "svg-symbols", body: `<svg hidden><symbol id=s viewBox="0 0 9 9"><path d="M0 0h9v9z"/></symbol></svg><p><svg aria-hidden=true width=9 height=9><use href="#s"/></svg> Text <svg role=img aria-label=Icon width=9 height=9><use href="#s"/></svg>`},
	{name: "katex", body: `<p>Energy <span class=katex><span style="position:absolute;clip:rect(1px,1px,1px,1px);width:1px;height:1px;overflow:hidden"><math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math></span><span aria-hidden=true><i>E</i> = <i>mc</i><span style="position:relative;top:-.4em">2</span></span></span> is conserved.`},
	{name: "mathml", body: `<math display=block><mtable><mtr><mtd><mfrac><mi>a</mi><mi>b</mi></mfrac></mtd><mtd><mroot><mi>x</mi><mn>3</mn></mroot></mtd></mtr></mtable><mo>∫</mo><mover><mi>y</mi><mo>¯</mo></mover></math>`},
	{name: "forms", body: `<form><fieldset><legend>L</legend><label>A <input value=1 required></label><input type=password value=secret aria-label=P><input type=file aria-label=F></fieldset><label><select><optgroup label=G><option>One</select></label><input list=d aria-label=D><datalist id=d><option>x</datalist><button disabled>B <b>b</b></button></form>`},
	{name: "form-roles", body: `<div role=checkbox aria-checked=true>On</div><div role=radiogroup><span role=radio aria-checked=false>R</span></div><div role=slider aria-valuenow=3 aria-label=S>|</div><div role=textbox aria-label=T>typed</div><div role=switch aria-checked=true>Sw</div>`},
	{name: "headers-and-footers", body: `<style>@page{margin:25mm;@top-left{content:"Left"}@top-right{content:string(x) counter(page)}@bottom-center{content:counter(page) "/" counter(pages);border-top:1px solid}}</style><p style="break-after:page">a<p>b`},
	{name: "page-sizes", body: `<style>@page{size:A5 landscape}@page w{size:A3;@top-center{content:"Wide"}}.w{page:w}</style><p>a<div class=w><h2>b</h2></div><p>c`},
	{name: "page-breaks", body: `<div style="break-inside:avoid">` + lorem + `</div>` + strings.Repeat("<p style='orphans:3;widows:3'>"+lorem, 25)},
	{name: "links-over-pages", body: strings.Repeat("<p>"+lorem, 24) + `<a href="https://example.com/">` + strings.Repeat(lorem, 12) + `</a>`},
	{name: "links-of-kinds", body: `<p><a href="#x">in</a> <a href="tel:+49">tel</a> <a name=x>anchor</a> <a>none</a> <a href="https://example.com/" title=T>a<br>b</a> <a href="https://example.com/ü?q=&quot;">odd</a>`},
	{name: "links-around-blocks", body: `<a href="https://example.com/" style="display:flex"><div><h2>a</h2><p>b</div><img alt=Dot ` + pixel + `></a><ul><li><a href="https://example.com/2" style="display:block">c</a></ul>`},
	{name: "shadow-roots", body: `<x-card><h2 slot=head>Slotted</h2>body</x-card><script>customElements.define('x-card',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<section><slot name=head></slot><p>shadow <slot></slot></p><ul><li>x</ul></section>'}})</script>`},
	{name: "contents-display", body: `<ul style="display:contents"><li style="display:contents">a<li>b</ul><table style="display:contents"><tr><td>c</table><h2 style="display:contents">d</h2>`},
	{name: "hidden-parts", body: `<p hidden>a<p style="visibility:hidden">b<p style="opacity:0">c<p aria-hidden=true>d<p style="position:absolute;left:-9999px">e<p inert>f<p style="content-visibility:hidden">g<p style="font-size:0">h<p>shown`},
	{name: "landmarks", body: `<header>h</header><nav aria-label=N><a href="#m">m</a></nav><main id=m><search>s</search><section aria-label=S>t</section></main><aside>a</aside><footer><address>f</address></footer>`},
	{name: "roles", body: `<div role=heading aria-level=2>H</div><div role=article>a</div><div role=alert>b</div><div role=status>c</div><div role=separator></div><div role=img aria-label=I>d</div><div role=doc-chapter>e</div><div role=feed>f</div><div role=tree><div role=treeitem>g</div></div><div role=tablist><span role=tab>t</span></div><div role=menu><span role=menuitem>m</span></div>`},
	{name: "languages-inline", body: `<p lang=fr>Un <span lang=en-GB>cup <i lang=de>Tasse</i></span> fin<ul lang=es><li lang=pt>um<li>dos</ul><blockquote lang=la>Lorem</blockquote>`},
	{name: "generated", body: `<style>h2{counter-increment:h}h2::before{content:counter(h) ". "}q{quotes:"«" "»"}a::after{content:" (" attr(href) ")"}</style><h2>a</h2><h2>b</h2><p><q>c</q> <a href="https://example.com/">d</a>`},
	{name: "marquees", body: `<center>a<font color=red size=5>b</font></center><marquee>c</marquee><nobr>d</nobr><dir><li>e</dir><tt>f</tt><strike>g</strike>`},
	{name: "media", body: `<video width=99 height=50 controls aria-label=V></video><audio controls></audio><canvas width=9 height=9>fallback</canvas><p>after`},
	{name: "deep-inline", body: `<p>` + strings.Repeat("<span><b><i>", 40) + `deep` + strings.Repeat("</i></b></span>", 40)},
	{name: "block-in-inline", body: `<span>a<div>b<p>c</div>d</span><b>e<h2>f</h2>g</b><p>h</p>`},
	{name: "many-headings", body: `<h2>a</h2><h3>b</h3><h4>c</h4><h5>d</h5><h6>e</h6><hgroup><h2>f</h2><p>sub</hgroup><h2><small>g</small></h2>`},
	{name: "images-without-alt", body: `<img ` + pixel + `><p>x<img title="" ` + pixel + `>`, faults: []Rule{FigureAlt}},
	{name: "titled-image", body: `<img title="A title" ` + pixel + `><img aria-label="A label" ` + pixel + `><p id=d>Described<img aria-labelledby=d ` + pixel + `>`},
}
