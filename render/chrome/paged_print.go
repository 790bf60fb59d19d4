package chrome

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pagedcss"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

const (
	// maxReferences is the maximum number of references of a document, and of elements that set strings, restart the
	// page numbers or are bookmarks.
	maxReferences = 10_000
	// maxValue is the maximum length of a text that a margin box, a reference or a bookmark shows, in UTF-16 units.
	maxValue = 500
	// maxCounters is the maximum length of the counter styles of the margin boxes in bytes.
	maxCounters = 4 << 20
	// maxPrints is the maximum number of prints in which the page numbers of a document settle, and frozenPrints that
	// of further prints in which their widths do not change: one with the new widths, and one with the numbers of that.
	maxPrints, frozenPrints = 4, 2
	// ownNames is the prefix of the IDs that collectScript gives.
	ownNames = "relay-"
)

// collected is the result of collectScript. Names are those of destinations; empty if an element has none.
type collected struct {
	Refs []struct {
		Target int    `json:"target"`
		Name   string `json:"name"`
	} `json:"refs"`
	Strings []struct {
		String string `json:"string"`
		Value  string `json:"value"`
		Name   string `json:"name"`
	} `json:"strings"`
	Restarts []struct {
		Page int    `json:"page"`
		Name string `json:"name"`
	} `json:"restarts"`
	Bookmarks []struct {
		Level  int    `json:"level"`
		Label  string `json:"label"`
		Closed bool   `json:"closed"`
		Name   string `json:"name"`
	} `json:"bookmarks"`
	Missing  []string `json:"missing"`  // targets of references
	Repeated []string `json:"repeated"` // IDs of elements without a destination, because another has the same ID
	Alone    int      `json:"alone"`    // leaders of elements that are not alone in their block
	Cut      int      `json:"cut"`      // texts that are longer than maxValue
	More     bool     `json:"more"`     // than maxReferences
}

// pagedDocument is a document whose style sheets were rewritten.
type pagedDocument struct {
	css pagedcss.Features
	collected
	long bool // The texts of the margin boxes are longer than maxCounters.
}

// collect finds the elements that the rewritten style sheets concern. Headings become bookmarks if the caller wants an
// outline.
func (t *tab) collect(ctx context.Context, css pagedcss.Features, outline bool) (*pagedDocument, error) {
	base := ""
	if len(css.Leaders) > 0 {
		base = leaderStyle
	}
	if css.Numbered() {
		base += "@layer relay{@page{counter-increment:relay-page}}"
	}

	d := &pagedDocument{css: css}
	args := map[string]any{
		"targets":   list(css.Targets),
		"leaders":   list(css.Leaders),
		"sets":      list(css.Sets),
		"labels":    list(css.Labels),
		"strings":   len(css.Strings),
		"restarts":  css.Restarts,
		"bookmarks": css.Bookmarks,
		"headings":  outline,
		"most":      maxReferences,
		"longest":   maxValue,
		"prefix":    ownNames,
		"marks":     pagedcss.Marks(),
		"base":      base,
	}

	if err := t.eval(ctx, collectScript, args, &d.collected); err != nil {
		return nil, ignoreStale(ctx, err)
	}
	d.warn(t)
	return d, nil
}

// list returns a list that is not null in JSON.
func list[T any](values []T) []T { return append([]T{}, values...) }

// warn warns of what the document asks for in vain.
func (d *pagedDocument) warn(p *tab) {
	for _, link := range d.Missing {
		warnf(p, CSSUnsupported, "a reference to %q has no text: the document has no element with this ID",
			cut(link, maxNameText))
	}
	for _, id := range d.Repeated {
		warnf(p, CSSUnsupported, "string-set, counter-reset: page and bookmarks have no effect "+
			"on an element with the ID %q: "+
			"an earlier element has the same ID. Give each element its own ID", cut(id, maxNameText))
	}
	if d.Cut > 0 {
		warnf(p, CSSUnsupported, "%d texts of target-text(), string-set or bookmarks are cut after %d characters",
			d.Cut, maxValue)
	}
	if d.Alone > 0 {
		warnf(p, CSSUnsupported, "leader() does not fill the line in %d elements. "+
			"Use it in ::after of an element that is alone in its block", d.Alone)
	}
	if d.More {
		warnf(p, CSSUnsupported,
			"the document has more than %d references, strings and bookmarks; the others have no effect",
			maxReferences)
	}
}

