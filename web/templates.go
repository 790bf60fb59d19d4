package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const (
	templatesPath = "/dashboard/templates"
	// templatesShown is the number of templates on a page of the list: rows of four.
	templatesShown = 24
)

// templatePages returns the pages of the list and those that create templates.
func (w *Web) templatePages() []pageRoute {
	return []pageRoute{
		{"GET", "/dashboard/templates", signedIn, w.showTemplates},
		{"POST", "/dashboard/templates", developerRole, w.makeTemplate},
		{"GET", "/dashboard/templates/new", developerRole, w.showNewTemplate},
		{"GET", "/dashboard/templates/gallery", developerRole, w.showLayouts},
		{"GET", "/dashboard/templates/import", developerRole, w.showImport},
		{"POST", "/dashboard/templates/import", developerRole, w.importTemplate},
		{"GET", "/dashboard/templates/{id}/thumbnail", signedIn, w.showThumbnail},
		{"GET", "/dashboard/templates/{id}/export", signedIn, w.exportTemplate},
		{"POST", "/dashboard/templates/{id}/duplicate", developerRole, w.duplicateTemplate},
		{"POST", "/dashboard/templates/{id}/delete", developerRole, w.deleteTemplate},
		{"POST", "/dashboard/templates/{id}/undelete", developerRole, w.undeleteTemplate},
	}
}

// pageOf returns the path of a template's page, or of a page below it.
func pageOf(id, below string) string { return templatesPath + "/" + url.PathEscape(id) + below }

// cardOf shows a template.
func cardOf(t wire.Template) views.TemplateCard {
	shown := views.TemplateCard{
		ID:      t.ID,
		Slug:    t.Slug,
		Name:    t.Name,
		Changed: t.HasDraft && t.PublishedVersion != nil,
		Saved:   t.UpdatedAt,
	}

	if t.PublishedVersion != nil {
		shown.Version = *t.PublishedVersion
	}
	// Its address is another one whenever the template has changed.
	shown.Thumbnail = pageOf(t.ID, "/thumbnail?at="+strconv.FormatInt(t.UpdatedAt.UnixMilli(), 36))
	return shown
}

