-- People, what they are members of, their sessions, and the log of what they
-- changed. See 0001_initial.tx.up.sql for the conventions.

CREATE TABLE IF NOT EXISTS people (
    id               {{.ID}} NOT NULL PRIMARY KEY,
    email            TEXT NOT NULL UNIQUE,
    name             TEXT NOT NULL DEFAULT '',
    password         TEXT NOT NULL DEFAULT '',
    password_set_at  {{.Int}},
    verified_at      {{.Int}},
    factor           {{.Bytes}},
    factor_step      {{.Int}} NOT NULL DEFAULT 0,
    operator         {{.Bool}} NOT NULL DEFAULT FALSE,
    identity         TEXT,
    created_at       {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- One identity of an outside provider belongs to one person.
CREATE UNIQUE INDEX IF NOT EXISTS people_identity ON people (identity) WHERE identity IS NOT NULL;

--bun:split

CREATE TABLE IF NOT EXISTS members (
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    person_id  {{.ID}} NOT NULL REFERENCES people (id),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'billing', 'viewer')),
    created_at {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, person_id)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS members_person ON members (person_id);

--bun:split

CREATE TABLE IF NOT EXISTS invites (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    email      TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'billing', 'viewer')),
    inviter_id {{.ID}} NOT NULL,
    token_hash {{.Bytes}} NOT NULL UNIQUE,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL,
    UNIQUE (account_id, email)
){{.Strict}};

--bun:split

-- Links in mails: single use, by the hash of what the link carries.
CREATE TABLE IF NOT EXISTS tokens (
    hash       {{.Bytes}} NOT NULL PRIMARY KEY,
    purpose    TEXT NOT NULL,
    person_id  {{.ID}} NOT NULL REFERENCES people (id),
    data       TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS tokens_person ON tokens (person_id, purpose);

--bun:split

CREATE INDEX IF NOT EXISTS tokens_expiry ON tokens (expires_at);

--bun:split

CREATE TABLE IF NOT EXISTS recovery_codes (
    person_id {{.ID}} NOT NULL REFERENCES people (id),
    hash      {{.Bytes}} NOT NULL,
    PRIMARY KEY (person_id, hash)
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS sessions (
    token      TEXT NOT NULL PRIMARY KEY,
    public_id  {{.ID}} NOT NULL UNIQUE,
    person_id  {{.ID}},
    data       {{.Bytes}} NOT NULL,
    device     TEXT NOT NULL DEFAULT '',
    address    TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL,
    seen_at    {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS sessions_person ON sessions (person_id) WHERE person_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at);

--bun:split

-- Who changed what. An entry of the installation has no account.
CREATE TABLE IF NOT EXISTS audit (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}},
    person_id  {{.ID}},
    who        TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL DEFAULT '',
    note       TEXT NOT NULL DEFAULT '',
    address    TEXT NOT NULL DEFAULT '',
    operator   {{.Bool}} NOT NULL DEFAULT FALSE,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS audit_account ON audit (account_id, id) WHERE account_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS audit_operator ON audit (id) WHERE operator;

--bun:split

-- Letters that wait to be sent, encrypted: they hold links that sign people in.
CREATE TABLE IF NOT EXISTS letters (
    id           {{.ID}} NOT NULL PRIMARY KEY,
    sealed       {{.Bytes}} NOT NULL,
    attempts     {{.Int}} NOT NULL DEFAULT 0,
    due_at       {{.Int}} NOT NULL,
    created_at   {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS letters_due ON letters (due_at);