// dynamic reports whether a text depends on the pages.
func (d *pagedDocument) dynamic() bool { return len(d.Refs) > 0 || d.css.Numbered() }

// state is the values that depend on the pages.
type state struct {
	values   []string // of the references
	counters string   // the counter styles of the margin boxes
}

func (s state) equal(other state) bool {
	return s.counters == other.counters && slices.Equal(s.values, other.values)
}

// first is the state of the first print: most page numbers have two digits.
func (d *pagedDocument) first() state {
	s := state{values: make([]string, len(d.Refs))}
	for i := range s.values {
		if d.Refs[i].Name != "" {
			s.values[i] = "00"
		}
	}
	return s
}

// destinations are the places of the document's destinations.
type destinations struct {
	file  *pdffile.ChromiumFile
	pages int
	at    map[string]pdffile.Destination
	top   float64 // the smallest distance of a destination from the top
}

func (d *pagedDocument) destinations(doc PrintedPDF) (destinations, error) {
	f, err := pdffile.ReadChromium(doc.Body.Open(), doc.Body.Size())
	if err != nil {
		return destinations{}, fmt.Errorf("chrome: read the destinations: %w", err)
	}

	named, err := f.Destinations("", doc.Pages)
	if err != nil {
		return destinations{}, fmt.Errorf("chrome: read the destinations: %w", err)
	}

	found := destinations{file: f, pages: doc.Pages, at: make(map[string]pdffile.Destination, len(named)), top: 1}
	for _, n := range named {
		found.at[n.Name] = n
		found.top = min(found.top, n.Y)
	}
	return found, nil
}

// after returns the state that belongs to a print.
func (d *pagedDocument) after(at destinations) state {
	labels := d.labels(at)
	s := state{values: make([]string, len(d.Refs)), counters: d.counters(at, labels)}

	for i, ref := range d.Refs {
		if ref.Target < 0 || ref.Target >= len(d.css.Targets) {
			continue
		}
		if place, printed := at.at[ref.Name]; printed {
			s.values[i], _ = pagedcss.Format(labels[place.Page-1], d.css.Targets[ref.Target].Style)
		}
	}
	return s
}

// labels returns the number that each page shows.
func (d *pagedDocument) labels(at destinations) []int {
	first := make(map[int]int, len(d.Restarts))
	for _, r := range d.Restarts {
		if place, printed := at.at[r.Name]; printed {
			first[place.Page] = r.Page
		}
	}

	labels := make([]int, at.pages)
	next := 1
	for i := range labels {
		if n, restarts := first[i+1]; restarts {
			next = n
		}
		labels[i] = next
		next++
	}

	return labels
}

// counters returns the counter styles of the margin boxes.
func (d *pagedDocument) counters(at destinations, labels []int) string {
	if !d.css.Numbered() {
		return ""
	}

	var out strings.Builder
	out.WriteString(`@counter-style relay-none{system:cyclic;symbols:"";suffix:""}`)
	style := func(name string, i int, text func(page int) string) {
		fmt.Fprintf(&out, "@counter-style relay-%s%d{system:fixed 1;suffix:\"\";fallback:relay-none;symbols:", name, i)
		for page := range at.pages {
			if out.Len() > maxCounters {
				d.long = true
				break // The other pages show nothing.
			}
			out.WriteString(" " + pagedcss.Quote(text(page)))
		}
		out.WriteString("}")
	}

	for i, name := range d.css.Styles {
		style("p", i, func(page int) string {
			text, _ := pagedcss.Format(labels[page], name)
			return text
		})
	}
	for i, s := range d.css.Strings {
		values := d.values(at, s)
		style("s", i, func(page int) string { return values[page] })
	}

	return out.String()
}

// values returns the value of a string on each page.
func (d *pagedDocument) values(at destinations, s pagedcss.String) []string {
	type set struct {
		value string
		y     float64
	}

	sets := make([][]set, at.pages)
	for _, a := range d.Strings {
		if place, printed := at.at[a.Name]; printed && a.String == s.Name {
			sets[place.Page-1] = append(sets[place.Page-1], set{a.Value, place.Y})
		}
	}

	const sameHeight = 0.015 // of a page: margins at its start may be cut off
	values := make([]string, at.pages)
	entry := ""
	for i, here := range sets {
		values[i] = entry
		if len(here) == 0 {
			continue
		}

		switch {
		case s.Position == "first-except":
			values[i] = ""
		case s.Position == "last":
			values[i] = here[len(here)-1].value
		case s.Position == "first", here[0].y <= at.top+sameHeight:
			values[i] = here[0].value
		}
		entry = here[len(here)-1].value
	}
	return values
}

