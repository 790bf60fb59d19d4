-- One set of migrations serves SQLite and PostgreSQL; what differs between
-- them comes from the template's data (see migrate.go). Times are integer
-- microseconds since 1970 in UTC, days are whole days since then, money is
-- integer microdollars. Every statement can be repeated, because a process may
-- die after the commit and before the migration is marked as applied.

CREATE TABLE IF NOT EXISTS accounts (
    id             TEXT NOT NULL PRIMARY KEY,
    email          TEXT NOT NULL UNIQUE,
    plan           TEXT NOT NULL CHECK (plan IN ('free', 'paid')),
    suspended      {{.Bool}} NOT NULL DEFAULT FALSE,
    suspend_reason TEXT NOT NULL DEFAULT '',
    funded         {{.Bool}} NOT NULL DEFAULT FALSE,
    auto_reload    {{.Bool}} NOT NULL DEFAULT FALSE,
    balance        {{.Int}} NOT NULL DEFAULT 0 CHECK (balance >= 0),
    held           {{.Int}} NOT NULL DEFAULT 0 CHECK (held >= 0),
    max_job        {{.Int}} CHECK (max_job >= 0),
    max_day        {{.Int}} CHECK (max_day >= 0),
    day            {{.Int}} NOT NULL DEFAULT 0,
    day_spent      {{.Int}} NOT NULL DEFAULT 0 CHECK (day_spent >= 0),
    created_at     {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS keys (
    id           TEXT NOT NULL PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES accounts (id),
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         {{.Bytes}} NOT NULL UNIQUE,
    test         {{.Bool}} NOT NULL,
    expires_at   {{.Int}},
    spend_limit  {{.Int}} CHECK (spend_limit >= 0),
    spent        {{.Int}} NOT NULL DEFAULT 0 CHECK (spent >= 0),
    operations   TEXT NOT NULL DEFAULT '',
    created_at   {{.Int}} NOT NULL,
    revoked_at   {{.Int}},
    last_used_at {{.Int}}
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS keys_account ON keys (account_id);

--bun:split

CREATE TABLE IF NOT EXISTS calls (
    id              TEXT NOT NULL PRIMARY KEY,
    result_id       TEXT NOT NULL UNIQUE,
    account_id      TEXT NOT NULL REFERENCES accounts (id),
    key_id          TEXT REFERENCES keys (id),
    operation       TEXT NOT NULL,
    mode            TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    idempotency_key TEXT NOT NULL DEFAULT '',
    lease           TEXT NOT NULL,
    metered         {{.Bool}} NOT NULL,
    quote           {{.Int}} NOT NULL CHECK (quote >= 0),
    charge          {{.Int}} NOT NULL DEFAULT 0 CHECK (charge >= 0 AND charge <= quote),
    status          TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed')),
    error_code      TEXT NOT NULL DEFAULT '',
    error_message   TEXT NOT NULL DEFAULT '',
    day             {{.Int}} NOT NULL,
    created_at      {{.Int}} NOT NULL,
    ended_at        {{.Int}},
    duration        {{.Int}} NOT NULL DEFAULT 0
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS calls_account_day ON calls (account_id, day);

--bun:split

-- The reaper's index: only the few calls that are running are in it.
CREATE INDEX IF NOT EXISTS calls_running ON calls (id) WHERE status = 'running';

--bun:split

CREATE TABLE IF NOT EXISTS ledger (
    id         {{.Serial}},
    account_id TEXT NOT NULL REFERENCES accounts (id),
    call_id    TEXT REFERENCES calls (id),
    kind       TEXT NOT NULL CHECK (kind IN ('trial', 'credit', 'hold', 'settle', 'release')),
    book       TEXT NOT NULL CHECK (book IN ('wallet', 'held', 'revenue', 'promotion', 'payment')),
    amount     {{.Int}} NOT NULL CHECK (amount <> 0),
    reason     TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL,
    UNIQUE (call_id, kind, book)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS ledger_account ON ledger (account_id, book);

--bun:split

CREATE TABLE IF NOT EXISTS idempotency (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    idem_key   TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    body_hash  {{.Bytes}} NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'done')),
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, idem_key)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS idempotency_expiry ON idempotency (expires_at);

--bun:split

CREATE TABLE IF NOT EXISTS leases (
    id         TEXT NOT NULL PRIMARY KEY,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS files (
    id           TEXT NOT NULL PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES accounts (id),
    call_id      TEXT REFERENCES calls (id),
    filename     TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size         {{.Int}} NOT NULL CHECK (size >= 0),
    blob_key     TEXT NOT NULL,
    downloads    {{.Int}} NOT NULL DEFAULT 0,
    created_at   {{.Int}} NOT NULL,
    expires_at   {{.Int}} NOT NULL,
    deleted_at   {{.Int}}
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS files_account ON files (account_id, created_at);

--bun:split

CREATE INDEX IF NOT EXISTS files_expiry ON files (expires_at);

--bun:split

-- Blobs without a row are swept by asking for their keys.
CREATE INDEX IF NOT EXISTS files_blob ON files (blob_key);
