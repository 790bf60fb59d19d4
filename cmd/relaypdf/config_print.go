package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// hiddenValue stands for a secret that is set. Its length says nothing.
const hiddenValue = "********"

// shown is the value as it may be printed. The default of a secret is public,
// or not there at all.
func (v settingValue) shown() string {
	if v.row.secret && v.origin != originDefault {
		return hiddenValue
	}
	return v.text
}

// WriteTable prints every setting in force with the place its value came from,
// secrets hidden.
func (c *Config) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, v := range c.values {
		value := v.shown()
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.row.variable(), value, v.origin)
	}
	return table.Flush()
}

// settingJSON is one setting in the output of `relaypdf config --json`.
type settingJSON struct {
	Name   string `json:"name"`
	Flag   string `json:"flag"`
	Value  string `json:"value"`
	From   string `json:"from"`
	Secret bool   `json:"secret"`
	Doc    string `json:"doc"`
}

// WriteJSON prints what WriteTable prints, and the warnings, as one object.
func (c *Config) WriteJSON(w io.Writer) error {
	var out struct {
		Settings []settingJSON `json:"settings"`
		Warnings []string      `json:"warnings"`
	}
	out.Warnings = append([]string{}, c.Warnings...) // [] and not null
	for _, v := range c.values {
		out.Settings = append(out.Settings, settingJSON{
			Name: v.row.variable(), Flag: "--" + v.row.name, Value: v.shown(),
			From: v.origin, Secret: v.row.secret, Doc: v.row.doc,
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// writeSettingsMarkdown prints the table of settings for the README. It shows
// the defaults, not this machine's values.
func writeSettingsMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| Variable | Default | What it does |\n|---|---|---|\n")
	for i := range settings {
		s := &settings[i]
		doc := s.doc
		if s.secret {
			doc += " Secret."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.variable(), s.shownDefault(), doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
