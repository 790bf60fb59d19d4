-- What calls were asked to do, for accounts that want that kept. See
-- 0001_initial.tx.up.sql for the conventions.

-- Inputs of calls, encrypted, until they expire.
CREATE TABLE IF NOT EXISTS kept_inputs (
    call_id    {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    sealed     {{.Bytes}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS kept_inputs_account ON kept_inputs (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS kept_inputs_expiry ON kept_inputs (expires_at);
