package call

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfsign"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

// SigningIdentities manages the signing identities of accounts for all APIs, and opens their keys for calls.
type SigningIdentities struct {
	Store  *store.Store
	Box    *seal.Box
	Render *render.Renderer
}

// NewSigningIdentity asks for a signing identity.
type NewSigningIdentity struct {
	Name     string `json:"name" jsonschema:"required,minLength=1,maxLength=100" jsonschema_description:"Name of the identity, unique in the account."`
	PKCS12   string `json:"pkcs12" jsonschema:"required,minLength=1,maxLength=349528,format=password" jsonschema_description:"PKCS#12 file (.p12, .pfx) as Base64, at most 256 KiB, with a private key and its certificate. Include the certificates of the issuers, so that readers find the chain. It is encrypted and never shown."`
	Password string `json:"password,omitempty" jsonschema:"format=password,maxLength=1000" jsonschema_description:"Password of the file. It is encrypted and never shown."`
}

// Validate returns the errors of the fields, without the key.
func (n *NewSigningIdentity) Validate() error {
	var faults schema.FieldErrors
	if strings.TrimSpace(n.Name) != n.Name || strings.ContainsFunc(n.Name, unicode.IsControl) {
		faults.Add("name", "must not start or end with a space, and must not contain control characters")
	}
	if _, err := base64.StdEncoding.DecodeString(n.PKCS12); err != nil {
		faults.Add("pkcs12", "must be Base64")
	}
	return faults.OrNil()
}

// Create stores an identity, which is valid. The error is schema.FieldErrors for a key that cannot be used,
// store.ErrTooManyIdentities, or store.ErrExists for a name that is taken.
func (s SigningIdentities) Create(
	ctx context.Context, by store.Author, n NewSigningIdentity,
) (wire.SigningIdentity, error) {
	if s.Render == nil {
		return wire.SigningIdentity{}, &wire.Error{
			Code: wire.ConvertUnavailable, RetryAfter: WithoutRenderer,
			Message: "Reading keys is unavailable. Retry in 5 seconds.",
		}
	}

	raw, err := base64.StdEncoding.DecodeString(n.PKCS12)
	if err != nil {
		return wire.SigningIdentity{}, err
	}
	defer clear(raw)

	certificate, err := s.Render.For(by.AccountID).ReadKey(ctx, raw, n.Password)
	var failed *job.Error
	if errors.As(err, &failed) && failed.Kind == job.Unsigned {
		field := "pkcs12"
		if failed.About == pdfsign.BadPassword {
			field = "password"
		}
		err = schema.FieldErrors{{Field: field, Message: failed.Text}}
	}
	if err != nil {
		return wire.SigningIdentity{}, err
	}

	row := store.SigningIdentity{ID: s.Store.NewID("sig"), AccountID: by.AccountID, Name: n.Name}
	public, err := json.Marshal(certificate)
	if err != nil {
		return wire.SigningIdentity{}, err
	}
	row.Certificate = string(public)

	secret, err := json.Marshal(operation.StoredKey{PKCS12: raw, Password: n.Password}) //nolint:gosec // it is encrypted
	if err != nil {
		return wire.SigningIdentity{}, err
	}
	defer clear(secret)

	if row.Secret, err = s.Box.Seal(delivery.SecretPurpose(row.ID), secret); err == nil {
		row, err = s.Store.CreateSigningIdentity(ctx, row)
	}
	if err == nil {
		err = s.Store.AddAuditEntry(ctx, by.Entry("signing.made", row.Name, ""))
	}
	if err != nil {
		return wire.SigningIdentity{}, err
	}
	return identityOf(row)
}

// List returns the identities of an account, the oldest first.
func (s SigningIdentities) List(ctx context.Context, accountID string) ([]wire.SigningIdentity, error) {
	rows, err := s.Store.SigningIdentities(ctx, accountID)
	list := make([]wire.SigningIdentity, len(rows))
	for i, row := range rows {
		if list[i], err = identityOf(row); err != nil {
			return nil, err
		}
	}
	return list, err
}

// Delete deletes an identity and its key, and returns the name. The error is store.ErrNotFound.
func (s SigningIdentities) Delete(ctx context.Context, by store.Author, id string) (name string, err error) {
	row, err := s.Store.SigningIdentity(ctx, by.AccountID, id)
	if err == nil {
		err = s.Store.DeleteSigningIdentity(ctx, by.AccountID, id)
	}
	if err == nil {
		err = s.Store.AddAuditEntry(ctx, by.Entry("signing.deleted", row.Name, ""))
	}
	return row.Name, err
}

// identityOf returns an identity as its owner sees it.
func identityOf(row store.SigningIdentity) (wire.SigningIdentity, error) {
	i := wire.SigningIdentity{ID: row.ID, Name: row.Name, CreatedAt: row.CreatedAt.Truncate(time.Millisecond)}
	return i, json.Unmarshal([]byte(row.Certificate), &i.Certificate)
}

// open returns the key of an identity. It returns store.ErrNotFound if the account has none with the ID.
func (s SigningIdentities) open(ctx context.Context, accountID, id string) (key operation.StoredKey, err error) {
	row, err := s.Store.SigningIdentity(ctx, accountID, id)
	if err != nil {
		return key, err
	}

	text, err := s.Box.Open(delivery.SecretPurpose(row.ID), row.Secret)
	if err != nil {
		return key, err
	}

	defer clear(text)
	err = json.Unmarshal(text, &key)
	return key, err
}

// Check returns an error unless the caller has the scope to use the identities of its account. Members have it by their
// role, which the dashboard checks.
func (s SigningIdentities) Check(ctx context.Context, caller Caller) error {
	allowed := caller.Has(wire.ScopeSign)
	if caller.Kind == ByKey {
		var err error
		if allowed, err = s.Store.KeySigns(ctx, caller.ID); err != nil {
			return err
		}
	}

	if !allowed {
		text := "This grant lacks the scope " + wire.ScopeSign + ". Log in again and allow signing identities."
		if caller.Kind == ByKey {
			text = "This key lacks the scope " + wire.ScopeSign + ". Create a key with \"Signing identities\" selected."
		}
		return &wire.Error{Code: wire.Unauthorized, Message: text}
	}

	return nil
}

// checkIdentities refuses signing identities that the caller may not use, or that the account does not have.
func (c *paidCall) checkIdentities(ctx context.Context) error {
	for _, part := range c.parts() {
		in, ok := part.Input().(interface{ SigningIdentity() string })
		if !ok || in.SigningIdentity() == "" {
			continue
		}

		err := c.signing.Check(ctx, c.Caller)
		if err == nil {
			_, err = c.store.SigningIdentity(ctx, c.Caller.Account.ID, in.SigningIdentity())
		}
		if errors.Is(err, store.ErrNotFound) {
			err = wire.Invalid("key.id",
				"must be the ID of a signing identity of this account; got "+strconv.Quote(in.SigningIdentity()))
		}

		if err != nil {
			return operation.StepFailure(part, err)
		}
	}
	return nil
}
