package template

import (
	"fmt"
	"slices"
	"strings"
)

// builtin are the helpers of Handlebars itself, and helperNames our own, which js/render.js registers. A test calls each
// of our own as its documentation does.
var (
	builtin     = []string{"each", "if", "unless", "with", "lookup", "log"}
	helperNames = strings.Fields(`
		formatDate formatNumber formatCurrency ordinal plural
		add subtract multiply divide mod round sum avg count min max
		eq ne lt lte gt gte and or not
		uppercase lowercase capitalize truncate replace padStart default join split length first last
		json markdown barcode qr image pageBreak toc times range groupBy sortBy where`)
)

// Helpers returns the names of all helpers.
func Helpers() []string { return slices.Concat(builtin, helperNames) }

func isHelper(name string) bool {
	return slices.Contains(builtin, name) || slices.Contains(helperNames, name)
}

// unknownHelper returns the message for an unknown helper, with suggestions.
func unknownHelper(name string) string {
	text := fmt.Sprintf("unknown helper %q", name)
	if like := nearest(name, Helpers()); like != "" {
		text += fmt.Sprintf("; did you mean %q?", like)
	}
	return text
}

func unknownPartial(name string, names []string) string {
	text := fmt.Sprintf("unknown partial %q", name)
	if like := nearest(name, names); like != "" {
		text += fmt.Sprintf("; did you mean %q?", like)
	}
	return text
}
