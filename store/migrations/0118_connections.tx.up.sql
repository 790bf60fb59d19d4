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

-- The place in a connection to which a result was delivered, for its row in delivered (delivered.go).
CREATE TABLE IF NOT EXISTS delivered_objects (
    file_id       {{.ID}} NOT NULL PRIMARY KEY,
    account_id    {{.ID}} NOT NULL,
    kind          TEXT NOT NULL,
    connection_id {{.ID}} NOT NULL,
    object_key    TEXT NOT NULL,
    delivered_at  {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivered_objects_account ON delivered_objects (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS delivered_objects_age ON delivered_objects (delivered_at);