// widest returns, for each reference, the longest of its values in the states.
func widest(states []state) []string {
	wide := slices.Clone(states[0].values)
	for _, s := range states[1:] {
		for i, value := range s.values {
			if len([]rune(value)) > len([]rune(wide[i])) {
				wide[i] = value
			}
		}
	}
	return wide
}

// paged prints a document again and again until the page numbers in it are those of its pages, and gives it its
// bookmarks.
func (p printer) paged(ctx context.Context, d *pagedDocument) (doc PrintedPDF, err error) {
	if err := p.page.stopLoading(ctx); err != nil {
		return PrintedPDF{}, err
	}

	defer func() {
		if err != nil && doc.Body != nil {
			err = errors.Join(err, doc.Body.Close())
		}
	}()

	if doc, err = p.settled(ctx, d); err != nil {
		return doc, err
	}
	d.warnLong(p.page)

	if p.ranges != nil {
		pages, ok := p.ranges.resolve(doc.Pages)
		if !ok {
			return doc, &PageRangeError{Ranges: p.opt.PageRanges, Pages: doc.Pages}
		}
		if len(pages) < doc.Pages {
			if err := doc.Body.Close(); err != nil {
				return doc, err
			}
			if doc, err = p.once(ctx, formatPages(pages)); err != nil {
				return doc, err
			}
		}
	}

	return doc, d.finish(doc)
}

// settled prints the whole document.
func (p printer) settled(ctx context.Context, d *pagedDocument) (doc PrintedPDF, err error) {
	current := d.first()
	var wide []string
	var seen []state

	for n := 1; ; n++ {
		if d.dynamic() {
			args := map[string]any{"values": list(current.values), "wide": wide, "counters": current.counters}
			if err := p.page.eval(ctx, setScript, args, nil); err != nil {
				return doc, err
			}
		}

		measuring := p
		if n == 1 && d.dynamic() { // It is never the last one: tags would double its time.
			measuring.opt.Tagged = false
			measuring.opt.Outline = false
		}
		if doc, err = measuring.once(ctx, ""); err != nil || !d.dynamic() {
			return doc, err
		}

		at, err := d.destinations(doc)
		if err != nil {
			return doc, err
		}
		next := d.after(at)
		if next.equal(current) {
			return doc, nil
		}

		repeated := slices.IndexFunc(seen, next.equal)
		if n >= maxPrints+frozenPrints || n >= maxPrints && wide == nil && repeated < 0 {
			warnf(p.page, LayoutUnstable, "page numbers in the text did not settle, "+
				"because each print moved the pages that they refer to; some may be wrong. "+
				"Give the references a fixed width, such as display: inline-block; width: 3em")
			return doc, nil
		}

		if repeated >= 0 && wide == nil {
			wide = widest(append(slices.Clone(seen[repeated:]), current))
			n = maxPrints // the next ones are frozen
		}

		seen = append(seen, current)
		current = next
		if err := doc.Body.Close(); err != nil {
			return doc, err
		}
	}
}

// warnLong warns of margin boxes that are empty because those before have long texts.
func (d *pagedDocument) warnLong(p *tab) {
	if d.long {
		warnf(p, CSSUnsupported, "string() and counter(page) are empty in some margin boxes: "+
			"their texts have more than %d MiB in total. Use shorter strings", maxCounters>>20)
	}
}

// finish gives a document its bookmarks, and removes the names that collectScript gave.
func (d *pagedDocument) finish(doc PrintedPDF) error {
	at, err := d.destinations(doc)
	if err != nil {
		return err
	}

	var list []pdffile.Bookmark
	for _, b := range d.Bookmarks {
		if place, printed := at.at[b.Name]; printed {
			list = append(list, pdffile.Bookmark{Title: b.Label, Level: b.Level, Closed: b.Closed, View: place.View})
		}
	}

	added := slices.ContainsFunc(slices.Collect(maps.Keys(at.at)), func(name string) bool {
		return strings.HasPrefix(name, ownNames)
	})
	if len(list) == 0 && !added {
		return nil
	}

	update, err := at.file.SetBookmarks(list, ownNames)
	if err != nil {
		return fmt.Errorf("chrome: write the bookmarks: %w", err)
	}
	_, err = doc.Body.Write(update)
	return err
}
