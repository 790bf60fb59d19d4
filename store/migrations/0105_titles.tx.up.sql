-- Titles of calls in lists, which outlive the files of results (title.go). They refer to no call by a constraint, because
-- they are written after the call has ended.
CREATE TABLE IF NOT EXISTS titles (
    call_id    {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    title      TEXT NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS titles_account ON titles (account_id, call_id);

--bun:split

CREATE INDEX IF NOT EXISTS titles_age ON titles (created_at);
