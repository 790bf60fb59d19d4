package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/views"
)

const (
	docsPath      = "/docs"
	referencePath = docsPath + "/api"
	searchPath    = docsPath + "/search.json"

	// apiTitle is the title of the reference in the table of contents.
	apiTitle = "API"

	docsTitle       = "Documentation"
	docsDescription = "Create PDFs and images over HTTP: quick start, guides, " +
		"and a reference of every operation, field, limit and error."
	referenceTitle       = "API reference"
	referenceDescription = "Every operation of the API with its fields, limits and errors, " +
		"and samples in curl, Go, JavaScript, Python and PHP."
)

// contents is the table of contents on every page of the documentation.
func (w *Web) contents(open string) views.Docs {
	d := views.Docs{Open: open, Search: searchPath}
	for _, g := range w.docs.Guides {
		if len(d.Groups) == 0 || d.Groups[len(d.Groups)-1].Title != g.Group {
			d.Groups = append(d.Groups, views.DocsGroup{Title: g.Group})
		}
		last := &d.Groups[len(d.Groups)-1]
		last.Links = append(last.Links, views.Link{URL: docsPath + "/" + g.Slug, Text: g.Title})
	}

	operations := views.DocsGroup{Title: apiTitle, Links: []views.Link{{URL: referencePath, Text: "All operations"}}}
	for _, group := range w.referenceGroups() {
		operations.Links = append(operations.Links, views.Link{URL: partOfReference(group.Title), Text: group.Title})
	}

	after := 1 + slices.IndexFunc(d.Groups, func(g views.DocsGroup) bool { return g.Title == "Reference" })
	reference := &d.Groups[after-1]
	reference.Links = append(reference.Links, views.Link{URL: changelogPath, Text: changelogTitle})
	d.Groups = slices.Insert(d.Groups, after, operations)
	return d
}

// referenceContents is the table of contents of an operation's page: the operations of its group come first.
func (w *Web) referenceContents(open views.Operation) views.Docs {
	d := w.contents(operationPath(open.ID))
	group := views.DocsGroup{Title: groupTitle(open.Tag)}

	for _, o := range w.docs.Operations() {
		if o.Tag == open.Tag {
			group.Links = append(group.Links, views.Link{URL: operationPath(o.ID), Text: o.Summary})
		}
	}

	api := slices.IndexFunc(d.Groups, func(g views.DocsGroup) bool { return g.Title == apiTitle })
	all := d.Groups[api]
	d.Groups = slices.Insert(slices.Delete(d.Groups, api, api+1), 0, group, all)
	return d
}

func operationPath(id string) string { return referencePath + "/" + id }

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

	page, err := g.Content()
	if err != nil {
		return err
	}

	m := views.GuidePage{
		Docs:        w.contents(docsPath + "/" + slug),
		Title:       g.Title,
		Description: g.Description,
		HTML:        page.HTML,
	}
	for _, section := range page.Sections[1:] {
		m.Parts = append(m.Parts, views.Link{URL: path + "#" + section.ID, Text: section.Title})
	}
	for i, other := range w.docs.Guides[:len(w.docs.Guides)-1] {
		if other.Slug == slug {
			next := w.docs.Guides[i+1]
			m.Next = views.Link{URL: docsPath + "/" + next.Slug, Text: next.Title}
		}
	}

	return v.show(http.StatusOK, views.GuidePageOf(
		w.publicPage(g.Title, g.Description, docsPath, docsPath+"/"+slug), m,
	))
}

// groupTitles are the titles of those groups of the reference whose names are not plain words.
var groupTitles = map[string]string{"pdf": "PDF", "zip": "ZIP", "mcp": "MCP", "email": "Email"}

// groupTitle is the title of the group that operations of a tag are in.
func groupTitle(tag string) string { return cmp.Or(groupTitles[tag], categoryName(tag)) }

// partOfReference returns the URL of a group.
func partOfReference(title string) string { return referencePath + "#" + strings.ToLower(title) }

