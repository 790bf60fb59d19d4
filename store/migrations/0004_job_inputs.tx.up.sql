-- Short inputs of jobs, encrypted. They go with the end of their job; long ones
-- are in blobs.
CREATE TABLE IF NOT EXISTS job_inputs (
    call_id TEXT NOT NULL PRIMARY KEY REFERENCES calls (id),
    sealed  {{.Bytes}} NOT NULL
){{.Strict}};
