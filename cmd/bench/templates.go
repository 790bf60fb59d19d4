package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// templateFigures compare an invoice of fifty rows that a template makes with the
// same HTML posted ready-made, both over HTTP.
type templateFigures struct {
	Ready     float64 `json:"readyP50Ms"`
	Template  float64 `json:"templateP50Ms"`
	Extra     float64 `json:"extraGoalMs"`
	Ratio     float64 `json:"ratioAtTwo"` // of the documents a second, two at once
	RatioGoal float64 `json:"ratioGoal"`
}

const (
	templateExtra = 4 // milliseconds
	templateRatio = 0.9
	templateRows  = 50
)

// templateInvoice is a template, its data, and what it makes.
func templateInvoice() (html, data, ready string) {
	var b strings.Builder
	b.WriteString(head + "<h1>Invoice 1234</h1>\n")
	items := make([]string, templateRows)
	var rows strings.Builder
	for i := range items {
		items[i] = fmt.Sprintf(`{"name":"Widget number %d","quantity":%d,"price":%d.5}`, i+1, 3*(i+1), 7*(i+1))
		fmt.Fprintf(&rows, "<tr><td>%d</td><td>Widget number %d</td><td class=n>%d</td><td class=n>€%d.50</td></tr>\n", i+1, i+1, 3*(i+1), 7*(i+1))
	}
	html = b.String() + "<table>{{#each items}}<tr><td>{{add @index 1}}</td><td>{{name}}</td><td class=n>{{quantity}}</td><td class=n>{{formatCurrency price \"EUR\"}}</td></tr>\n{{/each}}</table></body></html>"
	ready = b.String() + "<table>" + rows.String() + "</table></body></html>"
	return html, `{"items":[` + strings.Join(items, ",") + `]}`, ready
}

// templates measures them.
func (l *lab) templates(ctx context.Context, r *report) error {
	l.say("templates")
	html, data, ready := templateInvoice()
	slug := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	if err := l.postJSON(ctx, "/v1/templates", map[string]any{"name": "bench", "slug": slug, "html": html}); err != nil {
		return err
	}
	if err := l.postJSON(ctx, "/v1/templates/"+slug+"/publish", map[string]any{}); err != nil {
		return err
	}
	filled := l.own(toolRequest("/v1/pdf", map[string]any{"templateId": slug, "templateData": json.RawMessage(data)}, pdfMagic))
	posted := l.own(pdfRequest(ready))
	f := &templateFigures{Extra: templateExtra, RatioGoal: templateRatio}
	span := choose(l, 5*time.Second, time.Second)
	var rates [2]float64
	for i, call := range []work{posted, filled} {
		if err := repeat(ctx, 2, 20, call); err != nil {
			return err
		}
		one, err := closedLoop(ctx, 1, span, call)
		if err != nil {
			return err
		}
		two, err := closedLoop(ctx, 2, span, call)
		if err != nil {
			return err
		}
		*[]*float64{&f.Ready, &f.Template}[i] = ms(percentile(one.latencies, 50))
		rates[i] = two.rate
	}
	f.Ratio = rates[1] / rates[0]
	r.Templates = f
	return nil
}

// postJSON sends what is no operation.
func (l *lab) postJSON(ctx context.Context, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.server.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+l.keys[0])
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("POST %s: status %d: %s", path, response.StatusCode, answer)
	}
	return err
}

func (r *report) writeTemplates(w io.Writer) {
	f := r.Templates
	if f == nil {
		return
	}
	fmt.Fprintf(w, "\nTemplates, an invoice of %d rows: p50 %.1f ms, the same HTML posted ready-made %.1f ms; goal at most %.0f ms on top: %s\n",
		templateRows, f.Template, f.Ready, f.Extra, verdict(f.Template-f.Ready <= f.Extra))
	fmt.Fprintf(w, "Two at once: %.2f times the documents a second; goal >= %.2f: %s\n", f.Ratio, f.RatioGoal, verdict(f.Ratio >= f.RatioGoal))
}
