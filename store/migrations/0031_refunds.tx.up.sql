-- The refunds of each PaymentIntent. One that has failed at the bank, or was
-- called off, stays so: its money is back.
CREATE TABLE IF NOT EXISTS stripe_refunds (
    id         {{.ID}} NOT NULL PRIMARY KEY,
    intent     {{.ID}} NOT NULL,
    amount     {{.Int}} NOT NULL CHECK (amount >= 0),
    failed     {{.Bool}} NOT NULL DEFAULT FALSE,
    created_at {{.Int}} NOT NULL
){{.Strict}};

--bun:split

CREATE INDEX IF NOT EXISTS stripe_refunds_intent ON stripe_refunds (intent);
