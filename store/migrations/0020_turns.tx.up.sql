-- Whose turn it is. What a claim would otherwise count and sort over all that
-- waits stands in small tables, which triggers keep in the transaction of each
-- change: a row for each account with jobs, one for each account with deliveries,
-- and one for each receiver that something is ready for or under way to.
-- PostgreSQL runs the triggers at the commit, so that these rows are the last
-- that a transaction locks, and for no longer than the commit takes.

CREATE TABLE IF NOT EXISTS job_turns (
    account_id {{.ID}} NOT NULL PRIMARY KEY,
    queued     {{.Int}} NOT NULL,
    running    {{.Int}} NOT NULL,
    began_at   {{.Int}} NOT NULL
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS job_turns_next ON job_turns (running, began_at, account_id) WHERE queued > 0;

--bun:split

-- A sender is an account with deliveries. Open are its receivers with something
-- ready and room. Began is the end of the last lease on an attempt.
CREATE TABLE IF NOT EXISTS senders (
    account_id {{.ID}} NOT NULL PRIMARY KEY,
    open       {{.Int}} NOT NULL,
    under_way  {{.Int}} NOT NULL,
    began      {{.Int}} NOT NULL
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS senders_next ON senders (under_way, began, account_id) WHERE open > 0;

--bun:split

CREATE TABLE IF NOT EXISTS receivers (
    receiver   {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    ready      {{.Int}} NOT NULL,
    under_way  {{.Int}} NOT NULL,
    began      {{.Int}} NOT NULL
){{.Hot}};

--bun:split

-- Two attempts at most are under way to a receiver.
CREATE INDEX IF NOT EXISTS receivers_next ON receivers (account_id, began, receiver) WHERE ready > 0 AND under_way < 2;

--bun:split

-- What follows counts anew, with nobody else at the tables, so that it can be
-- repeated.
DROP TRIGGER IF EXISTS jobs_inserted{{if .Postgres}} ON jobs{{end}};

--bun:split

DROP TRIGGER IF EXISTS jobs_updated{{if .Postgres}} ON jobs{{end}};

--bun:split

DROP TRIGGER IF EXISTS deliveries_inserted{{if .Postgres}} ON deliveries{{end}};

--bun:split

DROP TRIGGER IF EXISTS deliveries_updated{{if .Postgres}} ON deliveries{{end}};

--bun:split

{{if not .Postgres}}DROP TRIGGER IF EXISTS receivers_inserted;{{end}}

--bun:split

{{if not .Postgres}}DROP TRIGGER IF EXISTS receivers_updated;{{end}}

--bun:split

DELETE FROM job_turns;

--bun:split

DELETE FROM receivers;

--bun:split

DELETE FROM senders;

--bun:split

INSERT INTO job_turns (account_id, queued, running, began_at)
SELECT account_id, SUM(CASE state WHEN 'queued' THEN 1 ELSE 0 END), SUM(CASE state WHEN 'running' THEN 1 ELSE 0 END), COALESCE(MAX(started_at), 0)
FROM jobs GROUP BY account_id;

--bun:split

INSERT INTO receivers (receiver, account_id, ready, under_way, began)
SELECT receiver, account_id, SUM(CASE WHEN ready THEN 1 ELSE 0 END), SUM(CASE WHEN leased_until IS NULL THEN 0 ELSE 1 END), COALESCE(MAX(leased_until), 0)
FROM deliveries WHERE status = 'pending' AND (ready OR leased_until IS NOT NULL) GROUP BY receiver, account_id;

--bun:split

INSERT INTO senders (account_id, open, under_way, began)
SELECT account_id, SUM(CASE WHEN ready > 0 AND under_way < 2 THEN 1 ELSE 0 END), SUM(under_way), MAX(began) FROM receivers GROUP BY account_id;

--bun:split

{{if .Postgres -}}
CREATE OR REPLACE FUNCTION count_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_queued integer := (NEW.state = 'queued')::integer;
    v_running integer := (NEW.state = 'running')::integer;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        v_queued := v_queued - (OLD.state = 'queued')::integer;
        v_running := v_running - (OLD.state = 'running')::integer;
    END IF;
    INSERT INTO job_turns AS t (account_id, queued, running, began_at)
        VALUES (NEW.account_id, v_queued, v_running, coalesce(NEW.started_at, 0))
        ON CONFLICT (account_id) DO UPDATE SET queued = t.queued + v_queued, running = t.running + v_running,
            began_at = greatest(t.began_at, EXCLUDED.began_at);
    RETURN NULL;
END $$;

--bun:split

CREATE CONSTRAINT TRIGGER jobs_inserted AFTER INSERT ON jobs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_job();

--bun:split

CREATE CONSTRAINT TRIGGER jobs_updated AFTER UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_job();

--bun:split

-- The sender is locked before its receivers, which are all its own. Transactions
-- that change deliveries of several accounts follow each other (claimLock).
CREATE OR REPLACE FUNCTION count_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_ready integer := (NEW.status = 'pending' AND NEW.ready)::integer;
    v_under_way integer := (NEW.status = 'pending' AND NEW.leased_until IS NOT NULL)::integer;
    v_began bigint := coalesce(NEW.leased_until, 0);
    v_opened integer;
    v_empty boolean;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        v_ready := v_ready - (OLD.status = 'pending' AND OLD.ready)::integer;
        v_under_way := v_under_way - (OLD.status = 'pending' AND OLD.leased_until IS NOT NULL)::integer;
    END IF;
    IF v_ready = 0 AND v_under_way = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO senders AS s (account_id, open, under_way, began) VALUES (NEW.account_id, 0, v_under_way, v_began)
        ON CONFLICT (account_id) DO UPDATE SET under_way = s.under_way + v_under_way, began = greatest(s.began, v_began);
    INSERT INTO receivers AS r (receiver, account_id, ready, under_way, began)
        VALUES (NEW.receiver, NEW.account_id, v_ready, v_under_way, v_began)
        ON CONFLICT (receiver) DO UPDATE SET ready = r.ready + v_ready, under_way = r.under_way + v_under_way,
            began = greatest(r.began, v_began)
        RETURNING (ready > 0 AND under_way < 2)::integer - (ready - v_ready > 0 AND under_way - v_under_way < 2)::integer,
            ready = 0 AND under_way = 0 INTO v_opened, v_empty;
    IF v_opened <> 0 THEN
        UPDATE senders SET open = open + v_opened WHERE account_id = NEW.account_id;
    END IF;
    IF v_empty THEN
        DELETE FROM receivers WHERE receiver = NEW.receiver;
    END IF;
    RETURN NULL;
END $$;

--bun:split

CREATE CONSTRAINT TRIGGER deliveries_inserted AFTER INSERT ON deliveries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_delivery();

--bun:split

CREATE CONSTRAINT TRIGGER deliveries_updated AFTER UPDATE ON deliveries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_delivery();
{{else -}}
CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs BEGIN
    INSERT INTO job_turns (account_id, queued, running, began_at)
        VALUES (NEW.account_id, NEW.state = 'queued', NEW.state = 'running', COALESCE(NEW.started_at, 0))
        ON CONFLICT (account_id) DO UPDATE SET queued = queued + EXCLUDED.queued, running = running + EXCLUDED.running,
            began_at = MAX(began_at, EXCLUDED.began_at);
END;

--bun:split

CREATE TRIGGER jobs_updated AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
    UPDATE job_turns SET queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'),
        running = running + (NEW.state = 'running') - (OLD.state = 'running'), began_at = MAX(began_at, COALESCE(NEW.started_at, 0))
        WHERE account_id = NEW.account_id;
END;

--bun:split

CREATE TRIGGER deliveries_inserted AFTER INSERT ON deliveries WHEN NEW.status = 'pending' AND (NEW.ready OR NEW.leased_until IS NOT NULL) BEGIN
    INSERT INTO receivers (receiver, account_id, ready, under_way, began)
        VALUES (NEW.receiver, NEW.account_id, NEW.ready, NEW.leased_until IS NOT NULL, COALESCE(NEW.leased_until, 0))
        ON CONFLICT (receiver) DO UPDATE SET ready = ready + EXCLUDED.ready, under_way = under_way + EXCLUDED.under_way,
            began = MAX(began, EXCLUDED.began);
END;

--bun:split

CREATE TRIGGER deliveries_updated AFTER UPDATE OF status, ready, leased_until ON deliveries
WHEN (OLD.status = 'pending' AND OLD.ready) <> (NEW.status = 'pending' AND NEW.ready)
    OR (OLD.status = 'pending' AND OLD.leased_until IS NOT NULL) <> (NEW.status = 'pending' AND NEW.leased_until IS NOT NULL) BEGIN
    INSERT INTO receivers (receiver, account_id, ready, under_way, began)
        VALUES (NEW.receiver, NEW.account_id,
            (NEW.status = 'pending' AND NEW.ready) - (OLD.status = 'pending' AND OLD.ready),
            (NEW.status = 'pending' AND NEW.leased_until IS NOT NULL) - (OLD.status = 'pending' AND OLD.leased_until IS NOT NULL),
            COALESCE(NEW.leased_until, 0))
        ON CONFLICT (receiver) DO UPDATE SET ready = ready + EXCLUDED.ready, under_way = under_way + EXCLUDED.under_way,
            began = MAX(began, EXCLUDED.began);
    DELETE FROM receivers WHERE receiver = NEW.receiver AND ready = 0 AND under_way = 0;
END;

--bun:split

CREATE TRIGGER receivers_inserted AFTER INSERT ON receivers BEGIN
    INSERT INTO senders (account_id, open, under_way, began)
        VALUES (NEW.account_id, NEW.ready > 0 AND NEW.under_way < 2, NEW.under_way, NEW.began)
        ON CONFLICT (account_id) DO UPDATE SET open = open + EXCLUDED.open, under_way = under_way + EXCLUDED.under_way,
            began = MAX(began, EXCLUDED.began);
END;

--bun:split

CREATE TRIGGER receivers_updated AFTER UPDATE ON receivers BEGIN
    UPDATE senders SET open = open + (NEW.ready > 0 AND NEW.under_way < 2) - (OLD.ready > 0 AND OLD.under_way < 2),
        under_way = under_way + NEW.under_way - OLD.under_way, began = MAX(began, NEW.began)
        WHERE account_id = NEW.account_id;
END;
{{end}}
