package sharedtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Attack is one hostile document.
type Attack struct {
	Name string
	HTML string
	// Screenshot means that a large screenshot of it is the attack.
	Screenshot bool
}

// big is an expression of a string of many bytes.
func big(bytes float64) string { return fmt.Sprintf("'A'.repeat(%g)", bytes) }

func script(code string) string { return "<p>hostile</p><script>" + code + "</script>" }

// noise is a page of SVG turbulence: under a kilobyte that prints as a bitmap
// that no compressor makes smaller.
const noise = `<style>@page{margin:0}svg{display:block;break-after:page}</style>`

func noisePages(pages int) string {
	var b strings.Builder
	b.WriteString(noise)
	for i := range pages {
		fmt.Fprintf(&b, `<svg width=816 height=1056><filter id=f%d><feTurbulence baseFrequency=.9 seed=%d /></filter><rect width=816 height=1056 filter="url(#f%d)" /></svg>`, i, i, i)
	}
	return b.String()
}

// Attacks returns one document of each kind.
func Attacks() []Attack {
	return []Attack{
		{Name: "fetch of a long data URL", HTML: script(`fetch('data:,' + ` + big(1e8) + `)`)},
		{Name: "many fetches of long data URLs", HTML: script(`for (let i = 0; i < 8; i++) fetch('data:,' + i + ` + big(5e7) + `)`)},
		{Name: "XHR of a long data URL", HTML: script(`const x = new XMLHttpRequest(); x.open('GET', 'data:,' + ` + big(1e8) + `); x.send()`)},
		{Name: "long location", HTML: script(`location = 'https://site.invalid/' + ` + big(1e8))},
		{Name: "long hash", HTML: script(`location.hash = ` + big(1e8))},
		{Name: "long history", HTML: script(`for (let i = 0; i < 50; i++) try { history.pushState(null, '', '#' + i + ` + big(1.9e6) + `) } catch (e) {}`)},
		{Name: "blob frames", HTML: script(`for (let i = 0; i < 4; i++) { const f = document.createElement('iframe');
			f.src = URL.createObjectURL(new Blob(['<script>fetch("data:,"+"A".repeat(5e7))<\/script>'], {type: 'text/html'})); document.body.append(f) }`)},
		{Name: "long image address", HTML: script(`new Image().src = 'data:image/png;base64,' + ` + big(1e8))},
		{Name: "long thrown error", HTML: script(`throw new Error(` + big(3e8) + `)`)},
		{Name: "long rejection", HTML: script(`Promise.reject(new Error(` + big(3e8) + `))`)},
		{Name: "console flood", HTML: script(`const s = ` + big(1e6) + `; for (;;) console.log(s)`)},
		{Name: "request flood", HTML: script(`for (let i = 0; i < 3e5; i++) fetch('data:,' + i)`)},
		{Name: "long title", HTML: script(`document.title = ` + big(2e8))},
		{Name: "frame flood", HTML: script(`for (let i = 0; i < 2e3; i++) { const f = document.createElement('iframe'); f.srcdoc = '<p>' + i; document.body.append(f) }`)},
		{Name: "array that fills memory", HTML: script(`const a = []; for (;;) a.push(new Array(1e6).fill(a.length))`)},
		{Name: "buffers that fill memory", HTML: script(`const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1))`)},
		{Name: "shared memory", HTML: script(`const a = []; for (;;) { const c = new OffscreenCanvas(4096, 4096); c.getContext('2d').fillRect(0, 0, 4096, 4096); a.push(c.transferToImageBitmap()) }`)},
		{Name: "elements that fill memory", HTML: script(`for (;;) document.body.append(document.createElement('p'))`)},
		{Name: "workers", HTML: script(`const u = URL.createObjectURL(new Blob(['for(;;);'])); for (let i = 0; i < 32; i++) new Worker(u)`)},
		{Name: "endless script", HTML: script(`for (;;);`)},
		{Name: "dialog flood", HTML: script(`for (;;) alert(` + big(1e6) + `)`)},
		{Name: "pages of noise", HTML: noisePages(4)},
		{Name: "long pages of noise", HTML: `<style>@page{size:200in 200in;margin:0}</style>` + strings.ReplaceAll(noisePages(1), "width=816 height=1056", "width=6000 height=6000")},
		{Name: "photograph of noise", HTML: strings.ReplaceAll(noisePages(1), "width=816 height=1056", "width=9900 height=9900"), Screenshot: true},
		{Name: "photograph of a large page", HTML: `<body style="margin:0;width:7000px;height:14000px">` + strings.Repeat("<p>The quick brown fox jumps over the lazy dog.", 250), Screenshot: true},
		{Name: "deep nesting", HTML: strings.Repeat("<div style='display:inline-block'>", 5000)},
		{Name: "table of spans", HTML: "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td rowspan=65534 colspan=1000>x", 20), 60) + "</table>"},
		{Name: "endless pages", HTML: `<style>@page{size:1in 1in;margin:.4in}</style>` + strings.Repeat("<p style='break-after:page'>page", 5000)},
	}
}

// parts lists the parts from which Generate builds documents.
var parts = []string{
	`for (let i = 0; i < %d; i++) fetch('data:,' + i + 'A'.repeat(%d))`,
	`for (let i = 0; i < %d; i++) { const f = document.createElement('iframe'); f.srcdoc = 'A'.repeat(%d); document.documentElement.append(f) }`,
	`for (let i = 0; i < %d; i++) console.error('A'.repeat(%d))`,
	`for (let i = 0; i < %d; i++) history.replaceState('A'.repeat(1e4), '', '#' + 'A'.repeat(%d))`,
	`for (let i = 0; i < %d; i++) new Worker(URL.createObjectURL(new Blob(['const a="A".repeat(%d); for(;;);'])))`,
	`const a%[1]d = []; for (let i = 0; i < %[1]d; i++) a%[1]d.push(new Uint8Array(%[2]d).fill(i))`,
	`for (let i = 0; i < %d; i++) setTimeout(() => { throw new Error('A'.repeat(%d)) }, i)`,
	`for (let i = 0; i < %d; i++) document.body.append(document.createElement('p'), 'A'.repeat(%d %% 1e4))`,
	`for (let i = 0; i < %d; i++) { const c = document.createElement('canvas'); c.width = c.height = Math.min(8e3, %d); c.getContext('2d').fillRect(0, 0, 9, 9); document.body.append(c) }`,
	`addEventListener('beforeprint', () => { for (let i = 0; i < %d; i++) document.title += 'A'.repeat(%d) })`,
	`for (let i = 0; i < %d; i++) alert('A'.repeat(%d))`,
	`for (let i = 0; i < %d; i++) location.hash = i + 'A'.repeat(%d)`,
	`for (let i = 0; i < %d; i++) new Image().src = 'data:image/svg+xml,' + 'A'.repeat(%d)`,
}

// Generate returns a hostile document made of parts of the attacks, by r.
func Generate(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("<!doctype html><body><p>generated")
	for range 1 + r.IntN(4) {
		switch r.IntN(5) {
		case 0:
			b.WriteString(noisePages(1 + r.IntN(3)))
		case 1:
			b.WriteString(strings.Repeat("<div>", r.IntN(3000)))
		default:
			part := parts[r.IntN(len(parts))]
			fmt.Fprintf(&b, "<script>{ "+part+" }</script>", 1<<r.IntN(12), 1<<r.IntN(26))
		}
	}
	return b.String()
}
