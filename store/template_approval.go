package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/uptrace/bun"
)

// TemplateApproval is the state of a template in which a user has approved its pages.
type TemplateApproval struct {
	Content  TemplateContent
	Partials map[string]string
	By       string
	At       time.Time
}

type templateApprovalRow struct {
	bun.BaseModel `bun:"table:template_approvals"`

	TemplateID string `bun:",pk"`
	HTML       string
	SampleData string
	Options    string
	Partials   string
	ApprovedBy string
	ApprovedAt int64
}

// ApproveTemplate records that a user has approved the pages of the draft as it is now, with the account's partials. A
// later approval replaces it, and publishing or discarding the draft ends it. It returns ErrNoDraft if there is none,
// ErrChanged if the revision is not the expected one, and ErrNotFound as Template does.
func (s *Store) ApproveTemplate(ctx context.Context, accountID, ref string, expected int64, by string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		row, err := findTemplate(ctx, tx, accountID, ref)
		switch {
		case err != nil:
			return err
		case row.Revision != expected:
			return ErrChanged
		case !row.HasDraft:
			return ErrNoDraft
		}

		content, err := contentOf(ctx, tx, &row)
		if err != nil {
			return err
		}

		var partials []partialRow
		if err := tx.NewSelect().Model(&partials).Where("account_id = ?", accountID).Scan(ctx); err != nil {
			return err
		}

		all := make(map[string]string, len(partials))
		for _, p := range partials {
			all[p.Name] = p.HTML
		}
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}

		_, err = tx.NewInsert().Model(&templateApprovalRow{
			TemplateID: row.ID,
			HTML:       content.HTML,
			SampleData: object(content.SampleData),
			Options:    object(content.Options),
			Partials:   string(text),
			ApprovedBy: by,
			ApprovedAt: toMicros(s.now()),
		}).On("CONFLICT (template_id) DO UPDATE").Set("html = EXCLUDED.html").Set("sample_data = EXCLUDED.sample_data").
			Set("options = EXCLUDED.options").
			Set("partials = EXCLUDED.partials").Set("approved_by = EXCLUDED.approved_by").
			Set("approved_at = EXCLUDED.approved_at").Exec(ctx)
		return err
	})
	return wrapped("approve template", err)
}

// TemplateApproval returns the approval of a template's draft. It returns ErrNotFound if there is none since the last
// publication, and as Template does.
func (s *Store) TemplateApproval(ctx context.Context, accountID, ref string) (TemplateApproval, error) {
	var row templateApprovalRow
	err := s.inSnapshot(ctx, func(ctx context.Context, tx txn) error {
		found, err := findTemplate(ctx, tx, accountID, ref)
		if err != nil {
			return err
		}

		query := tx.NewSelect().Model(&row).Where("template_id = ?", found.ID)
		if found.PublishedAt != nil {
			query.Where("approved_at > ?", *found.PublishedAt)
		}
		return notFound(query.Scan(ctx))
	})
	if err != nil {
		return TemplateApproval{}, wrapped("read approval", err)
	}

	a := TemplateApproval{
		Content: TemplateContent{row.HTML, json.RawMessage(row.SampleData), json.RawMessage(row.Options)},
		By:      row.ApprovedBy,
		At:      fromMicros(row.ApprovedAt),
	}
	return a, wrapped("read approval", json.Unmarshal([]byte(row.Partials), &a.Partials))
}
