package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// The most that one account may have.
const (
	MaxTemplates = 1000
	MaxVersions  = 1000 // of one template
	MaxPartials  = 200
)

var (
	// ErrTooMany means that the account has as many of these as it may.
	ErrTooMany = errors.New("too many")
	// ErrChanged means that a template has changed since the caller read it.
	ErrChanged = errors.New("changed since it was read")
	// ErrNoDraft means that a template has no draft to publish or to discard.
	ErrNoDraft = errors.New("there is no draft")
	// ErrNeverPublished means that a template would have nothing left.
	ErrNeverPublished = errors.New("never published")
)

// TemplateContent is the content of a draft or a version of a template. SampleData and Options are JSON objects.
type TemplateContent struct {
	HTML       string
	SampleData json.RawMessage
	Options    json.RawMessage
}

func (c TemplateContent) size() int64 { return int64(len(c.SampleData) + len(c.Options)) }

// Template is a template as its account sees it: with its draft if there is one, or else its published version.
type Template struct {
	ID, AccountID         string // the id is a UUID
	Slug, Name            string
	Description, Category string
	HasDraft              bool
	PublishedVersion      int // 0 is never
	CreatedAt, UpdatedAt  time.Time
	PublishedAt           *time.Time
	// Revision grows with every change.
	Revision int64
	// Content is empty in lists, but for its sample data and options.
	Content TemplateContent

	size int64 // of the content, without its source
}

// TemplateVersion is a published version.
type TemplateVersion struct {
	Version     int
	Comment     string
	PublishedAt time.Time
	// Content and Partials are empty in lists.
	Content  TemplateContent
	Partials map[string]string
}

// NewTemplate is a template to be created, as a draft. FreeSlug makes another
// slug of one that is taken.
type NewTemplate struct {
	AccountID, Slug, Name, Description, Category string
	FreeSlug                                     bool
	Content                                      TemplateContent
}

// TemplateChange changes the fields that are not nil.
type TemplateChange struct {
	Slug, Name, Description, Category, HTML *string
	SampleData, Options                     json.RawMessage
}

type templateRow struct {
	bun.BaseModel `bun:"table:templates,alias:t"`

	ID               string `bun:",pk"`
	AccountID        string
	Slug, Name       string
	Description      string
	Category         string
	HasDraft         bool
	PublishedVersion *int
	PublishedAt      *int64
	Revision         int64
	Size             int64
	CreatedAt        int64
	UpdatedAt        int64
	DeletedAt        *int64
}

type templateDraftRow struct {
	bun.BaseModel `bun:"table:template_drafts"`

	TemplateID string `bun:",pk"`
	HTML       string
	SampleData string
	Options    string
}

type templateVersionRow struct {
	bun.BaseModel `bun:"table:template_versions"`

	TemplateID  string `bun:",pk"`
	Version     int    `bun:",pk"`
	HTML        string
	SampleData  string
	Options     string
	Partials    string
	Comment     string
	PublishedAt int64
}

func (r *templateRow) template(content TemplateContent) Template {
	t := Template{
		ID:          r.ID,
		AccountID:   r.AccountID,
		Slug:        r.Slug,
		Name:        r.Name,
		Description: r.Description,
		Category:    r.Category,
		HasDraft:    r.HasDraft,
		CreatedAt:   fromMicros(r.CreatedAt),
		UpdatedAt:   fromMicros(r.UpdatedAt),
		PublishedAt: fromMicrosPtr(r.PublishedAt),
		Revision:    r.Revision,
		Content:     content,
		size:        r.Size,
	}

	if r.PublishedVersion != nil {
		t.PublishedVersion = *r.PublishedVersion
	}
	return t
}

func draftOf(id string, c TemplateContent) *templateDraftRow {
	return &templateDraftRow{TemplateID: id, HTML: c.HTML, SampleData: object(c.SampleData), Options: object(c.Options)}
}

func (r *templateDraftRow) content() TemplateContent {
	return TemplateContent{r.HTML, json.RawMessage(r.SampleData), json.RawMessage(r.Options)}
}

func (r *templateVersionRow) content() TemplateContent {
	return TemplateContent{r.HTML, json.RawMessage(r.SampleData), json.RawMessage(r.Options)}
}

