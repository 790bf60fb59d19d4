-- Programs on machines that ask a person for a key (RFC 8628). Both codes are kept
-- as hashes. See 0001_initial.tx.up.sql for the conventions.

CREATE TABLE IF NOT EXISTS device_codes (
    id             {{.ID}} NOT NULL PRIMARY KEY,
    device_hash    {{.Bytes}} NOT NULL UNIQUE,
    user_hash      {{.Bytes}} NOT NULL UNIQUE,
    machine        TEXT NOT NULL,
    system         TEXT NOT NULL,
    address        TEXT NOT NULL,
    state          TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'approved', 'denied', 'used')),
    person_id      {{.ID}},
    account_id     {{.ID}},
    key_name       TEXT NOT NULL DEFAULT '',
    key_test       {{.Bool}} NOT NULL DEFAULT FALSE,
    key_limit      {{.Int}} CHECK (key_limit >= 0),
    key_expires_at {{.Int}},
    key_id         {{.ID}},
    pause          {{.Int}} NOT NULL,
    polled_at      {{.Int}},
    created_at     {{.Int}} NOT NULL,
    expires_at     {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS device_codes_age ON device_codes (created_at);
