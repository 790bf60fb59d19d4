{{if .Postgres -}}
-- Postings say what the wallet had afterwards, which is known where the row of the
-- account is locked: a call's end is posted after that now. The bodies are those of
-- 0002_functions, 0075_regions and 0082_release otherwise.
CREATE OR REPLACE FUNCTION begin_call(
    p_id text, p_result text, p_account text, p_key text, p_operation text, p_mode text, p_request text,
    p_idem text, p_hash bytea, p_idem_until bigint, p_lease text, p_metered boolean, p_quote bigint,
    p_now bigint, p_today bigint, p_posting text, p_callback text, p_receiver text,
    p_job boolean, p_input bytea, p_input_key text, p_pins text[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_held bigint := CASE WHEN p_metered THEN 0 ELSE p_quote END;
    v_day bigint;
    v_balance bigint;
    v_pin text;
    v_missing text[] := '{}';
BEGIN
    -- The answer to an earlier attempt may have been lost.
    IF EXISTS (SELECT 1 FROM calls WHERE id = p_id) THEN
        RETURN 'begun';
    END IF;
    IF p_idem <> '' THEN
        INSERT INTO idempotency AS i (account_id, idem_key, call_id, body_hash, state, created_at, expires_at)
            VALUES (p_account, p_idem, p_id, p_hash, 'running', p_now, p_idem_until)
            ON CONFLICT (account_id, idem_key) DO UPDATE SET call_id = EXCLUDED.call_id, body_hash = EXCLUDED.body_hash,
                state = EXCLUDED.state, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            WHERE i.expires_at <= p_now;
        IF NOT FOUND THEN
            RETURN 'claimed';
        END IF;
    END IF;
    UPDATE accounts SET
        balance = balance - v_held, held = held + v_held,
        day_spent = CASE WHEN day < p_today THEN 0 ELSE day_spent END + p_quote,
        day = greatest(day, p_today)
        WHERE id = p_account AND NOT suspended AND balance >= v_held AND (owed = 0 OR v_held = 0)
        AND (max_job IS NULL OR p_quote <= max_job)
        AND (max_day IS NULL OR CASE WHEN day < p_today THEN 0 ELSE day_spent END + p_quote <= max_day)
        RETURNING day, balance INTO v_day, v_balance;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the account refuses' USING ERRCODE = 'RP001';
    END IF;
    IF p_key IS NOT NULL THEN
        UPDATE keys SET spent = spent + p_quote
            WHERE id = p_key AND account_id = p_account AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > p_now)
            AND (spend_limit IS NULL OR spent + p_quote <= spend_limit);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the key refuses' USING ERRCODE = 'RP002';
        END IF;
    END IF;
    INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, idempotency_key,
            lease, metered, quote, status, day, created_at)
        VALUES (p_id, p_result, p_account, p_key, p_operation, p_mode, p_request, p_idem,
            p_lease, p_metered, p_quote, 'running', v_day, p_now);
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, held, wallet, created_at, balance)
            VALUES (p_posting, p_account, 'hold', p_id, v_held, -v_held, p_now, v_balance);
    END IF;
    IF p_callback <> '' THEN
        INSERT INTO callbacks (call_id, url, receiver, created_at) VALUES (p_id, p_callback, p_receiver, p_now);
    END IF;
    IF p_job THEN
        INSERT INTO jobs (call_id, account_id, state, input_key, created_at) VALUES (p_id, p_account, 'queued', p_input_key, p_now);
        IF p_input IS NOT NULL THEN
            INSERT INTO job_inputs (call_id, sealed) VALUES (p_id, p_input);
        END IF;
        -- In the order of their ids, so that two jobs never wait for each other.
        FOREACH v_pin IN ARRAY p_pins LOOP
            UPDATE files SET deleted_at = NULL
                WHERE id = v_pin AND account_id = p_account AND deleted_at IS NULL AND expires_at > p_now;
            IF FOUND THEN
                INSERT INTO pins (file_id, call_id) VALUES (v_pin, p_id);
            ELSE
                v_missing := v_missing || v_pin;
            END IF;
        END LOOP;
        IF v_missing <> '{}' THEN
            RAISE EXCEPTION 'files are missing' USING ERRCODE = 'RP003', DETAIL = to_json(v_missing)::text;
        END IF;
    END IF;
    RETURN 'begun';
