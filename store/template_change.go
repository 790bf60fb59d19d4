package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// changeTemplate makes one change of a live template, in a transaction that excludes other changes of it. expected is
// the revision that the caller has seen; 0 means any. It returns ErrChanged if the revision is another.
func (s *Store) changeTemplate(
	ctx context.Context, accountID, ref string, expected int64,
	change func(context.Context, txn, *templateRow) error,
) (Template, error) {
	var changed Template
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		row, err := findTemplate(ctx, tx, accountID, ref)
		if err != nil {
			return err
		}

		// The update locks the row on PostgreSQL, and then sees its last state.
		query := tx.NewUpdate().Model(&row).Set("revision = revision + 1").Set("updated_at = ?", toMicros(s.now())).
			Where("id = ? AND deleted_at IS NULL", row.ID).Returning("*")
		if err := notFound(query.Scan(ctx)); err != nil {
			return err
		}
		if expected != 0 && row.Revision != expected+1 {
			return ErrChanged
		}

		if err := change(ctx, tx, &row); err != nil {
			return err
		}
		if _, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx); err != nil {
			return err
		}

		if row.DeletedAt != nil {
			return nil
		}
		content, err := contentOf(ctx, tx, &row)
		changed = row.template(content)
		return err
	})
	return changed, err
}

// UpdateTemplate changes a template's draft, and starts one if there is none. It returns ErrExists when the slug is
// taken, ErrChanged as expected asks for, and ErrNotFound as Template does.
func (s *Store) UpdateTemplate(
	ctx context.Context, accountID, ref string, expected int64, c TemplateChange,
) (Template, error) {
	update := func(ctx context.Context, tx txn, row *templateRow) error {
		content, err := contentOf(ctx, tx, row)
		if err != nil {
			return err
		}

		if c.Slug != nil && *c.Slug != row.Slug {
			if err := s.lockAccount(ctx, tx, accountID); err != nil {
				return err
			}
			if row.Slug, err = freeSlug(ctx, tx, accountID, *c.Slug, false); err != nil {
				return err
			}
		}

		set(&row.Name, c.Name)
		set(&row.Description, c.Description)
		set(&row.Category, c.Category)
		set(&content.HTML, c.HTML)
		if c.SampleData != nil {
			content.SampleData = c.SampleData
		}
		if c.Options != nil {
			content.Options = c.Options
		}

		return putDraft(ctx, tx, row, content)
	}

	changed, err := s.changeTemplate(ctx, accountID, ref, expected, update)
	return changed, wrapped("update template", err)
}

func set(to, from *string) {
	if from != nil {
		*to = *from
	}
}

// putDraft makes content the draft.
func putDraft(ctx context.Context, tx txn, row *templateRow, content TemplateContent) error {
	row.HasDraft = true
	row.Size = content.size()
	_, err := tx.NewInsert().Model(draftOf(row.ID, content)).On("CONFLICT (template_id) DO UPDATE").
		Set("html = EXCLUDED.html").Set("sample_data = EXCLUDED.sample_data").Set("options = EXCLUDED.options").
		Exec(ctx)
	return err
}

// dropDraft deletes the draft and the approval of its pages.
func dropDraft(ctx context.Context, tx txn, row *templateRow) error {
	row.HasDraft = false
	_, err := tx.NewDelete().Model((*templateDraftRow)(nil)).Where("template_id = ?", row.ID).Exec(ctx)
	if err != nil {
		return err
	}
	_, err = tx.NewDelete().Model((*templateApprovalRow)(nil)).Where("template_id = ?", row.ID).Exec(ctx)
	return err
}

