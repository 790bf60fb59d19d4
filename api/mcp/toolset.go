package mcp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/service/schema"
)

// Names of toolsets that are not groups of tools.
const (
	defaultToolset = "default"
	allToolsets    = "all"
)

// Selection is the tools that a client lists, and the others, which it can call all the same.
type Selection struct {
	// Names are the selected toolsets, separated by commas, in one order.
	Names string

	listed, unlisted []schema.Tool
	toolsets         []string // that there are
}

// Select returns the tools of toolsets, whose names are separated by commas. No name selects the default toolset. The
// error names the unknown toolset and the valid ones.
func Select(tools []schema.Tool, names string) (Selection, error) {
	s := Selection{toolsets: Toolsets(tools)}
	wanted := strings.FieldsFunc(names, func(c rune) bool { return c == ',' || c == ' ' })
	if len(wanted) == 0 {
		wanted = []string{defaultToolset}
	}

	for _, name := range wanted {
		if !slices.Contains(s.toolsets, name) {
			return s, fmt.Errorf("unknown toolset %.40q; valid toolsets: %s", name, strings.Join(s.toolsets, ", "))
		}
	}

	all := slices.Contains(wanted, allToolsets)
	if all {
		wanted = []string{allToolsets}
	}
	s.Names = strings.Join(slices.DeleteFunc(slices.Clone(s.toolsets),
		func(name string) bool { return !slices.Contains(wanted, name) }), ",")

	for _, t := range tools {
		if all || t.Always || t.Default && slices.Contains(wanted, defaultToolset) ||
			slices.Contains(wanted, t.Toolset) {
			s.listed = append(s.listed, t)
		} else {
			s.unlisted = append(s.unlisted, t)
		}
	}
	return s, nil
}

// Toolsets returns the names that Select accepts: default, all, and the groups of the tools.
func Toolsets(tools []schema.Tool) []string {
	names := []string{defaultToolset, allToolsets}
	for _, t := range tools {
		if !slices.Contains(names, t.Toolset) {
			names = append(names, t.Toolset)
		}
	}
	slices.Sort(names[2:])
	return names
}

// otherTool finds the sentence of a tool's use that recommends another tool.
var otherTool = regexp.MustCompile(` ?Not for [^:.]+: use ([a-z_]+)\.`)

// use returns when to use a tool, without recommending tools that the client does not list.
func (s Selection) use(t schema.Tool) string {
	return otherTool.ReplaceAllStringFunc(t.Use, func(sentence string) string {
		other := otherTool.FindStringSubmatch(sentence)[1]
		if other == waitTool || slices.ContainsFunc(s.listed, func(t schema.Tool) bool { return t.Name == other }) {
			return sentence
		}
		return ""
	})
}
