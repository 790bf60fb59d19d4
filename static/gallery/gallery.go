// Package gallery holds the layouts that every account may start from: a folder
// each, so that adding one is adding a folder.
//
// A folder of layouts has the name that is the layout's id, and four files:
// template.html, Handlebars as docs/reference/template-helpers.md describes them; sample.json, the
// data it is shown with; options.json, options of POST /v1/pdf; and about.json.
package gallery

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

//go:embed layouts
var layouts embed.FS

// Layout is one of the gallery's templates.
type Layout struct {
	ID          string   `json:"-"`
	Name        string   `json:"name"`
	Category    string   `json:"category"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	// Formats are the paper sizes that it was looked at on.
	Formats []string `json:"formats"`
	// Fonts are PostScript names, or their beginnings, that its pages must show.
	Fonts []string `json:"fonts"`
	// Pages is the number of pages of the sample.
	Pages int `json:"pages"`
	// Rows is the path in the sample of the list that may have one entry or
	// hundreds. Names are paths of names of people and firms, Optional of fields
	// that may be missing. Tests vary the sample by them.
	Rows     string   `json:"rows,omitempty"`
	Names    []string `json:"names"`
	Optional []string `json:"optional"`

	HTML    string          `json:"-"`
	Sample  json.RawMessage `json:"-"`
	Options json.RawMessage `json:"-"`

	// DrawnFrom is the Source from which the thumbnail was rendered.
	DrawnFrom string `json:"-"`
	thumbnail string // its file's name
	width     int    // of the thumbnail, in pixels
	height    int
}

// Href is the path of the layout's public page.
func (l Layout) Href() string { return "/pdf-templates/" + l.Category + "/" + l.ID }

// Gallery is all layouts, ordered by group, category and name.
type Gallery struct {
	all []Layout
}

// New reads the layouts that are part of the program. It fails only when one of
// their folders is incomplete, which a test finds first.
func New() (*Gallery, error) {
	folders, err := layouts.ReadDir("layouts")
	if err != nil {
		return nil, fmt.Errorf("gallery: read the layouts: %w", err)
	}
	g := &Gallery{}
	for _, folder := range folders {
		l, err := read(folder.Name())
		if err != nil {
			return nil, err
		}
		g.all = append(g.all, l)
	}
	slices.SortFunc(g.all, func(a, b Layout) int {
		return cmp.Or(cmp.Compare(place(a.Category), place(b.Category)), strings.Compare(a.Name, b.Name))
	})
	if err := g.stamp(); err != nil {
		return nil, err
	}
	return g, nil
}

func read(id string) (Layout, error) {
	contents := map[string][]byte{}
	for _, name := range []string{"about.json", "template.html", "sample.json", "options.json"} {
		data, err := layouts.ReadFile(path.Join("layouts", id, name))
		if err != nil {
			return Layout{}, fmt.Errorf("gallery: layout %s: %w", id, err)
		}
		contents[name] = data
	}
	l := Layout{ID: id, HTML: string(contents["template.html"]), Sample: contents["sample.json"], Options: contents["options.json"]}
	if err := json.Unmarshal(contents["about.json"], &l); err != nil {
		return Layout{}, fmt.Errorf("gallery: layout %s: about.json: %w", id, err)
	}
	return l, nil
}

// Get returns the layout with this id.
func (g *Gallery) Get(id string) (Layout, bool) {
	i := slices.IndexFunc(g.all, func(l Layout) bool { return l.ID == id })
	if i < 0 {
		return Layout{}, false
	}
	return g.all[i], true
}

// List returns the layouts of a category or a group that mention each word of text: in the name, the category, its
// synonyms, the description or a tag. An empty argument selects all.
func (g *Gallery) List(category, text string) []Layout {
	found := []Layout{}
	for _, l := range g.all {
		if category != "" && l.Category != category && groupOf(l.Category).Slug != category {
			continue
		}
		about := wordsOf(strings.Join(append([]string{l.Name, l.Category, synonyms[l.Category], l.Description}, l.Tags...), "\n"))
		if !slices.ContainsFunc(wordsOf(text), func(word string) bool { return !mentions(about, word) }) {
			found = append(found, l)
		}
	}
	return found
}

// mentions reports whether a text has a word that begins like this one, or like its singular. Words of one or two
// letters, such as PO and CV, are whole words.
func mentions(about []string, word string) bool {
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "s")
	}
	return slices.ContainsFunc(about, func(w string) bool { return w == word || len(word) > 2 && strings.HasPrefix(w, word) })
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Categories returns the categories that have layouts, in order.
func (g *Gallery) Categories() []string {
	var names []string
	for _, l := range g.all {
		names = append(names, l.Category)
	}
	return slices.Compact(names)
}
