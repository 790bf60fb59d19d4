// Package pdfcheck checks PDFs by the rules of PDF/UA-1 and PDF/A that need no program to decide. It finds violations,
// and never reports that a file conforms: the rules that it does not check are listed with each result.
//
// The rules are tables: rules_file.go, rules_page.go and rules_tree.go. walk.go, content.go and tree.go go through a
// file and present its parts to the rules.
package pdfcheck

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Report is the result of a check.
type Report struct {
	Engine   string   `json:"engine" jsonschema:"required,enum=relaypdf,enum=verapdf" jsonschema_description:"Validator of the file: veraPDF checks all rules, relaypdf finds most violations."`
	Conforms *bool    `json:"conforms" jsonschema:"required,oneof_type=boolean;null" jsonschema_description:"If true, the file conforms to all standards. If false, it violates one. Null if undetermined."`
	Results  []Result `json:"results" jsonschema:"required" jsonschema_description:"One per standard, in the order of the request."`
	// Incomplete means that parts of the file could not be read, or exceed a limit, and are unchecked.
	Incomplete bool `json:"-"`
}

// Result is the result for one standard.
type Result struct {
	Standard   pdffile.Standard `json:"standard" jsonschema:"required" jsonschema_description:"Standard that was checked."`
	Conforms   *bool            `json:"conforms" jsonschema:"required,oneof_type=boolean;null" jsonschema_description:"If true, the file conforms. If false, it violates a rule. Null if none of the checked rules is violated, but others are unchecked."`
	Violations []Violation      `json:"violations" jsonschema:"required" jsonschema_description:"Violated rules."`
	Unchecked  []string         `json:"unchecked" jsonschema:"required" jsonschema_description:"Rules that were not checked, as a list of topics."`
}

// Violation is a rule that a file violates.
type Violation struct {
	Clause  string  `json:"clause" jsonschema:"required" jsonschema_description:"Clause of the standard."`
	Test    int     `json:"test" jsonschema:"required" jsonschema_description:"Number of the test in the clause, as in veraPDF's profiles."`
	Message string  `json:"message" jsonschema:"required" jsonschema_description:"Description of the violation."`
	Fix     string  `json:"fix" jsonschema:"required" jsonschema_description:"Remedy."`
	Count   int     `json:"count" jsonschema:"required" jsonschema_description:"Number of places with the violation."`
	Page    *int    `json:"page" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Page of the first place, from 1; null if it is on no page."`
	Object  *string `json:"object" jsonschema:"required,oneof_type=string;null" jsonschema_description:"PDF object of the first place, such as 12 0 R; null if unknown."`
	Places  []Place `json:"places" jsonschema:"required" jsonschema_description:"The first 10 places."`
}

// Place is where a rule is violated.
type Place struct {
	Page   *int    `json:"page" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Number of the page, from 1; null if it is on no page."`
	Object *string `json:"object" jsonschema:"required,oneof_type=string;null" jsonschema_description:"PDF object; null if unknown."`
}

// MaxPlaces is the maximum number of places that a violation lists.
const MaxPlaces = 10

// Add counts a place of a violation. Page 0 is none, and so is an empty object.
func (v *Violation) Add(page int, object string) {
	if v.Count++; len(v.Places) >= MaxPlaces {
		return
	}
	var p Place
	if page > 0 {
		p.Page = &page
	}
	if object != "" {
		p.Object = &object
	}
	v.Places = append(v.Places, p)
	v.Page = v.Places[0].Page
	v.Object = v.Places[0].Object
}

// Source is a file to check.
type Source struct {
	File *pdffile.File
	// Original is the file as it is stored, which a decrypted or repaired File is a copy of.
	Original []byte
	// Copied means that File is such a copy, whose objects have other numbers.
	Copied bool
	// Encrypt is the dictionary of the original's encryption; nil if it has none.
	Encrypt pdffile.Dict
}

// Check checks a file. Conforms is false or nil in its results.
func Check(src Source, standards []pdffile.Standard) Report {
	c := newChecker(src)
	c.run()

	report := Report{Engine: "relaypdf", Incomplete: c.unread}
	for _, s := range standards {
		result := Result{Standard: s, Violations: []Violation{}, Unchecked: c.unchecked(s)}
		for _, r := range c.rules {
			v, broken := c.found[r]
			clause, test := r.id(s)
			if !broken || clause == "" {
				continue
			}
			v.Clause = clause
			v.Test = test
			v.Message = r.message
			v.Fix = r.fix
			result.Violations = append(result.Violations, v)
		}

		if len(result.Violations) > 0 {
			result.Conforms = new(false)
		}
		report.Results = append(report.Results, result)
	}

	report.Sum()
	return report
}

// Sum sets Conforms to the result for all standards, and sorts the violations by their clauses.
func (r *Report) Sum() {
	r.Conforms = new(len(r.Results) > 0)
	for _, result := range r.Results {
		switch {
		case result.Conforms == nil && *r.Conforms:
			r.Conforms = nil
		case result.Conforms != nil && !*result.Conforms:
			r.Conforms = new(false)
		}
		if r.Conforms == nil {
			break
		}
	}

	for _, result := range r.Results {
		if result.Conforms != nil && !*result.Conforms {
			r.Conforms = new(false)
		}
		slices.SortStableFunc(result.Violations, func(a, b Violation) int {
			return cmp.Or(compareClauses(a.Clause, b.Clause), a.Test-b.Test)
		})
	}
}

func compareClauses(a, b string) int {
	numbers := func(clause string) (list []int) {
		for part := range strings.SplitSeq(clause, ".") {
			n, err := strconv.Atoi(part)
			if err != nil {
				n = 0
			}
			list = append(list, n)
		}
		return list
	}
	return slices.Compare(numbers(a), numbers(b))
}

// Describe returns a rule's message and remedy, by its clause and test; the message is empty if the rule is unknown
// here.
func Describe(s pdffile.Standard, clause string, test int) (message, fix string) {
	for _, r := range allRules() {
		if c, t := r.id(s); c == clause && t == test {
			return r.message, r.fix
		}
	}
	name := "ISO 14289-1"
	if part := s.Part(); part > 0 {
		name = "ISO 19005-" + strconv.Itoa(part)
	}
	return "", "See clause " + clause + " of " + name + "."
}

// rule is a rule of one or several standards.
type rule struct {
	// ua, a1 and a2 are its number in PDF/UA-1, PDF/A-1, and PDF/A-2 and 3: clause and test, such as "7.1-10".
	ua, a1, a2 string
	only       string // the levels of PDF/A-2 and 3 that have it; empty means all
	part       int    // the part of PDF/A that has a2; 0 means 2 and 3
	of         kind   // the parts of a file that it is about
	message    string
	fix        string
	// violates reports whether a part violates it; nil means that every part of this kind does.
	violates func(c *checker, o object) bool
}

// id returns the rule's clause and test in a standard; empty if the standard lacks it.
func (r *rule) id(s pdffile.Standard) (clause string, test int) {
	text := r.a2
	switch part := s.Part(); {
	case part == 0:
		text = r.ua
	case part == 1:
		text = r.a1
	case r.part != 0 && r.part != part, r.only != "" && strings.IndexByte(r.only, s[len(s)-1]) < 0:
		text = ""
	}

	clause, number, _ := strings.Cut(text, "-")
	test, err := strconv.Atoi(number)
	if err != nil {
		return "", 0
	}
	return clause, test
}

func allRules() []*rule {
	return slices.Concat(fileRules(), identityRules(), syntaxRules(), pageRules(), fontRules(), contentRules(),
		treeRules(), tableRules())
}
