package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// parts lists the measurements in order. Documents of one account come first, because the service keeps a slot free
// for others for a minute after they were active.
func (l *lab) parts() []part {
	plain := invoice()
	script := scripted()
	report := document("Report", choose(l, 2000, 100))
	book := chapters(choose(l, 50, 4)) // 50 pages of Letter paper, without script
	return append([]part{
		{"invoice/1", l.document("invoice, 1 at once", plain, 1, Goal{Times: 0.7}, false)},
		{"invoice/2", l.document("invoice, 2 at once", plain, 2, Goal{Times: 0.8}, false)},
		{"invoice/4", l.document("invoice, 4 at once", plain, 4, Goal{}, false)},
		{"scripted", l.document("invoice with script, 2 at once", script, 2, Goal{Times: 0.9}, true)},
		{"report", l.document("report of 50 pages, 2 at once", report, 2, Goal{Times: 0.95}, false)},
		{"accessible/rows", l.accessible("2000 rows", report)},
		{"accessible/chapters", l.accessible("50 chapters", book)},
		{"contents", l.contents},
		{"accounts", l.accounts},
		{"new account", l.newAccount},
		{"templates", l.templates},
		{"bulk", l.bulk},
		{"editors", l.editors},
		{"start", l.start},
		{"barcodes", l.barcodes},
	}, append(l.toolParts(), []part{
		{"jobs", l.jobs},
		{"claims", l.claims},
		{"pages", l.pages},
	}...)...)
}

// own makes calls for the first account.
func (l *lab) own(r request) work { return l.client.call(l.keys[0], r) }

// compare interleaves five rounds of both sides, a second each.
func (l *lab) compare(ctx context.Context, atOnce int, sides ...*side) error {
	return interleave(ctx, choose(l, 5, 1), atOnce, atOnce*choose(l, 8, 1), choose(l, time.Second, 50*time.Millisecond), sides...)
}

// document compares one account's documents with the floor's pages.
func (l *lab) document(name, html string, atOnce int, goal Goal, renew bool) func(context.Context) ([]Row, error) {
	return func(ctx context.Context) ([]Row, error) {
		printing, err := l.floor.pages(ctx, atOnce, html, renew)
		if err != nil {
			return nil, err
		}
		floor := &side{do: printing, root: l.floor.cmd.Process.Pid}
		ours := &side{do: l.own(pdfRequest(html)), root: l.server.pid}
		if err := l.compare(ctx, atOnce, floor, ours); err != nil {
			return nil, err
		}
		against := "bare browser, a page that is used again"
		if renew {
			against += ", a new realm each time"
		}
		return []Row{rateRow(name, against, goal, floor, ours)}, nil
	}
}

// accessible compares PDFs that conform to standards with the same without tags, by time and by size. The tags that
// only Chromium writes are in the note.
func (l *lab) accessible(name, html string) func(context.Context) ([]Row, error) {
	return func(ctx context.Context) ([]Row, error) {
		options := []map[string]any{{}, {"standards": []string{"ua-1", "a-2a"}}, {"tagged": true}}
		sides := make([]*side, len(options))
		sizes := make([]float64, len(options))
		for i, o := range options {
			sides[i] = &side{do: func(ctx context.Context, _ int) error {
				made, err := l.client.do(ctx, l.keys[0], newRequest("/v1/pdf", map[string]any{"html": html, "options": o}, pdfMagic))
				sizes[i] = float64(len(made)) / 1000
				return err
			}}
		}
		err := l.compare(ctx, 1, sides...)
		took := timeRow("accessible PDF of "+name, "the same without tags", Goal{Times: 1.15}, sides[0], sides[1])
		took.Note += fmt.Sprintf(", tagged p50 %s ms", figure(sides[2].percentile(50)))
		return []Row{took, {
			Name: "bytes of an accessible PDF of " + name, Floor: took.Floor, Unit: "kB", Goal: Goal{Times: 1.3},
			FloorFigure: sizes[0], OurFigure: sizes[1], Note: fmt.Sprintf("tagged %s kB", figure(sizes[2])),
		}}, err
	}
}

// contents compares chapters that have a table of contents with page numbers with the same table without numbers.
func (l *lab) contents(ctx context.Context) ([]Row, error) {
	n := choose(l, 50, 4)
	plain := withContents(chapters(n), n)
	numbered := strings.Replace(plain, "<style>", `<style>.toc a::after{content:leader(". ") target-counter(attr(href),page)}`, 1)
	floor := &side{do: l.own(pdfRequest(plain))}
	ours := &side{do: l.own(pdfRequest(numbered))}
	err := l.compare(ctx, 1, floor, ours)
	return []Row{timeRow("table of contents of 50 chapters", "the same without page numbers", Goal{Times: 3}, floor, ours)}, err
}

