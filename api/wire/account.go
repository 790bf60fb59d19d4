package wire

import "time"

// AccountSnapshot is the answer of GET /v1/account.
type AccountSnapshot struct {
	Plan     string `json:"plan" jsonschema:"required,enum=free,enum=paid" jsonschema_description:"The account's plan."`
	RateTier string `json:"rateTier" jsonschema:"required,enum=free,enum=paid" jsonschema_description:"Which rate limits apply: free is 20 requests a minute, paid is 60."`
	Wallet   Wallet `json:"wallet" jsonschema:"required" jsonschema_description:"The prepaid wallet."`
	Grant    *Grant `json:"grant,omitempty" jsonschema_description:"What this agent was allowed, where a person let it in."`
}

// Grant is what a person has allowed an agent.
type Grant struct {
	Scopes    []string  `json:"scopes" jsonschema:"required" jsonschema_description:"What it may do."`
	Limit     int64     `json:"spendLimitMicrodollars" jsonschema:"required" jsonschema_description:"What it may spend in all."`
	Spent     int64     `json:"spentMicrodollars" jsonschema:"required" jsonschema_description:"What it has spent, with what running calls hold."`
	ExpiresAt time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When it ends."`
}

// Wallet is the part of the snapshot that concerns money.
type Wallet struct {
	BalanceMillicents int64 `json:"balanceMillicents" jsonschema:"required" jsonschema_description:"Balance in millicents (0.001 USD), rounded down, without what running calls hold."`
	AutoReloadEnabled bool  `json:"autoReloadEnabled" jsonschema:"required" jsonschema_description:"Whether the wallet refills itself."`
}
