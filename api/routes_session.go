package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/service/schema"
)

// capabilities are the permissions of a link.
type capabilities []editorlink.Capability

// JSONSchema names them.
func (capabilities) JSONSchema() *jsonschema.Schema {
	names := &jsonschema.Schema{Type: "string"}
	for _, c := range editorlink.Capabilities() {
		names.Enum = append(names.Enum, string(c))
	}
	return &jsonschema.Schema{Type: "array", Items: names, MaxItems: new(uint64(len(names.Enum)))}
}

// SetJSON keeps each once.
func (c *capabilities) SetJSON(v any) error {
	list, _ := v.([]any)
	for _, entry := range list {
		if name, ok := entry.(string); ok && !slices.Contains(*c, editorlink.Capability(name)) {
			*c = append(*c, editorlink.Capability(name))
		}
	}
	return nil
}

// The lifetime of a link in seconds.
const defaultSession = 3600

// newSession asks for a link to the editor of a template.
type newSession struct {
	byID

	Capabilities capabilities `json:"capabilities" jsonschema:"required" jsonschema_description:"Capabilities of the link in addition to reading the template. edit: change its HTML, data and options. preview: render it. publish: publish the draft. An empty array allows reading only."`
	Origin       string       `json:"origin" jsonschema:"required,maxLength=300" jsonschema_description:"Origin of the page that shows the editor in an iframe, such as https://app.example.com. Other pages cannot show it."`
	ReturnURL    string       `json:"returnUrl,omitempty" jsonschema:"maxLength=2000" jsonschema_description:"Target of the Done button, on the same origin. Without it, the button only sends a message to the surrounding page."`
	ExpiresIn    int          `json:"expiresIn,omitempty" jsonschema:"minimum=60,maximum=86400,default=3600" jsonschema_description:"Lifetime of the link in seconds."`
}

// createSession makes a link. It is not stored: the link is all there is.
func (a *API) createSession(ctx context.Context, caller call.Caller, in newSession) (wire.TemplateSession, error) {
	if caller.Kind != call.ByKey {
		// It ends with its key, and so has to have one.
		return wire.TemplateSession{}, &wire.Error{Code: wire.Unauthorized}
	}

	origin, err := a.originsOf(in)
	if err != nil {
		return wire.TemplateSession{}, err
	}
	found, err := a.Store.Template(ctx, caller.Account.ID, in.ID)
	if err != nil {
		return wire.TemplateSession{}, err
	}

	if in.ExpiresIn == 0 {
		in.ExpiresIn = defaultSession
	}
	made := editorlink.Session{
		ID: editorlink.NewID(), AccountID: caller.Account.ID, KeyID: caller.ID, TemplateID: found.ID,
		Capabilities: in.Capabilities,
		Origin:       origin, ReturnURL: in.ReturnURL,
		ExpiresAt: a.Now().Add(time.Duration(in.ExpiresIn) * time.Second).UTC().Truncate(time.Second),
	}

	token, err := made.Token(a.Box)
	answer := wire.TemplateSession{
		URL: a.BaseURL + editorlink.Path + token, TemplateID: found.ID, Capabilities: []string{}, Origin: origin,
		ReturnURL: wire.OrNull(in.ReturnURL), ExpiresAt: made.ExpiresAt,
	}
	for _, c := range in.Capabilities {
		answer.Capabilities = append(answer.Capabilities, string(c))
	}
	slices.Sort(answer.Capabilities)
	if err != nil {
		return answer, err
	}

	shared := caller.Author.Entry("template.shared", found.Name,
		strings.Join(append([]string{origin}, answer.Capabilities...), ", "))
	return answer, a.Store.AddAuditEntryOnce(ctx, shared) // Sites request a link whenever their page is shown.
}

// originsOf returns the origin of a link, to which its way back must lead too.
func (a *API) originsOf(in newSession) (string, error) {
	var faults schema.FieldErrors
	insecure := strings.HasPrefix(a.BaseURL, "http:")
	origin, err := editorlink.OriginOf(in.Origin, insecure)
	switch {
	case err != nil:
		faults.Add("origin", "%s", err.Error())
	case !editorlink.BareOrigin(in.Origin):
		faults.Add("origin", "must be an origin without a path, such as %s", origin)
	}

	if in.ReturnURL != "" {
		back, err := editorlink.OriginOf(in.ReturnURL, insecure)
		switch {
		case err != nil:
			faults.Add("returnUrl", "must be a URL of the origin")
		case back != origin && len(faults) == 0:
			faults.Add("returnUrl", "must be a URL of %s; got one of %s", origin, back)
		}
	}

	return origin, faults.OrNil()
}
