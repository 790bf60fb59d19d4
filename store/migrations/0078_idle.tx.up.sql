{{if .Postgres -}}
-- Processes whose workers found no job, each the name of the channel on which it
-- is told of one (queue.go). After a crash of the database nobody is in it: whoever
-- listens again says so anew.
CREATE UNLOGGED TABLE IF NOT EXISTS idle_processes (
    name  {{.ID}} NOT NULL PRIMARY KEY,
    since {{.Int}} NOT NULL
){{.Hot}};
{{else -}}
-- Processes on SQLite look for jobs themselves.
SELECT 1;
{{end}}
