{{if .Postgres}}
-- Releases a call in one statement, as settle_kept (0075_regions) settles it: no
-- process that is frozen in the middle keeps its locks. call.go says the same to SQLite.
CREATE OR REPLACE FUNCTION release_call(
    p_id text, p_code text, p_message text, p_now bigint, p_steps text, p_posting text, p_lease text, p_try bigint,
    p_event_type text, p_event text, p_event_body bytea, p_callback_event text, p_callback_body bytea, p_deliveries text[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c calls%ROWTYPE;
    w record;
    v_held bigint;
    v_told integer := 0;
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
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, reason, held, wallet, created_at)
            VALUES (p_posting, c.account_id, 'release', p_id, p_code, -v_held, v_held, p_now);
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
    UPDATE accounts SET balance = balance + v_held, held = held - v_held,
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote ELSE 0 END WHERE id = c.account_id;
    IF c.key_id IS NOT NULL AND c.quote <> 0 THEN
        UPDATE keys SET spent = spent - c.quote WHERE id = c.key_id;
    END IF;
    RETURN CASE v_told WHEN 0 THEN 'released' ELSE 'told' END;
END $$;
{{else -}}
-- SQLite runs the statements from Go.
SELECT 1;
{{end}}
