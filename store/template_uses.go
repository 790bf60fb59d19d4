package store

import (
	"context"
	"regexp"
	"slices"
)

// PartialUse is a template whose draft, or else whose published version, names
// partials.
type PartialUse struct {
	TemplateID, Name string
	Partials         []string // by their names, in order
}

var (
	mustacheComment = regexp.MustCompile(`(?s)\{\{~?!--.*?--~?\}\}|\{\{~?![^}]*\}\}`)
	partialTag      = regexp.MustCompile(`\{\{~?#?\s*>\s*(?:"([^"}]+)"|'([^'}]+)'|([\w-]+))`)
)

// PartialsIn returns the names of the partials that a source includes, each once, in order, without those that an
// expression chooses.
func PartialsIn(html string) []string {
	var names []string
	for _, found := range partialTag.FindAllStringSubmatch(mustacheComment.ReplaceAllString(html, ""), -1) {
		names = append(names, found[1]+found[2]+found[3])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PartialUses returns the templates of an account that include partials, by name. Only one of them is in memory at a
// time, and smaller readers do not wait for it.
func (s *Store) PartialUses(ctx context.Context, accountID string) (list []PartialUse, err error) {
	err = s.inReport(ctx, func(ctx context.Context, tx txn) error {
		rows, err := tx.NewSelect().TableExpr("templates AS t").ColumnExpr("t.id, t.name, coalesce(d.html, v.html)").
			Join("LEFT JOIN template_drafts AS d ON d.template_id = t.id").
			Join("LEFT JOIN template_versions AS v ON v.template_id = t.id AND v.version = t.published_version").
			Where("t.account_id = ? AND t.deleted_at IS NULL", accountID).
			Where("coalesce(d.html, v.html) LIKE ?", "%{{%>%").
			OrderExpr("t.name, t.id").Rows(ctx)
		if err != nil {
			return err
		}
		defer rows.Close()

		for rows.Next() {
			var use PartialUse
			var html string
			if err := rows.Scan(&use.TemplateID, &use.Name, &html); err != nil {
				return err
			}
			use.Partials = PartialsIn(html)
			if len(use.Partials) > 0 {
				list = append(list, use)
			}
		}

		return rows.Err()
	})
	return list, wrapped("read uses of partials", err)
}
