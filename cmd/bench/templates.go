package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"relaypdf/render/template"
)

// templateFigures compare an invoice of fifty rows that a template makes with the
// same HTML posted ready-made, both over HTTP.
type templateFigures struct {
	Ready     float64 `json:"readyP50Ms"`
	Template  float64 `json:"templateP50Ms"`
	Extra     float64 `json:"extraGoalMs"`
	Ratio     float64 `json:"ratioAtTwo"` // of the documents a second, two at once
	RatioGoal float64 `json:"ratioGoal"`
	// Alone is a fill without service and browser, in this process; Node is what
	// Handlebars takes for it in Node.js, 0 where that is not there.
	Alone float64 `json:"aloneP50Ms"`
	Node  float64 `json:"nodeP50Ms,omitempty"`
	// Memory of the program's process tree before and after many templates of
	// which no two are alike.
	Different    int     `json:"differentTemplates"`
	BeforeMB     float64 `json:"memoryBeforeMB"`
	AfterMB      float64 `json:"memoryAfterMB"`
	GrowthFactor float64 `json:"growthGoal"`
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
	if err := postJSON(ctx, l, "/v1/templates", map[string]any{"name": "bench", "slug": slug, "html": html}); err != nil {
		return err
	}
	if err := postJSON(ctx, l, "/v1/templates/"+slug+"/publish", map[string]any{}); err != nil {
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
	if err := fillAlone(ctx, l, f, html, data); err != nil {
		return err
	}
	return fillDifferent(ctx, l, f)
}

// fillAlone measures the engine, and Handlebars in Node.js.
func fillAlone(ctx context.Context, l *lab, f *templateFigures, html, data string) error {
	rounds := choose(l, 300, 20)
	fill := template.Local()
	var took []time.Duration
	for range rounds {
		start := time.Now()
		if _, err := fill(ctx, template.Call{Template: template.Template{HTML: html}, Data: json.RawMessage(data)}); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	f.Alone = ms(percentile(took, 50))
	modules, err := filepath.Abs(nodeModules)
	if err != nil {
		return err
	}
	node := exec.CommandContext(ctx, "node", "-e", nodeFill, html, data, strconv.Itoa(rounds))
	node.Env = append(slices.Clone(l.env), "NODE_PATH="+modules)
	out, err := node.Output()
	if err != nil {
		l.say("no figure of Node.js: %v; the package comes with `make setup`", err)
		return nil
	}
	f.Node, err = strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return err
}

// nodeModules is where `make setup` puts the packages of tests.
const nodeModules = ".ci/node/node_modules"

// nodeFill prints the median of the rounds in milliseconds. The helpers are written
// as is usual there.
const nodeFill = `
const Handlebars = require("handlebars");
const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "EUR" });
Handlebars.registerHelper("add", (a, b) => a + b);
Handlebars.registerHelper("formatCurrency", (value) => money.format(value));
const [html, data, rounds] = process.argv.slice(1);
const render = Handlebars.compile(html);
const took = [];
for (let i = 0; i < Number(rounds); i++) {
  const start = process.hrtime.bigint();
  render(JSON.parse(data));
  took.push(Number(process.hrtime.bigint() - start) / 1e6);
}
took.sort((a, b) => a - b);
console.log(took[took.length >> 1]);
`

// fillDifferent fills templates of which no two are alike, so that nothing that was
// compiled is of use again, and looks what that leaves behind.
func fillDifferent(ctx context.Context, l *lab, f *templateFigures) error {
	var next atomic.Int64
	fill := func(ctx context.Context, _ int) error {
		i := next.Add(1)
		html := fmt.Sprintf("%s<h1>Template %d</h1>{{#each items}}<p>%d {{name}} {{formatCurrency price \"EUR\"}}</p>{{/each}}</body></html>", head, i, i)
		return l.client.make(ctx, l.keys[0], toolRequest("/v1/templates/preview", map[string]any{
			"html": html, "sampleData": json.RawMessage(`{"items":[{"name":"Pen","price":1.5},{"name":"Ink","price":2}]}`),
		}, pdfMagic))
	}
	memory := func() float64 { return float64(memoryOf(l.server.cmd.Process.Pid)) / 1e6 }
	// What is kept of templates is full after some hundred.
	if err := repeat(ctx, 2, choose(l, 600, 20), fill); err != nil {
		return err
	}
	f.Different, f.GrowthFactor, f.BeforeMB = choose(l, 1000, 20), soakGoal, memory()
	if err := repeat(ctx, 2, f.Different, fill); err != nil {
		return err
	}
	f.AfterMB = memory()
	return nil
}

// postJSON sends what is no operation.
func postJSON(ctx context.Context, l *lab, path string, body any) error {
	return l.client.sendJSON(ctx, l.keys[0], path, body, nil)
}

func (r *report) writeTemplates(w io.Writer) {
	f := r.Templates
	if f == nil {
		return
	}
	fmt.Fprintf(w, "\nTemplates, an invoice of %d rows: p50 %.1f ms, the same HTML posted ready-made %.1f ms; goal at most %.0f ms on top: %s\n",
		templateRows, f.Template, f.Ready, f.Extra, verdict(f.Template-f.Ready <= f.Extra))
	fmt.Fprintf(w, "Two at once: %.2f times the documents a second; goal >= %.2f: %s\n", f.Ratio, f.RatioGoal, verdict(f.Ratio >= f.RatioGoal))
	fmt.Fprintf(w, "The engine alone: %.2f ms", f.Alone)
	if f.Node > 0 {
		fmt.Fprintf(w, ", Handlebars in Node.js %.2f ms", f.Node)
	}
	fmt.Fprintf(w, "\n%d different templates in turn: %.0f MB before, %.0f MB after; goal at most %.1f times: %s\n",
		f.Different, f.BeforeMB, f.AfterMB, f.GrowthFactor, verdict(f.AfterMB <= f.GrowthFactor*f.BeforeMB))
}
