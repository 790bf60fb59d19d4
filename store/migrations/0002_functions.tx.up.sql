{{if .Postgres -}}
-- Holding and settling on PostgreSQL: one statement each, so that the row of the
-- account is locked for no longer than a commit takes, however far away the
-- process is. SQLite, which is in the process, runs the same statements from Go
-- (hold.go, call.go); one test suite holds both to the same rules. The order of
-- locks is that of all transactions: call, idempotency key, account, API key.

CREATE OR REPLACE FUNCTION begin_call(
    p_id text, p_result text, p_account text, p_key text, p_operation text, p_mode text, p_request text,
    p_idem text, p_hash bytea, p_idem_until bigint, p_lease text, p_metered boolean, p_quote bigint,
    p_now bigint, p_today bigint, p_posting text, p_callback text, p_receiver text,
    p_job boolean, p_input bytea, p_input_key text, p_pins text[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_held bigint := CASE WHEN p_metered THEN 0 ELSE p_quote END;
    v_day bigint;
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
        RETURNING day INTO v_day;
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
        INSERT INTO journal (id, account_id, kind, cause, held, wallet, created_at)
            VALUES (p_posting, p_account, 'hold', p_id, v_held, -v_held, p_now);
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

-- As processes of releases before 0075_regions settle, whose function is called once it
-- is there. Databases that are older than that have a body of its own here.
CREATE OR REPLACE FUNCTION settle_call(
    p_id text, p_charge bigint, p_now bigint, p_duration bigint, p_steps text, p_posting text, p_lease text, p_try bigint,
    p_file text, p_filename text, p_content_type text, p_size bigint, p_blob text, p_expires bigint,
    p_event_type text, p_event text, p_event_body bytea, p_callback_event text, p_callback_body bytea, p_deliveries text[]
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN settle_kept(p_id, p_charge, p_now, p_duration, p_steps, p_posting, p_lease, p_try, p_file, p_filename, p_content_type, p_size,
        p_blob, p_expires, p_event_type, p_event, p_event_body, p_callback_event, p_callback_body, p_deliveries, '', '');
END $$;
{{else -}}
-- SQLite runs the statements from Go.
SELECT 1;
{{end}}
