-- Not in a transaction: the indexes are made while jobs are queued and run. One that
-- was not finished is of no use, and is made again.
{{if .Postgres}}DROP INDEX CONCURRENTLY IF EXISTS jobs_bound{{else}}SELECT 1{{end}};

--bun:split

{{if .Postgres}}CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_bound ON jobs (region, account_id, seq) WHERE state = 'bound'{{else}}SELECT 1{{end}};

--bun:split

{{if .Postgres}}DROP INDEX CONCURRENTLY IF EXISTS jobs_bound_oldest{{else}}SELECT 1{{end}};

--bun:split

{{if .Postgres}}CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_bound_oldest ON jobs (region, created_at) WHERE state = 'bound'{{else}}SELECT 1{{end}};
