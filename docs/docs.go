// Package docs holds the documentation: Markdown pages in one folder per group.
// The website, llms.txt and the MCP server read the same files as the repository.
package docs

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed *.md */*.md
var files embed.FS

// BaseURL is the placeholder for the server's URL in the pages.
const BaseURL = "https://relaypdf.example"

// Group is a section of the table of contents.
type Group struct {
	Title string
	Pages []string // paths without .md, in reading order
	// Internal groups are for operators and developers. MCP resources and llms-full.txt omit them.
	Internal bool
}

// Groups is the table of contents. Decision records are pages too, and only their index is listed.
var Groups = []Group{
	{Title: "Start", Pages: []string{"start/quick-start", "start/install", "start/first-day", "start/migrate"}},
	{Title: "Concepts", Pages: []string{
		"concepts/how-it-works", "concepts/render-modes", "concepts/jobs", "concepts/money", "concepts/accounts-and-keys", "concepts/security",
	}},
	{Title: "Guides", Pages: []string{
		"guides/headers-and-footers", "guides/tables-of-contents", "guides/page-breaks", "guides/fonts", "guides/markdown", "guides/office-documents", "guides/accessible-pdfs", "guides/e-invoices", "guides/compare", "guides/signatures", "guides/charts", "guides/templates",
		"guides/flows", "guides/bulk", "guides/webhooks", "guides/agents", "guides/dashboard", "guides/command-line", "guides/clients", "guides/integrations",
	}},
	{Title: "Reference", Pages: []string{
		"reference/errors", "reference/events", "reference/limits", "reference/template-helpers", "reference/configuration", "reference/known-limits",
	}},
	{Title: "Operations", Internal: true, Pages: []string{
		"operations/deploy", "operations/hardening", "operations/payments", "operations/backup", "operations/upgrade", "operations/monitoring",
		"operations/runbook", "operations/scale", "operations/caching", "operations/traces", "operations/benchmarks",
		"operations/release",
	}},
	{Title: "Internals", Internal: true, Pages: []string{"architecture", "testing", "glossary", "writing", "adr/decisions"}},
}

// Read returns the Markdown of a page, with the server's URL in its examples.
func Read(page, baseURL string) (string, error) {
	text, err := files.ReadFile(page + ".md")
	return strings.ReplaceAll(string(text), BaseURL, baseURL), err
}

// Slug returns the last part of a page's path, which is its name on the website.
func Slug(page string) string { return path.Base(page) }

// Unlisted returns the pages that no group lists: decision records and the list of licences.
func Unlisted() []string {
	listed := map[string]bool{}
	for _, g := range Groups {
		for _, page := range g.Pages {
			listed[page] = true
		}
	}
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		names, _ := fs.Glob(files, pattern) // the only error is that of a malformed pattern
		for _, name := range names {
			if page := strings.TrimSuffix(name, ".md"); !listed[page] {
				pages = append(pages, page)
			}
		}
	}
	return pages
}
