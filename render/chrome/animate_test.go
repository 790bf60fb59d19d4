package chrome

import (
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// shot photographs a job's document.
func shot(t *testing.T, p *Pool, job Job) (image.Image, []Warning) {
	t.Helper()
	job.Account = "a"
	img, err := p.Screenshot(t.Context(), job, Screenshot{Viewport: Viewport{Width: 460, Height: 320}})
	if err != nil {
		t.Fatalf("%.200s: %v", job.HTML, err)
	}
	return pixels(t, img), img.Warnings
}

const (
	redPixel   = "ff0000ff"
	whitePixel = "ffffffff"
)

// startUnhurried starts a Pool whose documents may draw for long: on a machine that
// is busy they do.
func startUnhurried(t *testing.T) *Pool {
	t.Helper()
	return startPool(t, func(c *Config) { c.Times.Animation = patience })
}

// A document is shown as it is when its animations have ended.
func TestAnimationsAreFinished(t *testing.T) {
	sharedtest.Slow(t)
	p := startUnhurried(t)
	const bar = `<style>body{margin:0}#x{height:50px;width:10px;background:red}
		@keyframes grow{from{width:10px}to{width:200px}} @keyframes more{to{width:300px}}`
	ends := map[string]struct {
		html string
		mode RenderMode
	}{
		"style sheet":            {bar + `#x{animation:grow 60s 30s both}</style><div id=x></div>`, ModeInline},
		"style sheet and script": {bar + `#x{animation:grow 60s forwards}</style><div id=x></div><script>1</script>`, ModeRealm},
		"transition":             {bar + `#x{transition:width 60s}</style><div id=x></div><script>setTimeout(() => { x.style.width = '200px' }, 100)</script>`, ModeRealm},
		"Web Animations":         {bar + `</style><div id=x></div><script>x.animate({width: ['10px', '200px']}, {duration: 60000, fill: 'forwards'})</script>`, ModeRealm},
		"one after the other":    {bar + `#x{animation:grow 60s forwards}</style><div id=x></div><script>x.onanimationend = e => { if (e.animationName === 'grow') x.style.animation = 'more 60s forwards' }</script>`, ModeRealm},
		"frame by frame":         {bar + `</style><div id=x></div><script>let w = 10; const f = () => { x.style.width = ++w + 'px'; if (w < 200) requestAnimationFrame(f) }; requestAnimationFrame(f)</script>`, ModeRealm},
		"by timers":              {bar + `</style><div id=x></div><script>setTimeout(() => setTimeout(w => { x.style.width = w }, 700, '200px'), 400)</script>`, ModeRealm},
		"with a network":         {bar + `</style><div id=x></div><script>setTimeout('x.style.width = "20px"', 0); setTimeout(() => { x.style.width = '200px' }, 600)</script>`, ModeOnce},
		"SVG":                    {`<style>body{margin:0}</style><svg width=300 height=50><rect height=50 width=10 fill=red><animate attributeName=width from=10 to=200 dur=30s fill=freeze /></rect></svg>`, ModeInline},
		"without end":            {bar + `@keyframes fade{from{width:200px}to{width:10px}} #x{animation:fade 3s infinite}</style><div id=x></div>`, ModeInline},
	}
	for name, tt := range ends {
		img, warnings := shot(t, p, Job{HTML: tt.html, RenderMode: tt.mode})
		if got := colorAt(img, 190, 25); got != redPixel {
			t.Errorf("%s: the end shows %s, want red", name, got)
		}
		if len(warnings) > 0 {
			t.Errorf("%s: %v", name, warnings)
		}
		if name == "style sheet" || name == "transition" || name == "SVG" {
			img, _ = shot(t, p, Job{HTML: tt.html, RenderMode: tt.mode, Animate: true})
			if got := colorAt(img, 190, 25); got != whitePixel {
				t.Errorf("%s: allowed to move, it shows %s, want white", name, got)
			}
		}
	}
	// On paper as well.
	_, text := printedWith(t, p, Job{HTML: `<style>@keyframes in{from{visibility:hidden}to{visibility:visible}}p{animation:in 60s both}</style><p>appears`})
	if !strings.Contains(text, "appears") {
		t.Errorf("printed %q", text)
	}
}

// A document that never comes to rest is shown as it is after a while, with a warning.
func TestEndlessDrawingIsWarnedOf(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	endless := Job{HTML: `<p>text<script>const f = () => requestAnimationFrame(f); f()</script>`, RenderMode: ModeRealm}
	_, warnings := shot(t, p, endless)
	warned(t, warnings, AnimationUnfinished, "still drawing")
	endless.Animate = true
	if _, warnings := shot(t, p, endless); len(warnings) > 0 {
		t.Errorf("allowed to draw: %v", warnings)
	}
}

// Counting what scripts wait for changes nothing of what they see.
func TestAnimationWatchIsUnseen(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
		_, text := printedWith(t, p, Job{RenderMode: mode, WaitForFunction: "window.said && said.length === 6", HTML: `<pre id=x></pre><script>
			window.said = [];
			const say = s => { said.push(s); x.textContent = said.join(' ') + ' keys ' + Object.keys(window).filter(k => k.includes('relaypdf')).length };
			try { requestAnimationFrame(5) } catch (e) { say(e.name) }
			clearTimeout(setTimeout(() => say('cleared'), 1));
			cancelAnimationFrame(requestAnimationFrame(() => say('cancelled')));
			setTimeout("say('text')", 1);
			setTimeout(function (a, b) { say(a + b + (this === window)) }, 20, 'a', 'b');
			requestAnimationFrame(t => say(typeof t));
			setTimeout(() => say(setTimeout.name + requestAnimationFrame.name), 60);
			setTimeout(() => say('late'), 1500);
		</script>`})
		contains(t, text, "TypeError", "text", "abtrue", "number", "setTimeoutrequestAnimationFrame", "late", "keys 0")
		for _, never := range []string{"cleared", "cancelled"} {
			if strings.Contains(text, never) {
				t.Errorf("%s: what was %s has run: %q", mode, never, text)
			}
		}
	}
}

