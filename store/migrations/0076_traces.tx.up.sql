{{if .Postgres}}
-- A call that a trace goes on from, where it becomes a job or is called back:
-- beside begin_call and begin_job, which calls without a trace go on using.
CREATE OR REPLACE FUNCTION begin_traced(
    p_id text, p_result text, p_account text, p_key text, p_operation text, p_mode text, p_request text, p_idem text, p_hash bytea,
    p_idem_until bigint, p_lease text, p_metered boolean, p_quote bigint, p_now bigint, p_today bigint, p_posting text, p_callback text, p_receiver text, p_job boolean, p_input bytea, p_input_key text, p_pins text[], p_kind text, p_trace text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_verdict text;
BEGIN
    IF p_job THEN
        v_verdict := begin_job(p_id, p_result, p_account, p_key, p_operation, p_mode, p_request, p_idem, p_hash, p_idem_until, p_lease, p_metered, p_quote, p_now, p_today, p_posting, p_callback, p_receiver, p_job, p_input, p_input_key, p_pins, p_kind);
        UPDATE jobs SET trace = p_trace WHERE call_id = p_id;
    ELSE
        v_verdict := begin_call(p_id, p_result, p_account, p_key, p_operation, p_mode, p_request, p_idem, p_hash, p_idem_until, p_lease, p_metered, p_quote, p_now, p_today, p_posting, p_callback, p_receiver, p_job, p_input, p_input_key, p_pins);
    END IF;
    IF p_callback <> '' THEN
        UPDATE callbacks SET trace = p_trace WHERE call_id = p_id;
    END IF;
    RETURN v_verdict;
END $$;
{{else -}}
-- SQLite runs the statements from Go.
SELECT 1;
{{end}}
