package template

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// invoice is a template of fifty rows, and its data.
func invoice(rows int) (Template, json.RawMessage) {
	var items []string
	for i := range rows {
		items = append(items, fmt.Sprintf(`{"name":"Item %d & co","quantity":%d,"price":%d.25}`, i, i%7+1, 10+i))
	}
	html := `<!doctype html><html><head><style>td{padding:4px}</style></head><body><h1>Invoice {{number}}</h1>
<p>{{customer.name}}<br>{{customer.city}}</p><p>{{formatDate date "long"}}</p>
<table>{{#each items}}<tr><td>{{add @index 1}}</td><td>{{name}}</td><td>{{formatNumber quantity}}</td><td>{{formatCurrency price "EUR"}}</td>
<td>{{formatCurrency (multiply quantity price) "EUR"}}</td></tr>{{/each}}</table>
<p>Total {{formatCurrency (sum items "quantity" "price") "EUR"}}</p></body></html>`
	return Template{HTML: html}, json.RawMessage(`{"number":"2026-1","date":"2026-11-21","customer":{"name":"Ada","city":"London"},"items":[` + strings.Join(items, ",") + `]}`)
}

func BenchmarkInvoice(b *testing.B) {
	c := newCache()
	call := Call{}
	call.Template, call.Data = invoice(50)
	b.ReportAllocs()
	began := processorTime()
	for b.Loop() {
		if _, _, err := c.render(context.Background(), "a", &call, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}

func BenchmarkRealm(b *testing.B) {
	b.ReportAllocs()
	began := processorTime()
	for b.Loop() {
		if _, err := newRenders(nativeHelpers); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}
