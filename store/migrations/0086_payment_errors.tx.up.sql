-- Money at the provider that the service can neither credit nor take, for operators.
-- See payment_error.go, and 0001_initial.tx.up.sql for the conventions.
CREATE TABLE IF NOT EXISTS payment_errors (
    subject    {{.ID}} NOT NULL PRIMARY KEY,
    payment_id {{.ID}} NOT NULL,
    account_id {{.ID}} NOT NULL,
    error      TEXT NOT NULL,
    first_at   {{.Int}} NOT NULL,
    last_at    {{.Int}} NOT NULL
){{.Strict}};
