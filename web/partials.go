package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const partialsPath = templatesPath + "/partials"

// partialPages returns the pages of partials.
func (w *Web) partialPages() []pageRoute {
	return []pageRoute{
		{"GET", partialsPath, signedIn, w.showPartials},
		{"POST", partialsPath, developerRole, w.makePartial},
		{"GET", partialsPath + "/new", developerRole, w.showNewPartial},
		{"GET", partialsPath + "/{name}", signedIn, w.showPartial},
		{"POST", partialsPath + "/{name}", developerRole, w.savePartial},
		{"GET", partialsPath + "/{name}/delete", developerRole, w.showDeletePartial},
		{"POST", partialsPath + "/{name}/delete", developerRole, w.deletePartial},
	}
}

func (w *Web) showPartials(v *pageRequest) error {
	list, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return err
	}
	uses, err := w.store.PartialUses(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	var m views.Partials
	for _, p := range list.Partials {
		line := views.Partial{Name: p.Name, Bytes: len(p.HTML), Saved: p.UpdatedAt}
		line.Templates, line.Partials = usersOf(p.Name, uses, list.Partials)
		m.List = append(m.List, line)
		m.Bytes += len(p.HTML)
	}

	m.MostBytes = store.MaxPartialBytes
	m.Absent = absent(uses, list.Partials)
	return v.show(http.StatusOK, views.PartialsPage(v.page("Partials", templatesPath), m))
}

// usersOf returns the templates and partials that include a partial.
func usersOf(name string, uses []store.PartialUse, all []wire.Partial) (templates, partials []views.Link) {
	for _, use := range uses {
		if slices.Contains(use.Partials, name) {
			templates = append(templates, views.Link{URL: pageOf(use.TemplateID, ""), Text: use.Name})
		}
	}

	for _, p := range all {
		if slices.Contains(store.PartialsIn(p.HTML), name) {
			partials = append(partials, views.Link{URL: partialsPath + "/" + url.PathEscape(p.Name), Text: p.Name})
		}
	}
	return templates, partials
}

// absent are the partials that are shown somewhere and are not there.
func absent(uses []store.PartialUse, all []wire.Partial) []string {
	var names []string
	for _, use := range uses {
		names = append(names, use.Partials...)
	}
	for _, p := range all {
		names = append(names, store.PartialsIn(p.HTML)...)
	}

	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return slices.ContainsFunc(all, func(p wire.Partial) bool { return p.Name == name })
	})
}

// partial returns the partial in the URL, with the templates that include it.
func (w *Web) partial(v *pageRequest) (m views.PartialDetail, err error) {
	list, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return m, err
	}
	at := slices.IndexFunc(list.Partials, func(p wire.Partial) bool { return p.Name == chi.URLParam(v.r, "name") })
	if at < 0 {
		return m, store.ErrNotFound
	}

	uses, err := w.store.PartialUses(v.ctx(), v.account.ID)
	if err != nil {
		return m, err
	}

	p := list.Partials[at]
	m.Partial = views.Partial{Name: p.Name, Bytes: len(p.HTML), Saved: p.UpdatedAt}
	m.Templates, m.Partials = usersOf(p.Name, uses, list.Partials)
	m.Values = map[string]string{"html": p.HTML}

	for _, name := range store.PartialsIn(p.HTML) {
		link := views.Link{Text: name}
		if slices.ContainsFunc(list.Partials, func(p wire.Partial) bool { return p.Name == name }) {
			link.URL = partialsPath + "/" + url.PathEscape(name)
		}
		m.Shows = append(m.Shows, link)
	}
	return m, nil
}

func (w *Web) showPartial(v *pageRequest) error {
	m, err := w.partial(v)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.PartialPage(v.page(m.Name, templatesPath), m))
}

func (w *Web) showNewPartial(v *pageRequest) error {
	m := views.Form{Values: map[string]string{"name": v.value("name")}}
	return v.show(http.StatusOK, views.NewPartialPage(v.page("Create partial", templatesPath), m))
}

// makePartial makes one of a name that is free.
func (w *Web) makePartial(v *pageRequest) error {
	name := v.value("name")
	html := typed(v, "html")
	wrong := map[string]string{}

	_, err := submit(v, templates.PartialRef{Name: name}, w.templates.Partial)
	switch {
	case name == "":
		wrong["name"] = "Name is required."
	case err == nil:
		wrong["name"] = "A partial with this name already exists."
	case html == "":
		wrong["html"] = "HTML is required."
	case !errors.Is(err, store.ErrNotFound) && refused(err) == nil:
		return err
	}

	if len(wrong) == 0 {
		if wrong, err = w.put(v, name, html); err != nil {
			return err
		}
	}

	if len(wrong) > 0 {
		m := views.Form{Values: map[string]string{"name": name, "html": html}, Errors: wrong}
		return v.show(http.StatusUnprocessableEntity, views.NewPartialPage(v.page("Create partial", templatesPath), m))
	}
	return v.redirectWith(partialsPath, "Partial “"+name+"” created. Use it in a template with {{> "+name+"}}.")
}

// put stores a partial, or returns the errors by field: partials that include one another without end are among them.
func (w *Web) put(v *pageRequest, name, html string) (wrong map[string]string, err error) {
	_, err = submit(
		v, templates.NewPartial{PartialRef: templates.PartialRef{Name: name}, HTML: html}, w.templates.PutPartial,
	)

	r := refused(err)
	if r == nil {
		return nil, err
	}

	wrong = wrongFields(r, "name")
	for _, detail := range r.Details {
		if detail.Field == "html" {
			delete(wrong, "")
			wrong["html"] = detail.Message + "."
			break
		}
	}
	return wrong, nil
}

func (w *Web) savePartial(v *pageRequest) error {
	m, err := w.partial(v)
	if err != nil {
		return err
	}

	html := typed(v, "html")
	if html == "" {
		m.Errors = map[string]string{"html": "HTML is required. To remove the partial, delete it."}
	} else if m.Errors, err = w.put(v, m.Name, html); err != nil {
		return err
	}

	if m.Failed() {
		m.Values["html"] = html
		return v.show(http.StatusUnprocessableEntity, views.PartialPage(v.page(m.Name, templatesPath), m))
	}
	return v.redirectWith(
		partialsPath+"/"+url.PathEscape(m.Name),
		"Partial saved. Drafts use the new source; published versions do not change.",
	)
}

func (w *Web) showDeletePartial(v *pageRequest) error {
	m, err := w.partial(v)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.DeletePartialPage(v.page("Delete "+m.Name, templatesPath), m))
}

func (w *Web) deletePartial(v *pageRequest) error {
	name := chi.URLParam(v.r, "name")
	if _, err := submit(v, templates.PartialRef{Name: name}, w.templates.DeletePartial); err != nil {
		return err
	}
	return v.redirectWith(partialsPath, "Partial “"+name+"” deleted.")
}
