-- The age of the oldest job that waits is asked for again and again. Not in a
-- transaction: on PostgreSQL the index is made while jobs are queued and run. One
-- that was not finished is of no use, and is made again.
DROP INDEX {{if .Postgres}}CONCURRENTLY {{end}}IF EXISTS jobs_oldest;

--bun:split

CREATE INDEX {{if .Postgres}}CONCURRENTLY {{end}}IF NOT EXISTS jobs_oldest ON jobs (created_at) WHERE state = 'queued';
