package call

import (
	"context"

	"relaypdf/api/operation"
	"relaypdf/store"
)

// storedTemplates are the templates of one account.
type storedTemplates struct {
	store   *store.Store
	account string
}

func (t storedTemplates) Find(ctx context.Context, ref string, version int) (operation.TemplateVersion, error) {
	id, found, err := t.store.TemplateVersion(ctx, t.account, ref, version)
	return templateVersion(id, found), err
}

func (t storedTemplates) Pinned(ctx context.Context, id string, version int) (operation.TemplateVersion, error) {
	found, err := t.store.PinnedVersion(ctx, t.account, id, version)
	return templateVersion(id, found), err
}

func (t storedTemplates) Draft(ctx context.Context, ref string) (operation.TemplateVersion, error) {
	found, err := t.store.Template(ctx, t.account, ref)
	return operation.TemplateVersion{ID: found.ID, HTML: found.Content.HTML, Sample: found.Content.SampleData, Options: found.Content.Options}, err
}

func (t storedTemplates) Partials(ctx context.Context) (map[string]string, error) {
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
		ID: id, Version: v.Version, HTML: v.Content.HTML, Sample: v.Content.SampleData, Options: v.Content.Options, Partials: v.Partials,
	}
}
