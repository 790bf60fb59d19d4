-- Drafts whose pages a user has approved, with the partials of that time (template_approval.go). The previous release
-- deletes templates without them.
CREATE TABLE IF NOT EXISTS template_approvals (
    template_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES templates (id) ON DELETE CASCADE,
    html        TEXT NOT NULL,
    sample_data TEXT NOT NULL,
    options     TEXT NOT NULL,
    partials    TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    approved_at {{.Int}} NOT NULL
){{.Strict}};
