package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// embedPath is the path of the editor in a frame of another site. The token is the only credential, because third
// parties' frames have no cookies.
const embedPath = editorlink.Path + "{token}"

// Reasons to refuse a link to the editor.
var (
	errLinkOver      = errors.New("the link has ended")
	errLinkSuspended = errors.New("the link's account is suspended")
	errLinkDenies    = errors.New("the link does not permit it")
	errUnframed      = errors.New("the editor is not in a frame")
)

// linkPerMinute limits the requests with one link.
const linkPerMinute = 600

// identifyEmbed finds the permissions of a request's link, while its key is valid, its account is not suspended,
// and it has not expired. Only pages of its origin may frame the response, including refusals.
func (w *Web) identifyEmbed(v *pageRequest) error {
	session, err := editorlink.Open(w.box, chi.URLParam(v.r, "token"))
	if err != nil {
		return errNotFound
	}

	h := v.w.Header()
	h.Set("Content-Security-Policy", strings.Replace(
		h.Get("Content-Security-Policy"), "frame-ancestors 'none'", "frame-ancestors "+session.Origin, 1,
	))
	// X-Frame-Options supports no other origin, and browsers that support the policy ignore it.
	h.Del("X-Frame-Options")

	if v.r.Header.Get("Sec-Fetch-Dest") == "document" {
		return errUnframed
	}
	if !session.ExpiresAt.After(w.now()) {
		return errLinkOver
	}

	key, account, err := w.store.KeyByID(v.ctx(), session.AccountID, session.KeyID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return errLinkOver
	case err != nil:
		return err
	case key.ExpiresAt != nil && !key.ExpiresAt.After(w.now()), len(key.Operations) > 0:
		return errLinkOver
	case account.Suspended:
		return errLinkSuspended
	}

	if _, ok := w.allow(v.ctx(), "embed:"+session.ID, linkPerMinute, time.Minute); !ok {
		return errTooMany
	}
	v.embedded = &session
	v.account = &account
	return nil
}

// showEmbed shows the editor with the permissions of the link.
func (w *Web) showEmbed(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}
	m, err := w.editorOf(v, found)
	if err != nil {
		return err
	}

	s := v.embedded
	m.Path = v.r.URL.EscapedPath()
	m.Fixed = views.FixedFields{
		HTML:    !s.May(editorlink.Edit),
		Sample:  !s.May(editorlink.Data),
		Options: !s.May(editorlink.Options),
	}
	m.ReadOnly = m.Fixed.HTML && m.Fixed.Sample && m.Fixed.Options
	m.Embedded = &views.Embedded{
		ID:        s.ID,
		Origin:    s.Origin,
		ReturnURL: s.ReturnURL,
		Previews:  s.May(editorlink.Preview),
		Publishes: s.May(editorlink.Publish),
	}

	return w.openEditor(v, found.Template, m)
}

// fieldOf maps each field of a draft to the capability that lets a link change it.
var fieldOf = map[string]editorlink.Capability{
	"html": editorlink.Edit, "sampleData": editorlink.Data, "options": editorlink.Options,
}

// given returns the fields of a draft that were sent. One that the link does not
// permit to change is refused, whatever is in it.
func given(v *pageRequest, body []byte) (map[string]any, error) {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, errForm
	}

	in := make(map[string]any, len(sent))
	for name, value := range sent {
		if err := mayChange(v, name); err != nil {
			return nil, err
		}
		in[name] = value
	}
	return in, nil
}

func mayChange(v *pageRequest, field string) error {
	capability, known := fieldOf[field]
	switch {
	case !known:
		return errForm
	case !v.embedded.May(capability):
		return errLinkDenies
	}
	return nil
}

// addStoredFields adds the stored values of fields that were not sent.
func (w *Web) addStoredFields(v *pageRequest, in map[string]any) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	for name, stored := range contentFields(found.Template) {
		if _, sent := in[name]; !sent {
			in[name] = stored
		}
	}
	return nil
}

// withStoredFields passes on the sent fields together with the stored values of the others, except for one field, if the
// link permits only some fields.
func (w *Web) withStoredFields(
	v *pageRequest, body []byte, except string, handle func(*pageRequest, []byte) error, may ...editorlink.Capability,
) error {
	if !v.embedded.May(may...) {
		return errLinkDenies
	}

	in, err := given(v, body)
	if err == nil {
		err = w.addStoredFields(v, in)
	}
	if err != nil {
		return err
	}

	delete(in, except)
	if body, err = templates.Encode(in); err != nil {
		return err
	}
	return handle(v, body)
}

// saveEmbed stores the fields that the link permits to change.
func (w *Web) saveEmbed(v *pageRequest, body []byte) error {
	in, err := given(v, body)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		return errForm
	}
	return w.saveDraft(v, body)
}

// checkEmbed checks the changes and the views that the link permits.
func (w *Web) checkEmbed(v *pageRequest, body []byte) error {
	return w.withStoredFields(v, body, "options", w.check, editorlink.Edit, editorlink.Data, editorlink.Preview)
}

// drawEmbed renders the pages, which counts as one of the account's previews. A field that the user may not change
// keeps its stored value.
func (w *Web) drawEmbed(v *pageRequest, body []byte) error {
	return w.withStoredFields(v, body, "", w.draw, editorlink.Preview)
}

// showFilledEmbed responds with the HTML that is shown without page breaks.
func (w *Web) showFilledEmbed(v *pageRequest) error {
	if !v.embedded.May(editorlink.Preview) {
		return errLinkDenies
	}

	in := map[string]any{}
	for name := range v.r.Form {
		if err := mayChange(v, name); err != nil {
			return err
		}
		in[name] = typed(v, name)
		if name != "html" {
			object := json.RawMessage(typed(v, name))
			if !json.Valid(object) {
				return nothing(v.w)
			}
			in[name] = object
		}
	}

	if err := w.addStoredFields(v, in); err != nil {
		return err
	}

	policy := strings.Replace(framePolicy, "frame-ancestors 'self'", "frame-ancestors 'self' "+v.embedded.Origin, 1)
	return w.fillFrame(v, in, policy)
}

// compareEmbed shows the submitted text next to the version that another user has stored.
func (w *Web) compareEmbed(v *pageRequest, body []byte) error {
	if !v.embedded.May(editorlink.Edit, editorlink.Data, editorlink.Options) {
		return errLinkDenies
	}
	return w.compareDraft(v, body)
}

// showPublishEmbed asks before the draft is published.
func (w *Web) showPublishEmbed(v *pageRequest) error {
	if !v.embedded.May(editorlink.Publish) {
		return errLinkDenies
	}
	m, err := w.publishing(v, "")
	if err != nil {
		return err
	}
	m.Path = strings.TrimSuffix(v.r.URL.EscapedPath(), "/publish")
	return v.show(http.StatusOK, views.PublishForm(m))
}

// publishEmbed publishes the draft, and responds as the API does.
func (w *Web) publishEmbed(v *pageRequest, body []byte) error {
	if !v.embedded.May(editorlink.Publish) {
		return errLinkDenies
	}
	made, err := receive(v, body, w.templates.Publish, v.stateParams()...)
	return v.answerScript(made, err)
}