// standstill stops the clocks by which charts move.
const standstill = `<script>(ask => {
	performance.now = () => 0;
	window.requestAnimationFrame = f => ask(() => f(0));
	window.Date = class extends Date { constructor(...when) { super(...when.length ? when : [0]) } static now() { return 0 } };
})(requestAnimationFrame)</script>`

// Charts of the libraries that most pages use, with their own settings, show their
// values and not the way there. Highcharts is proprietary, and no test depends on it:
// the last one moves as its columns and their labels do. Its own (13.1, November 2026)
// is what it is after 8 seconds, too.
func TestAnimatedChartsShowTheirValues(t *testing.T) {
	sharedtest.Slow(t)
	p := startUnhurried(t)
	charts := map[string]struct{ file, script string }{
		"Chart.js": {"chart.js/dist/chart.umd.min.js", `new Chart(document.querySelector('#c').appendChild(document.createElement('canvas')),
			{type: 'bar', data: {labels: ['a', 'b', 'c'], datasets: [{label: 'n', data: [5, 9, 3]}]}})`},
		"ECharts": {"echarts/dist/echarts.min.js", `echarts.init(document.getElementById('c')).setOption(
			{xAxis: {data: ['a', 'b', 'c']}, yAxis: {}, series: [{type: 'bar', data: [5, 9, 3]}]})`},
		"D3": {"d3/dist/d3.min.js", `d3.select('#c').append('svg').attr('width', 400).attr('height', 300).selectAll('rect').data([5, 9, 3]).join('rect')
			.attr('x', (d, i) => 20 + 120 * i).attr('width', 80).attr('y', 290).attr('height', 0)
			.transition().delay((d, i) => 200 * i).duration(750).attr('y', d => 290 - 30 * d).attr('height', d => 30 * d)`},
		"as Highcharts does": {"", `document.getElementById('c').innerHTML = '<svg width=400 height=280><g id=bars fill=teal>' +
				[5, 9, 3].map((v, i) => '<rect x=' + (20.5 + 120 * i) + ' y=' + (270 - 27.3 * v) + ' width=80 height=' + 27.3 * v + ' rx=3 />').join('') +
				'</g><g id=labels visibility=hidden opacity=0>' + [5, 9, 3].map((v, i) => '<text x=' + (60 + 120 * i) + ' y=' + (265 - 27.3 * v) + '>' + v + '</text>').join('') + '</g></svg>';
			const [bars, labels] = ['bars', 'labels'].map(id => document.getElementById(id));
			const animate = (duration, step) => {
				const began = +new Date(), next = () => {
					const at = Math.min(1, (new Date() - began) / duration);
					step(at);
					if (at < 1) requestAnimationFrame(next);
				};
				next();
			};
			animate(1000, at => bars.setAttribute('transform', 'translate(0 ' + 270 * (1 - at) + ') scale(1 ' + Math.max(at, .001) + ')'));
			setTimeout(() => { labels.setAttribute('visibility', 'inherit'); animate(200, at => labels.setAttribute('opacity', at)) }, 800)`},
	}
	for name, chart := range charts {
		var library []byte
		if chart.file != "" {
			var err error
			if library, err = os.ReadFile(filepath.Join("..", "..", ".ci", "node", "node_modules", filepath.FromSlash(chart.file))); err != nil {
				t.Fatalf("%v; npm ci in .ci/node installs it", err)
			}
		}
		job := Job{RenderMode: ModeRealm, HTML: `<!doctype html><body style="margin:20px"><div id=c style="width:400px;height:280px"></div>
			<script>` + strings.ReplaceAll(string(library), "</script", `<\/script`) + `</script><script>` + chart.script + `</script>`}
		img, warnings := shot(t, p, job)
		if len(warnings) > 0 {
			t.Errorf("%s: %v", name, warnings)
		}
		job.Animate = true
		begin := job
		begin.HTML = strings.Replace(job.HTML, "<script>", standstill+"<script>", 1)
		begun, _ := shot(t, p, begin)
		job.WaitForTimeout = 8 * time.Second
		settled, _ := shot(t, p, job)
		if !alike(img, settled) {
			t.Errorf("%s: the chart is not what it is after %s", name, job.WaitForTimeout)
		}
		if alike(begun, settled) {
			t.Errorf("%s: the chart does not move", name)
		}
	}
}

// alike reports whether two images show the same. Where Chromium repaints a part of an
// image, the edges in it may differ by a shade: two images of one chart after 8 seconds
// differ by 2 of 255.
func alike(a, b image.Image) bool {
	const shade = 3
	return slices.EqualFunc(rgba(a), rgba(b), func(a, b uint8) bool { return max(a, b)-min(a, b) <= shade })
}

// rgba returns the pixels of an image, row by row.
func rgba(img image.Image) []uint8 {
	size := img.Bounds()
	var all []uint8
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			all = append(all, uint8(r>>8), uint8(g>>8), uint8(b>>8))
		}
	}
	return all
}
