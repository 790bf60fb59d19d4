-- Prices that were promised, and what came of generating templates. See
-- 0001_initial.tx.up.sql for the conventions.

CREATE TABLE IF NOT EXISTS quotes (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    digest     {{.Bytes}} NOT NULL,
    amount     {{.Int}} NOT NULL CHECK (amount >= 0),
    call_id    {{.ID}},
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- A call uses one quote; a failed one gives it back.
CREATE UNIQUE INDEX IF NOT EXISTS quotes_call ON quotes (call_id) WHERE call_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS quotes_age ON quotes (created_at);

--bun:split

-- Generations that have failed on a day, and those that have not ended yet.
CREATE TABLE IF NOT EXISTS generation_days (
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    day        {{.Int}} NOT NULL,
    failures   {{.Int}} NOT NULL CHECK (failures >= 0),
    PRIMARY KEY (account_id, day)
){{.Strict}};