// PublishTemplate makes the draft the next version, with the partials that it keeps. It returns ErrNoDraft if there
// is none, ErrTooMany after MaxVersions, ErrChanged as expected asks for, and ErrNotFound as Template does.
func (s *Store) PublishTemplate(
	ctx context.Context, accountID, ref string, expected int64, comment string, partials map[string]string,
) (Template, error) {
	partialsJSON, err := json.Marshal(partials)
	if err != nil {
		return Template{}, err
	}
	if partials == nil {
		partialsJSON = []byte("{}")
	}

	publish := func(ctx context.Context, tx txn, row *templateRow) error {
		if !row.HasDraft {
			return ErrNoDraft
		}

		content, err := contentOf(ctx, tx, row)
		if err != nil {
			return err
		}

		next := 1
		if row.PublishedVersion != nil {
			next = *row.PublishedVersion + 1
		}
		if next > MaxVersions {
			return ErrTooMany
		}

		now := toMicros(s.now())
		_, err = tx.NewInsert().Model(&templateVersionRow{
			TemplateID:  row.ID,
			Version:     next,
			HTML:        content.HTML,
			SampleData:  object(content.SampleData),
			Options:     object(content.Options),
			Partials:    string(partialsJSON),
			Comment:     comment,
			PublishedAt: now,
		}).Exec(ctx)
		if err != nil {
			return err
		}

		row.PublishedVersion = &next
		row.PublishedAt = &now
		return dropDraft(ctx, tx, row)
	}

	changed, err := s.changeTemplate(ctx, accountID, ref, expected, publish)
	return changed, wrapped("publish template", err)
}

// DiscardTemplate drops the draft of a published template. It returns ErrNeverPublished if nothing would be left,
// ErrNoDraft, and ErrNotFound as Template does.
func (s *Store) DiscardTemplate(ctx context.Context, accountID, ref string, expected int64) (Template, error) {
	discard := func(ctx context.Context, tx txn, row *templateRow) error {
		switch {
		case row.PublishedVersion == nil:
			return ErrNeverPublished
		case !row.HasDraft:
			return ErrNoDraft
		}

		if err := dropDraft(ctx, tx, row); err != nil {
			return err
		}

		content, err := contentOf(ctx, tx, row)
		row.Size = content.size()
		return err
	}

	changed, err := s.changeTemplate(ctx, accountID, ref, expected, discard)
	return changed, wrapped("discard draft", err)
}

// RestoreTemplate makes a version the draft. It returns ErrChanged as expected asks
// for, and ErrNotFound as Template does and for an unknown version.
func (s *Store) RestoreTemplate(
	ctx context.Context, accountID, ref string, expected int64, version int,
) (Template, error) {
	restore := func(ctx context.Context, tx txn, row *templateRow) error {
		found, err := versionOf(ctx, tx, row.ID, version)
		if err != nil {
			return err
		}
		return putDraft(ctx, tx, row, found.content())
	}

	changed, err := s.changeTemplate(ctx, accountID, ref, expected, restore)
	return changed, wrapped("restore template", err)
}

// DeleteTemplate deletes a template softly: its versions stay for jobs that use them, and its draft for a restore. It
// returns ErrNotFound as Template does.
func (s *Store) DeleteTemplate(ctx context.Context, accountID, ref string) error {
	_, err := s.changeTemplate(ctx, accountID, ref, 0, func(_ context.Context, _ txn, row *templateRow) error {
		now := toMicros(s.now())
		row.DeletedAt = &now
		return nil
	})
	return wrapped("delete template", err)
}

// UndeleteTime is the period in which a deleted template can be restored.
const UndeleteTime = 24 * time.Hour

// UndeleteTemplate restores a deleted template. It gets another slug if a new template has taken its slug. It
// returns ErrTooMany if the account has MaxTemplates, and ErrNotFound for a template that was not deleted within
// UndeleteTime, and for another account's.
func (s *Store) UndeleteTemplate(ctx context.Context, accountID, id string) (Template, error) {
	var found Template
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if !storable(id) {
			return ErrNotFound
		}

		// Two who take it back at once come one after the other.
		if err := s.lockAccount(ctx, tx, accountID); err != nil {
			return err
		}

		var row templateRow
		err := tx.NewSelect().Model(&row).
			Where("id = ? AND account_id = ? AND deleted_at > ?", id, accountID, toMicros(s.now().Add(-UndeleteTime))).
			Scan(ctx)
		if err != nil {
			return notFound(err)
		}

		count, err := tx.NewSelect().Model((*templateRow)(nil)).Where("account_id = ? AND deleted_at IS NULL", accountID).
			Count(ctx)
		if err != nil {
			return err
		}
		if count >= MaxTemplates {
			return ErrTooMany
		}

		if row.Slug, err = freeSlug(ctx, tx, accountID, row.Slug, true); err != nil {
			return err
		}
		row.DeletedAt = nil
		row.UpdatedAt = toMicros(s.now())
		row.Revision++
		if _, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx); err != nil {
			return err
		}

		content, err := contentOf(ctx, tx, &row)
		found = row.template(content)
		return err
	})
	return found, wrapped("undelete template", err)
}

