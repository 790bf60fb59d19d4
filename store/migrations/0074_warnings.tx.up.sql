{{if .Postgres}}
-- As processes of the release before 0075_regions settle, whose function is called once
-- it is there.
CREATE OR REPLACE FUNCTION settle_warned(
    p_id text, p_charge bigint, p_now bigint, p_duration bigint, p_steps text, p_posting text, p_lease text, p_try bigint,
    p_file text, p_filename text, p_content_type text, p_size bigint, p_blob text, p_expires bigint,
    p_event_type text, p_event text, p_event_body bytea, p_callback_event text, p_callback_body bytea, p_deliveries text[], p_warnings text
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN settle_kept(p_id, p_charge, p_now, p_duration, p_steps, p_posting, p_lease, p_try, p_file, p_filename, p_content_type, p_size,
        p_blob, p_expires, p_event_type, p_event, p_event_body, p_callback_event, p_callback_body, p_deliveries, p_warnings, '');
END $$;
{{end}}