-- How far the files were looked at for those that nobody refers to, by region where
-- each keeps its own. See orphan.go, and 0001_initial.tx.up.sql for the conventions.
CREATE TABLE IF NOT EXISTS sweeps (
    region {{.ID}} NOT NULL PRIMARY KEY,
    place  TEXT NOT NULL
){{.Strict}};
