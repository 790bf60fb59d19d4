-- Failed calls by operation and by key, and all calls by template, by the day on which they count. They are written
-- behind (usage_count.go), and refer to nothing by a constraint.
CREATE TABLE IF NOT EXISTS usage_counts (
    account_id {{.ID}} NOT NULL,
    kind       {{.ID}} NOT NULL CHECK (kind IN ('operation', 'key', 'template')),
    day        {{.Int}} NOT NULL,
    name       {{.ID}} NOT NULL,
    calls      {{.Int}} NOT NULL,
    failures   {{.Int}} NOT NULL,
    amount     {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, kind, day, name)
){{.Hot}};

--bun:split

-- The alerts that accounts have switched on, and whether each can be sent (alert.go).
CREATE TABLE IF NOT EXISTS usage_alerts (
    account_id {{.ID}} NOT NULL,
    kind       {{.ID}} NOT NULL CHECK (kind IN ('day_limit', 'low_balance', 'failure_rate')),
    threshold  {{.Int}} NOT NULL CHECK (threshold > 0),
    armed      {{.Bool}} NOT NULL,
    sent_at    {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, kind)
){{.Hot}};
