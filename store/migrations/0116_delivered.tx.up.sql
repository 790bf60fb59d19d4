-- Deliveries of results to the destination that their call named (delivered.go), for as long as jobs are shown. A row is
-- written before the end of its call, so it refers to it by no constraint.
CREATE TABLE IF NOT EXISTS delivered (
    file_id      {{.ID}} NOT NULL PRIMARY KEY,
    account_id   {{.ID}} NOT NULL,
    host         TEXT NOT NULL,
    status_code  {{.Int}} NOT NULL,
    attempts     {{.Int}} NOT NULL,
    delivered_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivered_account ON delivered (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS delivered_age ON delivered (delivered_at);
