-- Blobs that could not be deleted when their time was over, how often that was tried,
-- and when it is tried again, so that they keep no others from being deleted. See
-- discard.go, and 0001_initial.tx.up.sql for the conventions.
CREATE TABLE IF NOT EXISTS undeleted_blobs (
    blob_key {{.ID}} NOT NULL PRIMARY KEY,
    failures {{.Int}} NOT NULL,
    retry_at {{.Int}} NOT NULL,
    error    TEXT NOT NULL
){{.Strict}};
