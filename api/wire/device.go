package wire

import "time"

// Parts of the protocol by which a command line asks a user for a key (RFC 8628).
const (
	DeviceBeginPath = "/oauth/device_authorization"
	DeviceTokenPath = "/oauth/token" //nolint:gosec // an address
	// DeviceClient is the client ID of the command line, the only client of the device flow.
	DeviceClient = "relaypdf"
	DeviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
)

// The errors of RFC 6749 and 8628 that a device hears.
const (
	DevicePending = "authorization_pending"
	DeviceSlow    = "slow_down"
	DeviceDenied  = "access_denied"
	DeviceExpired = "expired_token"
)

// DeviceBegun is the response to a device that asks for access. It has no URL that contains the code: the user types
// it.
type DeviceBegun struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code"`
	VerificationURI string `json:"verification_uri"`
	ExpiresIn       int    `json:"expires_in"` // seconds
	Interval        int    `json:"interval"`   // seconds
}

// DeviceKey is the key that a device receives, with the permissions that a user has granted.
type DeviceKey struct {
	AccessToken string   `json:"access_token"`
	TokenType   string   `json:"token_type"`
	ExpiresIn   int64    `json:"expires_in,omitempty"` // absent: never
	Account     string   `json:"account"`
	Key         KeyFacts `json:"key"`
}

// KeyFacts describes a key without its secret.
type KeyFacts struct {
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	SpendLimit *int64     `json:"spendLimitMicrodollars"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

// DeviceError is the error response to a device.
type DeviceError struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}
