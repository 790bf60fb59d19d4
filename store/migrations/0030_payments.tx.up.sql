-- Payments through Stripe. Those of 0001_initial were never made by any provider,
-- so that their tables go. Our own row is there before Stripe is asked for
-- anything: its id is Stripe's Idempotency-Key, and stands in the metadata of
-- what Stripe makes.
DROP TABLE IF EXISTS payments;

--bun:split

DROP TABLE IF EXISTS reloads;

--bun:split

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

-- What is known of each PaymentIntent. It may be told of before it is known
-- whose it is: the row waits, and is the lock of all that concerns the intent.
CREATE TABLE IF NOT EXISTS stripe_intents (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    payment_id {{.ID}} NOT NULL DEFAULT '',
    refunded   {{.Int}} NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Taken is what of a dispute has been taken from the wallet.
CREATE TABLE IF NOT EXISTS stripe_disputes (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    intent     {{.ID}} NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'won', 'lost')),
    amount     {{.Int}} NOT NULL CHECK (amount >= 0),
    taken      {{.Int}} NOT NULL DEFAULT 0 CHECK (taken >= 0),
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

-- Who an account is at Stripe, and the card that may be charged for it.
CREATE TABLE IF NOT EXISTS stripe_customers (
    account_id {{.ID}} NOT NULL PRIMARY KEY REFERENCES accounts (id),
    customer   TEXT NOT NULL,
    method     TEXT NOT NULL DEFAULT '',
    card       TEXT NOT NULL DEFAULT '',
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- Until when Stripe's lists were compared with ours.
CREATE TABLE IF NOT EXISTS stripe_marks (
    name TEXT NOT NULL PRIMARY KEY,
    at   {{.Int}} NOT NULL
){{.Strict}};

--bun:split

-- How a wallet refills itself, while the account has auto_reload. Attempt is the
-- payment under way; only the holder of its lease works on it.
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
