-- The log of an account's requests (request.go). It refers to no account, key and call by
-- a constraint, because it is written after the response and deleted after a few days.
CREATE TABLE IF NOT EXISTS requests (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    key_id     {{.ID}} NOT NULL,
    call_id    {{.ID}} NOT NULL,
    request_id {{.ID}} NOT NULL,
    method     TEXT NOT NULL,
    path       TEXT NOT NULL,
    status     {{.Int}} NOT NULL,
    code       TEXT NOT NULL,
    message    TEXT NOT NULL,
    body       TEXT NOT NULL,
    price      {{.Int}} NOT NULL,
    duration   {{.Int}} NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- The order of an account's list, and of its deletion.
CREATE INDEX IF NOT EXISTS requests_account ON requests (account_id, id);
