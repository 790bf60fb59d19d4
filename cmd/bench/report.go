package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// report is what was measured; parts that were not are nil or empty.
type report struct {
	Machine   machine            `json:"machine"`
	Rows      []comparisonResult `json:"comparisons,omitempty"`
	Paid      *paidFigures       `json:"paidPath,omitempty"`
	Barcodes  *barcodeFigures    `json:"barcodes,omitempty"`
	Tools     []toolFigures      `json:"tools,omitempty"`
	Templates *templateFigures   `json:"templates,omitempty"`
	Office    *officeFigures     `json:"office,omitempty"`
	Jobs      []jobFigures       `json:"jobs,omitempty"`
	Workers   []workerFigures    `json:"workers,omitempty"`
	Model     *modelFigures      `json:"model,omitempty"`
	Sent      *deliveryFigures   `json:"deliveries,omitempty"`
	Keys      *keyFigures        `json:"idempotency,omitempty"`
	Start     *startFigures      `json:"start,omitempty"`
	Overload  *overloadFigures   `json:"overload,omitempty"`
	Attacks   []attackFigures    `json:"attacks,omitempty"`
	Plans     []planFigures      `json:"plans,omitempty"`
	Pages     []pageFigures      `json:"pages,omitempty"`
	Goals     []goalFigures      `json:"goals,omitempty"`
	Mixed     *mixedFigures      `json:"overloadWithTools,omitempty"`
	Soak      *soakFigures       `json:"soak,omitempty"`

	// broken are the parts that could not be measured.
	broken []error
}

// comparisonResult is a measured row.
type comparisonResult struct {
	Name        string  `json:"name"`
	Concurrency int     `json:"concurrency"`
	Floor       figures `json:"floor"`
	Ours        figures `json:"ours"`
	Ratio       float64 `json:"ratio"`          // of the documents a second
	Goal        float64 `json:"goal,omitempty"` // zero is none
}

// figures are those of one side: medians of the rounds' rates, percentiles over
// all documents, processor time of the process tree, and the largest memory of
// it at the end of a round.
type figures struct {
	DocsPerSecond float64 `json:"docsPerSecond"`
	P50           float64 `json:"p50Ms"`
	P95           float64 `json:"p95Ms"`
	CPU           float64 `json:"cpuMsPerDoc"`
	MemoryMB      float64 `json:"memoryMB"`
	Documents     int     `json:"documents"`
}

// verdict is how a figure stands to its goal.
func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "missed"
}

// failure returns what did not work, as opposed to what was slow.
func (r *report) failure() error {
	loads := map[string]loadFigures{}
	if o := r.Overload; o != nil {
		loads["at capacity"], loads["at twice capacity"] = o.At, o.Above
	}
	if m := r.Mixed; m != nil {
		loads["overload with tools"] = m.All
	}
	errs := r.broken
	for name, f := range loads {
		if f.Others > 0 {
			errs = append(errs, fmt.Errorf("%s: %d answers were neither 200 nor 429, such as %s", name, f.Others, f.FirstOther))
		}
		if f.WithoutRetryAfter > 0 {
			errs = append(errs, fmt.Errorf("%s: %d answers 429 had no Retry-After of a second or more", name, f.WithoutRetryAfter))
		}
	}
	return errors.Join(errs...)
}

func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// write prints the report for people.
func (r *report) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintln(&b, r.Machine)
	for _, part := range []func(io.Writer){r.writeRows, r.writePaid, r.writeBarcodes, r.writeTools, r.writeTemplates, r.writeJobs, r.writeWorkers, r.writeStart, r.writeOverload, r.writeMixed, r.writeGoals, r.writePages, r.writePlans, r.writeAttacks, r.writeSoak} {
		part(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table aligns columns that are separated by tabs.
func table(w io.Writer, header string, rows func(io.Writer)) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)
	rows(t)
	_ = t.Flush() // The writer is a strings.Builder.
}

