package einvoice

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestBombs reads documents that are small or simple and would be large or slow: entities that expand, depth, many
// elements, a text in many parts, and a long text.
func TestBombs(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const open, end = `<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100">`, `</rsm:CrossIndustryInvoice>`
	var laughs strings.Builder
	laughs.WriteString(`<!DOCTYPE x [<!ENTITY a0 "ha">`)
	for _, level := range []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"} {
		laughs.WriteString(`<!ENTITY ` + level + ` "` + strings.Repeat("&a"+string(level[1]-1)+";", 10) + `">`)
	}
	laughs.WriteString(`]>` + open + `&a9;` + end)
	for name, bomb := range map[string]string{
		"entities":          laughs.String(),
		"an outside entity": `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>` + open + `&f;` + end,
		"depth":             open + strings.Repeat("<a>", 1_000_000),
		"elements":          open + strings.Repeat("<a/>", maxNodes+1) + end,
	} {
		if _, err := Read([]byte(bomb)); !errors.Is(err, ErrXML) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, large := range map[string]string{
		"parts": open + strings.Repeat("a<!---->", 500_000) + end,
		"text":  open + strings.Repeat("a", 50<<20) + end,
	} {
		document, err := Read([]byte(large))
		if err != nil || len(document.Findings) == 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestManyBreakdowns checks invoices with many lines and VAT breakdowns, whose sums take the product of both.
func TestManyBreakdowns(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for taxes, complete := range map[int]bool{20: true, 5_000: false} {
		invoice := generateFor(0, EN16931)
		line, tax := invoice.Lines[0], invoice.Taxes[0]
		for len(invoice.Lines) < 10_000 {
			invoice.Lines = append(invoice.Lines, line)
		}
		for len(invoice.Taxes) < taxes {
			tax.Category, tax.Rate = "S", number(strconv.Itoa(len(invoice.Taxes)))
			invoice.Taxes = append(invoice.Taxes, tax)
		}
		start := time.Now()
		findings := Check(invoice, CII, EN16931)
		tooMany := slices.ContainsFunc(findings, func(f Finding) bool { return strings.Contains(f.Message, "too many") })
		if tooMany && complete || len(findings) == 0 {
			t.Errorf("%d breakdowns: %d findings, too many: %v", taxes, len(findings), tooMany)
		}
		t.Logf("%d breakdowns took %s", taxes, time.Since(start))
	}
}