func (w *Web) referenceGroups() []views.ReferenceGroup {
	var groups []views.ReferenceGroup
	for _, o := range w.docs.Operations() {
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
	return v.show(http.StatusOK, views.OperationPage(
		w.publicPage(o.Summary, o.About(), docsPath, operationPath(o.ID)), w.referenceContents(o), o,
	))
}

// searchEntry is a part of the documentation that can be found.
type searchEntry struct {
	URL   string `json:"url"`
	Page  string `json:"page"`
	Title string `json:"title"`
	Words string `json:"words,omitempty"` // words that rank like the title
	Text  string `json:"text"`            // words
}

// maxSearchText is the maximum length of the text of an entry, in bytes.
const maxSearchText = 500

// searchText returns each word of a text once. The browser only looks for words in it, without regard to case, and the
// index stays small.
func searchText(text string) string {
	var words []string
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// searchWords are words that customers search for, by the ID of an operation or the name of a page that has other
// words.
var searchWords = map[string]string{
	"pdf_create":            "print, html to pdf, url to pdf, web page",
	"images_create":         "screenshot, thumbnail, capture",
	"pdf_extract":           "split, separate",
	"pdf_merge":             "combine, join, concatenate",
	"pdf_stamp":             "watermark, overlay, logo, letterhead, page numbers",
	"pdf_protect":           "encrypt, password, lock",
	"pdf_unlock":            "decrypt, password",
	"pdf_optimize":          "reduce size, linearize",
	"pdf_compress_advanced": "reduce size, shrink",
	"pdf_raster":            "pdf to png, pdf to jpg, thumbnail",
	"pdf_ocr":               "scan, searchable",
	"pdf_redact":            "black out, remove text",
	"pdf_pdfa":              "archive, pdf/a",
	"pdf_form_fill":         "fields, acroform",
	"pdf_data":              "pdf to markdown, tables, extract data",
	"pdf_sign":              "certificate, digital signature, pades, pkcs#12, certify",
	"pdf_seal":              "timestamp, rfc 3161",
	"pdf_verify":            "validate, signature",
	"signatures":            "certificate, pades, timestamp, pkcs#12",
	"pdf_compare":           "diff, changes, visual regression",
	"compare":               "diff, changes, visual regression",
	"pdf_text":              "extract text",
	"pdf_from_images":       "jpg to pdf, png to pdf",
	"convert_create":        "word, excel, powerpoint, docx, xlsx, pptx, libreoffice, wkhtmltopdf",
	"barcodes_create":       "qr code, ean, datamatrix",
	"zip_create":            "archive",
	"email_create":          "eml, outlook",
	"money":                 "bill, invoice, cost, price, charge, credits",
	"limits":                "rate limit, 429, quota, maximum size",
	"clients":               "sdk, library, zapier, make, php, java",
	"integrations":          "n8n, github action, ci, postman, workflow, automation",
	"webhooks":              "signature, callback, hook",
	"jobs":                  "async, queue, batch, callback",
	"headers-and-footers":   "page numbers, watermark",
	"tables-of-contents":    "toc, target-counter, footnote",
	"page-breaks":           "new page, split table",
	"accounts-and-keys":     "api key, test key, sandbox, free, token, team, members, roles, login",
	"install":               "docker, podman, compose, self-hosting",
	"deploy":                "kubernetes, helm, fly, s3, postgresql, redis, cluster",
	"monitoring":            "prometheus, grafana, metrics, health check",
	"security":              "ssrf, sandbox, gdpr, privacy, retention",
	"migrate":               "gotenberg, puppeteer, playwright, wkhtmltopdf, api2pdf",
	"agents":                "mcp, claude, oauth, llm",
	"templates":             "handlebars, mail merge, iframe editor",
	"dashboard":             "playground, try, request log, errors, history",
	"hardening":             "seccomp, landlock, apparmor, namespaces",
}

// showSearchIndex sends the index of the search in the browser.
func (w *Web) showSearchIndex(v *pageRequest) error {
	var entries []searchEntry
	for _, g := range w.docs.Guides {
		page, err := g.Content()
		if err != nil {
			return err
		}
		for _, section := range page.Sections {
			entry := searchEntry{
				URL:   docsPath + "/" + g.Slug,
				Page:  g.Title,
				Title: section.Title,
				Text:  searchText(section.Text[:min(len(section.Text), maxSearchText)]),
			}
			if g.Internal {
				entry.Text = "" // found by its title, which keeps the index small
			}
			if section.ID == "" {
				entry.Words = searchWords[g.Slug]
			} else {
				entry.URL += "#" + section.ID
			}

			entries = append(entries, entry)
		}
	}

	for _, o := range w.docs.Operations() {
		var names []string
		for f := range o.Accepts() {
			name := f.Name
			if strings.Count(name, ".") > 1 {
				name = name[strings.LastIndex(name, ".")+1:] // The page is found by it, too.
			}
			names = append(names, name)
		}

		entries = append(entries, searchEntry{
			URL: operationPath(o.ID), Page: o.Method + " " + o.Path, Title: o.Summary,
			Words: searchWords[o.ID], Text: searchText(strings.Join(names, " ")),
		})
	}

	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	return v.text("application/json", string(text))
}

// moreLinks are the pages outside the documentation, for language models.
var moreLinks = []views.Link{
	{URL: pricingPath, Text: "Pricing"}, {URL: galleryPath, Text: "PDF templates"},
	{URL: changelogPath, Text: changelogTitle}, {URL: statusPath, Text: "Status"},
	{URL: "/llms-full.txt", Text: "All guides in one text"},
}

func (w *Web) showLLMs(v *pageRequest) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return w.docs.LLMs(v.w, w.cfg.BaseURL, moreLinks)
}

func (w *Web) showLLMsFull(v *pageRequest) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return w.docs.Full(v.w)
}
