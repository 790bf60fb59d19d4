package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Row is one line of the table: one of our figures and the same figure of its floor, measured in the same run.
type Row struct {
	Name  string
	Floor string // description of the baseline
	Unit  string // of both figures; "/s" means that more is better
	Goal  Goal
	Note  string

	FloorFigure, OurFigure float64
}

// Goal bounds our figure by Times × the floor's figure + Plus. The zero Goal is none.
type Goal struct{ Times, Plus float64 }

// ok reports whether the goal is reached.
func (r Row) ok() bool {
	bound := r.Goal.Times*r.FloorFigure + r.Goal.Plus
	if r.Unit == "/s" {
		return r.OurFigure >= bound
	}
	return r.OurFigure <= bound
}

// goal returns the goal and whether it is reached, for the table.
func (r Row) goal() string {
	if r.Goal == (Goal{}) {
		return "–"
	}
	sign := "≤ "
	if r.Unit == "/s" {
		sign = "≥ "
	}
	var terms []string
	if r.Goal.Times != 0 {
		terms = append(terms, fmt.Sprintf("%.4g × floor", r.Goal.Times))
	}
	if r.Goal.Plus != 0 {
		terms = append(terms, fmt.Sprintf("%.4g", r.Goal.Plus))
	}
	verdict := ": missed"
	if r.ok() {
		verdict = ": ok"
	}
	return sign + strings.Join(terms, " + ") + verdict
}

// figure prints three digits, or all of those before the point.
func figure(f float64) string {
	return strconv.FormatFloat(f, 'f', max(0, 2-int(math.Log10(max(f, 1)))), 64)
}

// write prints the machine, the date and the table in Markdown.
func write(w io.Writer, machine string, at time.Time, rows []Row) error {
	_, err := fmt.Fprintf(w, "%s. %s.\n\n| measured | floor | ours | unit | ours / floor | goal | the floor is | note |\n|---|---|---|---|---|---|---|---|\n",
		machine, at.Format(time.DateOnly))
	for _, r := range rows {
		_, problem := fmt.Fprintf(w, "| %s | %s | %s | %s | %.2f | %s | %s | %s |\n",
			r.Name, figure(r.FloorFigure), figure(r.OurFigure), r.Unit, r.OurFigure/r.FloorFigure, r.goal(), r.Floor, r.Note)
		err = errors.Join(err, problem)
	}
	return err
}
