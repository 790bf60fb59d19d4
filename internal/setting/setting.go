// Package setting finds the values of settings: in flags, in the environment and in a file of settings. Client has the
// settings of commands that call a server; package app has those of the server.
package setting

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// Setting describes a setting. Its flag is the name and its variable derives from it, so both are written once.
type Setting struct {
	Name       string
	Kind       string // of value in the help, such as on|off; empty: string
	Doc        string // one or more sentences, for `--help`, `config --markdown` and users
	Fallback   string // default, as the user would write it
	Derivation string // describes the derivation of the default
	Secret     bool   // never printed, in errors neither
	EmptyMeans bool   // an empty value means something else than "the default"
}

// VariablePrefix begins the name of every setting's variable.
const VariablePrefix = "RELAYPDF_"

// The places that the value of a setting can come from; a settings file is another, FILE:LINE.
const (
	OriginFlag        = "flag"
	OriginEnvironment = "environment"
	OriginDefault     = "default"
)

// Value is the text of a setting and its source.
type Value struct{ Text, Origin string }

// Sources are the places that values are searched in, the first one first. Flags may be nil.
type Sources struct {
	Flags *pflag.FlagSet
	Env   map[string]string
	File  File
}

// Variable is the name of the environment variable of the setting.
func (s Setting) Variable() string {
	return VariablePrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Usage is the flag's help: pflag reads a back-quoted word as the name of the
// flag's argument, so the quotes go.
func (s Setting) Usage() string {
	text := strings.ReplaceAll(s.Doc, "`", "") + " Variable " + s.Variable() + "."
	if s.Secret {
		text += " Prefer the variable: other users on this machine can see flags."
	}
	if shown := s.ShownDefault(); shown != "" {
		text += " Default: " + strings.ReplaceAll(shown, "`", "") + "."
	}
	return text
}

// ShownDefault is the default for users, in Markdown; empty if there is none.
func (s Setting) ShownDefault() string {
	switch {
	case s.Derivation != "":
		return s.Derivation
	case s.Fallback != "":
		return "`" + s.Fallback + "`"
	}
	return ""
}

// kindAnnotation is the annotation of a flag that belongs to a setting; its value is the kind.
const kindAnnotation = "setting"

// AddFlag defines the flag of the setting. Its default is in the help text only, so an absent flag never hides the
// environment.
func (s Setting) AddFlag(flags *pflag.FlagSet) {
	flags.String(s.Name, "", s.Usage())
	flags.Lookup(s.Name).Annotations = map[string][]string{kindAnnotation: {s.Kind}}
}

// AddFlags defines the flags of settings.
func AddFlags(flags *pflag.FlagSet, all ...Setting) {
	for _, s := range all {
		s.AddFlag(flags)
	}
}

// Kind returns the kind of the setting that a flag belongs to.
func Kind(f *pflag.Flag) (kind string, ok bool) {
	kinds, ok := f.Annotations[kindAnnotation]
	if !ok {
		return "", false
	}
	return kinds[0], true
}

// ParseEnviron reads variables in the form of os.Environ.
func ParseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// Find returns the value of a setting from the first source that has one. An empty value counts as none, so
// `RELAYPDF_X=` in a compose file is harmless, except if the setting defines a meaning for empty.
func (s Setting) Find(from Sources) Value {
	given := func(text string) bool { return text != "" || s.EmptyMeans }

	if from.Flags != nil {
		if f := from.Flags.Lookup(s.Name); f != nil && f.Changed && given(f.Value.String()) {
			return Value{f.Value.String(), OriginFlag}
		}
	}
	if text, ok := from.Env[s.Variable()]; ok && given(text) {
		return Value{text, OriginEnvironment}
	}
	if line, ok := from.File.Lines[s.Variable()]; ok && given(line.Text) {
		return Value{line.Text, fmt.Sprintf("%s:%d", from.File.Path, line.Number)}
	}

	return Value{Origin: OriginDefault}
}

// DescribeError joins a parser's remark, which completes a sentence that begins with
// the value, to the names under which the user knows the setting. The value of
// a secret stays out of it, and so does an address that holds one.
func (s Setting) DescribeError(value Value, err error) error {
	subject := fmt.Sprintf("%q", value.Text)
	switch {
	case value.Text == "":
		subject = "the value"
	case s.Secret || hasPassword(value.Text):
		subject = "the value (hidden)"
	}

	name := s.Variable()
	switch value.Origin {
	case OriginFlag:
		name += " (--" + s.Name + ")"
	case OriginEnvironment, OriginDefault:
	default:
		name += " (" + value.Origin + ")"
	}

	return fmt.Errorf("%s: %s %w", name, subject, err)
}

// hasPassword reports whether an address has one in it.
func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	_, ok := u.User.Password()
	return ok
}

// ParseURL reads the URL of a server. The result has no trailing slash.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("is not a web address; write it like https://pdf.example.com")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be a plain address without user, query and fragment, like https://pdf.example.com")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// SizeText shows a number of bytes for users.
func SizeText(n int64) string {
	const units = "KMGT"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}

	size := float64(n) / 1000
	unit := 0
	for size >= 999.5 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}

	if size < 10 {
		return fmt.Sprintf("%.1f %cB", size, units[unit])
	}
	return fmt.Sprintf("%.0f %cB", size, units[unit])
}
