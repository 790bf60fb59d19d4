package operation

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pagerange"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Pages selects pages of a document: a string in the grammar of
// render.CheckPageRanges, or an array of page numbers in the order wanted. Its
// zero value means that none was given.
type Pages struct{ expr *string }

// maxPageItems is the maximum number of page numbers in an array, which is the maximum number of pages of a result.
const maxPageItems = render.MaxPages

// maxPagesText is the maximum length of a selection as text, in characters.
const maxPagesText = 1000

// selectPages returns the Pages of an expression.
func selectPages(expr string) Pages { return Pages{&expr} }

// PageRanges selects pages in document order. The empty text is absent.
type PageRanges string

// JSONSchema returns the schema of PageRanges, which is that of Pages as text.
func (PageRanges) JSONSchema() *jsonschema.Schema { return pagesText() }

// check adds a validation error if p is not a selection of pages.
func (p PageRanges) check(faults *schema.FieldErrors, field string) {
	if p == "" {
		return
	}
	if err := render.CheckPageRanges(string(p)); err != nil {
		faults.Add(field, "%s. Send %s", err, pagerange.Syntax)
	}
}

// pagesText returns the schema of a selection of pages as text.
func pagesText() *jsonschema.Schema {
	doc := &jsonschema.Schema{Type: "string", MinLength: new(uint64(1)), MaxLength: new(uint64(maxPagesText))}
	return schema.Named("PageRanges", schema.SetPattern(doc, pagerange.Pattern))
}

// JSONSchema returns the schema of Pages: a string or an array of page numbers.
func (Pages) JSONSchema() *jsonschema.Schema {
	some := uint64(1)
	many := uint64(maxPageItems)
	page := &jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: "999999"}
	return schema.Named("Pages", &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		pagesText(),
		{Type: "array", Items: page, MinItems: &some, MaxItems: &many},
	}})
}

// SetJSON writes an array's numbers as an expression.
func (p *Pages) SetJSON(v any) error {
	switch v := v.(type) {
	case string:
		p.expr = &v
	case []any:
		var numbers []int64
		for _, page := range v {
			numbers = append(numbers, pageNumber(page))
		}
		expr := joinPages(numbers)
		p.expr = &expr
	}
	return nil
}

// pageNumber returns a number that the schema has found to be whole. JSON may
// spell it 2, 2.0 or 2e0.
func pageNumber(v any) int64 {
	if n, ok := v.(float64); ok {
		return int64(n)
	}
	n, _ := v.(int64)
	return n
}

// joinPages writes page numbers as an expression, with runs of pages that
// follow one another as ranges.
func joinPages(numbers []int64) string {
	var parts []string
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[n-1]+1 {
			n++
		}

		part := strconv.FormatInt(numbers[0], 10)
		if n > 1 {
			part += "-" + strconv.FormatInt(numbers[n-1], 10)
		}

		parts, numbers = append(parts, part), numbers[n:]
	}
	return strings.Join(parts, ",")
}

// MarshalJSON writes the pages as one string.
func (p Pages) MarshalJSON() ([]byte, error) { return json.Marshal(p.expr) }

// IsZero reports whether no pages are set.
func (p Pages) IsZero() bool { return p.expr == nil }

// text returns the expression, empty where none was given.
func (p Pages) text() string { return text(p.expr) }

// check adds a validation error if p is not a selection of pages.
func (p Pages) check(faults *schema.FieldErrors, field string) {
	if p.expr == nil {
		return
	}
	if err := render.CheckPageRanges(*p.expr); err != nil {
		faults.Add(field, "%s. Send %s, or an array of page numbers", err, pagerange.Syntax)
	}
}
