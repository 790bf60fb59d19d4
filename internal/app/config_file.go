package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/relaypdf/relaypdf/internal/setting"
)

// testPrefix begins the variables that the tests' own helpers read.
const testPrefix = setting.VariablePrefix + "TEST_"

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
func unknownVariables(from setting.Sources) []string {
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

	for _, name := range slices.Sorted(maps.Keys(from.Env)) {
		if strings.HasPrefix(name, setting.VariablePrefix) && !strings.HasPrefix(name, testPrefix) && !known[name] {
			warn(name, "")
		}
	}

	for _, name := range slices.Sorted(maps.Keys(from.File.Lines)) {
		if !known[name] {
			warn(name, fmt.Sprintf("%s:%d: ", from.File.Path, from.File.Lines[name].Number))
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
