{{if .Postgres -}}
-- The money path on PostgreSQL: a call is begun, settled and released by one function
-- each, which accepts a JSON object (call_postgres.go). A function is one exchange with
-- the database, so that the account's row is locked for no longer than a commit takes.
-- call_sqlite.go has the same rules, and TestMoneyRulesAgree compares both. All
-- transactions lock in this order: call, idempotency key, quote, account, API key.

DROP FUNCTION IF EXISTS settle_call, settle_warned, settle_kept, release_call, begin_bound, begin_traced, begin_job, begin_call;

--bun:split

-- Begins a call. It returns 'begun', or 'claimed' where another call has the
-- idempotency key. An exception undoes everything: RP001 the account refuses, RP002 the
-- key refuses, RP003 files are missing, whose IDs are its detail, RP004 the quote is used.
CREATE OR REPLACE FUNCTION begin_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    v_held bigint;
    v_day bigint;
    v_balance bigint;
BEGIN
    SELECT * INTO r FROM jsonb_to_record(call) AS c (
        id text, result_id text, account_id text, key_id text, operation text, mode text, request_id text, lease text,
        metered boolean, quote bigint, quote_id text, idempotency_key text, body_hash bytea, claimed_until bigint,
        callback_url text, receiver text, trace text, job jsonb, posting_id text, now bigint, today bigint
    );
    -- The response to an earlier attempt may have been lost.
    IF EXISTS (SELECT 1 FROM calls WHERE id = r.id) THEN
        RETURN 'begun';
    END IF;
    IF r.idempotency_key <> '' THEN
        INSERT INTO idempotency AS i (account_id, idem_key, call_id, body_hash, state, created_at, expires_at)
            VALUES (r.account_id, r.idempotency_key, r.id, r.body_hash, 'running', r.now, r.claimed_until)
            ON CONFLICT (account_id, idem_key) DO UPDATE SET call_id = EXCLUDED.call_id, body_hash = EXCLUDED.body_hash,
                state = EXCLUDED.state, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            WHERE i.expires_at <= r.now;
        IF NOT FOUND THEN
            RETURN 'claimed';
        END IF;
    END IF;
    IF r.quote_id <> '' THEN
        UPDATE quotes SET call_id = r.id
            WHERE id = r.quote_id AND account_id = r.account_id AND call_id IS NULL AND expires_at > r.now AND amount = r.quote;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the quote is used' USING ERRCODE = 'RP004';
        END IF;
    END IF;
    v_held := CASE WHEN r.metered THEN 0 ELSE r.quote END;
    UPDATE accounts SET
        balance = balance - v_held, held = held + v_held,
        day_spent = CASE WHEN day < r.today THEN 0 ELSE day_spent END + r.quote,
        day = greatest(day, r.today)
        WHERE id = r.account_id AND NOT suspended AND balance >= v_held AND (owed = 0 OR v_held = 0)
        AND (max_job IS NULL OR r.quote <= max_job)
        AND (max_day IS NULL OR CASE WHEN day < r.today THEN 0 ELSE day_spent END + r.quote <= max_day)
        RETURNING day, balance INTO v_day, v_balance;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the account refuses' USING ERRCODE = 'RP001';
    END IF;
    IF r.key_id IS NOT NULL THEN
        UPDATE keys SET spent = spent + r.quote
            WHERE id = r.key_id AND account_id = r.account_id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > r.now)
            AND (spend_limit IS NULL OR spent + r.quote <= spend_limit);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the key refuses' USING ERRCODE = 'RP002';
        END IF;
    END IF;
    INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, idempotency_key,
            lease, metered, quote, status, day, created_at)
        VALUES (r.id, r.result_id, r.account_id, r.key_id, r.operation, r.mode, r.request_id, r.idempotency_key,
            r.lease, r.metered, r.quote, 'running', v_day, r.now);
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, held, wallet, balance, created_at)
            VALUES (r.posting_id, r.account_id, 'hold', r.id, v_held, -v_held, v_balance, r.now);
    END IF;
    IF r.callback_url <> '' THEN
        INSERT INTO callbacks (call_id, url, receiver, trace, created_at) VALUES (r.id, r.callback_url, r.receiver, r.trace, r.now);
    END IF;
    IF r.job IS NOT NULL THEN
        PERFORM queue_job(r.id, r.account_id, r.trace, r.job, r.now);
    END IF;
    RETURN 'begun';
END $$;

--bun:split