// object is a JSON object's text; nothing is an empty one.
func object(text json.RawMessage) string {
	if len(text) == 0 {
		return "{}"
	}
	return string(text)
}

// CreateTemplate makes a template with a draft. It returns ErrExists when the slug
// is taken, ErrTooMany when the account has MaxTemplates, and ErrNotFound for an
// unknown account.
func (s *Store) CreateTemplate(ctx context.Context, n NewTemplate) (Template, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Template{}, err
	}

	now := toMicros(s.now())
	var row templateRow
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if err := s.lockAccount(ctx, tx, n.AccountID); err != nil {
			return err
		}

		count, err := tx.NewSelect().Model((*templateRow)(nil)).
			Where("account_id = ? AND deleted_at IS NULL", n.AccountID).Count(ctx)
		if err != nil {
			return err
		}
		if count >= MaxTemplates {
			return ErrTooMany
		}

		slug, err := freeSlug(ctx, tx, n.AccountID, n.Slug, n.FreeSlug)
		if err != nil {
			return err
		}

		row = templateRow{
			ID:          id.String(),
			AccountID:   n.AccountID,
			Slug:        slug,
			Name:        n.Name,
			Description: n.Description,
			Category:    n.Category,
			HasDraft:    true,
			Revision:    1,
			Size:        n.Content.size(),
			CreatedAt:   now,
			UpdatedAt:   now,
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return err
		}

		_, err = tx.NewInsert().Model(draftOf(row.ID, n.Content)).Exec(ctx)
		return err
	})
	if err != nil {
		return Template{}, fmt.Errorf("create template: %w", err)
	}

	return row.template(draftOf(row.ID, n.Content).content()), nil
}

// freeSlug returns a slug that the account has not: the one asked for, or with
// other one like it. The caller has locked the account.
func freeSlug(ctx context.Context, tx txn, accountID, slug string, other bool) (string, error) {
	var taken []string
	err := tx.NewSelect().Model((*templateRow)(nil)).Column("slug").
		Where("account_id = ? AND deleted_at IS NULL AND slug >= ? AND slug < ?", accountID, slug, slug+"\U0010FFFF").
		Scan(ctx, &taken)
	if err != nil {
		return "", err
	}

	used := make(map[string]bool, len(taken))
	for _, t := range taken {
		used[t] = true
	}

	if !used[slug] {
		return slug, nil
	}
	if !other {
		return "", ErrExists
	}

	for n := 2; ; n++ {
		if candidate := slug + "-" + strconv.Itoa(n); !used[candidate] {
			return candidate, nil
		}
	}
}

// findTemplate reads the row of a live template by its id or its slug.
func findTemplate(ctx context.Context, db bun.IDB, accountID, ref string) (templateRow, error) {
	var row templateRow
	if !storable(ref) {
		return row, ErrNotFound
	}

	column := "slug"
	if id, ok := templateID(ref); ok {
		column = "id"
		ref = id
	}

	err := db.NewSelect().Model(&row).Where("? = ?", bun.Ident(column), ref).
		Where("account_id = ? AND deleted_at IS NULL", accountID).Scan(ctx)
	return row, notFound(err)
}

// templateID returns the ID in a reference to a template, unless the reference is a slug.
func templateID(ref string) (string, bool) {
	id, err := uuid.Parse(ref)
	return id.String(), err == nil && len(ref) == len(id.String())
}

// contentOf reads a template's draft, or its latest version if it has none.
func contentOf(ctx context.Context, db bun.IDB, row *templateRow) (TemplateContent, error) {
	if row.HasDraft {
		var draft templateDraftRow
		err := db.NewSelect().Model(&draft).Where("template_id = ?", row.ID).Scan(ctx)
		return draft.content(), notFound(err)
	}
	version, err := versionOf(ctx, db, row.ID, *row.PublishedVersion)
	return version.content(), err
}

func versionOf(ctx context.Context, db bun.IDB, id string, version int) (templateVersionRow, error) {
	var row templateVersionRow
	err := db.NewSelect().Model(&row).Where("template_id = ? AND version = ?", id, version).Scan(ctx)
	return row, notFound(err)
}

