-- One set of migrations serves SQLite and PostgreSQL; what differs between
-- them comes from the template's data (see migrate.go). Times are integer
-- microseconds since 1970 in UTC, days are whole days since then, money is
-- integer microdollars. Every statement can be repeated, because a process may
-- die after the commit and before the migration is marked as applied.
--
-- Ids begin with their kind and their time (see id.go), and are compared byte by
-- byte. On PostgreSQL the tables that grow with every call are partitioned by
-- month on them (see partition.go). These refer to no account and no key by a
-- constraint: it would lock the row that every call of an account changes.

CREATE TABLE IF NOT EXISTS accounts (
    id             {{.ID}} NOT NULL PRIMARY KEY,
    email          {{.ID}} NOT NULL UNIQUE,
    name           TEXT NOT NULL DEFAULT '',
    region         TEXT NOT NULL,
    plan           TEXT NOT NULL CHECK (plan IN ('free', 'paid')),
    suspended      {{.Bool}} NOT NULL DEFAULT FALSE,
    suspend_reason TEXT NOT NULL DEFAULT '',
    funded         {{.Bool}} NOT NULL DEFAULT FALSE,
    auto_reload    {{.Bool}} NOT NULL DEFAULT FALSE,
    balance        {{.Int}} NOT NULL DEFAULT 0 CHECK (balance >= 0),
    held           {{.Int}} NOT NULL DEFAULT 0 CHECK (held >= 0),
    owed           {{.Int}} NOT NULL DEFAULT 0 CHECK (owed >= 0),
    max_job        {{.Int}} CHECK (max_job >= 0),
    max_day        {{.Int}} CHECK (max_day >= 0),
    day            {{.Int}} NOT NULL DEFAULT 0,
    day_spent      {{.Int}} NOT NULL DEFAULT 0 CHECK (day_spent >= 0),
    created_at     {{.Int}} NOT NULL,
    keep_inputs    {{.Bool}} NOT NULL DEFAULT FALSE,
    closes_at      {{.Int}}
){{.Hot}};

--bun:split

-- Accounts whose owner asked for their end.
CREATE INDEX IF NOT EXISTS accounts_closing ON accounts (closes_at) WHERE closes_at IS NOT NULL;

--bun:split

CREATE TABLE IF NOT EXISTS keys (
    id           {{.ID}} NOT NULL PRIMARY KEY,
    account_id   {{.ID}} NOT NULL REFERENCES accounts (id),
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         {{.Bytes}} NOT NULL UNIQUE,
    test         {{.Bool}} NOT NULL,
    expires_at   {{.Int}},
    spend_limit  {{.Int}} CHECK (spend_limit >= 0),
    spent        {{.Int}} NOT NULL DEFAULT 0 CHECK (spent >= 0),
    operations   TEXT NOT NULL DEFAULT '',
    created_at   {{.Int}} NOT NULL,
    revoked_at   {{.Int}},
    last_used_at {{.Int}}
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS keys_account ON keys (account_id);

--bun:split

-- A call's id follows from that of its result (see CallID).
CREATE TABLE IF NOT EXISTS calls (
    id              {{.ID}} NOT NULL PRIMARY KEY,
    result_id       {{.ID}} NOT NULL,
    account_id      {{.ID}} NOT NULL,
    key_id          {{.ID}},
    operation       TEXT NOT NULL,
    mode            TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    idempotency_key TEXT NOT NULL DEFAULT '',
    lease           {{.ID}} NOT NULL,
    metered         {{.Bool}} NOT NULL,
    quote           {{.Int}} NOT NULL CHECK (quote >= 0),
    charge          {{.Int}} NOT NULL DEFAULT 0 CHECK (charge >= 0 AND charge <= quote),
    status          TEXT NOT NULL CHECK (status IN ('running', 'done', 'failed')),
    error_code      TEXT NOT NULL DEFAULT '',
    error_message   TEXT NOT NULL DEFAULT '',
    day             {{.Int}} NOT NULL,
    created_at      {{.Int}} NOT NULL,
    ended_at        {{.Int}},
    duration        {{.Int}} NOT NULL DEFAULT 0,
    steps           TEXT NOT NULL DEFAULT ''
){{.Monthly}};

--bun:split

-- What lists are read by.
CREATE INDEX IF NOT EXISTS calls_account ON calls (account_id, id);

--bun:split

CREATE INDEX IF NOT EXISTS calls_operation ON calls (account_id, operation, id);

--bun:split

CREATE INDEX IF NOT EXISTS calls_key ON calls (key_id, id);

--bun:split

CREATE INDEX IF NOT EXISTS calls_undone ON calls (account_id, status, id) WHERE status <> 'done';

--bun:split

CREATE INDEX IF NOT EXISTS calls_jobs ON calls (account_id, id) WHERE mode = 'async';

--bun:split

-- The reaper's index: only the few calls that are running are in it.
CREATE INDEX IF NOT EXISTS calls_running ON calls (id) WHERE status = 'running';

--bun:split

-- The journal of all money: what happened, why, and its entries, one column for
-- each book. The database itself refuses a row whose entries do not sum to zero.
CREATE TABLE IF NOT EXISTS journal (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('payment', 'trial', 'grant', 'promotion', 'hold', 'settle', 'release',
        'refund', 'chargeback', 'adjustment', 'ai')),
    cause      {{.ID}} NOT NULL DEFAULT '',
    reference  TEXT NOT NULL DEFAULT '',
    reason     TEXT NOT NULL DEFAULT '',
    currency   TEXT NOT NULL DEFAULT 'usd' CHECK (currency = 'usd'),
    promotion  {{.Int}} NOT NULL DEFAULT 0,
    payment    {{.Int}} NOT NULL DEFAULT 0,
    adjustment {{.Int}} NOT NULL DEFAULT 0,
    held       {{.Int}} NOT NULL DEFAULT 0,
    revenue    {{.Int}} NOT NULL DEFAULT 0,
    debt       {{.Int}} NOT NULL DEFAULT 0,
    wallet     {{.Int}} NOT NULL DEFAULT 0,
    created_at {{.Int}} NOT NULL,
    CONSTRAINT journal_balances CHECK (promotion + payment + adjustment + held + revenue + debt + wallet = 0)
){{.Monthly}};

