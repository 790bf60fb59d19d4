package pagetext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// edged sets pages of one line at the top, one in the middle and one at the bottom.
func edged(pages int, line func(n int) (top, bottom string)) []Page {
	var set []Page
	for n := 1; n <= pages; n++ {
		s := newSet()
		top, bottom := line(n)
		s.text(50, 30, 10, top)
		s.text(50, 300, 10, "Gross pay and what is taken off it")
		s.text(50, 780, 10, bottom)
		set = append(set, s.page)
	}
	return set
}

// TestLinesThatDifferInDigitsStay: months, dates, amounts and invoice numbers sometimes
// count up with the pages, but are not page numbers.
func TestLinesThatDifferInDigitsStay(t *testing.T) {
	for _, form := range []string{
		"Payslip %d", "Payslip for 2024-%02d", "%02d/2024", "%d/2024", "2024-0%d-01", "Employee 100%d", "100%d", "%d EUR", "Sheet %d of cash", "No. %d", "%d.1",
	} {
		for _, pages := range []int{2, 3, 5} {
			got := Markdown(edged(pages, func(n int) (string, string) { return fmt.Sprintf(form, n), "Sum " + fmt.Sprintf(form, n) }))
			for i, text := range got {
				want := fmt.Sprintf(form, i+1)
				if text = strings.ReplaceAll(text, `\`, ""); strings.Count(text, want) != 2 {
					t.Errorf("%q, page %d of %d: %q is there %d times, want twice: %q", form, i+1, pages, want, strings.Count(text, want), text)
				}
			}
		}
	}
}

func TestPageNumbersGo(t *testing.T) {
	for _, form := range []string{"%d", "- %d -", "Page %d", "Page %d of 4", "Seite %d von 4", "%d / 4", "Page %d of 9"} {
		for i, text := range Markdown(edged(4, func(n int) (string, string) { return "The Title", fmt.Sprintf(form, n) })) {
			want := "Gross pay and what is taken off it"
			if i == 0 {
				want = "The Title\n\n" + want
			}
			check(t, fmt.Sprintf("%q, page %d", form, i+1), text, want)
		}
	}
	roman := []string{"iii", "iv", "v", "vi"}
	for i, text := range Markdown(edged(4, func(n int) (string, string) { return "Different " + roman[n-1] + " things", roman[n-1] })) {
		check(t, "Roman numbers", text, "Different "+roman[i]+" things\n\nGross pay and what is taken off it")
	}
	// A line that holds the number of its page is equal but for that.
	for i, text := range Markdown(edged(3, func(n int) (string, string) { return fmt.Sprintf("Report of May 2024 | Page %d of 3", n), "" })) {
		want := "Gross pay and what is taken off it"
		if i == 0 {
			want = `Report of May 2024 \| Page 1 of 3` + "\n\n" + want
		}
		check(t, "number in a line", text, want)
	}
}

// TestNumbersOfChosenPages: the pages that were asked for have the numbers of their document.
func TestNumbersOfChosenPages(t *testing.T) {
	pages := edged(9, func(n int) (string, string) { return "", fmt.Sprintf("%d / 9", n) })
	chosen := []Page{pages[4], pages[8]}
	chosen[0].Number, chosen[1].Number, chosen[0].Of, chosen[1].Of = 5, 9, 9, 9
	for _, text := range Markdown(chosen) {
		check(t, "chosen page", text, "Gross pay and what is taken off it")
	}
}

// TestNoPageIsEmptied: pages that only have what other pages have too keep it.
func TestNoPageIsEmptied(t *testing.T) {
	var pages []Page
	for n := 1; n <= 4; n++ {
		s := newSet()
		s.text(50, 30, 10, "Meeting room")
		s.text(290, 780, 10, fmt.Sprintf("Page %d of 4", n))
		pages = append(pages, s.page)
	}
	for i, text := range Markdown(pages) {
		if !strings.Contains(text, "Meeting room") {
			t.Errorf("page %d says %q", i+1, text)
		}
	}
}

// TestWordsInWordsOut sets documents of lines at the edges: each word of a page is in its
// text, unless its line is on an earlier page too or is the number of the page.
func TestWordsInWordsOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	forms := []func(page int) string{
		func(int) string { return "Acme Inc" },
		func(int) string { return "Payroll 2024" },
		func(page int) string { return fmt.Sprintf("Period %02d/2024", page) },
		func(page int) string { return fmt.Sprintf("2024-%02d", page) },
		func(page int) string { return fmt.Sprintf("Slip %d", page) },
		func(page int) string { return fmt.Sprintf("%d of them", page) },
		func(page int) string { return fmt.Sprintf("Total %d.%02d", random.IntN(900), page) },
		func(page int) string { return fmt.Sprintf("4%03d", page) },
		func(page int) string { return fmt.Sprintf("Page %d of 99", page) },
		func(page int) string { return fmt.Sprintf("Seite %d", page) },
	}
	const numbers = 8 // the first form that is a page number
	for range 400 {
		var pages []Page
		var lines [][]string
		count := 2 + random.IntN(7)
		chosen := []int{random.IntN(len(forms)), random.IntN(len(forms)), random.IntN(len(forms)), random.IntN(len(forms))}
		body := random.IntN(4) > 0
		for n := 1; n <= count; n++ {
			s, own := newSet(), []string{}
			for i, form := range chosen {
				line := forms[form](n)
				s.text([]float64{50, 400}[i%2], []float64{30, 30, 770, 785}[i], 9, line)
				if form < numbers {
					own = append(own, line)
				}
			}
			if body {
				s.text(50, 400, 9, "Something of its own")
			}
			pages, lines = append(pages, s.page), append(lines, own)
		}
		earlier := map[string]bool{}
		for i, text := range Markdown(pages) {
			text = strings.NewReplacer(`\`, "", "**", "", "#", "").Replace(text)
			if strings.TrimSpace(text) == "" {
				t.Errorf("page %d of %v is empty", i+1, lines)
			}
			for _, line := range lines[i] {
				for word := range strings.FieldsSeq(line) {
					if !earlier[line] && !strings.Contains(text, word) {
						t.Fatalf("page %d of %v lost %q: %q", i+1, lines, word, text)
					}
				}
			}
			for _, line := range lines[i] {
				earlier[line] = true
			}
		}
	}
}