// Template returns the account's template with an id or a slug. It returns
// ErrNotFound for an unknown one, a deleted one and another account's.
func (s *Store) Template(ctx context.Context, accountID, ref string) (Template, error) {
	var found Template
	err := s.inSnapshot(ctx, func(ctx context.Context, tx txn) error {
		row, err := findTemplate(ctx, tx, accountID, ref)
		if err != nil {
			return err
		}

		content, err := contentOf(ctx, tx, &row)
		found = row.template(content)
		return err
	})
	return found, wrapped("read template", err)
}

// TemplateFilter selects templates. An empty field means any.
type TemplateFilter struct {
	List

	AccountID      string // needed
	Search         string // words of the name, the slug or the description
	Category       string
	State          string // draft or published
	WithoutContent bool   // without sample data and options
}

func (r *templateRow) key() string             { return r.ID }
func (r *templateRow) item(time.Time) Template { return r.template(TemplateContent{}) }

// maxListed bounds the contents of a page of templates in bytes; such a page has
// fewer entries than it could.
const maxListed = 8 << 20

// Templates lists templates, the newest first, without their sources.
func (s *Store) Templates(ctx context.Context, f TemplateFilter) (Page[Template], error) {
	page, err := readPage[Template, templateRow](ctx, s, "", f.List, func(q *bun.SelectQuery) {
		q.Where("account_id = ? AND deleted_at IS NULL", f.AccountID)
		equal(q, "category", f.Category)

		switch f.State {
		case "draft":
			q.Where("published_version IS NULL")
		case "published":
			q.Where("published_version IS NOT NULL")
		}

		for word := range strings.FieldsSeq(strings.ToLower(f.Search)) {
			q.Where(`(lower(name) LIKE ?0 ESCAPE '\' OR slug LIKE ?0 ESCAPE '\' OR lower(description) LIKE ?0 ESCAPE '\')`,
				containing(clean(word, maxSearch)))
		}
	})
	if err != nil {
		return page, fmt.Errorf("list templates: %w", err)
	}

	if f.WithoutContent {
		return page, nil
	}
	if err := s.fillListed(ctx, &page); err != nil {
		return page, fmt.Errorf("list templates: %w", err)
	}

	return page, nil
}

// TemplateCategories returns the categories that the account's templates have.
func (s *Store) TemplateCategories(ctx context.Context, accountID string) ([]string, error) {
	var names []string
	err := s.read.NewSelect().Model((*templateRow)(nil)).Distinct().Column("category").
		Where("account_id = ? AND deleted_at IS NULL AND category <> ''", accountID).Order("category").Scan(ctx, &names)
	return names, wrapped("read categories", err)
}

// fillListed gives the entries of a page their sample data and options, and cuts
// the page where these become too large.
func (s *Store) fillListed(ctx context.Context, page *Page[Template]) error {
	var total int64
	var drafts, published []string
	at := make(map[string]*Template, len(page.Items))

	for i := range page.Items {
		t := &page.Items[i]
		// The draft may have been discarded or published since.
		t.Content = TemplateContent{SampleData: json.RawMessage("{}"), Options: json.RawMessage("{}")}
		at[t.ID] = t
		if t.HasDraft {
			drafts = append(drafts, t.ID)
		} else {
			published = append(published, t.ID)
		}

		total += t.size
		if total > maxListed && i > 0 && i+1 < len(page.Items) {
			page.Items = page.Items[:i+1]
			page.Next = page.Items[i].ID
			break
		}
	}

	for _, part := range []struct {
		ids  []string
		from *bun.SelectQuery
	}{
		{drafts, s.read.NewSelect().TableExpr("template_drafts AS c")},
		{published, s.read.NewSelect().TableExpr("template_versions AS c").
			Join("JOIN templates AS t ON t.id = c.template_id AND t.published_version = c.version")},
	} {
		if len(part.ids) == 0 {
			continue
		}

		var rows []struct{ TemplateID, SampleData, Options string }
		err := part.from.ColumnExpr("c.template_id, c.sample_data, c.options").
			Where("c.template_id IN (?)", bun.List(part.ids)).Scan(ctx, &rows)
		if err != nil {
			return err
		}

		for _, row := range rows {
			at[row.TemplateID].Content = TemplateContent{
				SampleData: json.RawMessage(row.SampleData),
				Options:    json.RawMessage(row.Options),
			}
		}
	}

	return nil
}
