{{if .Postgres -}}
-- Jobs that only one region can run, because it keeps their files or their input by
-- itself. They wait in a state of their own, which processes of the release before
-- do not claim, whoever puts them back into the queue, and have turns of their own.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS region {{.ID}} NOT NULL DEFAULT '';

--bun:split

ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_state_check;

--bun:split

ALTER TABLE jobs ADD CONSTRAINT jobs_state_check CHECK (state IN ('queued', 'bound', 'running', 'ended')) NOT VALID;

--bun:split

CREATE TABLE IF NOT EXISTS bound_turns (
    region     {{.ID}} NOT NULL,
    account_id {{.ID}} NOT NULL,
    queued     {{.Int}} NOT NULL,
    running    {{.Int}} NOT NULL,
    began_at   {{.Int}} NOT NULL,
    PRIMARY KEY (region, account_id)
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS bound_turns_next ON bound_turns (region, running, began_at, account_id) WHERE queued > 0;

--bun:split

CREATE OR REPLACE FUNCTION hold_bound_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.state := 'bound';
    RETURN NEW;
END $$;

--bun:split

CREATE OR REPLACE TRIGGER jobs_held BEFORE UPDATE ON jobs
    FOR EACH ROW WHEN (NEW.region <> '' AND NEW.state = 'queued') EXECUTE FUNCTION hold_bound_job();

--bun:split

CREATE OR REPLACE FUNCTION count_bound_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_queued integer := (NEW.state = 'bound')::integer - (OLD.state = 'bound')::integer;
    v_running integer := (NEW.state = 'running')::integer - (OLD.state = 'running')::integer;
BEGIN
    INSERT INTO bound_turns AS t (region, account_id, queued, running, began_at)
        VALUES (NEW.region, NEW.account_id, v_queued, v_running, coalesce(NEW.started_at, 0))
        ON CONFLICT (region, account_id) DO UPDATE SET queued = t.queued + v_queued, running = t.running + v_running,
            began_at = greatest(t.began_at, EXCLUDED.began_at);
    RETURN NULL;
END $$;

--bun:split

-- What follows counts anew, with nobody else at the tables, so that it can be
-- repeated.
DROP TRIGGER IF EXISTS jobs_bound ON jobs;

--bun:split

DELETE FROM bound_turns;

--bun:split

INSERT INTO bound_turns (region, account_id, queued, running, began_at)
SELECT region, account_id, SUM((state = 'bound')::integer), SUM((state = 'running')::integer), COALESCE(MAX(started_at), 0)
FROM jobs WHERE region <> '' AND state <> 'ended' GROUP BY region, account_id;

--bun:split

CREATE CONSTRAINT TRIGGER jobs_bound AFTER UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.region <> '' AND OLD.state <> NEW.state) EXECUTE FUNCTION count_bound_job();

--bun:split

-- Binds a job to the region that keeps its files, p_region being the one that keeps
-- its input by itself, if any does.
CREATE OR REPLACE FUNCTION bind_job(p_id text, p_region text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_kept jsonb := (SELECT jsonb_object_agg(f.id, f.region) FROM pins AS p JOIN files AS f ON f.id = p.file_id WHERE p.call_id = p_id AND f.region <> '');
    v_regions text[] := ARRAY(SELECT value FROM jsonb_each_text(v_kept) UNION SELECT p_region WHERE p_region <> '');
BEGIN
    IF cardinality(v_regions) > 1 THEN
        RAISE EXCEPTION 'the files of a job are in several regions' USING ERRCODE = 'RP004', DETAIL = v_kept::text;
    END IF;
    UPDATE jobs SET region = v_regions[1] WHERE call_id = p_id AND region = '' AND cardinality(v_regions) = 1;
END $$;

--bun:split

-- A job that may be bound, beside begin_traced, which others go on using.
CREATE OR REPLACE FUNCTION begin_bound(
    p_id text, p_result text, p_account text, p_key text, p_operation text, p_mode text, p_request text, p_idem text, p_hash bytea,
    p_idem_until bigint, p_lease text, p_metered boolean, p_quote bigint, p_now bigint, p_today bigint, p_posting text, p_callback text, p_receiver text, p_job boolean, p_input bytea, p_input_key text, p_pins text[], p_kind text, p_trace text, p_region text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_verdict text := begin_traced(p_id, p_result, p_account, p_key, p_operation, p_mode, p_request, p_idem, p_hash, p_idem_until, p_lease, p_metered, p_quote, p_now, p_today, p_posting, p_callback, p_receiver, p_job, p_input, p_input_key, p_pins, p_kind, p_trace);
BEGIN
    PERFORM bind_job(p_id, p_region);
    RETURN v_verdict;
END $$;
{{else -}}
-- SQLite is one machine's, and one region's.
SELECT 1;
{{end}}
