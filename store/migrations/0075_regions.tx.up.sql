{{if .Postgres}}
-- Settles a call: its file has its warnings and its region from the beginning.
-- Processes of the releases before go on calling settle_call and settle_warned.
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
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, held, revenue, wallet, created_at)
            VALUES (p_posting, c.account_id, 'settle', p_id, -v_held, v_paid, v_held - v_paid, p_now);
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
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote - p_charge ELSE 0 END WHERE id = c.account_id;
    IF c.key_id IS NOT NULL AND c.quote <> p_charge THEN
        UPDATE keys SET spent = spent - (c.quote - p_charge) WHERE id = c.key_id;
    END IF;
    INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount)
        VALUES (c.account_id, c.day, c.operation, coalesce(c.key_id, ''), 1, p_charge)
        ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + 1, amount = u.amount + EXCLUDED.amount;
    RETURN CASE v_told WHEN 0 THEN 'settled' ELSE 'told' END;
END $$;
{{end}}