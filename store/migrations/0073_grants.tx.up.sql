-- Programs that people let act for an account (OAuth 2.1). Codes and tokens are kept
-- as hashes. See 0001_initial.tx.up.sql for the conventions.

-- Programs that have registered themselves (RFC 7591).
CREATE TABLE IF NOT EXISTS oauth_clients (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    redirects  TEXT NOT NULL,
    address    TEXT NOT NULL,
    created_at {{.Int}} NOT NULL,
    used_at    {{.Int}}
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_clients_age ON oauth_clients (created_at);

--bun:split

-- What a program may do. Its cap, what it has spent, its end and whether it was
-- revoked stand in its row of keys, of which nobody has the secret: a call by a
-- grant is held to its cap as one with a key is, in the same transaction.
CREATE TABLE IF NOT EXISTS oauth_grants (
    key_id     {{.ID}} NOT NULL PRIMARY KEY REFERENCES keys (id),
    account_id {{.ID}} NOT NULL,
    person_id  {{.ID}} NOT NULL,
    client_id  TEXT NOT NULL,
    home       TEXT NOT NULL,
    resource   TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_grants_account ON oauth_grants (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS oauth_grants_client ON oauth_grants (client_id);

--bun:split

-- Codes that a program changes for tokens, once, with what was allowed.
CREATE TABLE IF NOT EXISTS oauth_codes (
    hash        {{.Bytes}} NOT NULL PRIMARY KEY,
    client_id   TEXT NOT NULL,
    client_name TEXT NOT NULL,
    redirect    TEXT NOT NULL,
    challenge   TEXT NOT NULL,
    resource    TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    account_id  {{.ID}} NOT NULL,
    person_id   {{.ID}} NOT NULL,
    spend_limit {{.Int}} NOT NULL CHECK (spend_limit >= 0),
    ends_at     {{.Int}} NOT NULL,
    used        {{.Bool}} NOT NULL DEFAULT FALSE,
    key_id      {{.ID}},
    created_at  {{.Int}} NOT NULL,
    expires_at  {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_codes_age ON oauth_codes (created_at);

--bun:split

CREATE TABLE IF NOT EXISTS oauth_tokens (
    hash       {{.Bytes}} NOT NULL PRIMARY KEY,
    key_id     {{.ID}} NOT NULL REFERENCES keys (id),
    refresh    {{.Bool}} NOT NULL,
    scopes     TEXT NOT NULL,
    used       {{.Bool}} NOT NULL DEFAULT FALSE,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_tokens_key ON oauth_tokens (key_id);

--bun:split

CREATE INDEX IF NOT EXISTS oauth_tokens_expiry ON oauth_tokens (expires_at);
