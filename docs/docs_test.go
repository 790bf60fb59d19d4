package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/docs"
)

// allPages returns the paths of all pages.
func allPages() []string {
	pages := docs.Unlisted()
	for _, g := range docs.Groups {
		pages = append(pages, g.Pages...)
	}
	return pages
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := docs.Read(page, docs.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEachPageHasATitleAndADescription checks the form that the website needs.
func TestEachPageHasATitleAndADescription(t *testing.T) {
	slugs := map[string]string{}
	for _, page := range allPages() {
		title, rest, _ := strings.Cut(read(t, page), "\n\n")
		description, _, _ := strings.Cut(rest, "\n\n")
		if !strings.HasPrefix(title, "# ") || strings.Contains(title, "\n") {
			t.Errorf("%s begins with %q, want one heading", page, title)
		}
		if description == "" || strings.ContainsAny(description[:1], "#|-<") || strings.HasPrefix(description, "```") {
			t.Errorf("%s has the description %q, want a sentence", page, description)
		}
		if other := slugs[docs.Slug(page)]; other != "" {
			t.Errorf("%s and %s have the same name", page, other)
		}
		slugs[docs.Slug(page)] = page
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?\n```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noSlug  = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// anchors returns the anchors of a Markdown text.
func anchors(text string) []string {
	var list []string
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		list = append(list, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), ""), " ", "-"))
	}
	return list
}

// TestLinksLeadSomewhere follows the links between the files of the repository, and those to pages of the website.
func TestLinksLeadSomewhere(t *testing.T) {
	bySlug := map[string]string{}
	files := []string{"../README.md", "../CONTRIBUTING.md", "../SECURITY.md"}
	for _, page := range allPages() {
		bySlug[docs.Slug(page)] = page + ".md"
		files = append(files, page+".md")
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			site, onSite := strings.CutPrefix(target, docs.BaseURL+"/docs/")
			switch {
			case onSite && site == "api", !onSite && strings.Contains(target, "://"):
				continue
			case onSite:
				target = bySlug[site]
			case target == "":
				target = file
			default:
				target = path.Join(path.Dir(file), target)
			}
			content, err := os.ReadFile(filepath.FromSlash(target))
			if info, statErr := os.Stat(filepath.FromSlash(target)); target == "" || statErr != nil || err != nil && !info.IsDir() {
				t.Errorf("%s: no file for the link %s", file, found[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(string(content)), anchor) {
				t.Errorf("%s: no heading for the link %s", file, found[1])
			}
		}
	}
}

// TestDecisionsListsEachRecord compares the index of the decision records with their files.
func TestDecisionsListsEachRecord(t *testing.T) {
	index := read(t, "adr/decisions")
	for _, page := range allPages() {
		if name := path.Base(page); path.Dir(page) == "adr" && name != "decisions" {
			title := strings.TrimPrefix(strings.SplitN(read(t, page), "\n", 2)[0], "# ")
			_, words, _ := strings.Cut(title, ". ")
			if !strings.Contains(index, "["+words+"]("+name+".md)") {
				t.Errorf("adr/decisions.md lacks %s: %s", name, words)
			}
		}
	}
}
