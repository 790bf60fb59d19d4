package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// bulkPoll is the pause between two looks at a bulk job.
const bulkPoll = 5 * time.Millisecond

// bulkHTML is a template of one page, with margins and a footer.
const bulkHTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Invoice {{number}}</title><style>
@page{margin:20mm 18mm;@bottom-right{content:"Invoice {{number}} · " counter(page) " / " counter(pages);font:8pt sans-serif}}
*{box-sizing:border-box;margin:0;padding:0}body{font:10pt/1.4 sans-serif}table{width:100%;border-collapse:collapse}h1{background:#246;color:#fff;padding:8px}
td,th{border-bottom:1px solid #ccc;padding:4px;text-align:left}.n{text-align:right}
</style></head><body><h1>Invoice {{number}}</h1><p><b>{{name}}</b><br>1 Example Street<br>Springfield</p>
<table><tr><th>Item</th><th class="n">Quantity</th><th class="n">Price</th></tr>{{#each items}}<tr><td>{{name}}</td><td class="n">{{quantity}}</td><td class="n">{{formatCurrency price "EUR"}}</td></tr>{{/each}}</table>
</body></html>`

// bulkRecords returns the data of n invoices.
func bulkRecords(n int) (records []json.RawMessage) {
	for i := range n {
		items := ""
		for j := range 10 {
			items += fmt.Sprintf(`,{"name":"Widget number %d, with a long name","quantity":%d,"price":%d.5}`, i+j, j+1, 7*i+j)
		}
		records = append(records, json.RawMessage(fmt.Sprintf(`{"number":%d,"name":"Customer %d","items":[%s]}`, 1000+i, i, items[1:])))
	}
	return records
}

// bulk compares bulk jobs, whose results are archives and one PDF, with single calls of the same documents.
func (l *lab) bulk(ctx context.Context) ([]Row, error) {
	n := choose(l, 100, 4)
	slug := fmt.Sprintf("bulk-%d", time.Now().UnixNano())
	records := bulkRecords(n)
	if err := l.publish(ctx, slug, bulkHTML); err != nil {
		return nil, err
	}
	single := &side{size: n, root: l.server.pid, do: func(ctx context.Context, _ int) error {
		var next atomic.Int64
		return repeat(ctx, 2, n, func(ctx context.Context, _ int) error {
			data := records[next.Add(1)-1]
			_, err := l.client.do(ctx, l.keys[0], newRequest("/v1/pdf", map[string]any{"templateId": slug, "templateData": data}, pdfMagic))
			return err
		})
	}}
	job := func(output string) *side {
		call := newRequest("/v1/pdf/bulk", map[string]any{"templateId": slug, "records": records, "output": output}, nil)
		return &side{size: n, root: l.server.pid, do: func(ctx context.Context, _ int) error { return l.await(ctx, call) }}
	}
	archived := job("zip")
	merged := job("merged")
	if err := interleave(ctx, choose(l, 5, 1), 1, 1, time.Nanosecond, single, archived, merged); err != nil {
		return nil, err
	}
	const against = "single calls, 2 at once"
	return []Row{
		rateRow("bulk job of one-page invoices", against, Goal{Times: 1}, single, archived),
		rateRow("bulk job of one-page invoices, merged", against, Goal{Times: 1}, single, merged),
	}, nil
}

// publish publishes a template.
func (l *lab) publish(ctx context.Context, slug, html string) error {
	for _, r := range []request{
		newRequest("/v1/templates", map[string]any{"name": "bench", "slug": slug, "html": html}, nil),
		newRequest("/v1/templates/"+slug+"/publish", map[string]any{}, nil),
	} {
		if _, err := l.client.do(ctx, l.keys[0], r); err != nil {
			return err
		}
	}
	return nil
}

// await makes a bulk job, and returns when it has completed without a failed record.
func (l *lab) await(ctx context.Context, r request) error {
	var job struct {
		ID, Status string
		Failed     int
	}
	content, err := l.client.do(ctx, l.keys[0], r)
	for err == nil {
		if err := json.Unmarshal(content, &job); err != nil {
			return err
		}
		if job.Status == "failed" || job.Failed > 0 {
			return errors.New("the bulk job failed")
		}
		if job.Status == "completed" {
			return nil
		}
		<-time.After(bulkPoll)
		content, err = l.client.do(ctx, l.keys[0], request{method: http.MethodGet, path: "/v1/jobs/" + job.ID})
	}
	return err
}
