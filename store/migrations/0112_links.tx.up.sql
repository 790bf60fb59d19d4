-- What a call asked of the URL of its result besides the default: a lifetime, a maximum number of downloads, or both
-- (link.go). max_downloads is 0 without a maximum. A row is written before the file that it is about, so it refers to it
-- by no constraint. The previous release does not read it: while it runs, its processes do not count downloads.
CREATE TABLE IF NOT EXISTS links (
    file_id       {{.ID}} NOT NULL PRIMARY KEY,
    account_id    {{.ID}} NOT NULL,
    max_downloads {{.Int}} NOT NULL CHECK (max_downloads >= 0),
    downloads     {{.Int}} NOT NULL CHECK (downloads >= 0),
    created_at    {{.Int}} NOT NULL,
    expires_at    {{.Int}} NOT NULL
){{.Hot}};

--bun:split

-- Results that are stored longer than others count towards the quota of their account.
CREATE INDEX IF NOT EXISTS links_account ON links (account_id, expires_at);

--bun:split

CREATE INDEX IF NOT EXISTS links_age ON links (expires_at);