// TemplateVersions lists the versions of a template, the newest first, without
// their contents. It returns ErrNotFound as Template does.
func (s *Store) TemplateVersions(ctx context.Context, accountID, ref string) ([]TemplateVersion, error) {
	row, err := findTemplate(ctx, s.read, accountID, ref)
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}

	var rows []templateVersionRow
	err = s.read.NewSelect().Model(&rows).Column("version", "comment", "published_at").Where("template_id = ?", row.ID).
		Order("version DESC").Scan(ctx)

	return converted(rows, func(r *templateVersionRow) TemplateVersion {
		return TemplateVersion{Version: r.Version, Comment: r.Comment, PublishedAt: fromMicros(r.PublishedAt)}
	}), wrapped("list versions", err)
}

// Statements that find a version with its template: $1 is the id or the slug, $2
// the account, and $3 the version, 0 for the last one.
var (
	versionByID = versionOfTemplate +
		` = CASE WHEN $3 = 0 THEN t.published_version ELSE $3 END
			WHERE t.id = $1 AND t.account_id = $2 AND t.deleted_at IS NULL`
	versionBySlug = versionOfTemplate +
		` = CASE WHEN $3 = 0 THEN t.published_version ELSE $3 END
			WHERE t.slug = $1 AND t.account_id = $2 AND t.deleted_at IS NULL`
	versionPinned = versionOfTemplate + " = $3 WHERE t.id = $1 AND t.account_id = $2"

	versionOfTemplate = "SELECT " + versionsTable.columns("v") +
		" FROM templates AS t JOIN template_versions AS v ON v.template_id = t.id AND v.version"
)

// TemplateVersion returns a published version of a live template, the last one for 0, and the template's ID. Its
// errors are those of Template, and ErrNotFound for an unknown version.
func (s *Store) TemplateVersion(
	ctx context.Context, accountID, ref string, version int,
) (id string, found TemplateVersion, err error) {
	if !storable(ref) {
		return "", TemplateVersion{}, fmt.Errorf("read version: %w", ErrNotFound)
	}
	query := versionBySlug
	if id, ok := templateID(ref); ok {
		query = versionByID
		ref = id
	}
	return s.version(ctx, query, ref, accountID, version)
}

// PinnedVersion returns a version that was found before, although its template may
// have been deleted since. It returns ErrNotFound for another account's.
func (s *Store) PinnedVersion(ctx context.Context, accountID, id string, version int) (TemplateVersion, error) {
	_, found, err := s.version(ctx, versionPinned, id, accountID, version)
	return found, err
}

func (s *Store) version(
	ctx context.Context, query, ref, accountID string, version int,
) (id string, found TemplateVersion, err error) {
	var row templateVersionRow
	if err := s.readRow(ctx, versionsTable.pointers(&row), query, ref, accountID, version); err != nil {
		return "", found, fmt.Errorf("read version: %w", notFound(err))
	}

	found = TemplateVersion{
		Version:     row.Version,
		Comment:     row.Comment,
		PublishedAt: fromMicros(row.PublishedAt),
		Content:     row.content(),
	}

	if err := json.Unmarshal([]byte(row.Partials), &found.Partials); err != nil {
		return "", found, fmt.Errorf("partials of a version: %w", err)
	}
	return row.TemplateID, found, nil
}
