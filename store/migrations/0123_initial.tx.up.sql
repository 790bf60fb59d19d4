-- The schema of both databases; what differs between them comes from the template's
-- data (migrate.go). Times are integer microseconds since 1970 in UTC, days are whole
-- days since then, money is integer microdollars. Every statement can be repeated,
-- because a process may end after the commit and before the migration is marked as
-- applied.
--
-- IDs begin with their kind and their time (id.go), and are compared byte by byte. On
-- PostgreSQL the tables that grow with every call are partitioned by month on them
-- (partition.go). These refer to no account and no key by a constraint: it would lock
-- the row that every call of an account changes.

-- Accounts, members, sessions
-- ---------------------------

-- An account with its wallet: what it may spend, what is held for running calls, what it
-- owes, its owner's limits, and what counts towards the day's.
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

-- Users of the pages. The second factor is encrypted, and factor_step is the last step of
-- it that was used.
CREATE TABLE IF NOT EXISTS people (
    id               {{.ID}} NOT NULL PRIMARY KEY,
    email            TEXT NOT NULL UNIQUE,
    name             TEXT NOT NULL DEFAULT '',
    password         TEXT NOT NULL DEFAULT '',
    password_set_at  {{.Int}},
    verified_at      {{.Int}},
    factor           {{.Bytes}},
    factor_step      {{.Int}} NOT NULL DEFAULT 0,
    operator         {{.Bool}} NOT NULL DEFAULT FALSE,
    identity         TEXT,
    created_at       {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- One identity of an outside provider belongs to one user.
CREATE UNIQUE INDEX IF NOT EXISTS people_identity ON people (identity) WHERE identity IS NOT NULL;

--bun:split

-- Which users are members of which accounts, and what they may do there.
CREATE TABLE IF NOT EXISTS members (
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    person_id  {{.ID}} NOT NULL REFERENCES people (id),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'billing', 'viewer')),
    created_at {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, person_id)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS members_person ON members (person_id);

--bun:split

-- Invitations to an account that were not accepted yet.
CREATE TABLE IF NOT EXISTS invites (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    email      TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'billing', 'viewer')),
    inviter_id {{.ID}} NOT NULL,
    token_hash {{.Bytes}} NOT NULL UNIQUE,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL,
    UNIQUE (account_id, email)
){{.Strict}};

--bun:split

