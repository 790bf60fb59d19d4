package store

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Steps are the parts of a call's time, compact enough to be written with every
// call: names and microseconds, such as "queue 120,load 5300".
type Steps string

const (
	// maxSteps bounds how long Steps get.
	maxSteps = 400
	// shortStep is the least that is worth a word.
	shortStep = 50 * time.Microsecond
)

// With appends a step, or adds to the step of the same name. Very short steps are left out.
func (s Steps) With(name string, took time.Duration) Steps {
	list := s.List()
	if at := slices.IndexFunc(list, func(step Step) bool { return step.Name == name }); at >= 0 {
		list[at].Took += took
		s = ""
		for _, step := range list {
			s = s.With(step.Name, step.Took)
		}
		return s
	}

	if took < shortStep || strings.ContainsAny(name, ", ") || len(s)+len(name)+20 > maxSteps {
		return s
	}

	if s != "" {
		s += ","
	}
	return s + Steps(name+" "+strconv.FormatInt(took.Microseconds(), 10))
}

// Step is one part of a call's time.
type Step struct {
	Name string
	Took time.Duration
}

// List returns the steps in their order.
func (s Steps) List() []Step {
	var list []Step
	for part := range strings.SplitSeq(string(s), ",") {
		name, text, _ := strings.Cut(part, " ")
		if micros, err := strconv.ParseInt(text, 10, 64); err == nil {
			list = append(list, Step{name, time.Duration(micros) * time.Microsecond})
		}
	}
	return list
}
