-- The headers of attempts of deliveries, as lines. An attempt of the previous release has none.
CREATE TABLE IF NOT EXISTS delivery_headers (
    delivery_id {{.ID}} NOT NULL,
    at          {{.Int}} NOT NULL,
    request     TEXT NOT NULL,
    response    TEXT NOT NULL,
    PRIMARY KEY (delivery_id, at)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivery_headers_age ON delivery_headers (at);
