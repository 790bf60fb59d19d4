package wire

import "time"

// SigningIdentity is a private key with its certificate that an account has stored. The key is never shown.
type SigningIdentity struct {
	ID          string      `json:"id" jsonschema:"required" jsonschema_description:"ID of the identity, for the key of pdf.sign."`
	Name        string      `json:"name" jsonschema:"required" jsonschema_description:"Name of the identity."`
	Certificate Certificate `json:"certificate" jsonschema:"required" jsonschema_description:"Certificate of the key."`
	CreatedAt   time.Time   `json:"createdAt" jsonschema:"required" jsonschema_description:"Creation time."`
}

// Certificate is what is public about a certificate.
type Certificate struct {
	Subject   string    `json:"subject" jsonschema:"required" jsonschema_description:"Subject."`
	Issuer    string    `json:"issuer" jsonschema:"required" jsonschema_description:"Issuer."`
	Serial    string    `json:"serial" jsonschema:"required" jsonschema_description:"Serial number in hexadecimal digits."`
	NotBefore time.Time `json:"notBefore" jsonschema:"required" jsonschema_description:"Start of the validity."`
	NotAfter  time.Time `json:"notAfter" jsonschema:"required" jsonschema_description:"End of the validity."`
}

// SigningIdentityList is the response of GET /v1/signing-identities.
type SigningIdentityList struct {
	SigningIdentities []SigningIdentity `json:"signingIdentities" jsonschema:"required" jsonschema_description:"Signing identities of the account, oldest first."`
}
