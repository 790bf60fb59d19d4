package api

import (
	"context"
	"errors"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

func (a *API) listConnections(ctx context.Context, caller call.Caller, _ noInput) (wire.ConnectionList, error) {
	list, err := a.Connections.List(ctx, caller.Account.ID)
	return wire.ConnectionList{Connections: list}, err
}

func (a *API) createConnection(
	ctx context.Context, caller call.Caller, in delivery.NewConnection,
) (wire.Connection, error) {
	made, err := a.Connections.Create(ctx, caller.Author, in)
	return made, connectionError(err)
}

// connectionPatch changes a connection.
type connectionPatch struct {
	schema.Patch
	byID
	delivery.ConnectionChange
}

func (a *API) updateConnection(ctx context.Context, caller call.Caller, in connectionPatch) (wire.Connection, error) {
	changed, err := a.Connections.Update(ctx, caller.Author, in.ID, in.ConnectionChange)
	return changed, connectionError(err)
}

// connectionError returns the API error of a connection that could not be created or updated.
func connectionError(err error) error {
	var address *delivery.AddressError
	switch {
	case errors.As(err, &address):
		text := operation.NotAllowed
		if strings.HasPrefix(address.Field, "sftp.") {
			text = "must be a public host, with port 22 or another port that is not reserved for a different protocol"
		}
		return operation.RefuseURL(address.Field, text, address.Cause)
	case errors.Is(err, store.ErrExists):
		return wire.Invalid("name", "must be unique: another connection has this name")
	}

	return err
}

func (a *API) getConnection(ctx context.Context, caller call.Caller, in byID) (wire.Connection, error) {
	return a.Connections.Get(ctx, caller.Account.ID, in.ID)
}

func (a *API) deleteConnection(ctx context.Context, caller call.Caller, in byID) (wire.Acknowledged, error) {
	_, err := a.Connections.Delete(ctx, caller.Author, in.ID)
	return wire.Acknowledged{OK: true}, err
}

func (a *API) testConnection(ctx context.Context, caller call.Caller, in byID) (wire.ConnectionTest, error) {
	test, err := a.Connections.Test(ctx, caller.Author, in.ID)
	var limit *delivery.LimitError
	if errors.As(err, &limit) {
		err = &wire.Error{Code: wire.RateLimited, RetryAfter: wire.Seconds(limit.RetryAfter), Message: limit.Error()}
	}
	return test, err
}
