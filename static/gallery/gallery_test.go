package gallery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func load(t testing.TB) *Gallery {
	t.Helper()
	g, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var slug = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func TestGalleryIsComplete(t *testing.T) {
	g := load(t)
	if got := len(g.List("", "")); got < 63 {
		t.Errorf("%d layouts, want at least 63", got)
	}
	if got := g.Categories(); len(got) < 10 {
		t.Errorf("%d categories, want at least 10: %s", len(got), got)
	}
	if got := len(g.List("invoice", "")) + len(g.List("quote", "")) + len(g.List("receipt", "")); got < 12 {
		t.Errorf("%d invoices, quotes and receipts, want at least 12", got)
	}
	names := map[string]string{}
	for _, l := range g.List("", "") {
		if other := names[l.Name]; other != "" {
			t.Errorf("%s and %s have one name, %q", l.ID, other, l.Name)
		}
		names[l.Name] = l.ID
		for _, fault := range faults(l) {
			t.Errorf("%s: %s", l.ID, fault)
		}
	}
}

// faults lists what is missing in a layout's folder.
func faults(l Layout) []string {
	var list []string
	check := func(ok bool, fault string) {
		if !ok {
			list = append(list, fault)
		}
	}
	check(slug.MatchString(l.ID), "the folder's name is no slug")
	check(slug.MatchString(l.Category), "the category is no slug")
	check(l.Name != "", "no name")
	check(len(l.Description) >= 60 && strings.HasSuffix(l.Description, "."), "the description is no sentence of 60 letters")
	check(len(l.Tags) >= 3, "fewer than three tags")
	check(slices.Equal(l.Formats, []string{"A4", "Letter"}), "formats are not A4 and Letter")
	check(len(l.Fonts) > 0, "no fonts")
	check(len(l.Names) > 0, "no names")
	check(len(l.Optional) > 0, "no optional fields")
	check(strings.HasPrefix(l.HTML, "<!doctype html>\n<html lang="), "the template does not begin with its type and language")
	check(strings.Contains(l.HTML, "@page"), "no @page rule")
	check(!regexp.MustCompile(`(?i)<script|\son[a-z]+=|url\(\s*['"]?(https?:)?//|(src|href)=`).MatchString(l.HTML), "a script or a reference, which leads out of the fast lane")

	var sample, options map[string]any
	check(json.Unmarshal(l.Sample, &sample) == nil && len(sample) > 1, "sample.json is no object")
	check(json.Unmarshal(l.Options, &options) == nil && options["printBackground"] == true && slices.Contains(l.Formats, options["format"].(string)), "options.json has no format or no background")
	paths := append(slices.Clone(l.Names), l.Optional...)
	if l.Rows != "" {
		paths = append(paths, l.Rows)
	}
	for _, p := range paths {
		_, ok := value(sample, p)
		check(ok, "sample.json has no "+p)
	}
	return list
}

// TestGroupsHoldAllCategories: each category is in exactly one of the eight groups, and has synonyms.
func TestGroupsHoldAllCategories(t *testing.T) {
	g := load(t)
	categories := g.Categories()
	var grouped []string
	for _, group := range Groups() {
		grouped = append(grouped, group.Categories...)
		if slices.Contains(categories, group.Slug) {
			t.Errorf("the group %s has the name of a category", group.Slug)
		}
		count := 0
		for _, category := range group.Categories {
			count += len(g.List(category, ""))
		}
		if count == 0 || count != len(g.List(group.Slug, "")) {
			t.Errorf("the group %s has %d layouts, its categories have %d", group.Slug, len(g.List(group.Slug, "")), count)
		}
	}
	if !slices.Equal(grouped, categories) || len(Groups()) != 8 {
		t.Errorf("the %d groups hold %q, want %q", len(Groups()), grouped, categories)
	}
	for _, category := range categories {
		if synonyms[category] == "" {
			t.Errorf("%s has no synonyms", category)
		}
	}
	if len(synonyms) != len(categories) {
		t.Errorf("synonyms of %d categories, want %d", len(synonyms), len(categories))
	}
}

func TestListFilters(t *testing.T) {
	g := load(t)
	for _, test := range []struct {
		category, text string
		want           []string
	}{
		{"credit-note", "", []string{"credit-note-reverse"}},
		{"credit-note", "refund", []string{"credit-note-reverse"}},
		{"billing", "rechnung monospace", []string{"invoice-monospace"}},
		{"", "dunning", []string{"reminder-steady"}},
		{"people", "curriculum", []string{"resume-column", "resume-margin"}},
		{"", "PO", []string{"purchase-order-grid"}},
		{"", "Credit notes", []string{"credit-note-reverse"}},
		{"", "GUILLOCHE landscape", []string{"certificate-laurel"}},
		{"certificate", "invoice", nil},
		{"nothing", "", nil},
		{"", "zebra", nil},
	} {
		var got []string
		for _, l := range g.List(test.category, test.text) {
			got = append(got, l.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("List(%q, %q): got %q, want %q", test.category, test.text, got, test.want)
		}
	}
	if l, ok := g.Get("invoice-atelier"); !ok || l.Href() != "/pdf-templates/invoice/invoice-atelier" {
		t.Errorf("Get(invoice-atelier): %v, %v", l.Href(), ok)
	}
	if _, ok := g.Get("invoice"); ok {
		t.Error("Get finds a layout that there is not")
	}
}

// TestFiguresAddUp holds the samples to their own arithmetic: quantity times price
// is the amount of a line, and a running balance runs.
func TestFiguresAddUp(t *testing.T) {
	lines := 0
	for _, l := range load(t).List("", "") {
		var sample map[string]any
		if err := json.Unmarshal(l.Sample, &sample); err != nil {
			t.Fatal(err)
		}
		rows, _ := value(sample, l.Rows)
		list, _ := rows.([]any)
		balance, _ := sample["opening"].(float64)
		for i, row := range list {
			line, _ := row.(map[string]any)
			amount, _ := line["amount"].(float64)
			for _, pair := range [][2]string{{"quantity", "price"}, {"hours", "rate"}} {
				a, okA := line[pair[0]].(float64)
				b, okB := line[pair[1]].(float64)
				if okA && okB && amount != 0 {
					lines++
					if cents(a*b) != cents(amount) {
						t.Errorf("%s: row %d: %s × %s is %.2f, not %.2f", l.ID, i, pair[0], pair[1], a*b, amount)
					}
				}
			}
			if after, ok := line["balance"].(float64); ok {
				lines++
				debit, _ := line["debit"].(float64)
				credit, _ := line["credit"].(float64)
				balance += debit - credit
				if cents(balance) != cents(after) {
					t.Errorf("%s: row %d: the balance is %.2f, not %.2f", l.ID, i, balance, after)
				}
			}
		}
		if closing, ok := sample["closing"].(float64); ok && cents(closing) != cents(balance) {
			t.Errorf("%s: it closes with %.2f, not %.2f", l.ID, balance, closing)
		}
	}
	if lines < 20 {
		t.Errorf("only %d lines were checked", lines)
	}
}

func cents(amount float64) int {
	if amount < 0 {
		return -cents(-amount)
	}
	return int(amount*100 + 0.5)
}

// TestPagesAreCounted compares what layouts say of their pages with what
// TestLayoutsPrint has counted.
func TestPagesAreCounted(t *testing.T) {
	t.Parallel()
	counted, err := os.ReadFile(filepath.Join("testdata", "pages.golden"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range load(t).List("", "") {
		want := ""
		for line := range strings.Lines(string(counted)) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == l.ID {
				if at := slices.Index(fields, ownFormat(t, l)); at > 0 {
					want = fields[at+1]
				}
			}
		}
		if strconv.Itoa(l.Pages) != want {
			t.Errorf("%s says %d pages in about.json, and has %q", l.ID, l.Pages, want)
		}
		if width, height := l.ThumbnailSize(); width < 100 || height < 100 {
			t.Errorf("%s has a thumbnail of %d × %d pixels", l.ID, width, height)
		}
	}
}
