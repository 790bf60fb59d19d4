package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// published returns the content of a template's version.
func (w *Web) published(v *pageRequest, id, version string) (wire.TemplateVersionContent, error) {
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return wire.TemplateVersionContent{}, store.ErrNotFound
	}
	return w.templates.Version(v.ctx(), v.caller(), templates.VersionRef{Ref: templates.Ref{ID: id}, Version: n})
}

func versionContent(c wire.TemplateVersionContent) views.Content {
	return views.Content{HTML: c.HTML, Sample: jsonText(c.SampleData), Options: jsonText(c.Options)}
}

func (w *Web) showPublish(v *pageRequest) error { return w.publishPage(v, http.StatusOK, "") }

func (w *Web) publishPage(v *pageRequest, status int, wrong string) error {
	m, err := w.publishing(v, wrong)
	if err != nil {
		return err
	}
	return v.show(status, views.PublishPage(v.page("Publish "+m.Card.Name, templatesPath), m))
}

// publishing returns the confirmation page before a draft is published.
func (w *Web) publishing(v *pageRequest, wrong string) (views.Publish, error) {
	found, err := v.template()
	if err != nil {
		return views.Publish{}, err
	}

	m := views.Publish{
		Path:     pageOf(found.ID, ""),
		Card:     cardOf(found.Template),
		ETag:     found.ETag(),
		Next:     1,
		HasDraft: found.HasDraft,
		Form:     views.Form{Values: map[string]string{"comment": v.value("comment")}, Errors: map[string]string{}},
	}
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
	m.Diffs = diffsOf(before, contentOf(found.Template))
	m.Now = w.now()
	if v.embedded == nil && found.PublishedVersion != nil {
		m.Pages = pageOf(found.ID, fmt.Sprintf("/versions/%d/pages", *found.PublishedVersion))
	}

	current, err := w.currentState(v, found.Template)
	if err != nil {
		return m, err
	}
	if m.Approval, err = w.approvalOf(v, found, current, true); err != nil {
		return m, err
	}

	checked, err := submit(
		v, templates.Source{HTML: *found.HTML, SampleData: schema.Object{RawMessage: found.SampleData}},
		w.templates.Validate,
	)
	if err != nil && refused(err) == nil {
		// publishing checks it again, and shows the error
		w.log.WarnContext(v.ctx(), "draft not looked through", "error", err)
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

func (w *Web) publishDraft(v *pageRequest) error {
	made, err := submit(
		v, templates.PublishInput{State: v.state(v.value("etag")), Comment: v.value("comment")}, w.templates.Publish,
	)

	switch r := refused(err); {
	case errors.Is(err, store.ErrChanged):
		return w.publishPage(
			v, http.StatusConflict, "The draft has changed since you opened this page. Review the changes again.",
		)
	case r != nil:
		return w.publishPage(v, http.StatusUnprocessableEntity, r.Error())
	case err != nil:
		return err
	}

	return v.redirectWith(pageOf(made.ID, ""), fmt.Sprintf(
		"Version %d published. Calls to %s use it from the next request.", *made.PublishedVersion, made.Slug,
	))
}

func (w *Web) discardDraft(v *pageRequest) error {
	made, err := submit(v, v.state(v.value("etag")), w.templates.Discard)
	return w.changed(v, made, err, "Draft discarded. It is identical to the published version again.")
}

func (w *Web) restoreVersion(v *pageRequest) error {
	version, err := strconv.Atoi(v.value("version"))
	if err != nil {
		return store.ErrNotFound
	}

	made, err := submit(
		v, templates.RestoreInput{State: v.state(v.value("etag")), Version: version}, w.templates.Restore,
	)
	return w.changed(v, made, err, fmt.Sprintf(
		"Version %d restored as the draft. Publish the draft to use it in API calls.", version,
	))
}

// changed redirects to a template after a change, or after its refusal.
func (w *Web) changed(v *pageRequest, made templates.Record, err error, done string) error {
	if r := refused(err); r != nil {
		return v.redirectWith(pageOf(v.ref().ID, ""), r.Error())
	}
	if err != nil {
		return err
	}
	return v.redirectWith(pageOf(made.ID, ""), done)
}

func (w *Web) showVersions(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}
	list, err := w.templates.Versions(v.ctx(), v.caller(), templates.Ref{ID: found.ID})
	if err != nil {
		return err
	}

	m := views.Versions{Card: cardOf(found.Template), HasDraft: found.HasDraft}
	for _, version := range list.Versions {
		m.List = append(m.List, views.Version{
			Number:  version.Version,
			Comment: version.Comment,
			At:      version.PublishedAt,
		})
	}
	return v.show(http.StatusOK, views.VersionsPage(v.page(found.Name+", versions", templatesPath), m))
}

func (w *Web) showVersion(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}
	version, err := w.published(v, found.ID, chi.URLParam(v.r, "version"))
	if err != nil {
		return err
	}

	m := views.VersionDetail{
		Card:    cardOf(found.Template),
		Version: views.Version{Number: version.Version, Comment: version.Comment, At: version.PublishedAt},
		InUse:   found.PublishedVersion != nil && *found.PublishedVersion == version.Version,
		Content: versionContent(version), Diffs: diffsOf(versionContent(version), contentOf(found.Template)),
	}

	for _, name := range slices.Sorted(maps.Keys(version.Partials)) {
		m.Partials = append(m.Partials, views.PartialContent{Name: name, HTML: version.Partials[name]})
	}
	return v.show(http.StatusOK, views.VersionPage(
		v.page(fmt.Sprintf("%s, version %d", found.Name, version.Version), templatesPath), m,
	))
}

func (w *Web) showTemplateSettings(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	form := views.Form{
		Values: map[string]string{
			"name": found.Name, "slug": found.Slug, "category": found.Category, "description": found.Description,
		},
		Errors: map[string]string{},
	}
	return v.show(http.StatusOK, views.TemplateSettingsPage(
		v.page("Settings of "+found.Name, templatesPath), cardOf(found.Template), form,
	))
}

func (w *Web) saveTemplateSettings(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	changed := map[string]string{}
	form := views.Form{Values: map[string]string{}, Errors: map[string]string{}}
	fields := map[string]string{
		"name": found.Name, "slug": found.Slug, "category": found.Category, "description": found.Description,
	}
	for name, stored := range fields {
		form.Values[name] = v.value(name)
		// A change of the name makes no draft if there was none: only what differs is changed.
		if form.Values[name] != stored {
			changed[name] = form.Values[name]
		}
	}

	if len(changed) > 0 {
		body, err := json.Marshal(changed)
		if err != nil {
			return err
		}
		_, err = receive(v, body, w.templates.Update, schema.Value{Name: "id", Text: found.ID})
		if r := refused(err); r != nil {
			form.Errors = wrongFields(r, "name", "slug", "category", "description")
			return v.show(http.StatusUnprocessableEntity, views.TemplateSettingsPage(
				v.page("Settings of "+found.Name, templatesPath), cardOf(found.Template), form,
			))
		}
		if err != nil {
			return err
		}
	}

	return v.redirectWith(pageOf(found.ID, ""), "Saved.")
}
