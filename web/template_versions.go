package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/views"
)

// published returns what a version of a template holds.
func (w *Web) published(v *visit, id, version string) (wire.TemplateVersionContent, error) {
	var found wire.TemplateVersionContent
	if n, err := strconv.Atoi(version); err != nil || n < 1 {
		return found, store.ErrNotFound
	}
	_, err := v.ask(http.MethodGet, routeOf(id, "/versions/"+url.PathEscape(version)), nil, &found, "")
	return found, err
}

func versionContent(c wire.TemplateVersionContent) views.Content {
	return views.Content{HTML: c.HTML, Sample: jsonText(c.SampleData), Options: jsonText(c.Options)}
}

func (w *Web) showPublish(v *visit) error { return w.publishPage(v, http.StatusOK, "") }

func (w *Web) publishPage(v *visit, status int, wrong string) error {
	m, err := w.publishing(v, wrong)
	if err != nil {
		return err
	}
	return v.show(status, views.PublishPage(v.page("Publish "+m.Card.Name, templatesPath), m))
}

// publishing is what is asked before a draft is published.
func (w *Web) publishing(v *visit, wrong string) (views.Publish, error) {
	found, etag, err := v.template()
	if err != nil {
		return views.Publish{}, err
	}
	m := views.Publish{Path: pageOf(found.ID, ""), Card: cardOf(found), ETag: etag, Next: 1, HasDraft: found.HasDraft, Form: views.Form{Values: map[string]string{"comment": v.value("comment")}, Errors: map[string]string{}}}
	if wrong != "" {
		m.Errors[""] = wrong
	}
	before := views.Content{Sample: "{}", Options: "{}"}
	if found.PublishedVersion != nil {
		m.Next = *found.PublishedVersion + 1
		last, err := w.published(v, found.ID, strconv.Itoa(*found.PublishedVersion))
		if err != nil {
			return m, err
		}
		before = versionContent(last)
	}
	m.Diffs = diffsOf(before, contentOf(found))
	var checked wire.TemplateValidation
	if _, err := v.ask(http.MethodPost, templatesRoutes+"/validate", map[string]any{"html": found.HTML, "sampleData": found.SampleData}, &checked, ""); err != nil && refused(err) == nil {
		w.log.WarnContext(v.ctx(), "draft not looked through", "error", err) // Publishing looks again, and says so.
	}
	m.Missing = checked.Missing
	for _, f := range checked.Errors {
		text := f.Message
		if f.Line != nil {
			text = fmt.Sprintf("Line %d: %s", *f.Line, f.Message)
		}
		m.Faults = append(m.Faults, text)
	}
	return m, nil
}

func (w *Web) publishDraft(v *visit) error {
	var made wire.Template
	_, err := v.ask(http.MethodPost, routeOf(chi.URLParam(v.r, "id"), "/publish"), map[string]any{"comment": v.value("comment")}, &made, v.value("etag"))
	switch r := refused(err); {
	case errors.Is(err, store.ErrNotFound):
		return err
	case errors.Is(err, store.ErrChanged):
		return w.publishPage(v, http.StatusConflict, "The draft has changed since this page was opened. Look at the changes again.")
	case r != nil:
		return w.publishPage(v, http.StatusUnprocessableEntity, r.Error())
	case err != nil:
		return err
	}
	if err := v.record("template.published", made.Name, fmt.Sprintf("v%d", *made.PublishedVersion)); err != nil {
		return err
	}
	v.tell(fmt.Sprintf("Version %d is published. Calls to %s use it from the next request.", *made.PublishedVersion, made.Slug))
	return v.redirect(pageOf(made.ID, ""))
}

func (w *Web) discardDraft(v *visit) error {
	return w.changed(v, "/discard", map[string]any{}, "template.discarded", "The draft is the same as the published version again.")
}

func (w *Web) restoreVersion(v *visit) error {
	version, err := strconv.Atoi(v.value("version"))
	if err != nil {
		return store.ErrNotFound
	}
	return w.changed(v, "/restore", map[string]any{"version": version}, "template.restored", fmt.Sprintf("Version %d is the draft now. Publish it to put it into use.", version))
}