-- Makes a job of a call that begins, and pins its files.
CREATE OR REPLACE FUNCTION queue_job(p_call text, p_account text, p_trace text, job jsonb, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j record;
    v_pin text;
    v_missing text[] := '{}';
BEGIN
    SELECT * INTO j FROM jsonb_to_record(job) AS r (kind text, input bytea, input_key text, pins text[]);
    INSERT INTO jobs (call_id, account_id, state, kind, input_key, trace, created_at)
        VALUES (p_call, p_account, 'queued', j.kind, j.input_key, p_trace, p_now);
    IF j.input IS NOT NULL THEN
        INSERT INTO job_inputs (call_id, sealed) VALUES (p_call, j.input);
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

-- Settles a running call. It returns 'settled', or 'notified' where deliveries were
-- written too, or 'refused' where it has changed nothing.
CREATE OR REPLACE FUNCTION settle_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    c calls;
    v_notified boolean;
BEGIN
    SELECT * INTO r FROM jsonb_to_record(call) AS s (
        id text, charge bigint, duration bigint, steps text, lease text, tries bigint, file jsonb, outbox jsonb, posting_id text, now bigint
    );
    UPDATE calls SET status = 'done', charge = r.charge, ended_at = r.now, duration = r.duration, steps = r.steps
        WHERE id = r.id AND status = 'running' AND quote >= r.charge
        AND (r.lease = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = r.id AND state = 'running' AND lease = r.lease AND tries = r.tries))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN 'refused';
    END IF;
    IF c.idempotency_key <> '' THEN
        UPDATE idempotency SET state = 'done' WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = c.id;
    END IF;
    IF r.file IS NOT NULL THEN
        INSERT INTO files (id, account_id, call_id, filename, content_type, size, blob_key, warnings, created_at, expires_at)
            SELECT coalesce(nullif(f.id, ''), c.result_id), c.account_id, c.id, f.filename, f.content_type, f.size, f.blob_key, f.warnings, r.now, f.expires_at
            FROM jsonb_to_record(r.file) AS f (id text, filename text, content_type text, size bigint, blob_key text, warnings text, expires_at bigint);
    END IF;
    v_notified := finish_call(c, r.outbox);
    PERFORM end_hold(c, r.posting_id);
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
    r record;
    c calls;
    v_notified boolean;
BEGIN
    SELECT * INTO r FROM jsonb_to_record(call) AS s (
        id text, code text, message text, steps text, holder text, lease text, tries bigint, queued_until bigint, silent boolean,
        outbox jsonb, posting_id text, now bigint
    );
    UPDATE calls SET status = 'failed', error_code = r.code, error_message = r.message, ended_at = r.now, steps = r.steps
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
    PERFORM end_hold(c, r.posting_id);
    RETURN CASE WHEN v_notified THEN 'notified' ELSE 'released' END;
END $$;

--bun:split

-- Takes a call that has ended out of the queue, and writes who is notified of its end.
-- It reports whether anyone is.
CREATE OR REPLACE FUNCTION finish_call(c calls, outbox jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    o record;
    w record;
    v_deliveries integer := 0;
BEGIN
    IF c.mode = 'async' THEN
        UPDATE jobs SET state = 'ended', lease = '' WHERE call_id = c.id;
        DELETE FROM job_inputs WHERE call_id = c.id;
        DELETE FROM pins WHERE call_id = c.id;
    END IF;
    IF outbox IS NULL THEN
        RETURN FALSE;
    END IF;
    SELECT * INTO o FROM jsonb_to_record(outbox) AS r (
        event_type text, event_id text, event_body bytea, callback_id text, callback_body bytea, delivery_ids text[]
    );
    IF o.event_type <> '' THEN
        FOR w IN SELECT id, url FROM webhooks WHERE account_id = c.account_id AND deleted_at IS NULL AND enabled
                AND (events = '' OR ',' || events || ',' LIKE '%,' || o.event_type || ',%') LOOP
            IF v_deliveries = 0 THEN
                INSERT INTO events (id, account_id, type, call_id, body, created_at)
                    VALUES (o.event_id, c.account_id, o.event_type, c.id, o.event_body, c.ended_at);
            END IF;
            v_deliveries := v_deliveries + 1;
            INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
                VALUES (o.delivery_ids[v_deliveries], c.account_id, w.id, o.event_id, o.event_type, w.id, w.url, 'pending', c.ended_at, c.ended_at);
        END LOOP;
    END IF;
    SELECT url, receiver INTO w FROM callbacks WHERE call_id = c.id;
    IF FOUND THEN
        v_deliveries := v_deliveries + 1;
        INSERT INTO events (id, account_id, type, call_id, body, created_at)
            VALUES (o.callback_id, c.account_id, 'callback', c.id, o.callback_body, c.ended_at);
        INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
            VALUES (o.delivery_ids[v_deliveries], c.account_id, o.callback_id, 'callback', w.receiver, w.url, 'pending', c.ended_at, c.ended_at);
    END IF;
    RETURN v_deliveries > 0;
END $$;

--bun:split

-- Ends the hold of a call that has ended: its charge is earned, and the rest returns to
-- the wallet and leaves the counters of the limits. The account's other calls wait from
-- here to the commit.
CREATE OR REPLACE FUNCTION end_hold(c calls, posting_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_held bigint := CASE WHEN c.metered THEN 0 ELSE c.quote END;
    v_paid bigint := CASE WHEN c.metered THEN 0 ELSE c.charge END;
    v_balance bigint;
BEGIN
    UPDATE accounts SET balance = balance + v_held - v_paid, held = held - v_held,
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote - c.charge ELSE 0 END WHERE id = c.account_id
        RETURNING balance INTO v_balance;
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, reason, held, revenue, wallet, balance, created_at)
            VALUES (posting_id, c.account_id, CASE c.status WHEN 'done' THEN 'settle' ELSE 'release' END, c.id, c.error_code,
                -v_held, v_paid, v_held - v_paid, v_balance, c.ended_at);
    END IF;
    IF c.key_id IS NOT NULL AND c.quote <> c.charge THEN
        UPDATE keys SET spent = spent - (c.quote - c.charge) WHERE id = c.key_id;
    END IF;
END $$;
{{else -}}
-- SQLite runs the statements from Go.
SELECT 1;
{{end}}