func (w *Web) showTemplates(v *pageRequest) error {
	filter := views.TemplateFilter{Text: v.value("q"), Category: v.value("category"), State: v.value("state")}
	var list wire.TemplateList
	query, err := templates.Check(v.ctx(), templates.Query{
		Limit:    templatesShown,
		Search:   filter.Text,
		Category: filter.Category,
		State:    filter.State,
		Cursor:   v.value("cursor"),
	})
	if err == nil {
		list, err = w.templates.List(v.ctx(), v.caller(), query)
	}
	switch {
	case refused(err) != nil:
		return store.ErrNotFound // a filter that our pages do not send
	case err != nil:
		return err
	}

	categories, err := w.store.TemplateCategories(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	m := views.Templates{Filter: filter}
	for _, category := range categories {
		m.Filter.Categories = append(m.Filter.Categories, views.Choice{Value: category, Text: category})
	}
	for _, t := range list.Templates {
		m.List = append(m.List, cardOf(t))
	}

	next := ""
	if list.NextCursor != nil {
		next = *list.NextCursor
	}
	m.Pager = pager(v, templatesPath, next, views.Plural(len(m.List), "template", "templates"))

	if undo := w.scs.PopString(v.ctx(), undoKey); undo != "" {
		m.Deleted.ID, m.Deleted.Name, _ = strings.Cut(undo, "\n")
	}
	return v.show(http.StatusOK, views.TemplatesPage(v.page("Templates", templatesPath), m))
}

// undoKey is the session key of the latest deletion, until the list has shown it.
const undoKey = "undo template"

// blankTemplate returns the content of a new template without a layout.
func blankTemplate() templates.CreateInput {
	return templates.CreateInput{
		HTML: new(`<style>
  body { font: 11pt/1.5 Inter, sans-serif; color: #1b1f27 }
  h1 { font-size: 24pt; letter-spacing: -.02em }
</style>

<h1>{{title}}</h1>
<p>Dear {{customer.name}},</p>
`),
		SampleData: objectOf(`{"title":"A new page","customer":{"name":"Ada Lovelace"}}`),
		Options: objectOf(
			`{"format":"A4","printBackground":true,"margin":{"top":"20mm","right":"20mm","bottom":"20mm","left":"20mm"}}`,
		),
	}
}

func objectOf(text string) schema.Object { return schema.Object{RawMessage: json.RawMessage(text)} }

// newTemplatePath is the form of a new template, of the layout in its query.
const newTemplatePath = templatesPath + "/new"

func (w *Web) showNewTemplate(v *pageRequest) error { return w.newTemplatePage(v, http.StatusOK, nil) }

func (w *Web) newTemplatePage(v *pageRequest, status int, wrong map[string]string) error {
	m := views.NewTemplate{Form: views.Form{
		Values: map[string]string{"name": v.value("name"), "category": v.value("category")},
		Errors: wrong,
	}}
	if id := v.value("layout"); id != "" {
		l, known := w.gallery.Get(id)
		if !known {
			return store.ErrNotFound
		}

		m.Layout = views.NewOfLayout{ID: l.ID, Name: l.Name, Thumbnail: l.ThumbnailPath()}
		m.Layout.Width, m.Layout.Height = l.ThumbnailSize()
		if v.r.Method == http.MethodGet {
			m.Values["name"] = l.Name
			m.Values["category"] = l.Category
		}
	}

	return v.show(status, views.NewTemplatePage(v.page("Create template", templatesPath), m))
}

// makeTemplate makes a template of nothing, or of a layout.
func (w *Web) makeTemplate(v *pageRequest) error {
	in := templates.CreateInput{FromGallery: v.value("layout")}
	if in.FromGallery == "" {
		in = blankTemplate()
	}
	in.Name = v.value("name")
	in.Category = v.value("category")

	if in.FromGallery == "" && in.Name == "" {
		return w.newTemplatePage(
			v, http.StatusUnprocessableEntity, map[string]string{"name": "Name is required. You can change it later."},
		)
	}

	made, err := submit(v, in, w.templates.Create)
	if r := refused(err); r != nil {
		return w.newTemplatePage(v, http.StatusUnprocessableEntity, wrongFields(r, "name", "category"))
	}
	if err != nil {
		return err
	}
	return v.redirect(pageOf(made.ID, ""))
}

// wrongFields puts the API's errors at the fields of a form, and all other errors above the form.
func wrongFields(r *wire.Error, fields ...string) map[string]string {
	wrong := map[string]string{}
	for _, detail := range r.Details {
		for _, field := range fields {
			if detail.Field == field {
				wrong[field] = "It " + detail.Message + "."
			}
		}
	}

	if len(wrong) == 0 {
		wrong[""] = r.Error()
	}
	return wrong
}

func (w *Web) showLayouts(v *pageRequest) error {
	const path = templatesPath + "/gallery"
	m, ok := w.galleryList(v.value("category"), v.value("q"), func(category string) string {
		if category == "" {
			return path
		}
		return path + "?category=" + url.QueryEscape(category)
	})
	if !ok {
		return store.ErrNotFound
	}

	m.Action = path
	m.Keep = m.Category
	m.Use = true
	return v.show(http.StatusOK, views.StartersPage(v.page("Gallery", templatesPath), m))
}

func (w *Web) duplicateTemplate(v *pageRequest) error {
	made, err := submit(v, templates.DuplicateInput{Ref: v.ref()}, w.templates.Duplicate)
	if r := refused(err); r != nil {
		return v.redirectWith(templatesPath, r.Error())
	}
	if err != nil {
		return err
	}
	return v.redirectWith(templatesPath, "“"+made.Name+"” created.")
}

func (w *Web) deleteTemplate(v *pageRequest) error {
	found, err := v.template()
	if err == nil {
		_, err = submit(v, v.ref(), w.templates.Delete)
	}
	if err != nil {
		return err
	}
	w.scs.Put(v.ctx(), undoKey, found.ID+"\n"+found.Name)
	return v.redirect(templatesPath)
}

func (w *Web) undeleteTemplate(v *pageRequest) error {
	back, err := w.store.UndeleteTemplate(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if errors.Is(err, store.ErrTooMany) {
		limit := strconv.Itoa(store.MaxTemplates)
		text := "Template not restored: limit of " + limit + " templates reached. Delete another template first."
		return v.redirectWith(templatesPath, text)
	}

	if err == nil {
		err = v.record("template.undeleted", back.Name, back.Slug)
	}
	if err != nil {
		return err
	}

	return v.redirectWith(templatesPath, "“"+back.Name+"” restored.")
}
