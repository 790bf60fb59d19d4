package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/views"
)

// comparedKind begins the keys of stored comparisons. As other images of templates, they are swept after a day, and
// rendered again on the next visit.
const comparedKind = "compared-"

// templateState is a state of a template whose pages are compared.
type templateState struct {
	wire.Template

	partials map[string]string
}

// key is the hash of the state.
func (s templateState) key(accountID string) string {
	var list wire.PartialList
	for _, name := range slices.Sorted(maps.Keys(s.partials)) {
		list.Partials = append(list.Partials, wire.Partial{Name: name, HTML: s.partials[name]})
	}
	const enough = 40 // digits
	return imageKey("", accountID, s.Template, list)[:enough]
}

// currentState returns a template as it is now.
func (w *Web) currentState(v *pageRequest, t wire.Template) (templateState, error) {
	list, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	state := templateState{t, map[string]string{}}
	for _, p := range list.Partials {
		state.partials[p.Name] = p.HTML
	}
	return state, err
}

// comparedKey is the key of a stored comparison. Those of its images follow from it.
func comparedKey(accountID string, old, latest templateState) string {
	return comparedKind + old.key(accountID) + latest.key(accountID)
}

// comparedImageKey is the key of the image of a page of a comparison, from 1.
func comparedImageKey(key string, page int) string { return key + "-" + strconv.Itoa(page) }

// comparePages compares the pages of two states of a template. The images are stored, and not in the result.
func (w *Web) comparePages(v *pageRequest, old, latest templateState) (made call.PreviewComparison, err error) {
	key := comparedKey(v.account.ID, old, latest)
	stored, err := readBlob(v.ctx(), w.store.Blobs(), key)
	if err == nil {
		err = json.Unmarshal(stored, &made)
	}
	if !errors.Is(err, blob.ErrMissing) {
		return made, err
	}

	var requests [2]call.PreviewRequest
	for i, state := range []templateState{old, latest} {
		requests[i] = call.PreviewRequest{Caller: v.caller(), Partials: state.partials}
		if requests[i].Input, err = templates.Encode(contentFields(state.Template)); err != nil {
			return made, err
		}
	}
	if made, err = w.templates.ComparePreviews(v.ctx(), requests[0], requests[1]); err != nil {
		return made, err
	}

	ctx := context.WithoutCancel(v.ctx())
	for i, page := range made.Pages {
		if page.Drawn && err == nil {
			_, err = w.store.Blobs().Put(ctx, comparedImageKey(key, i+1), bytes.NewReader(page.Image))
		}
	}

	body, failed := json.Marshal(made)
	err = errors.Join(err, failed)
	if err == nil {
		_, err = w.store.Blobs().Put(ctx, key, bytes.NewReader(body)) // after its images
	}
	if err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelWarn, "comparison not stored", slog.Any("error", err))
	}
	return made, nil
}

// comparedVersion is a template with the states of a version and of its draft. Both have the sample data of the draft.
type comparedVersion struct {
	templates.Record

	number       int
	old, current templateState
}

// versionStates returns the states that a page about a version compares.
func (w *Web) versionStates(v *pageRequest) (c comparedVersion, err error) {
	if c.Record, err = v.template(); err != nil {
		return c, err
	}

	version, err := w.published(v, c.ID, chi.URLParam(v.r, "version"))
	if err != nil {
		return c, err
	}
	c.number = version.Version
	if c.current, err = w.currentState(v, c.Template); err != nil {
		return c, err
	}

	c.old = templateState{
		wire.Template{HTML: &version.HTML, SampleData: c.SampleData, Options: version.Options}, map[string]string{},
	}
	maps.Copy(c.old.partials, version.Partials)
	return c, nil
}