END $$;

--bun:split

CREATE OR REPLACE FUNCTION settle_kept(
    p_id text, p_charge bigint, p_now bigint, p_duration bigint, p_steps text, p_posting text, p_lease text, p_try bigint,
    p_file text, p_filename text, p_content_type text, p_size bigint, p_blob text, p_expires bigint,
    p_event_type text, p_event text, p_event_body bytea, p_callback_event text, p_callback_body bytea, p_deliveries text[], p_warnings text, p_region text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c calls%ROWTYPE;
    w record;
    v_held bigint;
    v_paid bigint;
    v_told integer := 0;
    v_balance bigint;
BEGIN
    UPDATE calls SET status = 'done', charge = p_charge, ended_at = p_now, duration = p_duration, steps = p_steps
        WHERE id = p_id AND status = 'running' AND quote >= p_charge
        AND (p_lease = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = p_id AND state = 'running' AND lease = p_lease AND tries = p_try))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN 'refused';
    END IF;
    v_held := CASE WHEN c.metered THEN 0 ELSE c.quote END;
    v_paid := CASE WHEN c.metered THEN 0 ELSE p_charge END;
    IF c.idempotency_key <> '' THEN
        UPDATE idempotency SET state = 'done' WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = p_id;
    END IF;
    IF p_blob <> '' THEN
        INSERT INTO files (id, account_id, call_id, filename, content_type, size, blob_key, created_at, expires_at, warnings, region)
            VALUES (CASE p_file WHEN '' THEN c.result_id ELSE p_file END, c.account_id, p_id, p_filename, p_content_type, p_size, p_blob, p_now, p_expires, p_warnings, p_region);
    END IF;
    IF c.mode = 'async' THEN
        UPDATE jobs SET state = 'ended', lease = '' WHERE call_id = p_id;
        DELETE FROM job_inputs WHERE call_id = p_id;
        DELETE FROM pins WHERE call_id = p_id;
    END IF;
    IF p_event_type <> '' THEN
        FOR w IN SELECT id, url FROM webhooks WHERE account_id = c.account_id AND deleted_at IS NULL AND enabled
                AND (events = '' OR ',' || events || ',' LIKE '%,' || p_event_type || ',%') LOOP
            IF v_told = 0 THEN
                INSERT INTO events (id, account_id, type, call_id, body, created_at)
                    VALUES (p_event, c.account_id, p_event_type, p_id, p_event_body, p_now);
            END IF;
            v_told := v_told + 1;
            INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
                VALUES (p_deliveries[v_told], c.account_id, w.id, p_event, p_event_type, w.id, w.url, 'pending', p_now, p_now);
        END LOOP;
    END IF;
    IF p_callback_event <> '' THEN
        SELECT url, receiver INTO w FROM callbacks WHERE call_id = p_id;
        IF FOUND THEN
            v_told := v_told + 1;
            INSERT INTO events (id, account_id, type, call_id, body, created_at)
                VALUES (p_callback_event, c.account_id, 'callback', p_id, p_callback_body, p_now);
            INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
                VALUES (p_deliveries[v_told], c.account_id, p_callback_event, 'callback', w.receiver, w.url, 'pending', p_now, p_now);
        END IF;
    END IF;
    UPDATE accounts SET balance = balance + v_held - v_paid, held = held - v_held,
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote - p_charge ELSE 0 END WHERE id = c.account_id
        RETURNING balance INTO v_balance;
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, held, revenue, wallet, created_at, balance)
            VALUES (p_posting, c.account_id, 'settle', p_id, -v_held, v_paid, v_held - v_paid, p_now, v_balance);
    END IF;
    IF c.key_id IS NOT NULL AND c.quote <> p_charge THEN
        UPDATE keys SET spent = spent - (c.quote - p_charge) WHERE id = c.key_id;
    END IF;
    INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount)
        VALUES (c.account_id, c.day, c.operation, coalesce(c.key_id, ''), 1, p_charge)
        ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + 1, amount = u.amount + EXCLUDED.amount;
    RETURN CASE v_told WHEN 0 THEN 'settled' ELSE 'told' END;
