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

// BenchmarkRaw is the floor: the same documents over the same connection, with
// nothing but the commands that render them.
func BenchmarkRaw(b *testing.B) {
	p := startPool(b, nil)
	for _, c := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("invoice/c=%d", c), func(b *testing.B) { benchRaw(b, p, invoice(), c, false) })
	}
	for _, c := range []int{1, 2} {
		b.Run(fmt.Sprintf("scripted/c=%d", c), func(b *testing.B) { benchRaw(b, p, scripted(), c, true) })
	}
}

// BenchmarkPool is the same through the Pool.
func BenchmarkPool(b *testing.B) {
	p := startPool(b, nil)
	for _, c := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("invoice/c=%d", c), func(b *testing.B) { benchPool(b, p, Inline, invoice(), c) })
	}
	for _, c := range []int{1, 2} {
		b.Run(fmt.Sprintf("scripted/c=%d", c), func(b *testing.B) { benchPool(b, p, Realm, scripted(), c) })
	}
	b.Run("once/c=1", func(b *testing.B) { benchPool(b, p, Once, scripted(), 1) })
}

// spread runs fn b.N times on c goroutines.
func spread(b *testing.B, c int, fn func(worker int)) {
	b.ResetTimer()
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
	for range b.N {
		next <- struct{}{}
	}
	close(next)
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "docs/s")
}

func benchPool(b *testing.B, p *Pool, lane Lane, html string, c int) {
	one := func(int) {
		doc, err := p.PDF(b.Context(), Job{Tenant: "bench", Lane: lane, HTML: html}, PDF{PrintBackground: true})
		if err != nil {
			b.Error(err)
			return
		}
		doc.Body.Close()
	}
	spreadOnce(c, one)
	spread(b, c, one)
}

// spreadOnce warms what c concurrent jobs need.
func spreadOnce(c int, fn func(int)) {
	var wg sync.WaitGroup
	for w := range c {
		wg.Go(func() { fn(w); fn(w) })
	}
	wg.Wait()
}

func benchRaw(b *testing.B, p *Pool, html string, c int, realm bool) {
	pages := make([]*rawPage, c)
	for i := range pages {
		pages[i] = newRawPage(b, p.current.root)
	}
	one := func(w int) {
		if err := pages[w].print(b.Context(), html, realm); err != nil {
			b.Error(err)
		}
	}
	spreadOnce(c, one)
	spread(b, c, one)
}

// rawPage is a target used with bare commands.
type rawPage struct {
	session
	frame proto.PageFrameID
	ready chan struct{}
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
	b.Cleanup(func() { root.post(proto.TargetDisposeBrowserContext{BrowserContextID: made.BrowserContextID}) })
	r := &rawPage{
		session: root.conn.session(string(attached.SessionID)),
		frame:   proto.PageFrameID(target.TargetID), ready: make(chan struct{}, 8),
	}
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
