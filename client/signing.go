package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/relaypdf/relaypdf/api/wire"
)

// SigningIdentity is a private key with its certificate that the account has stored, without the key.
type SigningIdentity = wire.SigningIdentity

// SigningIdentities are the stored keys with which PDFs are signed.
type SigningIdentities struct{ client *Client }

// SigningIdentities returns the account's signing identities.
func (c *Client) SigningIdentities() SigningIdentities { return SigningIdentities{c} }

// List lists the signing identities, the oldest first.
func (s SigningIdentities) List(ctx context.Context) ([]SigningIdentity, error) {
	list, err := get[wire.SigningIdentityList](ctx, s.client, "/v1/signing-identities")
	return list.SigningIdentities, err
}

// Create stores the key in a PKCS#12 file, which its password opens.
func (s SigningIdentities) Create(
	ctx context.Context, name string, pkcs12 []byte, password string,
) (SigningIdentity, error) {
	body, err := inputJSON(map[string]any{"name": name, "pkcs12": pkcs12, "password": password})
	if err != nil {
		return SigningIdentity{}, err
	}
	return ask[SigningIdentity](ctx, s.client, jsonRequest(http.MethodPost, "/v1/signing-identities", body))
}

// Delete deletes a signing identity and its key.
func (s SigningIdentities) Delete(ctx context.Context, id string) error {
	_, err := ask[Acknowledged](ctx, s.client,
		message{method: http.MethodDelete, path: "/v1/signing-identities/" + url.PathEscape(id)})
	return err
}
