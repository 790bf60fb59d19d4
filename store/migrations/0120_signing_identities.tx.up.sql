-- Private keys with their certificates (signing_identity.go). The certificate is JSON, and the secret is encrypted by the
-- caller.
CREATE TABLE IF NOT EXISTS signing_identities (
    id          {{.ID}} NOT NULL PRIMARY KEY,
    account_id  {{.ID}} NOT NULL REFERENCES accounts (id),
    name        TEXT NOT NULL,
    certificate TEXT NOT NULL,
    secret      {{.Bytes}} NOT NULL,
    created_at  {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE UNIQUE INDEX IF NOT EXISTS signing_identities_name ON signing_identities (account_id, name);

--bun:split

-- API keys that may use the signing identities of their account (key.go).
CREATE TABLE IF NOT EXISTS signing_keys (
    key_id     {{.ID}} NOT NULL PRIMARY KEY REFERENCES keys (id),
    account_id {{.ID}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS signing_keys_account ON signing_keys (account_id);