END $$;

--bun:split

CREATE OR REPLACE FUNCTION release_call(
    p_id text, p_code text, p_message text, p_now bigint, p_steps text, p_posting text, p_lease text, p_try bigint,
    p_event_type text, p_event text, p_event_body bytea, p_callback_event text, p_callback_body bytea, p_deliveries text[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c calls%ROWTYPE;
    w record;
    v_held bigint;
    v_told integer := 0;
    v_balance bigint;
BEGIN
    UPDATE calls SET status = 'failed', error_code = p_code, error_message = p_message, ended_at = p_now, steps = p_steps
        WHERE id = p_id AND status = 'running'
        AND (p_lease = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = p_id AND state = 'running' AND lease = p_lease AND tries = p_try))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN CASE WHEN EXISTS (SELECT 1 FROM calls WHERE id = p_id) THEN 'ended' ELSE 'unknown' END;
    END IF;
    v_held := CASE WHEN c.metered THEN 0 ELSE c.quote END;
    IF c.idempotency_key <> '' THEN
        DELETE FROM idempotency WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = p_id;
    END IF;
    UPDATE quotes SET call_id = NULL WHERE call_id = p_id;
    IF c.mode = 'async' THEN
        UPDATE jobs SET state = 'ended', lease = '' WHERE call_id = p_id;
        DELETE FROM job_inputs WHERE call_id = p_id;
        DELETE FROM pins WHERE call_id = p_id;
    END IF;
    IF p_event_type <> '' THEN
        FOR w IN SELECT id, url FROM webhooks WHERE account_id = c.account_id AND deleted_at IS NULL AND enabled
                AND (events = '' OR ',' || events || ',' LIKE '%,' || p_event_type || ',%') LOOP
            IF v_told = 0 THEN
                INSERT INTO events (id, account_id, type, call_id, body, created_at)
                    VALUES (p_event, c.account_id, p_event_type, p_id, p_event_body, p_now);
            END IF;
            v_told := v_told + 1;
            INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
                VALUES (p_deliveries[v_told], c.account_id, w.id, p_event, p_event_type, w.id, w.url, 'pending', p_now, p_now);
        END LOOP;
    END IF;
    IF p_callback_event <> '' THEN
        SELECT url, receiver INTO w FROM callbacks WHERE call_id = p_id;
        IF FOUND THEN
            v_told := v_told + 1;
            INSERT INTO events (id, account_id, type, call_id, body, created_at)
                VALUES (p_callback_event, c.account_id, 'callback', p_id, p_callback_body, p_now);
            INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
                VALUES (p_deliveries[v_told], c.account_id, p_callback_event, 'callback', w.receiver, w.url, 'pending', p_now, p_now);
        END IF;
    END IF;
    UPDATE accounts SET balance = balance + v_held, held = held - v_held,
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote ELSE 0 END WHERE id = c.account_id
        RETURNING balance INTO v_balance;
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, reason, held, wallet, created_at, balance)
            VALUES (p_posting, c.account_id, 'release', p_id, p_code, -v_held, v_held, p_now, v_balance);
    END IF;
    IF c.key_id IS NOT NULL AND c.quote <> 0 THEN
        UPDATE keys SET spent = spent - c.quote WHERE id = c.key_id;
    END IF;
    RETURN CASE v_told WHEN 0 THEN 'released' ELSE 'told' END;
END $$;
{{else -}}
-- SQLite runs the statements from Go.
SELECT 1;
{{end}}
