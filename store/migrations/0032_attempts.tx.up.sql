-- Attempts of deliveries before the last one, which is in the delivery's row: what
-- arrives at once, as almost all does, has none here.
CREATE TABLE IF NOT EXISTS delivery_attempts (
    delivery_id {{.ID}} NOT NULL,
    at          {{.Int}} NOT NULL,
    status_code {{.Int}},
    error       TEXT NOT NULL DEFAULT '',
    body        {{.Bytes}},
    duration    {{.Int}},
    PRIMARY KEY (delivery_id, at)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivery_attempts_age ON delivery_attempts (at);