--bun:split

CREATE INDEX IF NOT EXISTS journal_account ON journal (account_id, id);

--bun:split

CREATE INDEX IF NOT EXISTS journal_outside ON journal (account_id, kind, id) WHERE kind NOT IN ('hold', 'settle', 'release');

--bun:split

-- What has come from outside, by its reference, so that none is posted twice.
CREATE TABLE IF NOT EXISTS journal_references (
    account_id {{.ID}} NOT NULL,
    kind       TEXT NOT NULL,
    reference  TEXT NOT NULL,
    amount     {{.Int}} NOT NULL,
    journal_id {{.ID}} NOT NULL,
    PRIMARY KEY (account_id, kind, reference)
){{.Strict}};

--bun:split

-- The books of an account at the close of a month in which something was
-- posted. Months are counted from the year 0.
CREATE TABLE IF NOT EXISTS closings (
    account_id {{.ID}} NOT NULL,
    month      {{.Int}} NOT NULL,
    entries    {{.Int}} NOT NULL,
    promotion  {{.Int}} NOT NULL,
    payment    {{.Int}} NOT NULL,
    adjustment {{.Int}} NOT NULL,
    held       {{.Int}} NOT NULL,
    revenue    {{.Int}} NOT NULL,
    debt       {{.Int}} NOT NULL,
    wallet     {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, month)
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS closed_months (
    month     {{.Int}} NOT NULL PRIMARY KEY,
    closed_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- What settled calls came to, by the day on which they count.
CREATE TABLE IF NOT EXISTS usage_days (
    account_id {{.ID}} NOT NULL,
    day        {{.Int}} NOT NULL,
    operation  TEXT NOT NULL,
    key_id     {{.ID}} NOT NULL,
    calls      {{.Int}} NOT NULL,
    amount     {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, day, operation, key_id)
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS usage_days_key ON usage_days (key_id);

--bun:split

CREATE TABLE IF NOT EXISTS idempotency (
    account_id {{.ID}} NOT NULL,
    idem_key   TEXT NOT NULL,
    call_id    {{.ID}} NOT NULL,
    body_hash  {{.Bytes}} NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'done')),
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, idem_key)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS idempotency_expiry ON idempotency (expires_at);

--bun:split

CREATE TABLE IF NOT EXISTS leases (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE TABLE IF NOT EXISTS files (
    id           {{.ID}} NOT NULL PRIMARY KEY,
    account_id   {{.ID}} NOT NULL,
    call_id      {{.ID}},
    filename     TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size         {{.Int}} NOT NULL CHECK (size >= 0),
    blob_key     TEXT NOT NULL,
    downloads    {{.Int}} NOT NULL DEFAULT 0,
    created_at   {{.Int}} NOT NULL,
    expires_at   {{.Int}} NOT NULL,
    deleted_at   {{.Int}}
){{.Monthly}};

--bun:split

CREATE INDEX IF NOT EXISTS files_account ON files (account_id, id);

--bun:split

CREATE INDEX IF NOT EXISTS files_expiry ON files (expires_at);

--bun:split

-- Blobs without a row are swept by asking for their keys.
CREATE INDEX IF NOT EXISTS files_blob ON files (blob_key);

--bun:split

-- The quota of uploads is counted for each one.
CREATE INDEX IF NOT EXISTS files_uploads ON files (account_id, expires_at) WHERE call_id IS NULL;

--bun:split

-- A job is a call whose result is fetched later. Its state says what the queue
-- has to do with it; how it ended is in the call.
CREATE TABLE IF NOT EXISTS jobs (
    seq        {{.Serial}},
    call_id    {{.ID}} NOT NULL UNIQUE,
    account_id {{.ID}} NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'ended')),
    tries      {{.Int}} NOT NULL DEFAULT 0 CHECK (tries >= 0),
    lease      {{.ID}} NOT NULL DEFAULT '',
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

-- Short inputs of jobs, encrypted. They go with the end of their job; long ones
-- are in blobs.
CREATE TABLE IF NOT EXISTS job_inputs (
    call_id {{.ID}} NOT NULL PRIMARY KEY,
    sealed  {{.Bytes}} NOT NULL
){{.Strict}};

--bun:split

-- Files that a job needs stay until it has ended, although they expire.
CREATE TABLE IF NOT EXISTS pins (
    file_id {{.ID}} NOT NULL,
    call_id {{.ID}} NOT NULL,
    PRIMARY KEY (file_id, call_id)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS pins_call ON pins (call_id);

--bun:split

-- Where the end of a call is reported, besides the account's webhooks.
CREATE TABLE IF NOT EXISTS callbacks (
    call_id    {{.ID}} NOT NULL PRIMARY KEY,
    url        TEXT NOT NULL,
    receiver   {{.ID}} NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS callbacks_age ON callbacks (created_at);

--bun:split

CREATE TABLE IF NOT EXISTS webhooks (
    id              {{.ID}} NOT NULL PRIMARY KEY,
    account_id      {{.ID}} NOT NULL REFERENCES accounts (id),
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
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    type       TEXT NOT NULL,
    call_id    {{.ID}},
    body       {{.Bytes}} NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Monthly}};

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
    id               {{.ID}} NOT NULL PRIMARY KEY,
    account_id       {{.ID}} NOT NULL,
    endpoint_id      {{.ID}},
    event_id         {{.ID}} NOT NULL,
    event_type       TEXT NOT NULL,
    receiver         {{.ID}} NOT NULL,
    url              TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts         {{.Int}} NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    last_status_code {{.Int}},
    last_error       TEXT NOT NULL DEFAULT '',
    last_body        {{.Bytes}},
    last_duration    {{.Int}},
    next_attempt_at  {{.Int}},
    ready            {{.Bool}} NOT NULL DEFAULT TRUE,
    lease            {{.ID}} NOT NULL DEFAULT '',
    leased_until     {{.Int}},
    created_at       {{.Int}} NOT NULL,
    delivered_at     {{.Int}}
){{.Monthly}};

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

CREATE INDEX IF NOT EXISTS deliveries_account ON deliveries (account_id, id);

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_age ON deliveries (created_at);

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_event ON deliveries (event_id);

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_endpoint ON deliveries (endpoint_id, id) WHERE endpoint_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_pending ON deliveries (endpoint_id) WHERE status = 'pending';

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_status ON deliveries (account_id, status, id);

--bun:split

CREATE INDEX IF NOT EXISTS deliveries_type ON deliveries (account_id, event_type, id);

--bun:split

-- When an account was last told that its wallet is empty.
CREATE TABLE IF NOT EXISTS wallet_alerts (
    account_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES accounts (id),
    refused_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Payments by the provider's reference, so that none is credited to two accounts.
CREATE TABLE IF NOT EXISTS payments (
    provider   TEXT NOT NULL,
    reference  TEXT NOT NULL,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL CHECK (kind IN ('topup', 'auto_reload')),
    amount     {{.Int}} NOT NULL CHECK (amount > 0),
    created_at {{.Int}} NOT NULL,
    PRIMARY KEY (provider, reference)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS payments_account ON payments (account_id, created_at);

--bun:split

-- When a wallet falls below the threshold, the amount is taken from the saved
-- method. An attempt has an id, which the provider of payments knows it by, as
-- long as it is not known how it ended; only the holder of its lease works on it.
CREATE TABLE IF NOT EXISTS reloads (
    account_id     {{.ID}} NOT NULL PRIMARY KEY REFERENCES accounts (id),
    threshold      {{.Int}} NOT NULL CHECK (threshold > 0),
    amount         {{.Int}} NOT NULL CHECK (amount > 0),
    method         TEXT NOT NULL,
    attempt        TEXT NOT NULL DEFAULT '',
    attempt_amount {{.Int}} NOT NULL DEFAULT 0,
    attempt_method TEXT NOT NULL DEFAULT '',
    leased_until   {{.Int}} NOT NULL DEFAULT 0,
    not_before     {{.Int}} NOT NULL DEFAULT 0
){{.Strict}};

--bun:split

-- Periodic work: when each task is due, who does it now, and how the last time
-- ended.
CREATE TABLE IF NOT EXISTS tasks (
    name         TEXT NOT NULL PRIMARY KEY,
    due_at       {{.Int}} NOT NULL,
    lease        {{.ID}} NOT NULL DEFAULT '',
    leased_until {{.Int}} NOT NULL DEFAULT 0,
    ended_at     {{.Int}},
    error        TEXT NOT NULL DEFAULT ''
){{.Strict}};
