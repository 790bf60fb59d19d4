package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// invoice is a document of about 5 KB without script.
func invoice() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><title>Invoice</title><style>
body{font:12px sans-serif}table{width:100%;border-collapse:collapse}td,th{border-bottom:1px solid #ccc;padding:4px}
.n{text-align:right}</style><h1>Invoice 1234</h1><p>ACME Ltd<br>Street 1</p><table>
<thead><tr><th>#</th><th>Item</th><th>Quantity</th><th>Price</th><th>Sum</th></tr></thead>`)
	for i := range 30 {
		fmt.Fprintf(&b, "<tr><td>%d</td><td>Widget number %d, with a long name and its colour</td><td class=n>%d</td><td class=n>%d.50</td><td class=n>%d.00</td></tr>\n",
			i, i, 3*i, 7*i, 21*i)
	}
	b.WriteString("</table><p>Total: 9,000.00</p>")
	return b.String()
}

// scripted is the invoice with a script that fills in a field.
func scripted() string {
	return invoice() + `<p id="due"></p><script>document.getElementById('due').textContent = 'due ' + (1 + 1) + ' weeks'</script>`
}

// Benchmark compares the Pool with the floor: the same document over the same kind of
// connection, with nothing but the commands that render it. Both run in turn in blocks, so
// that a machine that gets slower slows both. One operation is one document through the
// Pool; floor-ms/op and the metric "of-floor" (the floor's time divided by the Pool's) are
// reported as well.
func Benchmark(b *testing.B) {
	p := startPool(b, nil)
	cases := []struct {
		name string
		mode RenderMode
		html string
		c    int
	}{
		{"invoice/c=1", ModeInline, invoice(), 1},
		{"invoice/c=2", ModeInline, invoice(), 2},
		{"invoice/c=4", ModeInline, invoice(), 4},
		{"scripted/c=1", ModeRealm, scripted(), 1},
		{"scripted/c=2", ModeRealm, scripted(), 2},
		{"once/c=1", ModeOnce, scripted(), 1},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			raw := rawPages{b: b, root: p.current().root, html: c.html, mode: c.mode}
			for range c.c {
				raw.pages = append(raw.pages, newRawPage(b, raw.root))
			}
			pooled := func(int) {
				doc, err := p.PDF(b.Context(), Job{Account: "bench", RenderMode: c.mode, HTML: c.html}, PDF{PrintBackground: true})
				if err != nil {
					b.Error(err)
					return
				}
				doc.Body.Close()
			}
			compare(b, c.c, raw.print, pooled)
		})
	}
}

// block is the number of documents of one kind that run in succession.
const block = 20

// compare runs b.N documents each way on c goroutines.
func compare(b *testing.B, c int, floor, pooled func(worker int)) {
	b.Helper()
	spread(c, 2*c, floor)
	spread(c, 2*c, pooled)
	var floorTime, poolTime time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; done += block {
		n := min(block, b.N-done)
		b.StopTimer()
		floorTime += spread(c, n, floor)
		b.StartTimer()
		poolTime += spread(c, n, pooled)
	}
	b.ReportMetric(float64(b.N)/poolTime.Seconds(), "docs/s")
	b.ReportMetric(float64(floorTime.Milliseconds())/float64(b.N), "floor-ms/op")
	b.ReportMetric(floorTime.Seconds()/poolTime.Seconds(), "of-floor")
}

// spread calls fn n times on c goroutines, and returns how long that took.
func spread(c, n int, fn func(worker int)) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	next := make(chan struct{})
	for w := range c {
		wg.Go(func() {
			for range next {
				fn(w)
			}
		})
	}
	for range n {
		next <- struct{}{}
	}
	close(next)
	wg.Wait()
	return time.Since(start)
}

// rawPages prints with bare commands: on a warm page for the mode Inline, in a
// new realm of it for Realm, in a new context for Once.
type rawPages struct {
	b     *testing.B
	root  session
	html  string
	mode  RenderMode
	pages []*rawPage
}

func (r *rawPages) print(worker int) {
	page := r.pages[worker]
	if r.mode == ModeOnce {
		page = newRawPage(r.b, r.root)
		defer r.root.post(proto.TargetDisposeBrowserContext{BrowserContextID: page.context})
	}
	if err := page.print(r.b.Context(), r.html, r.mode == ModeRealm); err != nil {
		r.b.Error(err)
	}
}

// rawPage is a target used with bare commands.
type rawPage struct {
	session
	context proto.BrowserBrowserContextID
	frame   proto.PageFrameID
	ready   chan struct{}
}

func newRawPage(b *testing.B, root session) *rawPage {
	b.Helper()
	var made proto.TargetCreateBrowserContextResult
	var target proto.TargetCreateTargetResult
	var attached proto.TargetAttachToTargetResult
	ctx := b.Context()
	err := root.call(ctx, proto.TargetCreateBrowserContext{}, &made)
	if err == nil {
		err = root.call(ctx, proto.TargetCreateTarget{URL: "about:blank", BrowserContextID: made.BrowserContextID}, &target)
	}
	if err == nil {
		err = root.call(ctx, proto.TargetAttachToTarget{TargetID: target.TargetID, Flatten: true}, &attached)
	}
	if err != nil {
		b.Fatal(err)
	}
	r := &rawPage{
		session: root.conn.session(string(attached.SessionID)), context: made.BrowserContextID,
		frame: proto.PageFrameID(target.TargetID), ready: make(chan struct{}, 8),
	}
	b.Cleanup(func() { root.post(proto.TargetDisposeBrowserContext{BrowserContextID: r.context}) })
	root.conn.handle(r.id, func(method string, _ json.RawMessage) {
		if method == "Page.loadEventFired" {
			r.ready <- struct{}{}
		}
	})
	if err := r.call(ctx, proto.PageEnable{}, nil); err != nil {
		b.Fatal(err)
	}
	return r
}

func (r *rawPage) print(ctx context.Context, html string, realm bool) error {
	if realm {
		if err := r.call(ctx, proto.PageNavigate{URL: "about:blank"}, nil); err != nil {
			return err
		}
		<-r.ready
	}
	if err := r.call(ctx, proto.PageSetDocumentContent{FrameID: r.frame, HTML: html}, nil); err != nil {
		return err
	}
	<-r.ready
	opt, _ := PDF{PrintBackground: true}.normalized()
	var out struct {
		Data []byte `json:"data"`
	}
	return r.call(ctx, opt.params("", false), &out)
}