// accounts compares documents of accounts in turn with a browser context for each.
func (l *lab) accounts(ctx context.Context) ([]Row, error) {
	var next atomic.Int64
	call := pdfRequest(invoice())
	floor := &side{do: l.floor.newContext(invoice()), root: l.floor.cmd.Process.Pid}
	ours := &side{root: l.server.pid, do: func(ctx context.Context, _ int) error {
		_, err := l.client.do(ctx, l.keys[1+next.Add(1)%inTurn], call)
		return err
	}}
	err := l.compare(ctx, 2, floor, ours)
	return []Row{rateRow("invoices of 8 accounts in turn, 2 at once", "bare browser, a new context each time", Goal{Times: 1}, floor, ours)}, err
}

// newAccount has a busy account queue more documents than there are slots, and a new account send single ones
// alongside, with pauses. The baseline is the slot time of a document, for both accounts together.
func (l *lab) newAccount(ctx context.Context) ([]Row, error) {
	const waiting = 4 // for each slot
	heavy := &side{do: l.client.call(l.keys[1], pdfRequest(invoice()))}
	few := l.client.call(l.keys[2], pdfRequest(invoice()))
	if err := errors.Join(heavy.do(ctx, 0), few(ctx, 0)); err != nil { // Their pages are warm then.
		return nil, err
	}
	span := choose(l, 10*time.Second, 300*time.Millisecond)
	ended := make(chan error, 1)
	begin := time.Now()
	go func() { ended <- heavy.round(ctx, waiting*l.slots, span) }()
	var took []time.Duration
	for time.Since(begin) < span {
		<-time.After(20 * time.Millisecond)
		start := time.Now()
		if err := few(ctx, 0); err != nil {
			return nil, errors.Join(err, <-ended)
		}
		took = append(took, time.Since(start))
	}
	if err := <-ended; err != nil {
		return nil, err
	}
	document := time.Since(begin) * time.Duration(l.slots) / time.Duration(len(heavy.latencies)+len(took))
	return []Row{{
		Name: "new account alongside a heavy one", Floor: "the time that a document takes of a slot", Unit: "ms p95", Goal: Goal{Times: 1.5},
		FloorFigure: ms(document), OurFigure: ms(percentile(took, 95)), Note: fmt.Sprintf("%d documents, p50 %s ms", len(took), figure(ms(percentile(took, 50)))),
	}}, nil
}

// templates compares an invoice of 50 rows that a template makes with the same HTML.
func (l *lab) templates(ctx context.Context) ([]Row, error) {
	const items = 50
	var list []string
	var ready strings.Builder
	for i := range items {
		list = append(list, fmt.Sprintf(`{"name":"Widget number %d","quantity":%d,"price":%d.5}`, i+1, 3*(i+1), 7*(i+1)))
		fmt.Fprintf(&ready, "<tr><td>%d</td><td>Widget number %d</td><td class=n>%d</td><td class=n>€%d.50</td></tr>\n", i+1, i+1, 3*(i+1), 7*(i+1))
	}
	page := func(body string) string {
		return head + "<h1>Invoice 1234</h1>\n<table>" + body + "</table></body></html>"
	}
	html := page("{{#each items}}<tr><td>{{add @index 1}}</td><td>{{name}}</td><td class=n>{{quantity}}</td><td class=n>{{formatCurrency price \"EUR\"}}</td></tr>\n{{/each}}")
	slug := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	if err := l.publish(ctx, slug, html); err != nil {
		return nil, err
	}
	floor := &side{do: l.own(pdfRequest(page(ready.String())))}
	ours := &side{do: l.own(newRequest("/v1/pdf", map[string]any{"templateId": slug, "templateData": json.RawMessage(`{"items":[` + strings.Join(list, ",") + `]}`)}, pdfMagic))}
	err := l.compare(ctx, 1, floor, ours)
	return []Row{timeRow("template of 50 rows", "the same HTML sent ready-made", Goal{Times: 1, Plus: 4}, floor, ours)}, err
}

// start compares the time from starting the program to the end of its first PDF with the time of the bare browser.
func (l *lab) start(ctx context.Context) ([]Row, error) {
	return l.onDatabase(ctx, store.SQLite, func(d database) ([]Row, error) {
		floor := &side{}
		ours := &side{}
		for range choose(l, 5, 1) {
			begin := time.Now()
			f, err := startFloor(ctx)
			if err != nil {
				return nil, err
			}
			err = f.newContext(invoice())(ctx, 0)
			floor.latencies = append(floor.latencies, time.Since(begin))
			if err := errors.Join(err, f.stop()); err != nil {
				return nil, err
			}
			begin = time.Now()
			s, err := d.serve(ctx, l)
			if err != nil {
				return nil, err
			}
			_, err = newClient(s.url).do(ctx, d.keys[0], pdfRequest(invoice()))
			ours.latencies = append(ours.latencies, time.Since(begin))
			if err := errors.Join(err, s.stop()); err != nil {
				return nil, err
			}
		}
		return []Row{timeRow("start to first PDF", "bare browser, from its start to a PDF", Goal{Plus: 1000}, floor, ours)}, nil
	})
}