func (r *report) writeRows(w io.Writer) {
	if len(r.Rows) == 0 {
		return
	}
	fmt.Fprintln(w, "\nPDFs, floor / ours. Floor: bare commands to the same browser. Ours: HTTP to the whole service.")
	fmt.Fprint(w, "CPU and memory (PSS) are of the whole process tree, the browser included.\n\n")
	header := "document\tat once\tdocs/s\tratio\tgoal\t\tp50 ms\tp95 ms\tCPU ms/doc\tMB"
	table(w, header, func(w io.Writer) {
		for _, c := range r.Rows {
			goal, result := "-", ""
			if c.Goal > 0 {
				goal, result = fmt.Sprintf("%.2f", c.Goal), verdict(c.Ratio >= c.Goal)
			}
			fmt.Fprintf(w, "%s\t%d\t%.1f / %.1f\t%.2f\t%s\t%s\t%.1f / %.1f\t%.1f / %.1f\t%.1f / %.1f\t%.0f / %.0f\n",
				c.Name, c.Concurrency, c.Floor.DocsPerSecond, c.Ours.DocsPerSecond, c.Ratio, goal, result,
				c.Floor.P50, c.Ours.P50, c.Floor.P95, c.Ours.P95, c.Floor.CPU, c.Ours.CPU, c.Floor.MemoryMB, c.Ours.MemoryMB)
		}
	})
}

func (r *report) writePaid(w io.Writer) {
	if r.Paid == nil {
		return
	}
	fmt.Fprintf(w, "\nPaid path, all of an HTTP call but the render: p50 %.2f ms, p95 %.2f ms; goal p50 < %.1f ms: %s\n",
		r.Paid.P50, r.Paid.P95, r.Paid.Goal, verdict(r.Paid.P50 < r.Paid.Goal))
	fmt.Fprintf(w, "Floor, as many bytes over net/http and to the disk: p50 %.2f ms. With the client of net/http: p50 %.2f ms\n", r.Paid.Floor, r.Paid.Client)
	var steps []string
	for _, s := range r.Paid.Steps {
		steps = append(steps, fmt.Sprintf("%s %.2f", s.Step, s.Mean))
	}
	fmt.Fprintf(w, "Steps of an invoice, means in ms: %s\n", strings.Join(steps, ", "))
}

func (r *report) writeBarcodes(w io.Writer) {
	if b := r.Barcodes; b != nil {
		fmt.Fprintf(w, "\nBarcodes, %d at once: %.0f a second, p50 %.1f ms, p95 %.1f ms; goal >= %.0f a second: %s\n",
			b.AtOnce, b.PerSecond, b.P50, b.P95, b.Goal, verdict(b.PerSecond >= b.Goal))
	}
}

