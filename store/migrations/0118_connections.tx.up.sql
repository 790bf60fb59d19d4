-- Connections to buckets and file servers of customers (connection.go). Settings are JSON, and the secret is encrypted by
-- the caller. The host key is empty until the first test of an SFTP connection that was created without one.
CREATE TABLE IF NOT EXISTS connections (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    settings   TEXT NOT NULL,
    secret     {{.Bytes}} NOT NULL,
    host_key   TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE UNIQUE INDEX IF NOT EXISTS connections_name ON connections (account_id, name);

--bun:split

-- The previous release writes none of these columns.
ALTER TABLE delivered ADD COLUMN {{if .Postgres}}IF NOT EXISTS {{end}}kind TEXT NOT NULL DEFAULT 'url';

--bun:split

ALTER TABLE delivered ADD COLUMN {{if .Postgres}}IF NOT EXISTS {{end}}connection_id TEXT NOT NULL DEFAULT '';

--bun:split

ALTER TABLE delivered ADD COLUMN {{if .Postgres}}IF NOT EXISTS {{end}}object_key TEXT NOT NULL DEFAULT '';

--bun:split

ALTER TABLE delivered ADD COLUMN {{if .Postgres}}IF NOT EXISTS {{end}}size {{.Int}} NOT NULL DEFAULT 0;