// showVersionPages shows the pages of a version and of the draft side by side, one pair at a time.
func (w *Web) showVersionPages(v *pageRequest) error {
	c, err := w.versionStates(v)
	if err != nil {
		return err
	}

	compared, err := w.comparePages(v, c.old, c.current)
	m := views.VersionPages{Card: cardOf(c.Template), Number: c.number, ETag: c.ETag(), HasDraft: c.HasDraft}
	r := refused(err)
	switch {
	case r != nil:
		m.Problems = problemsOf(r)
	case err != nil:
		return err
	}

	path := pageOf(c.ID, fmt.Sprintf("/versions/%d/pages", c.number))
	var shown []int // with an image
	for i, page := range compared.Pages {
		m.Pages = append(m.Pages, views.ComparedPage{Status: page.Status, Old: page.Old, New: page.New})
		if page.Status != "equal" {
			m.Differences++
		}
		if page.Drawn {
			m.Pages[i].URL = path + "?page=" + strconv.Itoa(i+1)
			shown = append(shown, i)
		}
	}

	if len(shown) > 0 {
		at := 0
		if asked, err := strconv.Atoi(v.value("page")); err == nil {
			at = max(0, slices.Index(shown, asked-1))
		}
		m.Shown = shown[at]
		m.Image = path + "/" + strconv.Itoa(shown[at]+1)
		if at > 0 {
			m.Previous = m.Pages[shown[at-1]].URL
		}
		if at+1 < len(shown) {
			m.Next = m.Pages[shown[at+1]].URL
		}
		m.Position = fmt.Sprintf("Difference %d of %d", at+1, m.Differences)
	}

	if len(m.Problems) > 0 {
		return v.show(http.StatusUnprocessableEntity, views.VersionPagesPage(v.page(m.Title(), templatesPath), m))
	}
	if m.Approval, err = w.approvalOf(v, c.Record, c.current, false); err != nil {
		return err
	}
	return v.show(http.StatusOK, views.VersionPagesPage(v.page(m.Title(), templatesPath), m))
}

// showVersionImage responds with the image of a pair of pages.
func (w *Web) showVersionImage(v *pageRequest) error {
	c, err := w.versionStates(v)
	if err != nil {
		return err
	}

	n, err := strconv.Atoi(chi.URLParam(v.r, "page"))
	if err != nil {
		return errNotFound
	}
	image, err := readBlob(v.ctx(), w.store.Blobs(), comparedImageKey(comparedKey(v.account.ID, c.old, c.current), n))
	if errors.Is(err, blob.ErrMissing) {
		return errNotFound
	}
	if err != nil {
		return err
	}

	v.w.Header().Set("Content-Type", "image/png")
	v.w.WriteHeader(http.StatusOK)
	if _, err := v.w.Write(image); err != nil {
		w.log.LogAttrs(v.ctx(), slog.LevelDebug, "compared page not delivered", slog.Any("error", err))
	}
	return nil
}

// approvePages records that the visitor has approved the pages of the draft.
func (w *Web) approvePages(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	back := pageOf(found.ID, "/versions")
	if n, err := strconv.Atoi(v.value("version")); err == nil {
		back += fmt.Sprintf("/%d/pages", n)
	}
	by := ""
	if v.person != nil {
		by = v.person.Email
	}

	switch err := w.templates.Approve(v.ctx(), v.caller(), v.state(v.value("etag")), by); {
	case errors.Is(err, store.ErrChanged):
		return v.redirectWith(back, "The draft has changed since you opened this page. Compare the pages again.")
	case refused(err) != nil:
		return v.redirectWith(back, refused(err).Error())
	case err != nil:
		return err
	}
	return v.redirect(back)
}

// approvalOf returns the approval of a draft's pages. With compare, the pages of a draft that has changed since are
// compared with the approved ones.
func (w *Web) approvalOf(
	v *pageRequest, t templates.Record, current templateState, compare bool,
) (a views.Approval, err error) {
	if !t.HasDraft {
		return a, nil
	}

	found, err := w.templates.Approved(v.ctx(), v.caller(), templates.Ref{ID: t.ID})
	if errors.Is(err, store.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return a, err
	}

	a = views.Approval{By: found.By, At: found.At}
	approved := templateState{found.Template, found.Partials}
	if approved.key(v.account.ID) == current.key(v.account.ID) {
		return a, nil
	}
	a.Changed = true
	if !compare {
		return a, nil
	}

	made, err := w.comparePages(v, approved, current)
	if err != nil {
		if refused(err) == nil {
			w.log.LogAttrs(v.ctx(), slog.LevelWarn, "approved pages not compared", slog.Any("error", err))
		}
		return a, nil
	}

	for _, page := range made.Pages {
		if page.Status != "equal" {
			a.Differences++
		}
	}
	a.Changed = a.Differences > 0
	return a, nil
}
