DROP TABLE IF EXISTS archives;

--bun:split

-- Months that are older than the retention, and on how many days they were found so. See
-- retention.go, and 0001_initial.tx.up.sql for the conventions.
CREATE TABLE IF NOT EXISTS old_months (
    month    {{.Int}} NOT NULL PRIMARY KEY,
    days     {{.Int}} NOT NULL,
    last_day {{.Int}} NOT NULL
){{.Strict}};
