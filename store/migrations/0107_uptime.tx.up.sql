-- Minutes in which a component was measured and in which it worked, by UTC day. last_minute, counted from 1970, is the
-- last of them, and last_up whether the component worked in it: no minute counts twice (uptime.go).
CREATE TABLE IF NOT EXISTS uptime_days (
    component   {{.ID}} NOT NULL,
    day         {{.Int}} NOT NULL,
    minutes     {{.Int}} NOT NULL,
    up          {{.Int}} NOT NULL,
    last_minute {{.Int}} NOT NULL,
    last_up     {{.Int}} NOT NULL CHECK (last_up IN (0, 1)),
    PRIMARY KEY (component, day)
){{.Hot}};