-- Links in emails: single use, by the hash of what the link carries.
CREATE TABLE IF NOT EXISTS tokens (
    hash       {{.Bytes}} NOT NULL PRIMARY KEY,
    purpose    TEXT NOT NULL,
    person_id  {{.ID}} NOT NULL REFERENCES people (id),
    data       TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS tokens_person ON tokens (person_id, purpose);

--bun:split

CREATE INDEX IF NOT EXISTS tokens_expiry ON tokens (expires_at);

--bun:split

-- Codes that replace a second factor, by their hash.
CREATE TABLE IF NOT EXISTS recovery_codes (
    person_id {{.ID}} NOT NULL REFERENCES people (id),
    hash      {{.Bytes}} NOT NULL,
    PRIMARY KEY (person_id, hash)
){{.Strict}};

--bun:split

-- Signed-in browsers.
CREATE TABLE IF NOT EXISTS sessions (
    token      TEXT NOT NULL PRIMARY KEY,
    public_id  {{.ID}} NOT NULL UNIQUE,
    person_id  {{.ID}},
    data       {{.Bytes}} NOT NULL,
    device     TEXT NOT NULL DEFAULT '',
    address    TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL,
    seen_at    {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS sessions_person ON sessions (person_id) WHERE person_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at);

--bun:split

-- Who changed what. An entry of the installation has no account.
CREATE TABLE IF NOT EXISTS audit (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}},
    person_id  {{.ID}},
    who        TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL DEFAULT '',
    note       TEXT NOT NULL DEFAULT '',
    address    TEXT NOT NULL DEFAULT '',
    operator   {{.Bool}} NOT NULL DEFAULT FALSE,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS audit_account ON audit (account_id, id) WHERE account_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS audit_operator ON audit (id) WHERE operator;

--bun:split

-- Emails that wait to be sent, encrypted: they hold links that sign users in.
CREATE TABLE IF NOT EXISTS letters (
    id           {{.ID}} NOT NULL PRIMARY KEY,
    sealed       {{.Bytes}} NOT NULL,
    attempts     {{.Int}} NOT NULL DEFAULT 0,
    due_at       {{.Int}} NOT NULL,
    created_at   {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS letters_due ON letters (due_at);

--bun:split

-- Keys and apps
-- -------------

-- API keys, by their hash, with their spending limit and what counts towards it.
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

-- Apps on machines that ask a user for a key (RFC 8628). Both codes are stored as hashes.
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

--bun:split

-- Apps that have registered themselves (OAuth 2.1, RFC 7591).
CREATE TABLE IF NOT EXISTS oauth_clients (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    redirects  TEXT NOT NULL,
    address    TEXT NOT NULL,
    created_at {{.Int}} NOT NULL,
    used_at    {{.Int}}
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_clients_age ON oauth_clients (created_at);

--bun:split

-- What an app may do for an account. Its limit, what it has spent, its end and whether it
-- was revoked are in its row of keys, of which no one has the secret: a call by a grant
-- is held to its limit as one with a key is, in the same transaction.
CREATE TABLE IF NOT EXISTS oauth_grants (
    key_id     {{.ID}} NOT NULL PRIMARY KEY REFERENCES keys (id),
    account_id {{.ID}} NOT NULL,
    person_id  {{.ID}} NOT NULL,
    client_id  TEXT NOT NULL,
    home       TEXT NOT NULL,
    resource   TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_grants_account ON oauth_grants (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS oauth_grants_client ON oauth_grants (client_id);

--bun:split

-- Codes that an app exchanges for tokens, once, with what was allowed. Stored as hashes.
CREATE TABLE IF NOT EXISTS oauth_codes (
    hash        {{.Bytes}} NOT NULL PRIMARY KEY,
    client_id   TEXT NOT NULL,
    client_name TEXT NOT NULL,
    redirect    TEXT NOT NULL,
    challenge   TEXT NOT NULL,
    resource    TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    account_id  {{.ID}} NOT NULL,
    person_id   {{.ID}} NOT NULL,
    spend_limit {{.Int}} NOT NULL CHECK (spend_limit >= 0),
    ends_at     {{.Int}} NOT NULL,
    used        {{.Bool}} NOT NULL DEFAULT FALSE,
    key_id      {{.ID}},
    created_at  {{.Int}} NOT NULL,
    expires_at  {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_codes_age ON oauth_codes (created_at);

--bun:split

-- Access and refresh tokens of grants, stored as hashes.
CREATE TABLE IF NOT EXISTS oauth_tokens (
    hash       {{.Bytes}} NOT NULL PRIMARY KEY,
    key_id     {{.ID}} NOT NULL REFERENCES keys (id),
    refresh    {{.Bool}} NOT NULL,
    scopes     TEXT NOT NULL,
    used       {{.Bool}} NOT NULL DEFAULT FALSE,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS oauth_tokens_key ON oauth_tokens (key_id);

--bun:split

CREATE INDEX IF NOT EXISTS oauth_tokens_expiry ON oauth_tokens (expires_at);

--bun:split

-- Calls and money
-- ---------------

-- A call from its hold to its end. Its ID follows from that of its result (CallID).
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

-- What failed is listed by, and counted by day without reading rows.
CREATE INDEX IF NOT EXISTS calls_failed ON calls (account_id, id, day) WHERE status = 'failed';

--bun:split

-- The journal of all money: what happened, why, its entries, one column for each book,
-- and what the wallet had afterwards. The database itself refuses a row whose entries do
-- not sum to zero.
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
    balance    {{.Int}} NOT NULL,
    created_at {{.Int}} NOT NULL,
    CONSTRAINT journal_balances CHECK (promotion + payment + adjustment + held + revenue + debt + wallet = 0)
){{.Monthly}};

--bun:split

CREATE INDEX IF NOT EXISTS journal_account ON journal (account_id, id);

--bun:split

CREATE INDEX IF NOT EXISTS journal_outside ON journal (account_id, kind, id) WHERE kind NOT IN ('hold', 'settle', 'release');

--bun:split

-- What lists without calls are read by.
CREATE INDEX IF NOT EXISTS journal_shown ON journal (account_id, id) WHERE kind NOT IN ('hold', 'settle', 'release');

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

-- The books of an account at the close of a month in which something was posted. Months
-- are counted from the year 0.
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

-- The months that are closed.
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

-- Failed calls by operation and by key, and all calls by template, by the day on which they count. They are written
-- behind (usage_count.go), and refer to nothing by a constraint.
CREATE TABLE IF NOT EXISTS usage_counts (
    account_id {{.ID}} NOT NULL,
    kind       {{.ID}} NOT NULL CHECK (kind IN ('operation', 'key', 'template')),
    day        {{.Int}} NOT NULL,
    name       {{.ID}} NOT NULL,
    calls      {{.Int}} NOT NULL,
    failures   {{.Int}} NOT NULL,
    amount     {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, kind, day, name)
){{.Hot}};

--bun:split

-- The alerts that accounts have switched on, and whether each can be sent (alert.go).
CREATE TABLE IF NOT EXISTS usage_alerts (
    account_id {{.ID}} NOT NULL,
    kind       {{.ID}} NOT NULL CHECK (kind IN ('day_limit', 'low_balance', 'failure_rate')),
    threshold  {{.Int}} NOT NULL CHECK (threshold > 0),
    armed      {{.Bool}} NOT NULL,
    sent_at    {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, kind)
){{.Hot}};

--bun:split

-- The log of an account's requests (request.go). It refers to no account, key and call by
-- a constraint, because it is written after the response and deleted after a few days.
CREATE TABLE IF NOT EXISTS requests (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    key_id     {{.ID}} NOT NULL,
    call_id    {{.ID}} NOT NULL,
    request_id {{.ID}} NOT NULL,
    method     TEXT NOT NULL,
    path       TEXT NOT NULL,
    status     {{.Int}} NOT NULL,
    code       TEXT NOT NULL,
    message    TEXT NOT NULL,
    body       TEXT NOT NULL,
    price      {{.Int}} NOT NULL,
    duration   {{.Int}} NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- The order of an account's list, and of its deletion.
CREATE INDEX IF NOT EXISTS requests_account ON requests (account_id, id);

--bun:split

-- Titles of calls in lists, which outlive the files of results (title.go). They refer to no call by a constraint, because
-- they are written after the call has ended.
CREATE TABLE IF NOT EXISTS titles (
    call_id    {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    title      TEXT NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS titles_account ON titles (account_id, call_id);

--bun:split

CREATE INDEX IF NOT EXISTS titles_age ON titles (created_at);

--bun:split

-- Which call has an idempotency key of its account.
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

-- Prices that were promised to an account, each for one call.
CREATE TABLE IF NOT EXISTS quotes (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    digest     {{.Bytes}} NOT NULL,
    amount     {{.Int}} NOT NULL CHECK (amount >= 0),
    call_id    {{.ID}},
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- A call uses one quote; a failed one gives it back.
CREATE UNIQUE INDEX IF NOT EXISTS quotes_call ON quotes (call_id) WHERE call_id IS NOT NULL;

--bun:split

CREATE INDEX IF NOT EXISTS quotes_age ON quotes (created_at);

--bun:split

-- Generations of templates that have failed on a day, and those that have not ended yet.
CREATE TABLE IF NOT EXISTS generation_days (
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    day        {{.Int}} NOT NULL,
    failures   {{.Int}} NOT NULL CHECK (failures >= 0),
    PRIMARY KEY (account_id, day)
){{.Strict}};

--bun:split

-- The sign of life of each process. Calls and jobs carry its ID, and are released when it
-- has ended.
CREATE TABLE IF NOT EXISTS leases (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    created_at {{.Int}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Jobs
-- ----

-- A job is a call whose result is fetched later. Its state is what the queue has to do
-- with it; how it ended is in the call.
CREATE TABLE IF NOT EXISTS jobs (
    seq        {{.Serial}},
    call_id    {{.ID}} NOT NULL UNIQUE,
    account_id {{.ID}} NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'ended')),
    tries      {{.Int}} NOT NULL DEFAULT 0 CHECK (tries >= 0),
    lease      {{.ID}} NOT NULL DEFAULT '',
    kind       {{.ID}} NOT NULL DEFAULT '',
    input_key  TEXT NOT NULL DEFAULT '',
    trace      TEXT NOT NULL DEFAULT '',
    started_at {{.Int}},
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS jobs_queued ON jobs (account_id, seq) WHERE state = 'queued';

--bun:split

CREATE INDEX IF NOT EXISTS jobs_running ON jobs (account_id, lease) WHERE state = 'running';

--bun:split

CREATE INDEX IF NOT EXISTS jobs_turn ON jobs (account_id, started_at);

--bun:split

CREATE INDEX IF NOT EXISTS jobs_age ON jobs (created_at);

--bun:split

CREATE INDEX IF NOT EXISTS jobs_input ON jobs (input_key) WHERE input_key <> '';

--bun:split

-- The age of the oldest job that waits is asked for again and again.
CREATE INDEX IF NOT EXISTS jobs_oldest ON jobs (created_at) WHERE state = 'queued';

--bun:split

-- Short inputs of jobs, encrypted. They go with the end of their job; long ones are in
-- blobs.
CREATE TABLE IF NOT EXISTS job_inputs (
    call_id {{.ID}} NOT NULL PRIMARY KEY,
    sealed  {{.Bytes}} NOT NULL
){{.Strict}};

--bun:split

-- Whose turn it is. What a claim would otherwise count and sort over all that waits is in
-- small tables, which triggers keep in the transaction of each change: here a row for
-- each account with jobs.
CREATE TABLE IF NOT EXISTS job_turns (
    account_id {{.ID}} NOT NULL PRIMARY KEY,
    queued     {{.Int}} NOT NULL,
    running    {{.Int}} NOT NULL,
    began_at   {{.Int}} NOT NULL
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS job_turns_next ON job_turns (running, began_at, account_id) WHERE queued > 0;

--bun:split

-- Bulk jobs (bulk.go): how far each has come, and what its chunks have made. They refer to no call by a constraint,
-- because calls are partitioned.
CREATE TABLE IF NOT EXISTS bulks (
    call_id     {{.ID}} NOT NULL PRIMARY KEY,
    account_id  {{.ID}} NOT NULL,
    total       {{.Int}} NOT NULL CHECK (total > 0),
    processed   {{.Int}} NOT NULL DEFAULT 0 CHECK (processed BETWEEN 0 AND total),
    failed      {{.Int}} NOT NULL DEFAULT 0 CHECK (failed BETWEEN 0 AND processed),
    charged     {{.Int}} NOT NULL DEFAULT 0 CHECK (charged >= 0),
    canceled_at {{.Int}},
    started_at  {{.Int}},
    created_at  {{.Int}} NOT NULL
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS bulks_age ON bulks (created_at);

--bun:split

CREATE INDEX IF NOT EXISTS bulks_account ON bulks (account_id);

--bun:split

-- The records of a chunk, and what became of each of them. Tries is that of the job which has made them.
CREATE TABLE IF NOT EXISTS bulk_chunks (
    call_id {{.ID}} NOT NULL,
    first   {{.Int}} NOT NULL,
    records {{.Int}} NOT NULL CHECK (records > 0),
    tries   {{.Int}} NOT NULL,
    results TEXT NOT NULL,
    PRIMARY KEY (call_id, first)
){{.Strict}};

--bun:split

-- Files
-- -----

-- Results and uploads; their bytes are in blobs. A result has a call.
CREATE TABLE IF NOT EXISTS files (
    id           {{.ID}} NOT NULL PRIMARY KEY,
    account_id   {{.ID}} NOT NULL,
    call_id      {{.ID}},
    key_id       {{.ID}} NOT NULL DEFAULT '',
    filename     TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size         {{.Int}} NOT NULL CHECK (size >= 0),
    blob_key     TEXT NOT NULL,
    warnings     TEXT NOT NULL DEFAULT '',
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

-- Files that a job needs stay until it has ended, although they expire.
CREATE TABLE IF NOT EXISTS pins (
    file_id {{.ID}} NOT NULL,
    call_id {{.ID}} NOT NULL,
    PRIMARY KEY (file_id, call_id)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS pins_call ON pins (call_id);

--bun:split

-- What a call asked of the URL of its result besides the default: a lifetime, a maximum number of downloads, or both
-- (link.go). max_downloads is 0 without a maximum. A row is written before the file that it is about, so it refers to it
-- by no constraint.
CREATE TABLE IF NOT EXISTS links (
    file_id       {{.ID}} NOT NULL PRIMARY KEY,
    account_id    {{.ID}} NOT NULL,
    max_downloads {{.Int}} NOT NULL CHECK (max_downloads >= 0),
    downloads     {{.Int}} NOT NULL CHECK (downloads >= 0),
    created_at    {{.Int}} NOT NULL,
    expires_at    {{.Int}} NOT NULL
){{.Hot}};

--bun:split

-- Results that are stored longer than others count towards the quota of their account.
CREATE INDEX IF NOT EXISTS links_account ON links (account_id, expires_at);

--bun:split

CREATE INDEX IF NOT EXISTS links_age ON links (expires_at);

--bun:split

-- Deliveries of results to the destination that their call named (delivered.go), for as long as jobs are shown. A row is
-- written before the end of its call, so it refers to it by no constraint.
CREATE TABLE IF NOT EXISTS delivered (
    file_id      {{.ID}} NOT NULL PRIMARY KEY,
    account_id   {{.ID}} NOT NULL,
    host         TEXT NOT NULL,
    status_code  {{.Int}} NOT NULL,
    attempts     {{.Int}} NOT NULL,
    delivered_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivered_account ON delivered (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS delivered_age ON delivered (delivered_at);

--bun:split

-- The place in a connection to which a result was delivered, for its row in delivered (delivered.go).
CREATE TABLE IF NOT EXISTS delivered_objects (
    file_id       {{.ID}} NOT NULL PRIMARY KEY,
    account_id    {{.ID}} NOT NULL,
    kind          TEXT NOT NULL,
    connection_id {{.ID}} NOT NULL,
    object_key    TEXT NOT NULL,
    delivered_at  {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivered_objects_account ON delivered_objects (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS delivered_objects_age ON delivered_objects (delivered_at);

--bun:split

-- Inputs of calls, encrypted, for accounts that want them stored until they expire.
CREATE TABLE IF NOT EXISTS kept_inputs (
    call_id    {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    sealed     {{.Bytes}} NOT NULL,
    expires_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS kept_inputs_account ON kept_inputs (account_id);

--bun:split

CREATE INDEX IF NOT EXISTS kept_inputs_expiry ON kept_inputs (expires_at);

--bun:split

-- Blobs that could not be deleted when their time was over, how often that was tried, and
-- when it is tried again, so that they keep no others from being deleted.
CREATE TABLE IF NOT EXISTS undeleted_blobs (
    blob_key {{.ID}} NOT NULL PRIMARY KEY,
    failures {{.Int}} NOT NULL,
    retry_at {{.Int}} NOT NULL,
    error    TEXT NOT NULL
){{.Strict}};

--bun:split

-- How far the blobs were compared with the rows that refer to them.
CREATE TABLE IF NOT EXISTS sweeps (
    name  TEXT NOT NULL PRIMARY KEY,
    place TEXT NOT NULL
){{.Strict}};

--bun:split

-- Events and deliveries
-- ---------------------

-- Endpoints that an account's events are delivered to. The secret is encrypted; the
-- previous one is valid for a while after it was rolled.
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
    failed_days     {{.Int}} NOT NULL DEFAULT 0,
    failed_day      {{.Int}} NOT NULL DEFAULT 0,
    created_at      {{.Int}} NOT NULL,
    deleted_at      {{.Int}}
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS webhooks_account ON webhooks (account_id) WHERE deleted_at IS NULL;

--bun:split

-- Where the end of a call is reported, besides the account's webhooks.
CREATE TABLE IF NOT EXISTS callbacks (
    call_id    {{.ID}} NOT NULL PRIMARY KEY,
    url        TEXT NOT NULL,
    receiver   {{.ID}} NOT NULL,
    trace      TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS callbacks_age ON callbacks (created_at);

--bun:split

-- The outbox. An event is written in the transaction of its cause, together with a
-- delivery to each endpoint that wants it.
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

-- A delivery's receiver is its endpoint or, for a callback, the account and the host:
-- what is sent to one does not hold up the others. A pending delivery is ready for an
-- attempt, or waits for its time: for that of the next attempt or, while one is under
-- way, for that at which it counts as lost.
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
    last_attempt_at  {{.Int}},
    next_attempt_at  {{.Int}},
    ready            {{.Bool}} NOT NULL DEFAULT TRUE,
    lease            {{.ID}} NOT NULL DEFAULT '',
    leased_until     {{.Int}},
    created_at       {{.Int}} NOT NULL,
    delivered_at     {{.Int}}
){{.Monthly}};

--bun:split

-- The dispatcher's indexes: what is ready for whom, what waits, and what is under way.
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

--bun:split

-- The headers of attempts of deliveries, as lines.
CREATE TABLE IF NOT EXISTS delivery_headers (
    delivery_id {{.ID}} NOT NULL,
    at          {{.Int}} NOT NULL,
    request     TEXT NOT NULL,
    response    TEXT NOT NULL,
    PRIMARY KEY (delivery_id, at)
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS delivery_headers_age ON delivery_headers (at);

--bun:split

-- When an account was last notified that its wallet is empty.
CREATE TABLE IF NOT EXISTS wallet_alerts (
    account_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES accounts (id),
    refused_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- A sender is an account with deliveries. Open are its receivers with something ready and
-- room. Began is the end of the last lease on an attempt.
CREATE TABLE IF NOT EXISTS senders (
    account_id {{.ID}} NOT NULL PRIMARY KEY,
    open       {{.Int}} NOT NULL,
    under_way  {{.Int}} NOT NULL,
    began      {{.Int}} NOT NULL
){{.Hot}};

--bun:split

CREATE INDEX IF NOT EXISTS senders_next ON senders (under_way, began, account_id) WHERE open > 0;

--bun:split

-- What is ready for a receiver, and under way to it.
CREATE TABLE IF NOT EXISTS receivers (
    receiver   {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL,
    ready      {{.Int}} NOT NULL,
    under_way  {{.Int}} NOT NULL,
    began      {{.Int}} NOT NULL
){{.Hot}};

--bun:split

-- Two attempts at most are under way to a receiver.
CREATE INDEX IF NOT EXISTS receivers_next ON receivers (account_id, began, receiver) WHERE ready > 0 AND under_way < 2;

--bun:split

-- Templates
-- ---------

-- Templates, without their sources.
CREATE TABLE IF NOT EXISTS templates (
    id                {{.ID}} NOT NULL PRIMARY KEY,
    account_id        {{.ID}} NOT NULL REFERENCES accounts (id),
    slug              {{.ID}} NOT NULL,
    name              TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    category          TEXT NOT NULL DEFAULT '',
    has_draft         {{.Bool}} NOT NULL,
    published_version {{.Int}} CHECK (published_version > 0),
    published_at      {{.Int}},
    revision          {{.Int}} NOT NULL CHECK (revision > 0),
    size              {{.Int}} NOT NULL DEFAULT 0,
    created_at        {{.Int}} NOT NULL,
    updated_at        {{.Int}} NOT NULL,
    deleted_at        {{.Int}}
){{.Hot}};

--bun:split

-- A slug is free again when its template is deleted.
CREATE UNIQUE INDEX IF NOT EXISTS templates_slug ON templates (account_id, slug) WHERE deleted_at IS NULL;

--bun:split

CREATE INDEX IF NOT EXISTS templates_list ON templates (account_id, id) WHERE deleted_at IS NULL;

--bun:split

-- The source that is edited, of a template that has a draft.
CREATE TABLE IF NOT EXISTS template_drafts (
    template_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES templates (id),
    html        TEXT NOT NULL,
    sample_data TEXT NOT NULL,
    options     TEXT NOT NULL
){{.Strict}};

--bun:split

-- Published sources, which nothing changes afterwards. A version has the partials it was
-- published with.
CREATE TABLE IF NOT EXISTS template_versions (
    template_id  {{.ID}} NOT NULL REFERENCES templates (id),
    version      {{.Int}} NOT NULL CHECK (version > 0),
    html         TEXT NOT NULL,
    sample_data  TEXT NOT NULL,
    options      TEXT NOT NULL,
    partials     TEXT NOT NULL,
    comment      TEXT NOT NULL DEFAULT '',
    published_at {{.Int}} NOT NULL,
    PRIMARY KEY (template_id, version)
){{.Strict}};

--bun:split

-- Sources that an account's templates share.
CREATE TABLE IF NOT EXISTS template_partials (
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    name       {{.ID}} NOT NULL,
    html       TEXT NOT NULL,
    updated_at {{.Int}} NOT NULL,
    PRIMARY KEY (account_id, name)
){{.Strict}};

--bun:split

-- Drafts whose pages a user has approved, with the partials of that time (template_approval.go).
CREATE TABLE IF NOT EXISTS template_approvals (
    template_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES templates (id) ON DELETE CASCADE,
    html        TEXT NOT NULL,
    sample_data TEXT NOT NULL,
    options     TEXT NOT NULL,
    partials    TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    approved_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Payments
-- --------

-- Payments through Stripe. The row is there before Stripe is asked for anything: its ID
-- is Stripe's Idempotency-Key, and is in the metadata of what Stripe makes.
CREATE TABLE IF NOT EXISTS payments (
    id          {{.ID}} NOT NULL PRIMARY KEY,
    account_id  {{.ID}} NOT NULL REFERENCES accounts (id),
    kind        TEXT NOT NULL CHECK (kind IN ('topup', 'auto_reload')),
    state       TEXT NOT NULL CHECK (state IN ('open', 'action', 'paid', 'failed', 'expired')),
    amount      {{.Int}} NOT NULL CHECK (amount > 0),
    refunded    {{.Int}} NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    disputed    {{.Int}} NOT NULL DEFAULT 0 CHECK (disputed >= 0),
    customer    TEXT NOT NULL DEFAULT '',
    method      TEXT NOT NULL DEFAULT '',
    session     TEXT NOT NULL DEFAULT '',
    intent      TEXT NOT NULL DEFAULT '',
    card        TEXT NOT NULL DEFAULT '',
    receipt_url TEXT NOT NULL DEFAULT '',
    action_url  TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    created_at  {{.Int}} NOT NULL,
    ended_at    {{.Int}},
    checked_at  {{.Int}} NOT NULL DEFAULT 0
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS payments_account ON payments (account_id, id);

--bun:split

CREATE UNIQUE INDEX IF NOT EXISTS payments_session ON payments (session) WHERE session <> '';

--bun:split

CREATE INDEX IF NOT EXISTS payments_waiting ON payments (checked_at) WHERE state IN ('open', 'action');

--bun:split

-- Money at the provider that the service can neither credit nor take, for operators.
CREATE TABLE IF NOT EXISTS payment_errors (
    subject    {{.ID}} NOT NULL PRIMARY KEY,
    payment_id {{.ID}} NOT NULL,
    account_id {{.ID}} NOT NULL,
    error      TEXT NOT NULL,
    first_at   {{.Int}} NOT NULL,
    last_at    {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- How a wallet refills itself, while the account has auto_reload. Attempt is the payment
-- under way; only the holder of its lease works on it.
CREATE TABLE IF NOT EXISTS reloads (
    account_id   {{.ID}} NOT NULL PRIMARY KEY REFERENCES accounts (id),
    threshold    {{.Int}} NOT NULL CHECK (threshold > 0),
    amount       {{.Int}} NOT NULL CHECK (amount > 0),
    monthly      {{.Int}} NOT NULL CHECK (monthly >= amount),
    attempt      {{.ID}} NOT NULL DEFAULT '',
    leased_until {{.Int}} NOT NULL DEFAULT 0,
    not_before   {{.Int}} NOT NULL DEFAULT 0,
    failures     {{.Int}} NOT NULL DEFAULT 0,
    off_reason   TEXT NOT NULL DEFAULT ''
){{.Strict}};

--bun:split

-- Who an account is at Stripe, and the card that may be charged for it.
CREATE TABLE IF NOT EXISTS stripe_customers (
    account_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES accounts (id),
    customer   TEXT NOT NULL,
    method     TEXT NOT NULL DEFAULT '',
    card       TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- What is known of each PaymentIntent. An event may name it before it is known whose it
-- is: the row waits, and is the lock of all that concerns the intent.
CREATE TABLE IF NOT EXISTS stripe_intents (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    payment_id {{.ID}} NOT NULL DEFAULT '',
    refunded   {{.Int}} NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- The refunds of each PaymentIntent. One that has failed at the bank, or was called off,
-- stays so: its money is back.
CREATE TABLE IF NOT EXISTS stripe_refunds (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    intent     {{.ID}} NOT NULL,
    amount     {{.Int}} NOT NULL CHECK (amount >= 0),
    failed     {{.Bool}} NOT NULL DEFAULT FALSE,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS stripe_refunds_intent ON stripe_refunds (intent);

--bun:split

-- Disputes. Taken is what of one has been taken from the wallet, and stated_at is when
-- Stripe knew the state.
CREATE TABLE IF NOT EXISTS stripe_disputes (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    intent     {{.ID}} NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'won', 'lost')),
    amount     {{.Int}} NOT NULL CHECK (amount >= 0),
    taken      {{.Int}} NOT NULL DEFAULT 0 CHECK (taken >= 0),
    stated_at  {{.Int}} NOT NULL DEFAULT 0,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS stripe_disputes_intent ON stripe_disputes (intent);

--bun:split

CREATE INDEX IF NOT EXISTS stripe_disputes_open ON stripe_disputes (created_at) WHERE state = 'open';

--bun:split

-- Events that were carried out.
CREATE TABLE IF NOT EXISTS stripe_events (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    type       TEXT NOT NULL,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS stripe_events_age ON stripe_events (created_at);

--bun:split

-- Until when Stripe's lists were compared with ours.
CREATE TABLE IF NOT EXISTS stripe_marks (
    name TEXT NOT NULL PRIMARY KEY,
    at   {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Connections and signing identities
-- ----------------------------------

-- Connections to buckets and file servers of customers (connection.go). Settings are JSON, and the secret is encrypted by
-- the caller. The host key is empty until the first test of an SFTP connection that was created without one.
CREATE TABLE IF NOT EXISTS connections (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    account_id {{.ID}} NOT NULL REFERENCES accounts (id),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    settings   TEXT NOT NULL,
    secret     {{.Bytes}} NOT NULL,
    host_key   TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE UNIQUE INDEX IF NOT EXISTS connections_name ON connections (account_id, name);

--bun:split

-- Private keys with their certificates (signing_identity.go). The certificate is JSON, and the secret is encrypted by the
-- caller.
CREATE TABLE IF NOT EXISTS signing_identities (
    id          {{.ID}} NOT NULL PRIMARY KEY,
    account_id  {{.ID}} NOT NULL REFERENCES accounts (id),
    name        TEXT NOT NULL,
    certificate TEXT NOT NULL,
    secret      {{.Bytes}} NOT NULL,
    created_at  {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE UNIQUE INDEX IF NOT EXISTS signing_identities_name ON signing_identities (account_id, name);

--bun:split

-- API keys that may use the signing identities of their account (key.go).
CREATE TABLE IF NOT EXISTS signing_keys (
    key_id     {{.ID}} NOT NULL PRIMARY KEY REFERENCES keys (id),
    account_id {{.ID}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS signing_keys_account ON signing_keys (account_id);

--bun:split

-- Upkeep
-- ------

-- Periodic work: when each task is due, who does it now, and how the last time ended.
CREATE TABLE IF NOT EXISTS tasks (
    name         TEXT NOT NULL PRIMARY KEY,
    due_at       {{.Int}} NOT NULL,
    lease        {{.ID}} NOT NULL DEFAULT '',
    leased_until {{.Int}} NOT NULL DEFAULT 0,
    ended_at     {{.Int}},
    error        TEXT NOT NULL DEFAULT ''
){{.Strict}};

--bun:split

-- Months that are older than the retention, and on how many days they were found so
-- (retention.go).
CREATE TABLE IF NOT EXISTS old_months (
    month    {{.Int}} NOT NULL PRIMARY KEY,
    days     {{.Int}} NOT NULL,
    last_day {{.Int}} NOT NULL
){{.Strict}};

--bun:split

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

--bun:split

-- What all processes of a database have in common, by name: the folder of the files, and the secret key (agreement.go).
CREATE TABLE IF NOT EXISTS agreements (
    name  {{.ID}} NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
){{.Strict}};

--bun:split

-- Turns
-- -----

{{if .Postgres -}}
-- PostgreSQL runs the triggers at the commit, so that the rows of turns are the last
-- that a transaction locks, and for no longer than the commit takes.
CREATE OR REPLACE FUNCTION count_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_queued integer := (NEW.state = 'queued')::integer;
    v_running integer := (NEW.state = 'running')::integer;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        v_queued := v_queued - (OLD.state = 'queued')::integer;
        v_running := v_running - (OLD.state = 'running')::integer;
    END IF;
    INSERT INTO job_turns AS t (account_id, queued, running, began_at)
        VALUES (NEW.account_id, v_queued, v_running, coalesce(NEW.started_at, 0))
        ON CONFLICT (account_id) DO UPDATE SET queued = t.queued + v_queued, running = t.running + v_running,
            began_at = greatest(t.began_at, EXCLUDED.began_at);
    RETURN NULL;
END $$;

--bun:split

DROP TRIGGER IF EXISTS jobs_inserted ON jobs;

--bun:split

CREATE CONSTRAINT TRIGGER jobs_inserted AFTER INSERT ON jobs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_job();

--bun:split

DROP TRIGGER IF EXISTS jobs_updated ON jobs;

--bun:split

CREATE CONSTRAINT TRIGGER jobs_updated AFTER UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_job();

--bun:split

-- The sender is locked before its receivers, which are all its own. Transactions
-- that change deliveries of several accounts follow each other (claimLock).
CREATE OR REPLACE FUNCTION count_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_ready integer := (NEW.status = 'pending' AND NEW.ready)::integer;
    v_under_way integer := (NEW.status = 'pending' AND NEW.leased_until IS NOT NULL)::integer;
    v_began bigint := coalesce(NEW.leased_until, 0);
    v_opened integer;
    v_empty boolean;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        v_ready := v_ready - (OLD.status = 'pending' AND OLD.ready)::integer;
        v_under_way := v_under_way - (OLD.status = 'pending' AND OLD.leased_until IS NOT NULL)::integer;
    END IF;
    IF v_ready = 0 AND v_under_way = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO senders AS s (account_id, open, under_way, began) VALUES (NEW.account_id, 0, v_under_way, v_began)
        ON CONFLICT (account_id) DO UPDATE SET under_way = s.under_way + v_under_way, began = greatest(s.began, v_began);
    INSERT INTO receivers AS r (receiver, account_id, ready, under_way, began)
        VALUES (NEW.receiver, NEW.account_id, v_ready, v_under_way, v_began)
        ON CONFLICT (receiver) DO UPDATE SET ready = r.ready + v_ready, under_way = r.under_way + v_under_way,
            began = greatest(r.began, v_began)
        RETURNING (ready > 0 AND under_way < 2)::integer - (ready - v_ready > 0 AND under_way - v_under_way < 2)::integer,
            ready = 0 AND under_way = 0 INTO v_opened, v_empty;
    IF v_opened <> 0 THEN
        UPDATE senders SET open = open + v_opened WHERE account_id = NEW.account_id;
    END IF;
    IF v_empty THEN
        DELETE FROM receivers WHERE receiver = NEW.receiver;
    END IF;
    RETURN NULL;
END $$;

--bun:split

DROP TRIGGER IF EXISTS deliveries_inserted ON deliveries;

--bun:split

CREATE CONSTRAINT TRIGGER deliveries_inserted AFTER INSERT ON deliveries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_delivery();

--bun:split

DROP TRIGGER IF EXISTS deliveries_updated ON deliveries;

--bun:split

CREATE CONSTRAINT TRIGGER deliveries_updated AFTER UPDATE ON deliveries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_delivery();

--bun:split

-- Functions
-- ---------

-- The money path on PostgreSQL: a call is begun, settled and released by one function
-- each, which accepts a JSON object (call_postgres.go). A function is one exchange with
-- the database, so that the account's row is locked for no longer than a commit takes.
-- call_sqlite.go has the same rules, and TestMoneyRulesAgree compares both. All
-- transactions lock in this order: call, idempotency key, quote, account, API key.

DROP TYPE IF EXISTS begin_params;

--bun:split

-- The object that begin_call accepts. A type is read out of JSON faster than a list of
-- columns is.
CREATE TYPE begin_params AS (
    id text, result_id text, account_id text, key_id text, operation text, mode text, request_id text, lease text,
    metered boolean, quote bigint, quote_id text, idempotency_key text, body_hash bytea, claimed_until bigint,
    callback_url text, receiver text, trace text, job jsonb, posting_id text, now bigint, today bigint
);

--bun:split

DROP TYPE IF EXISTS settle_params;

--bun:split

-- The object that settle_call accepts.
CREATE TYPE settle_params AS (
    id text, charge bigint, duration bigint, steps text, lease text, tries bigint, files jsonb, outbox jsonb,
    posting_id text, now bigint
);

--bun:split

DROP TYPE IF EXISTS release_params;

--bun:split

-- The object that release_call accepts.
CREATE TYPE release_params AS (
    id text, code text, message text, steps text, holder text, lease text, tries bigint, queued_until bigint,
    silent boolean, outbox jsonb, posting_id text, now bigint
);

--bun:split

-- Begins a call. It returns 'begun', or 'claimed' where another call has the
-- idempotency key. An exception undoes everything: RP001 the account refuses, RP002 the
-- key refuses, RP003 files are missing, whose IDs are its detail, RP004 the quote is used.
CREATE OR REPLACE FUNCTION begin_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r begin_params;
    v_held bigint;
    v_day bigint;
    v_balance bigint;
BEGIN
    r := jsonb_populate_record(NULL::begin_params, call);
    -- The response to an earlier attempt may have been lost.
    IF EXISTS (SELECT 1 FROM calls WHERE id = r.id) THEN
        RETURN 'begun';
    END IF;
    IF r.idempotency_key <> '' THEN
        INSERT INTO idempotency AS i (account_id, idem_key, call_id, body_hash, state, created_at, expires_at)
            VALUES (r.account_id, r.idempotency_key, r.id, r.body_hash, 'running', r.now, r.claimed_until)
            ON CONFLICT (account_id, idem_key) DO UPDATE SET call_id = EXCLUDED.call_id, body_hash = EXCLUDED.body_hash,
                state = EXCLUDED.state, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            WHERE i.expires_at <= r.now;
        IF NOT FOUND THEN
            RETURN 'claimed';
        END IF;
    END IF;
    IF r.quote_id <> '' THEN
        UPDATE quotes SET call_id = r.id
            WHERE id = r.quote_id AND account_id = r.account_id AND call_id IS NULL AND expires_at > r.now AND amount = r.quote;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the quote is used' USING ERRCODE = 'RP004';
        END IF;
    END IF;
    v_held := CASE WHEN r.metered THEN 0 ELSE r.quote END;
    UPDATE accounts SET
        balance = balance - v_held, held = held + v_held,
        day_spent = CASE WHEN day < r.today THEN 0 ELSE day_spent END + r.quote,
        day = greatest(day, r.today)
        WHERE id = r.account_id AND NOT suspended AND balance >= v_held AND (owed = 0 OR v_held = 0)
        AND (max_job IS NULL OR r.quote <= max_job)
        AND (max_day IS NULL OR CASE WHEN day < r.today THEN 0 ELSE day_spent END + r.quote <= max_day)
        RETURNING day, balance INTO v_day, v_balance;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the account refuses' USING ERRCODE = 'RP001';
    END IF;
    IF r.key_id IS NOT NULL THEN
        UPDATE keys SET spent = spent + r.quote
            WHERE id = r.key_id AND account_id = r.account_id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > r.now)
            AND (spend_limit IS NULL OR spent + r.quote <= spend_limit);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the key refuses' USING ERRCODE = 'RP002';
        END IF;
    END IF;
    INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, idempotency_key,
            lease, metered, quote, status, day, created_at)
        VALUES (r.id, r.result_id, r.account_id, r.key_id, r.operation, r.mode, r.request_id, r.idempotency_key,
            r.lease, r.metered, r.quote, 'running', v_day, r.now);
    IF v_held <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, held, wallet, balance, created_at)
            VALUES (r.posting_id, r.account_id, 'hold', r.id, v_held, -v_held, v_balance, r.now);
    END IF;
    IF r.callback_url <> '' THEN
        INSERT INTO callbacks (call_id, url, receiver, trace, created_at) VALUES (r.id, r.callback_url, r.receiver, r.trace, r.now);
    END IF;
    IF r.job IS NOT NULL THEN
        PERFORM queue_job(r.id, r.account_id, r.trace, r.job, r.now);
    END IF;
    RETURN 'begun';
END $$;

--bun:split

-- Makes a job of a call that begins, and pins its files.
CREATE OR REPLACE FUNCTION queue_job(p_call text, p_account text, p_trace text, job jsonb, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j record;
    v_pin text;
    v_missing text[] := '{}';
BEGIN
    SELECT * INTO j FROM jsonb_to_record(job) AS r (kind text, input bytea, input_key text, pins text[], records bigint);
    INSERT INTO jobs (call_id, account_id, state, kind, input_key, trace, created_at)
        VALUES (p_call, p_account, 'queued', j.kind, j.input_key, p_trace, p_now);
    IF j.input IS NOT NULL THEN
        INSERT INTO job_inputs (call_id, sealed) VALUES (p_call, j.input);
    END IF;
    IF j.records > 0 THEN
        INSERT INTO bulks (call_id, account_id, total, created_at) VALUES (p_call, p_account, j.records, p_now);
    END IF;
    -- In the order of their IDs, so that two jobs never wait for each other.
    FOREACH v_pin IN ARRAY j.pins LOOP
        UPDATE files SET deleted_at = NULL
            WHERE id = v_pin AND account_id = p_account AND deleted_at IS NULL AND expires_at > p_now;
        IF FOUND THEN
            INSERT INTO pins (file_id, call_id) VALUES (v_pin, p_call);
        ELSE
            v_missing := v_missing || v_pin;
        END IF;
    END LOOP;
    IF v_missing <> '{}' THEN
        RAISE EXCEPTION 'files are missing' USING ERRCODE = 'RP003', DETAIL = to_json(v_missing)::text;
    END IF;
END $$;

--bun:split

-- Settles a chunk of a bulk job: its charge leaves the hold, and is earned. It returns
-- 'settled', or 'canceled' where the job was cancelled meanwhile, or 'refused' where it
-- has changed nothing.
CREATE OR REPLACE FUNCTION settle_chunk(chunk jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    c calls;
    v_canceled bigint;
    v_paid bigint;
    v_balance bigint;
BEGIN
    SELECT * INTO r FROM jsonb_to_record(chunk) AS x (
        id text, lease text, tries bigint, first bigint, records bigint, failed bigint, charge bigint, results text, posting_id text, now bigint
    );
    -- The response to an earlier attempt may have been lost.
    IF EXISTS (SELECT 1 FROM bulk_chunks WHERE call_id = r.id AND first = r.first AND tries = r.tries) THEN
        SELECT canceled_at INTO v_canceled FROM bulks WHERE call_id = r.id;
        RETURN CASE WHEN v_canceled IS NULL THEN 'settled' ELSE 'canceled' END;
    END IF;
    UPDATE calls SET charge = charge + r.charge WHERE id = r.id AND status = 'running' AND quote >= charge + r.charge
        AND EXISTS (SELECT 1 FROM jobs WHERE call_id = r.id AND state = 'running' AND lease = r.lease AND tries = r.tries)
        AND EXISTS (SELECT 1 FROM bulks WHERE call_id = r.id AND processed = r.first AND total >= r.first + r.records)
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN 'refused';
    END IF;
    UPDATE bulks SET processed = processed + r.records, failed = failed + r.failed, charged = charged + r.charge,
        started_at = coalesce(started_at, (SELECT started_at FROM jobs WHERE call_id = r.id))
        WHERE call_id = r.id RETURNING canceled_at INTO v_canceled;
    INSERT INTO bulk_chunks (call_id, first, records, tries, results) VALUES (r.id, r.first, r.records, r.tries, r.results);
    v_paid := CASE WHEN c.metered THEN 0 ELSE r.charge END;
    IF v_paid <> 0 THEN
        UPDATE accounts SET held = held - v_paid WHERE id = c.account_id RETURNING balance INTO v_balance;
        INSERT INTO journal (id, account_id, kind, cause, reason, held, revenue, balance, created_at)
            VALUES (r.posting_id, c.account_id, 'settle', c.id, 'chunk', -v_paid, v_paid, v_balance, r.now);
    END IF;
    RETURN CASE WHEN v_canceled IS NULL THEN 'settled' ELSE 'canceled' END;
END $$;

--bun:split

-- Settles a running call. It returns 'settled', or 'notified' where deliveries were
-- written too, or 'refused' where it has changed nothing.
CREATE OR REPLACE FUNCTION settle_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r settle_params;
    c calls;
    v_notified boolean;
    v_balance bigint;
BEGIN
    r := jsonb_populate_record(NULL::settle_params, call);
    UPDATE calls SET status = 'done', charge = r.charge, ended_at = r.now, duration = r.duration, steps = r.steps
        WHERE id = r.id AND status = 'running' AND quote >= r.charge AND charge <= r.charge
        AND (r.lease = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = r.id AND state = 'running' AND lease = r.lease AND tries = r.tries))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN 'refused';
    END IF;
    IF c.idempotency_key <> '' THEN
        UPDATE idempotency SET state = 'done' WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = c.id;
    END IF;
    IF r.files IS NOT NULL THEN
        -- The result, and the documents of a bulk job.
        INSERT INTO files (id, account_id, call_id, filename, content_type, size, blob_key, warnings, created_at, expires_at)
            SELECT coalesce(nullif(f.id, ''), c.result_id), c.account_id, c.id, f.filename, f.content_type, f.size, f.blob_key, f.warnings, r.now, f.expires_at
            FROM jsonb_to_recordset(r.files) AS f (id text, filename text, content_type text, size bigint, blob_key text, warnings text, expires_at bigint);
    END IF;
    v_notified := finish_call(c, r.outbox);
    v_balance := end_hold(c, r.posting_id);
    INSERT INTO usage_days AS u (account_id, day, operation, key_id, calls, amount)
        VALUES (c.account_id, c.day, c.operation, coalesce(c.key_id, ''), 1, c.charge)
        ON CONFLICT (account_id, day, operation, key_id) DO UPDATE SET calls = u.calls + 1, amount = u.amount + EXCLUDED.amount;
    RETURN CASE WHEN v_notified THEN 'notified' ELSE 'settled' END;
END $$;

--bun:split

-- Releases a running call, if the holder that is named still has it (holder.go). It
-- returns 'released', or 'notified' where deliveries were written too; 'ended' where
-- it has changed nothing; or 'unknown'.
CREATE OR REPLACE FUNCTION release_call(call jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r release_params;
    c calls;
    v_notified boolean;
    v_balance bigint;
BEGIN
    r := jsonb_populate_record(NULL::release_params, call);
    UPDATE calls SET status = 'failed', charge = 0, error_code = r.code, error_message = r.message, ended_at = r.now, steps = r.steps
        WHERE id = r.id AND status = 'running'
        AND CASE r.holder
            WHEN '' THEN TRUE
            WHEN 'process' THEN mode <> 'async' AND lease = r.lease
            WHEN 'dead process' THEN mode <> 'async' AND NOT EXISTS (SELECT 1 FROM leases AS l WHERE l.id = calls.lease AND l.expires_at > r.now)
            ELSE EXISTS (SELECT 1 FROM jobs AS j WHERE j.call_id = r.id AND j.tries = r.tries AND CASE r.holder
                WHEN 'worker' THEN j.state = 'running' AND j.lease = r.lease
                WHEN 'dead worker' THEN j.state = 'running' AND NOT EXISTS (SELECT 1 FROM leases AS l WHERE l.id = j.lease AND l.expires_at > r.now)
                WHEN 'queue' THEN j.state = 'queued' AND j.created_at <= r.queued_until
            END)
        END
        AND NOT (r.silent AND EXISTS (SELECT 1 FROM callbacks WHERE call_id = r.id))
        RETURNING * INTO c;
    IF NOT FOUND THEN
        RETURN CASE WHEN EXISTS (SELECT 1 FROM calls WHERE id = r.id) THEN 'ended' ELSE 'unknown' END;
    END IF;
    IF c.idempotency_key <> '' THEN
        DELETE FROM idempotency WHERE account_id = c.account_id AND idem_key = c.idempotency_key AND call_id = c.id;
    END IF;
    UPDATE quotes SET call_id = NULL WHERE call_id = c.id;
    v_notified := finish_call(c, r.outbox);
    v_balance := end_hold(c, r.posting_id);
    RETURN CASE WHEN v_notified THEN 'notified' ELSE 'released' END;
END $$;

--bun:split

-- Takes a call that has ended out of the queue, and writes who is notified of its end.
-- It reports whether anyone is.
CREATE OR REPLACE FUNCTION finish_call(c calls, outbox jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    o record;
    w record;
    v_deliveries integer := 0;
BEGIN
    IF c.mode = 'async' THEN
        UPDATE jobs SET state = 'ended', lease = '' WHERE call_id = c.id;
        DELETE FROM job_inputs WHERE call_id = c.id;
        DELETE FROM pins WHERE call_id = c.id;
    END IF;
    IF outbox IS NULL THEN
        RETURN FALSE;
    END IF;
    SELECT * INTO o FROM jsonb_to_record(outbox) AS r (
        event_type text, event_id text, event_body bytea, callback_id text, callback_body bytea, delivery_ids text[]
    );
    IF o.event_type <> '' THEN
        FOR w IN SELECT id, url FROM webhooks WHERE account_id = c.account_id AND deleted_at IS NULL AND enabled
                AND (events = '' OR ',' || events || ',' LIKE '%,' || o.event_type || ',%') LOOP
            IF v_deliveries = 0 THEN
                INSERT INTO events (id, account_id, type, call_id, body, created_at)
                    VALUES (o.event_id, c.account_id, o.event_type, c.id, o.event_body, c.ended_at);
            END IF;
            v_deliveries := v_deliveries + 1;
            INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
                VALUES (o.delivery_ids[v_deliveries], c.account_id, w.id, o.event_id, o.event_type, w.id, w.url, 'pending', c.ended_at, c.ended_at);
        END LOOP;
    END IF;
    SELECT url, receiver INTO w FROM callbacks WHERE call_id = c.id;
    IF FOUND THEN
        v_deliveries := v_deliveries + 1;
        INSERT INTO events (id, account_id, type, call_id, body, created_at)
            VALUES (o.callback_id, c.account_id, 'callback', c.id, o.callback_body, c.ended_at);
        INSERT INTO deliveries (id, account_id, event_id, event_type, receiver, url, status, next_attempt_at, created_at)
            VALUES (o.delivery_ids[v_deliveries], c.account_id, o.callback_id, 'callback', w.receiver, w.url, 'pending', c.ended_at, c.ended_at);
    END IF;
    RETURN v_deliveries > 0;
END $$;

--bun:split

-- Ends the hold of a call that has ended: its charge is earned, and the rest returns to
-- the wallet and leaves the counters of the limits. What the chunks of a bulk job have
-- earned before is a part of its charge, and is returned by a failed one, whose charge
-- is 0. The account's other calls wait from here to the commit. It returns what the
-- wallet has.
CREATE OR REPLACE FUNCTION end_hold(c calls, posting_id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_before bigint := 0;
    v_held bigint := 0;
    v_paid bigint := 0;
    v_balance bigint;
BEGIN
    IF NOT c.metered THEN
        IF c.mode = 'async' THEN
            v_before := coalesce((SELECT charged FROM bulks WHERE call_id = c.id), 0);
        END IF;
        v_held := c.quote - v_before;
        v_paid := c.charge - v_before;
    END IF;
    UPDATE accounts SET balance = balance + v_held - v_paid, held = held - v_held,
        day_spent = day_spent - CASE WHEN day = c.day THEN c.quote - c.charge ELSE 0 END WHERE id = c.account_id
        RETURNING balance INTO v_balance;
    IF v_held <> 0 OR v_paid <> 0 THEN
        INSERT INTO journal (id, account_id, kind, cause, reason, held, revenue, wallet, balance, created_at)
            VALUES (posting_id, c.account_id, CASE c.status WHEN 'done' THEN 'settle' ELSE 'release' END, c.id, c.error_code,
                -v_held, v_paid, v_held - v_paid, v_balance, c.ended_at);
    END IF;
    IF c.key_id IS NOT NULL AND c.quote <> c.charge THEN
        UPDATE keys SET spent = spent - (c.quote - c.charge) WHERE id = c.key_id;
    END IF;
    RETURN v_balance;
END $$;
{{else -}}
CREATE TRIGGER IF NOT EXISTS jobs_inserted AFTER INSERT ON jobs BEGIN
    INSERT INTO job_turns (account_id, queued, running, began_at)
        VALUES (NEW.account_id, NEW.state = 'queued', NEW.state = 'running', COALESCE(NEW.started_at, 0))
        ON CONFLICT (account_id) DO UPDATE SET queued = queued + EXCLUDED.queued, running = running + EXCLUDED.running,
            began_at = MAX(began_at, EXCLUDED.began_at);
END;

--bun:split

CREATE TRIGGER IF NOT EXISTS jobs_updated AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
    UPDATE job_turns SET queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'),
        running = running + (NEW.state = 'running') - (OLD.state = 'running'), began_at = MAX(began_at, COALESCE(NEW.started_at, 0))
        WHERE account_id = NEW.account_id;
END;

--bun:split

CREATE TRIGGER IF NOT EXISTS deliveries_inserted AFTER INSERT ON deliveries WHEN NEW.status = 'pending' AND (NEW.ready OR NEW.leased_until IS NOT NULL) BEGIN
    INSERT INTO receivers (receiver, account_id, ready, under_way, began)
        VALUES (NEW.receiver, NEW.account_id, NEW.ready, NEW.leased_until IS NOT NULL, COALESCE(NEW.leased_until, 0))
        ON CONFLICT (receiver) DO UPDATE SET ready = ready + EXCLUDED.ready, under_way = under_way + EXCLUDED.under_way,
            began = MAX(began, EXCLUDED.began);
END;

--bun:split

CREATE TRIGGER IF NOT EXISTS deliveries_updated AFTER UPDATE OF status, ready, leased_until ON deliveries
WHEN (OLD.status = 'pending' AND OLD.ready) <> (NEW.status = 'pending' AND NEW.ready)
    OR (OLD.status = 'pending' AND OLD.leased_until IS NOT NULL) <> (NEW.status = 'pending' AND NEW.leased_until IS NOT NULL) BEGIN
    INSERT INTO receivers (receiver, account_id, ready, under_way, began)
        VALUES (NEW.receiver, NEW.account_id,
            (NEW.status = 'pending' AND NEW.ready) - (OLD.status = 'pending' AND OLD.ready),
            (NEW.status = 'pending' AND NEW.leased_until IS NOT NULL) - (OLD.status = 'pending' AND OLD.leased_until IS NOT NULL),
            COALESCE(NEW.leased_until, 0))
        ON CONFLICT (receiver) DO UPDATE SET ready = ready + EXCLUDED.ready, under_way = under_way + EXCLUDED.under_way,
            began = MAX(began, EXCLUDED.began);
    DELETE FROM receivers WHERE receiver = NEW.receiver AND ready = 0 AND under_way = 0;
END;

--bun:split

CREATE TRIGGER IF NOT EXISTS receivers_inserted AFTER INSERT ON receivers BEGIN
    INSERT INTO senders (account_id, open, under_way, began)
        VALUES (NEW.account_id, NEW.ready > 0 AND NEW.under_way < 2, NEW.under_way, NEW.began)
        ON CONFLICT (account_id) DO UPDATE SET open = open + EXCLUDED.open, under_way = under_way + EXCLUDED.under_way,
            began = MAX(began, EXCLUDED.began);
END;

--bun:split

CREATE TRIGGER IF NOT EXISTS receivers_updated AFTER UPDATE ON receivers BEGIN
    UPDATE senders SET open = open + (NEW.ready > 0 AND NEW.under_way < 2) - (OLD.ready > 0 AND OLD.under_way < 2),
        under_way = under_way + NEW.under_way - OLD.under_way, began = MAX(began, NEW.began)
        WHERE account_id = NEW.account_id;
END;

--bun:split

-- A failed call is free.
CREATE TRIGGER IF NOT EXISTS calls_failed BEFORE UPDATE OF status ON calls WHEN NEW.status = 'failed' AND NEW.charge <> 0 BEGIN
    SELECT RAISE(ABORT, 'a failed call has a charge');
END;
{{end}}
