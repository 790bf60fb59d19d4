package wire

import "time"

// AccountSnapshot is the response of GET /v1/account.
type AccountSnapshot struct {
	Plan     string `json:"plan" jsonschema:"required,enum=free,enum=paid" jsonschema_description:"The account's plan."`
	RateTier string `json:"rateTier" jsonschema:"required,enum=free,enum=paid" jsonschema_description:"Rate limit tier. free: 20 requests per minute. paid: 60 requests per minute."`
	Wallet   Wallet `json:"wallet" jsonschema:"required" jsonschema_description:"The prepaid wallet."`
	Grant    *Grant `json:"grant,omitempty" jsonschema_description:"Permissions of this agent, if it connected with OAuth."`
}

// Grant is the permission that a user has given an agent.
type Grant struct {
	Scopes    []string  `json:"scopes" jsonschema:"required" jsonschema_description:"Scopes of the agent."`
	Limit     int64     `json:"spendLimitMicrodollars" jsonschema:"required" jsonschema_description:"Maximum total spending in microdollars."`
	Spent     int64     `json:"spentMicrodollars" jsonschema:"required" jsonschema_description:"Amount spent in microdollars, including the holds of running calls."`
	ExpiresAt time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"Expiry time."`
}

// Wallet is the part of the snapshot that concerns money.
type Wallet struct {
	BalanceMillicents int64 `json:"balanceMillicents" jsonschema:"required" jsonschema_description:"Balance in millicents (0.001 USD), rounded down, without the holds of running calls."`
	AutoReloadEnabled bool  `json:"autoReloadEnabled" jsonschema:"required" jsonschema_description:"If true, the wallet reloads automatically."`
}
