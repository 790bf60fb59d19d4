-- Auto-reload, and indexes for what is looked for every minute. See
-- 0001_initial.tx.up.sql for the conventions.

-- When a wallet falls below the threshold, the amount is taken from the saved
-- method. An attempt has an id, which the provider of payments knows it by, as
-- long as it is not known how it ended; only the holder of its lease works on it.
CREATE TABLE IF NOT EXISTS reloads (
    account_id     TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    threshold      {{.Int}} NOT NULL CHECK (threshold > 0),
    amount         {{.Int}} NOT NULL CHECK (amount > 0),
    method         TEXT NOT NULL,
    attempt        TEXT NOT NULL DEFAULT '',
    attempt_amount {{.Int}} NOT NULL DEFAULT 0,
    attempt_method TEXT NOT NULL DEFAULT '',
    leased_until   {{.Int}} NOT NULL DEFAULT 0,
    not_before     {{.Int}} NOT NULL DEFAULT 0
){{.Strict}};

--bun:split

-- The quota of uploads is counted for each one.
CREATE INDEX IF NOT EXISTS files_uploads ON files (account_id, expires_at) WHERE call_id IS NULL;

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_age ON deliveries (created_at);
