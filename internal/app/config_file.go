package app

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
)

// configFile is a settings file: RELAYPDF_NAME=value lines by name.
type configFile struct {
	path  string
	lines map[string]configLine
}

type configLine struct {
	text   string
	number int
}

// openConfigFile reads the file that the flag or the variable names; no name is
// no file. A file cannot name another one.
func openConfigFile(flags *pflag.FlagSet, host machine) (configFile, []error) {
	row := LookupSetting(ConfigSetting)
	value := row.find(flags, host, configFile{})
	if value.text == "" {
		return configFile{}, nil
	}

	content, err := os.ReadFile(value.text)
	if err != nil {
		return configFile{}, []error{row.describeError(value, fmt.Errorf(
			"cannot be read (%w); name a file that exists, or leave it out", err,
		))}
	}
	return parseConfigFile(value.text, string(content))
}

// parseConfigFile reads lines of NAME=value. A value may be in matching single or double quotes, which are removed;
// escapes are not supported.
func parseConfigFile(path, content string) (configFile, []error) {
	file := configFile{path: path, lines: map[string]configLine{}}
	var errs []error
	number := 0

	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		name, text, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		before, twice := file.lines[name]
		switch {
		case !ok:
			// The line is not quoted: it may be a secret without its name.
			errs = append(errs, fmt.Errorf("%s:%d: not a setting; write RELAYPDF_NAME=value", path, number))
		case name == LookupSetting(ConfigSetting).variable():
			errs = append(errs, fmt.Errorf(
				"%s:%d: a settings file cannot name another one; remove the line", path, number,
			))
		case twice:
			errs = append(errs, fmt.Errorf(
				"%s:%d: %s is set in line %d already; remove one of them", path, number, name, before.number,
			))
		default:
			file.lines[name] = configLine{text: Unquote(strings.TrimSpace(text)), number: number}
		}
	}

	return file, errs
}

// Unquote removes matching single or double quotes around a text.
func Unquote(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// testPrefix begins the variables that the tests' own helpers read.
const testPrefix = VariablePrefix + "TEST_"

// removedSettings holds the variables of former settings, with the replacement for each.
var removedSettings = map[string]string{ //nolint:gosec // names of settings, no credentials
	"RELAYPDF_AI_MAX_TOKENS":          "an answer of the model has at most 12000 tokens",
	"RELAYPDF_AI_TIMEOUT":             "the model has at most 2 minutes",
	"RELAYPDF_BLOBS_CACHE":            "files are read from the bucket each time; delete blobs-cache in the data folder",
	"RELAYPDF_BLOBS_FORMER":           "files are read from RELAYPDF_BLOBS only; a backup and its restore move them there",
	"RELAYPDF_DATABASE_CONNS":         "write ?pool_max_conns=16 at the end of RELAYPDF_DATABASE_URL",
	"RELAYPDF_DATABASE_READ_URL":      "lists are read from RELAYPDF_DATABASE_URL",
	"RELAYPDF_EDGE_PURGE_URL":         "tell caches to forget by the commands in docs/operations/caching.md",
	"RELAYPDF_LOG_FORMAT":             "log lines are JSON; `jq` prints them in other ways",
	"RELAYPDF_OFFICE_SLOTS":           "it follows from RELAYPDF_MEMORY and the cores, and is at most RELAYPDF_RENDER_SLOTS where that is set",
	"RELAYPDF_OWN_HOSTS":              "close the ports that are not public by a firewall, also at the machine's public address",
	"RELAYPDF_REGION_URLS":            "all regions have to reach the same files: set RELAYPDF_BLOBS to one bucket for all",
	"RELAYPDF_RENDER_QUEUE":           "32 documents may wait for each of RELAYPDF_RENDER_SLOTS",
	"RELAYPDF_RETENTION":              "months are no longer written to files; RELAYPDF_RETENTION_MONTHS removes them for good",
	"RELAYPDF_S3_SESSION_TOKEN":       "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and neither of RELAYPDF_S3_ACCESS_KEY and RELAYPDF_S3_SECRET_KEY",
	"RELAYPDF_TRUSTED_COUNTRY_HEADER": "countries are no longer shown",
}

// unknownVariables returns a warning for every name in the environment that
// looks like ours and is none, and for every unknown name in the file.
func unknownVariables(env map[string]string, file configFile) []string {
	known := make(map[string]bool, len(settings))
	for i := range settings {
		known[settings[i].variable()] = true
	}

	var warnings []string
	warn := func(name, where string) {
		warning := fmt.Sprintf("%s%s is not a setting and is ignored", where, name)
		if remedy, ok := removedSettings[name]; ok {
			warning = fmt.Sprintf("%s%s is no longer a setting and is ignored; remove it: %s", where, name, remedy)
		} else if near := nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
			warning += "; did you mean " + near + "?"
		}
		warnings = append(warnings, warning)
	}

	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, VariablePrefix) && !strings.HasPrefix(name, testPrefix) && !known[name] {
			warn(name, "")
		}
	}

	for _, name := range slices.Sorted(maps.Keys(file.lines)) {
		if !known[name] {
			warn(name, fmt.Sprintf("%s:%d: ", file.path, file.lines[name].number))
		}
	}
	return warnings
}

// nearest returns the candidate with the fewest edits from name, or nothing
// when even that one differs in more than a third of the name: a far-fetched
// suggestion is worse than none.
func nearest(name string, candidates []string) string {
	best := ""
	minEdits := len(name)/3 + 1
	for _, candidate := range candidates {
		if n := levenshtein.ComputeDistance(name, candidate); n < minEdits {
			best = candidate
			minEdits = n
		}
	}
	return best
}
