-- Templates. What is small and listed stands in templates; the sources stand
-- beside it, one draft at most and a row for each published version, which
-- nothing changes afterwards. A version keeps the partials it was published with.

CREATE TABLE IF NOT EXISTS templates (
    id                {{.ID}} NOT NULL PRIMARY KEY,
    account_id        {{.ID}} NOT NULL REFERENCES accounts (id),
    slug              {{.ID}} NOT NULL,
    name              TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    category          TEXT NOT NULL DEFAULT '',
    has_draft         {{.Bool}} NOT NULL,
    published_version {{.Int}} CHECK (published_version > 0),
    published_at      {{.Int}},
    revision          {{.Int}} NOT NULL CHECK (revision > 0),
    size              {{.Int}} NOT NULL DEFAULT 0,
    created_at        {{.Int}} NOT NULL,
    updated_at        {{.Int}} NOT NULL,
    deleted_at        {{.Int}}
){{.Hot}};

--bun:split

-- A slug is free again when its template is deleted.
CREATE UNIQUE INDEX IF NOT EXISTS templates_slug ON templates (account_id, slug) WHERE deleted_at IS NULL;

--bun:split

CREATE INDEX IF NOT EXISTS templates_list ON templates (account_id, id) WHERE deleted_at IS NULL;

--bun:split

CREATE TABLE IF NOT EXISTS template_drafts (
    template_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES templates (id),
    html        TEXT NOT NULL,
    sample_data TEXT NOT NULL,
    options     TEXT NOT NULL
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS template_versions (
    template_id  {{.ID}} NOT NULL REFERENCES templates (id),
    version      {{.Int}} NOT NULL CHECK (version > 0),
    html         TEXT NOT NULL,
    sample_data  TEXT NOT NULL,
    options      TEXT NOT NULL,
    partials     TEXT NOT NULL,
    comment      TEXT NOT NULL DEFAULT '',
    published_at {{.Int}} NOT NULL,
    PRIMARY KEY (template_id, version)
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS template_partials (
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    name       {{.ID}} NOT NULL,
    html       TEXT NOT NULL,
    updated_at {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, name)
){{.Strict}};
