package call

import (
	"context"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
)

// storedTemplates are the templates of one account, for one call.
type storedTemplates struct {
	store   *store.Store
	account string
	// found is the last version that was found, for the run.
	found *operation.TemplateVersion
	// used is the ID of the template that the call uses; empty if it uses none.
	used string
}

// maxKept is the maximum size of a template that a waiting call stores, in bytes.
const maxKept = 64 << 10

func (t *storedTemplates) Find(ctx context.Context, ref string, version int) (operation.TemplateVersion, error) {
	id, stored, err := t.store.TemplateVersion(ctx, t.account, ref, version)
	found := templateVersion(id, stored)
	t.used = id
	if err == nil && size(found) <= maxKept {
		t.found = &found
	}
	return found, err
}

func size(v operation.TemplateVersion) int {
	n := len(v.HTML) + len(v.Sample) + len(v.Options)
	for _, partial := range v.Partials {
		n += len(partial)
	}
	return n
}

func (t *storedTemplates) Pinned(ctx context.Context, id string, version int) (operation.TemplateVersion, error) {
	if t.used != id { // The records of a bulk job read it at the same time.
		t.used = id
	}
	if t.found != nil && t.found.ID == id && t.found.Version == version {
		return *t.found, nil
	}
	found, err := t.store.PinnedVersion(ctx, t.account, id, version)
	return templateVersion(id, found), err
}

func (t *storedTemplates) Draft(ctx context.Context, ref string) (operation.TemplateVersion, error) {
	found, err := t.store.Template(ctx, t.account, ref)
	t.used = found.ID
	return operation.TemplateVersion{
		ID: found.ID, HTML: found.Content.HTML, Sample: found.Content.SampleData, Options: found.Content.Options,
	}, err
}

func (t *storedTemplates) Partials(ctx context.Context) (map[string]string, error) {
	list, err := t.store.Partials(ctx, t.account)
	if err != nil {
		return nil, err
	}

	partials := make(map[string]string, len(list))
	for _, p := range list {
		partials[p.Name] = p.HTML
	}
	return partials, nil
}

func templateVersion(id string, v store.TemplateVersion) operation.TemplateVersion {
	return operation.TemplateVersion{
		ID: id, Version: v.Version, HTML: v.Content.HTML, Sample: v.Content.SampleData, Options: v.Content.Options,
		Partials: v.Partials,
	}
}