// changed carries out a change of a template and goes back to it.
func (w *Web) changed(v *visit, below string, in any, action, done string) error {
	var made wire.Template
	id := chi.URLParam(v.r, "id")
	_, err := v.ask(http.MethodPost, routeOf(id, below), in, &made, v.value("etag"))
	if r := refused(err); r != nil && !errors.Is(err, store.ErrNotFound) {
		v.tell(r.Error())
		return v.redirect(pageOf(id, ""))
	}
	if err == nil {
		err = v.record(action, made.Name, made.Slug)
	}
	if err != nil {
		return err
	}
	v.tell(done)
	return v.redirect(pageOf(made.ID, ""))
}

func (w *Web) showVersions(v *visit) error {
	found, _, err := v.template()
	if err != nil {
		return err
	}
	var list wire.TemplateVersionList
	if _, err := v.ask(http.MethodGet, routeOf(found.ID, "/versions"), nil, &list, ""); err != nil {
		return err
	}
	m := views.Versions{Card: cardOf(found), HasDraft: found.HasDraft}
	for _, version := range list.Versions {
		m.List = append(m.List, views.Version{Number: version.Version, Comment: version.Comment, At: version.PublishedAt})
	}
	return v.show(http.StatusOK, views.VersionsPage(v.page(found.Name+", versions", templatesPath), m))
}

func (w *Web) showVersion(v *visit) error {
	found, _, err := v.template()
	if err != nil {
		return err
	}
	version, err := w.published(v, found.ID, chi.URLParam(v.r, "version"))
	if err != nil {
		return err
	}
	m := views.VersionDetail{
		Card: cardOf(found), Version: views.Version{Number: version.Version, Comment: version.Comment, At: version.PublishedAt},
		InUse:   found.PublishedVersion != nil && *found.PublishedVersion == version.Version,
		Content: versionContent(version), Diffs: diffsOf(versionContent(version), contentOf(found)),
	}
	for _, name := range slices.Sorted(maps.Keys(version.Partials)) {
		m.Partials = append(m.Partials, views.PartialContent{Name: name, HTML: version.Partials[name]})
	}
	return v.show(http.StatusOK, views.VersionPage(v.page(fmt.Sprintf("%s, version %d", found.Name, version.Version), templatesPath), m))
}

func (w *Web) showTemplateSettings(v *visit) error {
	found, _, err := v.template()
	if err != nil {
		return err
	}
	form := views.Form{Values: map[string]string{"name": found.Name, "slug": found.Slug, "category": found.Category, "description": found.Description}, Errors: map[string]string{}}
	return v.show(http.StatusOK, views.TemplateSettingsPage(v.page("Settings of "+found.Name, templatesPath), cardOf(found), form))
}

func (w *Web) saveTemplateSettings(v *visit) error {
	found, _, err := v.template()
	if err != nil {
		return err
	}
	in, form := map[string]any{}, views.Form{Values: map[string]string{}, Errors: map[string]string{}}
	for _, name := range []string{"name", "slug", "category", "description"} {
		in[name], form.Values[name] = v.value(name), v.value(name)
	}
	// A change of the name makes no draft where there was none: only what differs is sent.
	for name, value := range map[string]string{"name": found.Name, "slug": found.Slug, "category": found.Category, "description": found.Description} {
		if in[name] == value {
			delete(in, name)
		}
	}
	if len(in) > 0 {
		_, err = v.ask(http.MethodPatch, routeOf(found.ID, ""), in, nil, "")
		if r := refused(err); r != nil && !errors.Is(err, store.ErrNotFound) {
			form.Errors = wrongFields(r, "name", "slug", "category", "description")
			return v.show(http.StatusUnprocessableEntity, views.TemplateSettingsPage(v.page("Settings of "+found.Name, templatesPath), cardOf(found), form))
		}
		if err == nil {
			err = v.record("template.changed", found.Name, jsonNames(in))
		}
		if err != nil {
			return err
		}
	}
	v.tell("Saved.")
	return v.redirect(pageOf(found.ID, ""))
}

// jsonNames lists what was changed, as JSON, for the audit log.
func jsonNames(in map[string]any) string {
	text, err := json.Marshal(in)
	if err != nil {
		return ""
	}
	return string(text)
}
