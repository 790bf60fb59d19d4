package xpath

import "testing"

// TestExpressions evaluates expressions on a small document.
func TestExpressions(t *testing.T) {
	t.Parallel()
	leaf := func(name, text string) *Node { return &Node{Name: name, Text: text} }
	line := func(amount, rate string) *Node {
		return &Node{Name: "Line", Attrs: []Attr{{"id", rate}}, Children: []*Node{leaf("Amount", amount), leaf("Rate", rate)}}
	}
	root := &Node{Name: "Invoice", Children: []*Node{
		leaf("Currency", " EUR "), line("0.1", "19"), line("0.2", "7"), line("1.005", "19"), leaf("Total", "1.31"), leaf("Flag", "true"), leaf("Empty", ""),
	}}
	d := NewDocument(root, nil)
	for text, want := range map[string]bool{
		"sum(//Line/xs:decimal(Amount)) = 1.305":                                      true,
		"sum(Line[Rate = 19]/Amount) = 1.105":                                         true,
		"xs:decimal(Total) = round(sum(Line/xs:decimal(Amount)) * 100) div 100":       true,
		"normalize-space(Currency) = ('CHF', 'EUR')":                                  true,
		"every $l in Line satisfies $l/Amount > 0":                                    true,
		"some $l in Line satisfies $l/@id = '7'":                                      true,
		"(for $r in distinct-values(Line/Rate) return count(Line[Rate = $r]))[1] = 2": true,
		"if (Flag = true()) then Line[2]/Rate = 7 else false()":                       true,
		"Line[last()]/preceding-sibling::Line[1]/Rate = 19":                           true,
		"count(//Line | Line | Total) = 4":                                            true,
		"Line[3]/../Currency and not(Missing)":                                        true,
		"string-length(substring-after(Line[3]/Amount, '.')) <= 2":                    false,
		"round(-2.5) = -2 and round(2.5) = 3 and 7 mod 3 = 1 and -(1) < 0":            true,
		"normalize-space(Empty) != ''":                                                false,
		"Missing = 1 or Missing != 1":                                                 false,
		"matches(Currency, '^\\s*[A-Z]{3}\\s*$') and upper-case('a') = 'A'":           true,
		"Total castable as xs:decimal and not(Currency castable as xs:decimal)":       true,
	} {
		e, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Bool(d, root); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"xs:decimal(Currency) = 1", "normalize-space(Line/Rate) = ''", "Currency + 1 = 1", "nothing()", "$nothing"} {
		e, err := Compile(wrong)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Bool(d, root); err == nil {
			t.Errorf("%s has no error", wrong)
		}
	}
	for _, wrong := range []string{"", "a =", "(a", "a[", "for $x in", "a b", "'a", "unknown::a"} {
		if _, err := Compile(wrong); err == nil {
			t.Errorf("%q is compiled", wrong)
		}
	}
}
