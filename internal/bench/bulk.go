package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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

// bulk compares a bulk job with single calls of the same documents, two at once, by speed and by the bytes of one PDF.
func (l *lab) bulk(ctx context.Context) ([]Row, error) {
	n := choose(l, 100, 4)
	slug, records := fmt.Sprintf("bulk-%d", time.Now().UnixNano()), bulkRecords(n)
	if err := l.publish(ctx, slug, bulkHTML); err != nil {
		return nil, err
	}
	var alone, merged int
	single := &side{size: n, root: l.server.pid, do: func(ctx context.Context, _ int) error {
		made := make([]int, n)
		next := make(chan int, n)
		for i := range n {
			next <- i
		}
		err := repeat(ctx, 2, n, func(ctx context.Context, _ int) error {
			i := <-next
			content, err := l.client.post(ctx, l.keys[0], newRequest("/v1/pdf", map[string]any{"templateId": slug, "templateData": records[i]}, pdfMagic))
			made[i] = len(content)
			return err
		})
		alone = 0
		for _, size := range made {
			alone += size
		}
		return err
	}}
	jobOf := func(output string, size *int) *side {
		return &side{size: n, root: l.server.pid, do: func(ctx context.Context, _ int) (err error) {
			*size, err = l.bulkJob(ctx, newRequest("/v1/pdf/bulk", map[string]any{"templateId": slug, "records": records, "output": output}, nil))
			return err
		}}
	}
	var archive int
	archived, joined := jobOf("zip", &archive), jobOf("merged", &merged)
	if err := interleave(ctx, choose(l, 5, 1), 1, 1, time.Nanosecond, single, archived, joined); err != nil {
		return nil, err
	}
	const against = "single calls, 2 at once"
	return []Row{
		rateRow("bulk job of one-page invoices", against, Goal{Times: 2}, single, archived),
		rateRow("bulk job of one-page invoices, merged", against, Goal{Times: 2}, single, joined),
		{
			Name: "bytes of merged invoices", Floor: "documents of " + against, Unit: "kB", Goal: Goal{Times: 0.2},
			FloorFigure: float64(alone) / 1000, OurFigure: float64(merged) / 1000, Note: fmt.Sprintf("%d documents", n),
		},
	}, nil
}

// publish publishes a template.
func (l *lab) publish(ctx context.Context, slug, html string) error {
	for _, r := range []request{
		newRequest("/v1/templates", map[string]any{"name": "bench", "slug": slug, "html": html}, nil),
		newRequest("/v1/templates/"+slug+"/publish", map[string]any{}, nil),
	} {
		if _, err := l.client.post(ctx, l.keys[0], r); err != nil {
			return err
		}
	}
	return nil
}

// bulkJob waits for the end of a job, and returns the size of its result in bytes.
func (l *lab) bulkJob(ctx context.Context, r request) (int, error) {
	type status struct {
		ID, Status string
		Failed     int
		SizeBytes  int
	}
	var job status
	accepted, err := l.client.post(ctx, l.keys[0], r)
	if err == nil {
		err = json.Unmarshal(accepted, &job)
	}
	for err == nil && job.Status != "completed" {
		if job.Status == "failed" || job.Failed > 0 {
			return 0, errors.New("the bulk job failed")
		}
		<-time.After(bulkPoll)
		var content []byte
		if content, err = l.client.do(ctx, http.MethodGet, l.keys[0], request{path: "/v1/jobs/" + job.ID}); err == nil {
			err = json.Unmarshal(content, &job)
		}
	}
	return job.SizeBytes, err
}
