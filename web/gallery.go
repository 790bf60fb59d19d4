package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
)

const galleryPath = "/pdf-templates"

// categoryName writes a category as a heading: "Credit notes".
func categoryName(category string) string {
	name := strings.ReplaceAll(category, "-", " ")
	return strings.ToUpper(name[:1]) + name[1:]
}

// layoutOptions holds the options of a layout that its page uses.
type layoutOptions struct {
	Format    string `json:"format"`
	Landscape bool   `json:"landscape"`
}

func optionsOf(l gallery.Layout) (layoutOptions, error) {
	var o layoutOptions
	err := json.Unmarshal(l.Options, &o)
	return o, err
}

// paperOf writes a layout's paper: "A4, landscape".
func paperOf(l gallery.Layout) string {
	o, err := optionsOf(l)
	switch {
	case err != nil:
		return ""
	case o.Landscape:
		return o.Format + ", landscape"
	}
	return o.Format
}

func layoutCard(l gallery.Layout) views.Card {
	width, height := l.ThumbnailSize()
	return views.Card{
		ID: l.ID, URL: l.Href(), Name: l.Name,
		Note:  views.Plural(l.Pages, "page", "pages") + " · " + strings.Join(l.Formats, ", "),
		Image: l.ThumbnailPath(), Width: width, Height: height,
	}
}

// galleryList lists the layouts, all or those of a category or a group. where returns the URL of either. It is false
// for an unknown one.
func (w *Web) galleryList(category, text string, where func(category string) string) (views.GalleryList, bool) {
	m := views.GalleryList{
		Title: "PDF templates", Text: text, Category: category, Action: where(category), All: where(""),
		Groups: []views.GalleryGroup{
			{URL: where(""), Name: "All", Count: len(w.gallery.List("", "")), Open: category == ""},
		},
	}
	if category != "" {
		m.Title = categoryName(category) + " templates"
	}

	for _, g := range gallery.Groups() {
		if g.Slug == category {
			m.Title = g.Name
		}
		m.Groups = append(m.Groups, views.GalleryGroup{
			URL:   where(g.Slug),
			Name:  g.Name,
			Count: len(w.gallery.List(g.Slug, "")),
			Open:  g.Slug == category || slices.Contains(g.Categories, category),
		})
	}

	for _, l := range w.gallery.List(category, text) {
		m.Cards = append(m.Cards, layoutCard(l))
	}
	return m, len(w.gallery.List(category, "")) > 0
}

// showGallery lists the layouts, all or those of a category or a group.
func (w *Web) showGallery(v *pageRequest) error {
	where := func(category string) string { return strings.TrimSuffix(galleryPath+"/"+category, "/") }
	category := chi.URLParam(v.r, "category")
	m, ok := w.galleryList(category, v.value("q"), where)
	if !ok {
		return errNotFound
	}
	return v.show(http.StatusOK, views.GalleryPage(
		w.publicPage(m.Title, galleryDescription, galleryPath, where(category)), m,
	))
}

const galleryDescription = "HTML templates for invoices, labels, certificates, reports and more, " +
	"with sample data and rendered pages. Copy one, edit it, and use it in API calls."

// layout returns the layout that the address names.
func (w *Web) layout(v *pageRequest) (gallery.Layout, error) {
	l, ok := w.gallery.Get(chi.URLParam(v.r, "id"))
	if !ok || l.Category != chi.URLParam(v.r, "category") {
		return gallery.Layout{}, errNotFound
	}
	return l, nil
}

// drawings are the pages of a layout, and its documents.
func (w *Web) drawings(rest string) []drawing {
	l, ok := w.gallery.Get(rest)
	if !ok {
		if at := strings.LastIndexByte(rest, '-'); at > 0 {
			l, ok = w.gallery.Get(rest[:at])
		}
	}
	if !ok {
		return nil
	}

	documents, pages, err := layoutDrawings(l)
	if err != nil {
		return nil
	}
	return append(documents, pages...)
}

// layoutDrawings are a layout with its sample: a document in each format, and the pages in its own format.
func layoutDrawings(l gallery.Layout) (documents, pages []drawing, err error) {
	o, err := optionsOf(l)
	if err != nil {
		return nil, nil, fmt.Errorf("the options of layout %s: %w", l.ID, err)
	}

	sheet := RenderRequest{Template: l.HTML, Data: l.Sample, Format: o.Format, Landscape: o.Landscape, DPI: 110}
	for page := range l.Pages {
		sheet.Page = page + 1
		pages = append(pages, drawing{sheet: sheet})
	}

	sheet.Page = 0
	for _, sheet.Format = range l.Formats {
		documents = append(documents, drawing{sheet: sheet, pdf: true})
	}
	return documents, pages, nil
}

// showLayout shows one layout: its pages, its data, its HTML, and how it is called.
func (w *Web) showLayout(v *pageRequest) error {
	l, err := w.layout(v)
	if err != nil {
		return err
	}

	width, height := l.ThumbnailSize()
	m := views.Layout{
		ID: l.ID, Name: l.Name, Description: l.Description, Paper: paperOf(l),
		Formats: strings.Join(l.Formats, " and "), Tags: l.Tags,
		Category: views.Link{URL: galleryPath + "/" + l.Category, Text: categoryName(l.Category)},
		Price:    w.cfg.Prices["pdf.create"], Use: newTemplatePath + "?layout=" + l.ID,
	}

	documents, pages, err := layoutDrawings(l)
	if err != nil {
		return err
	}
	for i, d := range documents {
		m.PDFs = append(m.PDFs, views.Link{URL: publicImagePath + d.nameOf("layout_"+l.ID), Text: l.Formats[i]})
	}

	for i, d := range pages {
		shown := views.LayoutPage{
			Number: i + 1,
			Large:  publicImagePath + d.nameOf(fmt.Sprintf("layout_%s-%d", l.ID, i+1)),
			Width:  width,
			Height: height,
		}
		if i == 0 {
			shown.Small = l.ThumbnailPath()
		}
		m.Pages = append(m.Pages, shown)
	}

	sample := jsonText(l.Sample)
	options := jsonText(l.Options)
	m.Sample = docs.Sample("sample.json", "json", sample)
	m.HTML = docs.Sample("template.html", "html", l.HTML)
	m.Options = docs.Sample("options.json", "json", options)
	m.Call = docs.Samples(docs.Request{
		Method: http.MethodPost,
		URL:    w.cfg.BaseURL + "/v1/pdf",
		Body:   templateCall(l.ID, sample),
		File:   l.ID + ".pdf",
	})

	return v.show(http.StatusOK, views.LayoutPageOf(w.publicPage(l.Name, l.Description, galleryPath, l.Href()), m))
}
