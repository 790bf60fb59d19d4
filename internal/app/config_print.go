package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/render/plan"
)

// hiddenValue replaces a secret that is set. Its length reveals nothing.
const hiddenValue = "********"

// shown is the value as it may be printed. The default of a secret is public,
// or not there at all.
func (v settingValue) shown() string {
	if v.row.secret && v.origin != setting.OriginDefault {
		return hiddenValue
	}
	return v.text
}

// WriteTable prints every effective setting with the source of its value, and hides secrets.
func (c *Config) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")

	for i, v := range c.values {
		if i == 0 || v.row.topic != c.values[i-1].row.topic {
			fmt.Fprintf(table, "\n%s\n", v.row.topic)
		}
		value := v.shown()
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.row.variable(), value, v.origin)
	}

	fmt.Fprintln(table)
	fmt.Fprintln(table, "PLAN\tVALUE\tFROM")
	for _, v := range c.plan() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.name, v.text, v.origin)
	}
	return table.Flush()
}

// planned is one value of the service's resource plan.
type planned struct{ name, text, origin string }

// plan returns the consequences of the memory size, for users.
func (c *Config) plan() []planned {
	p, origin := c.MemoryPlan()
	count := func(own, planned int) string { return strconv.Itoa(cmp.Or(own, planned)) }
	return []planned{
		{"memory", setting.SizeText(p.Machine.Memory), origin},
		{"cores", strconv.Itoa(p.Machine.Cores), "the machine"},
		{"renders at once", count(c.RenderSlots, p.RenderSlots), ""},
		{
			"browsers", strconv.Itoa(p.Browsers),
			setting.SizeText(p.BrowserMemory) + " each, " + setting.SizeText(p.RendererMemory) + " a renderer",
		},
		{"warm pages", strconv.Itoa(p.WarmPages), ""},
		{"jobs on files at once", strconv.Itoa(p.EngineSlots), setting.SizeText(p.EngineMemory) + " each"},
		{"texts at once", strconv.Itoa(p.MarkupSlots), setting.SizeText(p.MarkupMemory) + " each"},
		{"offices", strconv.Itoa(c.offices()), setting.SizeText(p.OfficeMemory) + " each"},
		{"bodies being read", setting.SizeText(p.Decoding), ""},
	}
}

// MemoryPlan divides the memory that is set or found.
func (c *Config) MemoryPlan() (plan.Plan, string) {
	if c.Memory > 0 {
		return plan.For(plan.Machine{Memory: c.Memory}), LookupSetting("memory").Variable()
	}
	memory, source := plan.Memory()
	return plan.For(plan.Machine{Memory: memory}), source
}

// shownSetting is one setting in force, as the output of `relaypdf config --json` shows it.
type shownSetting struct {
	Name   string `json:"name"` // of its variable
	Topic  string `json:"topic"`
	Flag   string `json:"flag"`
	Value  string `json:"value"` // masked if it is a secret
	From   string `json:"from"`  // "flag", "environment", "FILE:LINE" or "default"
	Secret bool   `json:"secret"`
	Doc    string `json:"doc"`
}

// settings returns all settings in the table's order, secrets masked.
func (c *Config) settings() []shownSetting {
	var list []shownSetting
	for _, v := range c.values {
		list = append(list, shownSetting{
			Name: v.row.variable(), Topic: string(v.row.topic), Flag: "--" + v.row.name, Value: v.shown(),
			From: v.origin, Secret: v.row.secret, Doc: v.row.doc,
		})
	}
	return list
}

// WriteJSON prints the same as WriteTable, and the warnings, as one object.
func (c *Config) WriteJSON(w io.Writer) error {
	var out struct {
		Settings []shownSetting    `json:"settings"`
		Plan     map[string]string `json:"plan"`
		Warnings []string          `json:"warnings"`
	}

	out.Plan = map[string]string{}
	for _, v := range c.plan() {
		out.Plan[v.name] = v.text
	}
	out.Warnings = append([]string{}, c.Warnings...) // [] and not null
	out.Settings = c.settings()

	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// WriteSettingsMarkdown prints the table of docs/reference/configuration.md. It shows
// the defaults, not this machine's values.
func WriteSettingsMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| Variable | Default | Meaning |\n|---|---|---|\n")

	for i := range settings {
		s := &settings[i]
		if i == 0 || s.topic != settings[i-1].topic {
			fmt.Fprintf(&b, "| **%s** | | |\n", s.topic)
		}
		doc := s.doc
		if s.secret {
			doc += " Secret."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.variable(), s.setting().ShownDefault(), doc)
	}

	_, err := io.WriteString(w, b.String())
	return err
}
