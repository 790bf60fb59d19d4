-- What all processes of a database have in common, by name: the folder of the files, and the secret key (agreement.go).
CREATE TABLE IF NOT EXISTS agreements (
    name  {{.ID}} NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
