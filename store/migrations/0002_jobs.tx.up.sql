-- Jobs, webhooks and their deliveries, uploads' pins, payments. See
-- 0001_initial.tx.up.sql for the conventions.

-- A job is a call whose result is fetched later. Its state says what the queue
-- has to do with it; how it ended is in the call.
CREATE TABLE IF NOT EXISTS jobs (
    seq        {{.Serial}},
    call_id    TEXT NOT NULL UNIQUE REFERENCES calls (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'ended')),
    tries      {{.Int}} NOT NULL DEFAULT 0 CHECK (tries >= 0),
    lease      TEXT NOT NULL DEFAULT '',
    input_key  TEXT NOT NULL DEFAULT '',
    started_at {{.Int}},
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS jobs_queued ON jobs (account_id, seq) WHERE state = 'queued';

--bun:split

CREATE INDEX IF NOT EXISTS jobs_running ON jobs (account_id, lease) WHERE state = 'running';

--bun:split

-- Whose turn it is: the account whose last job began the longest ago.
CREATE INDEX IF NOT EXISTS jobs_turn ON jobs (account_id, started_at);

--bun:split

CREATE INDEX IF NOT EXISTS jobs_age ON jobs (created_at);

--bun:split

CREATE INDEX IF NOT EXISTS jobs_input ON jobs (input_key) WHERE input_key <> '';

--bun:split

-- Files that a job needs stay until it has ended, although they expire.
CREATE TABLE IF NOT EXISTS pins (
    file_id TEXT NOT NULL,
    call_id TEXT NOT NULL REFERENCES calls (id),
    PRIMARY KEY (file_id, call_id)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS pins_call ON pins (call_id);

--bun:split

-- Where the end of a call is reported, besides the account's webhooks.
CREATE TABLE IF NOT EXISTS callbacks (
    call_id    TEXT NOT NULL PRIMARY KEY REFERENCES calls (id),
    url        TEXT NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS callbacks_age ON callbacks (created_at);

--bun:split

CREATE TABLE IF NOT EXISTS webhooks (
    id              TEXT NOT NULL PRIMARY KEY,
    account_id      TEXT NOT NULL REFERENCES accounts (id),
    url             TEXT NOT NULL,
    events          TEXT NOT NULL DEFAULT '',
    secret          {{.Bytes}} NOT NULL,
    secret_prefix   TEXT NOT NULL,
    previous_secret {{.Bytes}},
    previous_until  {{.Int}},
    enabled         {{.Bool}} NOT NULL DEFAULT TRUE,
    disabled_reason TEXT NOT NULL DEFAULT '',
    failing_since   {{.Int}},
    created_at      {{.Int}} NOT NULL,
    deleted_at      {{.Int}}
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS webhooks_account ON webhooks (account_id) WHERE deleted_at IS NULL;

--bun:split

-- The outbox. An event is written in the transaction of what it tells of,
-- together with a delivery to each endpoint that wants it.
CREATE TABLE IF NOT EXISTS events (
    id         TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    type       TEXT NOT NULL,
    call_id    TEXT REFERENCES calls (id),
    body       {{.Bytes}} NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS events_age ON events (created_at);

--bun:split

CREATE INDEX IF NOT EXISTS events_call ON events (call_id) WHERE call_id IS NOT NULL;

--bun:split

-- A delivery's receiver is its endpoint or, for a callback, the account and the
-- host: what is sent to one does not hold up the others. A pending delivery is
-- ready for an attempt, or waits for its time: for that of the next attempt or,
-- while one is under way, for that at which it counts as lost.
CREATE TABLE IF NOT EXISTS deliveries (
    id               TEXT NOT NULL PRIMARY KEY,
    account_id       TEXT NOT NULL REFERENCES accounts (id),
    endpoint_id      TEXT REFERENCES webhooks (id),
    event_id         TEXT NOT NULL REFERENCES events (id),
    receiver         TEXT NOT NULL,
    url              TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts         {{.Int}} NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    last_status_code {{.Int}},
    last_error       TEXT NOT NULL DEFAULT '',
    last_body        {{.Bytes}},
    last_duration    {{.Int}},
    next_attempt_at  {{.Int}},
    ready            {{.Bool}} NOT NULL DEFAULT TRUE,
    lease            TEXT NOT NULL DEFAULT '',
    leased_until     {{.Int}},
    created_at       {{.Int}} NOT NULL,
    delivered_at     {{.Int}}
){{.Strict}};

--bun:split

-- The dispatcher's indexes: what is ready for whom, what waits, and what is
-- under way.
CREATE INDEX IF NOT EXISTS deliveries_ready ON deliveries (receiver, next_attempt_at) WHERE status = 'pending' AND ready;

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_waiting ON deliveries (next_attempt_at) WHERE status = 'pending' AND NOT ready;

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_receiver_leased ON deliveries (receiver, leased_until)
    WHERE status = 'pending' AND leased_until IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_account_leased ON deliveries (account_id, leased_until)
    WHERE status = 'pending' AND leased_until IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_account ON deliveries (account_id, created_at);

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_event ON deliveries (event_id);

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_endpoint ON deliveries (endpoint_id, status) WHERE endpoint_id IS NOT NULL;

--bun:split

-- When an account was last told that its wallet is empty.
CREATE TABLE IF NOT EXISTS wallet_alerts (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    refused_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Payments by the provider's reference, so that none is credited twice.
CREATE TABLE IF NOT EXISTS payments (
    provider   TEXT NOT NULL,
    reference  TEXT NOT NULL,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL CHECK (kind IN ('topup', 'auto_reload')),
    amount     {{.Int}} NOT NULL CHECK (amount > 0),
    created_at {{.Int}} NOT NULL,
    PRIMARY KEY (provider, reference)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS payments_account ON payments (account_id, created_at);
