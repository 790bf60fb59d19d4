-- Bulk jobs (bulk.go): how far each has come, and what its chunks have made. They refer to no call by a constraint,
-- because calls are partitioned.
CREATE TABLE IF NOT EXISTS bulks (
    call_id     {{.ID}} NOT NULL PRIMARY KEY,
    account_id  {{.ID}} NOT NULL,
    total       {{.Int}} NOT NULL CHECK (total > 0),
    processed   {{.Int}} NOT NULL DEFAULT 0 CHECK (processed BETWEEN 0 AND total),
    failed      {{.Int}} NOT NULL DEFAULT 0 CHECK (failed BETWEEN 0 AND processed),
    charged     {{.Int}} NOT NULL DEFAULT 0 CHECK (charged >= 0),
    canceled_at {{.Int}},
    started_at  {{.Int}},
    created_at  {{.Int}} NOT NULL
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS bulks_age ON bulks (created_at);

--bun:split

CREATE INDEX IF NOT EXISTS bulks_account ON bulks (account_id);

--bun:split

-- The records of a chunk, and what became of each of them. Tries is that of the job which has made them.
CREATE TABLE IF NOT EXISTS bulk_chunks (
    call_id {{.ID}} NOT NULL,
    first   {{.Int}} NOT NULL,
    records {{.Int}} NOT NULL CHECK (records > 0),
    tries   {{.Int}} NOT NULL,
    results TEXT NOT NULL,
    PRIMARY KEY (call_id, first)
){{.Strict}};

--bun:split

{{if .Postgres -}}
-- Makes a job of a call that begins, and pins its files.
CREATE OR REPLACE FUNCTION queue_job(p_call text, p_account text, p_trace text, job jsonb, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j record;
    v_pin text;
    v_missing text[] := '{}';
BEGIN
    SELECT * INTO j FROM jsonb_to_record(job) AS r (kind text, input bytea, input_key text, pins text[], records bigint);
    INSERT INTO jobs (call_id, account_id, state, kind, input_key, trace, created_at)
        VALUES (p_call, p_account, 'queued', j.kind, j.input_key, p_trace, p_now);
    IF j.input IS NOT NULL THEN
        INSERT INTO job_inputs (call_id, sealed) VALUES (p_call, j.input);
    END IF;
    IF j.records > 0 THEN
        INSERT INTO bulks (call_id, account_id, total, created_at) VALUES (p_call, p_account, j.records, p_now);
    END IF;
    -- In the order of their IDs, so that two jobs never wait for each other.
    FOREACH v_pin IN ARRAY j.pins LOOP
        UPDATE files SET deleted_at = NULL
            WHERE id = v_pin AND account_id = p_account AND deleted_at IS NULL AND expires_at > p_now;
        IF FOUND THEN
            INSERT INTO pins (file_id, call_id) VALUES (v_pin, p_call);
        ELSE
            v_missing := v_missing || v_pin;
        END IF;
    END LOOP;
    IF v_missing <> '{}' THEN
        RAISE EXCEPTION 'files are missing' USING ERRCODE = 'RP003', DETAIL = to_json(v_missing)::text;
    END IF;
END $$;

--bun:split

-- Settles a chunk of a bulk job: its charge leaves the hold, and is earned. It returns
-- 'settled', or 'canceled' where the job was cancelled meanwhile, or 'refused' where it
-- has changed nothing.
CREATE OR REPLACE FUNCTION settle_chunk(chunk jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    c calls;
    v_canceled bigint;
    v_paid bigint;
    v_balance bigint;
BEGIN
    SELECT * INTO r FROM jsonb_to_record(chunk) AS x (
        id text, lease text, tries bigint, first bigint, records bigint, failed bigint, charge bigint, results text, posting_id text, now bigint
    );
    -- The response to an earlier attempt may have been lost.
    IF EXISTS (SELECT 1 FROM bulk_chunks WHERE call_id = r.id AND first = r.first AND tries = r.tries) THEN
        SELECT canceled_at INTO v_canceled FROM bulks WHERE call_id = r.id;
        RETURN CASE WHEN v_canceled IS NULL THEN 'settled' ELSE 'canceled' END;
    END IF;
    UPDATE calls SET charge = charge + r.charge WHERE id = r.id AND status = 'running' AND quote >= charge + r.charge
        AND EXISTS (SELECT 1 FROM jobs WHERE call_id = r.id AND state = 'running' AND lease = r.lease AND tries = r.tries)
        AND EXISTS (SELECT 1 FROM bulks WHERE call_id = r.id AND processed = r.first AND total >= r.first + r.records)
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN 'refused';
    END IF;
    UPDATE bulks SET processed = processed + r.records, failed = failed + r.failed, charged = charged + r.charge,
        started_at = coalesce(started_at, (SELECT started_at FROM jobs WHERE call_id = r.id))
        WHERE call_id = r.id RETURNING canceled_at INTO v_canceled;
    INSERT INTO bulk_chunks (call_id, first, records, tries, results) VALUES (r.id, r.first, r.records, r.tries, r.results);
    v_paid := CASE WHEN c.metered THEN 0 ELSE r.charge END;
    IF v_paid <> 0 THEN
        UPDATE accounts SET held = held - v_paid WHERE id = c.account_id RETURNING balance INTO v_balance;
        INSERT INTO journal (id, account_id, kind, cause, reason, held, revenue, balance, created_at)
            VALUES (r.posting_id, c.account_id, 'settle', c.id, 'chunk', -v_paid, v_paid, v_balance, r.now);
    END IF;
    RETURN CASE WHEN v_canceled IS NULL THEN 'settled' ELSE 'canceled' END;
END $$;

--bun:split

-- Settles a running call. It returns 'settled', or 'notified' where deliveries were
-- written too, or 'refused' where it has changed nothing.
CREATE OR REPLACE FUNCTION settle_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r settle_params;
    c calls;
    v_notified boolean;
    v_balance bigint;
BEGIN
    r := jsonb_populate_record(NULL::settle_params, call);
    UPDATE calls SET status = 'done', charge = r.charge, ended_at = r.now, duration = r.duration, steps = r.steps
        WHERE id = r.id AND status = 'running' AND quote >= r.charge AND charge <= r.charge
        AND (r.lease = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = r.id AND state = 'running' AND lease = r.lease AND tries = r.tries))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN 'refused';
    END IF;
    IF c.idempotency_key <> '' THEN
        UPDATE idempotency SET state = 'done' WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = c.id;
    END IF;
    IF r.file IS NOT NULL THEN
        -- One file, or an array: the result, and the documents of a bulk job.
        INSERT INTO files (id, account_id, call_id, filename, content_type, size, blob_key, warnings, created_at, expires_at)
            SELECT coalesce(nullif(f.id, ''), c.result_id), c.account_id, c.id, f.filename, f.content_type, f.size, f.blob_key, f.warnings, r.now, f.expires_at
            FROM jsonb_to_recordset(CASE jsonb_typeof(r.file) WHEN 'array' THEN r.file ELSE jsonb_build_array(r.file) END)
                AS f (id text, filename text, content_type text, size bigint, blob_key text, warnings text, expires_at bigint);
    END IF;
    v_notified := finish_call(c, r.outbox);
    v_balance := end_hold(c, r.posting_id);
    INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount)
        VALUES (c.account_id, c.day, c.operation, coalesce(c.key_id, ''), 1, c.charge)
        ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + 1, amount = u.amount + EXCLUDED.amount;
    RETURN CASE WHEN v_notified THEN 'notified' ELSE 'settled' END;
END $$;

--bun:split

-- Releases a running call, if the holder that is named still has it (holder.go). It
-- returns 'released', or 'notified' where deliveries were written too; 'ended' where
-- it has changed nothing; or 'unknown'.
CREATE OR REPLACE FUNCTION release_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r release_params;
    c calls;
    v_notified boolean;
    v_balance bigint;
BEGIN
    r := jsonb_populate_record(NULL::release_params, call);
    UPDATE calls SET status = 'failed', charge = 0, error_code = r.code, error_message = r.message, ended_at = r.now, steps = r.steps
        WHERE id = r.id AND status = 'running'
        AND CASE r.holder
            WHEN '' THEN TRUE
            WHEN 'process' THEN mode <> 'async' AND lease = r.lease
            WHEN 'dead process' THEN mode <> 'async' AND NOT EXISTS (SELECT 1 FROM leases AS l WHERE l.id = calls.lease AND l.expires_at > r.now)
            ELSE EXISTS (SELECT 1 FROM jobs AS j WHERE j.call_id = r.id AND j.tries = r.tries AND CASE r.holder
                WHEN 'worker' THEN j.state = 'running' AND j.lease = r.lease
                WHEN 'dead worker' THEN j.state = 'running' AND NOT EXISTS (SELECT 1 FROM leases AS l WHERE l.id = j.lease AND l.expires_at > r.now)
                WHEN 'queue' THEN j.state = 'queued' AND j.created_at <= r.queued_until
            END)
        END
        AND NOT (r.silent AND EXISTS (SELECT 1 FROM callbacks WHERE call_id = r.id))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN CASE WHEN EXISTS (SELECT 1 FROM calls WHERE id = r.id) THEN 'ended' ELSE 'unknown' END;
    END IF;
    IF c.idempotency_key <> '' THEN
        DELETE FROM idempotency WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = c.id;
    END IF;
    UPDATE quotes SET call_id = NULL WHERE call_id = c.id;
    v_notified := finish_call(c, r.outbox);
    v_balance := end_hold(c, r.posting_id);
    RETURN CASE WHEN v_notified THEN 'notified' ELSE 'released' END;
END $$;

--bun:split

-- Ends the hold of a call that has ended: its charge is earned, and the rest returns to
-- the wallet and leaves the counters of the limits. What the chunks of a bulk job have
-- earned before is a part of its charge, and is returned by a failed one, whose charge
-- is 0. The account's other calls wait from here to the commit. It returns what the
-- wallet has.
CREATE OR REPLACE FUNCTION end_hold(c calls, posting_id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_before bigint := 0;
    v_held bigint := 0;
    v_paid bigint := 0;
    v_balance bigint;
BEGIN
    IF NOT c.metered THEN
        IF c.mode = 'async' THEN
            v_before := coalesce((SELECT charged FROM bulks WHERE call_id = c.id), 0);
        END IF;
        v_held := c.quote - v_before;
        v_paid := c.charge - v_before;
    END IF;
    UPDATE accounts SET balance = balance + v_held - v_paid, held = held - v_held,
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote - c.charge ELSE 0 END WHERE id = c.account_id
        RETURNING balance INTO v_balance;
    IF v_held <> 0 OR v_paid <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, reason, held, revenue, wallet, balance, created_at)
            VALUES (posting_id, c.account_id, CASE c.status WHEN 'done' THEN 'settle' ELSE 'release' END, c.id, c.error_code,
                -v_held, v_paid, v_held - v_paid, v_balance, c.ended_at);
    END IF;
    IF c.key_id IS NOT NULL AND c.quote <> c.charge THEN
        UPDATE keys SET spent = spent - (c.quote - c.charge) WHERE id = c.key_id;
    END IF;
    RETURN v_balance;
END $$;
{{else -}}
-- A failed call is free. The previous release does not return what the chunks of a bulk
-- job have earned, so it may not release one.
CREATE TRIGGER IF NOT EXISTS calls_failed BEFORE UPDATE OF status ON calls WHEN NEW.status = 'failed' AND NEW.charge <> 0 BEGIN
    SELECT RAISE(ABORT, 'a failed call has a charge');
END;
{{end}}
