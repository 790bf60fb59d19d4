-- What has left the database for the files: a month of a table, by its name. See
-- archive.go, and 0001_initial.tx.up.sql for the conventions.
CREATE TABLE IF NOT EXISTS archives (
    month       {{.Int}} NOT NULL,
    name        TEXT NOT NULL,
    row_count   {{.Int}} NOT NULL,
    size        {{.Int}} NOT NULL,
    sha256      TEXT NOT NULL,
    blob_key    TEXT NOT NULL,
    region      {{.ID}} NOT NULL,
    archived_at {{.Int}} NOT NULL,
    PRIMARY KEY (month, name, blob_key)
){{.Strict}};