func (r *report) writeTools(w io.Writer) {
	rows := r.Tools
	if r.Office != nil {
		rows = append(slices.Clip(rows), r.Office.Warm, r.Office.Cold)
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(w, "\nTools, medians in ms. By hand: the program alone, on files. Ours: HTTP, the files as Base64 in the request;")
	fmt.Fprint(w, "transport is the part of it beside the run: decoding them, paying, sending the result.\n\n")
	table(w, "tool\tby hand\tours\ttransport\tratio\tgoal\t", func(w io.Writer) {
		for _, f := range rows {
			goal, result := "-", ""
			if f.Goal > 0 {
				goal, result = fmt.Sprintf("%.0f", f.Goal), verdict(f.Ours <= f.Goal)
			}
			fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.2f\t%s\t%s\n", f.Name, f.Hand, f.Ours, f.Transport, f.Ours/f.Hand, goal, result)
		}
	})
	if o := r.Office; o != nil {
		fmt.Fprintf(w, "\nTwo office documents at once: %.2f times the rate of one; goal >= %.1f: %s\n", o.Parallel, o.Goal, verdict(o.Parallel >= o.Goal))
	}
}

func (r *report) writeJobs(w io.Writer) {
	if len(r.Jobs) > 0 {
		fmt.Fprintln(w, "\nJobs of eight accounts: HTTP, hold, encrypted input, run, stored result, settlement, also where the run does nothing.")
		fmt.Fprint(w, "Start: from the commit of a single job until its work begins, p50.\n\n")
		table(w, "database\tjob\tjobs/s\tstart ms\tgoal\t", func(w io.Writer) {
			for _, f := range r.Jobs {
				fmt.Fprintf(w, "%s\t%s\t%.0f\t%.1f\t%.1f\t%s\n", f.Database, f.Job, f.Ours.PerSecond, f.Ours.Start, jobStartGoal, verdict(f.Ours.Start <= jobStartGoal))
			}
		})
	}
	if d := r.Sent; d != nil {
		fmt.Fprintf(w, "\nDeliveries to one TLS receiver on this machine: %.0f a second, signed and recorded; bare POSTs of the same client, %d at once: %.0f a second\n",
			d.PerSecond, d.AtOnce, d.Bare)
	}
	if k := r.Keys; k != nil {
		fmt.Fprintf(w, "\nIdempotency-Key on the paid path: p50 %.2f ms without, %.2f ms with one (its result is stored), %.2f ms replayed\n", k.Without, k.With, k.Replayed)
	}
}

func (r *report) writeStart(w io.Writer) {
	if r.Start == nil {
		return
	}
	fmt.Fprintf(w, "\nStart to first PDF, median of %d: %.0f ms; goal < %.0f ms: %s\n",
		len(r.Start.Each), r.Start.Median, r.Start.Goal, verdict(r.Start.Median < r.Start.Goal))
}

func (r *report) writeOverload(w io.Writer) {
	o := r.Overload
	if o == nil {
		return
	}
	fmt.Fprintf(w, "\nOverload with invoices. Capacity (closed loop, %d at once): %.0f docs/s, p95 %.0f ms.\n\n", o.AtOnce, o.Capacity, o.ClosedP95)
	table(w, loadHeader, func(w io.Writer) {
		o.At.line(w, "at capacity")
		o.Above.line(w, "at twice capacity")
		for _, p := range o.Parties {
			p.line(w, "  "+p.Name)
		}
	})
	fmt.Fprintf(w, "\nOnly 200, and 429 with Retry-After: %s\n", verdict(o.At.sound() && o.Above.sound()))
	fmt.Fprintf(w, "p95 of accepted at twice capacity: %.2f times that at capacity; goal < %.0f: %s\n", o.P95Ratio, o.P95Goal, verdict(o.P95Ratio < o.P95Goal))
	fmt.Fprintf(w, "The light account beside the heavy one: %.1f %% accepted; goal >= %.0f %%: %s\n", 100*o.LightShare, 100*o.LightGoal, verdict(o.LightShare >= o.LightGoal))
}

// loadHeader is that of tables of loads.
const loadHeader = "load\tseconds\toffered\t200\t429\tother\tp50 ms\tp95 ms"

func (f loadFigures) line(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%.0f\t%d\t%d\t%d\t%d\t%.0f\t%.0f\n",
		name, f.Seconds, f.Offered, f.Accepted, f.Refused, f.Others+f.WithoutRetryAfter, f.P50, f.P95)
}

// sound tells that each answer was a result or a refusal that says when to come again.
func (f loadFigures) sound() bool { return f.Others+f.WithoutRetryAfter == 0 }

func (r *report) writeMixed(w io.Writer) {
	m := r.Mixed
	if m == nil {
		return
	}
	fmt.Fprintf(w, "\nOverload with documents and tools. Capacity (closed loop): %.0f calls/s.\n\n", m.Capacity)
	table(w, loadHeader, func(w io.Writer) {
		m.All.line(w, "at twice capacity")
		for _, p := range m.Parties {
			p.line(w, "  "+p.Name)
		}
	})
	fmt.Fprintf(w, "\nOnly 200, and 429 with Retry-After: %s\n", verdict(m.All.sound()))
	fmt.Fprintf(w, "The light account beside the heavy one: %.1f %% accepted; goal >= %.0f %%: %s\n", 100*m.LightShare, 100*m.LightGoal, verdict(m.LightShare >= m.LightGoal))
}

func (r *report) writeSoak(w io.Writer) {
	if r.Soak == nil {
		return
	}
	fmt.Fprintf(w, "\nMemory (PSS) of the service's process tree over %.0f s of mixed documents\n\n", r.Soak.Seconds)
	table(w, "documents\tMB", func(w io.Writer) {
		for _, m := range r.Soak.Marks {
			fmt.Fprintf(w, "%d\t%.0f\n", m.Documents, m.MemoryMB)
		}
	})
	fmt.Fprintf(w, "\nLast to first: %.2f; goal < %.1f: %s\n", r.Soak.Ratio, r.Soak.Goal, verdict(r.Soak.Ratio < r.Soak.Goal))
}
