package main

import (
	"fmt"
	"io"
	"strconv"
)

// goalFigures is one figure and what it should be.
type goalFigures struct {
	Name string  `json:"name"`
	Got  float64 `json:"got"`
	Goal float64 `json:"goal"`
	Unit string  `json:"unit,omitempty"`
	// AtLeast tells that the figure should not be below its goal; else it should
	// be below.
	AtLeast bool `json:"atLeast,omitempty"`
	// Beside is what it was measured by.
	Beside string `json:"beside,omitempty"`
}

func (g goalFigures) ok() bool {
	if g.AtLeast {
		return g.Got >= g.Goal
	}
	return g.Got < g.Goal
}

// reach adds a figure to the report.
func (r *report) reach(g goalFigures) { r.Goals = append(r.Goals, g) }

func (r *report) writeGoals(w io.Writer) {
	if len(r.Goals) == 0 {
		return
	}
	fmt.Fprint(w, "\nSingle figures.\n\n")
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
	table(w, "what\tgot\tgoal\t\tmeasured by", func(w io.Writer) {
		for _, g := range r.Goals {
			sign := "< "
			if g.AtLeast {
				sign = ">= "
			}
			fmt.Fprintf(w, "%s\t%s %s\t%s%s\t%s\t%s\n", g.Name, number(g.Got), g.Unit, sign, number(g.Goal), verdict(g.ok()), g.Beside)
		}
	})
}
