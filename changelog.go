// Package relaypdf holds the changelog, which the website shows. The rest of the module is in its folders.
package relaypdf

import _ "embed"

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog string
