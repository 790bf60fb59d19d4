package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"relaypdf/views"
)

const (
	docsPath      = "/docs"
	referencePath = docsPath + "/api"
	searchPath    = docsPath + "/search.json"

	docsTitle            = "Documentation"
	docsDescription      = "Create PDFs and images over HTTP: quick start, guides, and a reference of every operation, field, limit and error."
	referenceTitle       = "API reference"
	referenceDescription = "Every operation of the API with its fields, limits and errors, and samples in curl, Go, JavaScript, Python and PHP."
)

// contents is the table of contents on every page of the documentation.
func (w *Web) contents(open string) views.Docs {
	d := views.Docs{Open: open, Search: searchPath}
	guides := views.DocsGroup{Title: "Guides"}
	for _, g := range w.docs.Guides {
		guides.Links = append(guides.Links, views.Link{URL: docsPath + "/" + g.Slug, Text: g.Title})
	}
	reference := views.DocsGroup{Title: "Reference", Links: []views.Link{{URL: referencePath, Text: "All operations"}}}
	for _, group := range w.referenceGroups() {
		reference.Links = append(reference.Links, views.Link{URL: partOfReference(group.Title), Text: group.Title})
	}
	d.Groups = []views.DocsGroup{guides, reference}
	return d
}

// showDocs leads to the first guide: it is where to begin.
func (w *Web) showDocs(v *pageRequest) error {
	return w.guide(v, w.docs.Guides[0].Slug, docsPath)
}

func (w *Web) showGuide(v *pageRequest) error {
	slug := chi.URLParam(v.r, "guide")
	return w.guide(v, slug, docsPath+"/"+slug)
}

func (w *Web) guide(v *pageRequest, slug, path string) error {
	g, ok := w.docs.Guide(slug)
	if !ok {
		return errNotFound
	}
	m := views.GuidePage{Docs: w.contents(docsPath + "/" + slug), Title: g.Title, Description: g.Description, HTML: g.HTML}
	for _, section := range g.Sections[1:] {
		m.Parts = append(m.Parts, views.Link{URL: path + "#" + section.ID, Text: section.Title})
	}
	for i, other := range w.docs.Guides[:len(w.docs.Guides)-1] {
		if other.Slug == slug {
			next := w.docs.Guides[i+1]
			m.Next = views.Link{URL: docsPath + "/" + next.Slug, Text: next.Title}
		}
	}
	return v.show(http.StatusOK, views.GuidePageOf(w.publicPage(g.Title, g.Description, docsPath, docsPath+"/"+slug), m))
}

// groupTitles are the titles of those groups of the reference whose names are not plain words.
var groupTitles = map[string]string{"pdf": "PDF", "zip": "ZIP", "mcp": "MCP", "email": "Email"}

// groupTitle is the title of the group that operations of a tag are in.
func groupTitle(tag string) string { return cmp.Or(groupTitles[tag], categoryName(tag)) }

// partOfReference is the address of a group.
func partOfReference(title string) string { return referencePath + "#" + strings.ToLower(title) }

func (w *Web) referenceGroups() []views.ReferenceGroup {
	var groups []views.ReferenceGroup
	for _, o := range w.docs.Operations {
		title := groupTitle(o.Tag)
		if len(groups) == 0 || groups[len(groups)-1].Title != title {
			groups = append(groups, views.ReferenceGroup{Title: title})
		}
		last := &groups[len(groups)-1]
		last.List = append(last.List, o)
	}
	return groups
}

func (w *Web) showReference(v *pageRequest) error {
	p := w.publicPage(referenceTitle, referenceDescription, docsPath, referencePath)
	return v.show(http.StatusOK, views.ReferencePage(p, w.contents(referencePath), w.referenceGroups()))
}

func (w *Web) showOperation(v *pageRequest) error {
	o, ok := w.docs.Operation(chi.URLParam(v.r, "operation"))
	if !ok {
		return errNotFound
	}
	path := referencePath + "/" + o.ID
	return v.show(http.StatusOK, views.OperationPage(w.publicPage(o.Summary, o.About(), docsPath, path), w.contents(partOfReference(groupTitle(o.Tag))), o))
}

// searchEntry is a part of the documentation that can be found.
type searchEntry struct {
	URL   string `json:"url"`
	Page  string `json:"page"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// mostText bounds the text of an entry, and so the index.
const mostText = 1200

// showSearchIndex sends the index for the search in the browser.
func (w *Web) showSearchIndex(v *pageRequest) error {
	var entries []searchEntry
	for _, g := range w.docs.Guides {
		for _, section := range g.Sections {
			address := docsPath + "/" + g.Slug
			if section.ID != "" {
				address += "#" + section.ID
			}
			entries = append(entries, searchEntry{address, g.Title, section.Title, section.Text[:min(len(section.Text), mostText)]})
		}
	}
	for _, o := range w.docs.Operations {
		names := []string{}
		for _, f := range slices.Concat(o.Params, o.Fields) {
			names = append(names, f.Name)
		}
		entries = append(entries, searchEntry{referencePath + "/" + o.ID, o.Method + " " + o.Path, o.Summary, o.Path + " " + strings.Join(names, " ")})
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	return v.text("application/json", string(text))
}

// moreLinks are the pages outside the documentation, for language models.
var moreLinks = []views.Link{{URL: pricingPath, Text: "Pricing"}, {URL: galleryPath, Text: "PDF templates"}, {URL: statusPath, Text: "Status"}, {URL: "/llms-full.txt", Text: "All guides in one text"}}

func (w *Web) showLLMs(v *pageRequest) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return w.docs.LLMs(v.w, w.cfg.BaseURL, moreLinks)
}

func (w *Web) showLLMsFull(v *pageRequest) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return w.docs.Full(v.w)
}
