package api

import (
	"context"
	"errors"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
)

func (a *API) listSigningIdentities(
	ctx context.Context, caller call.Caller, _ noInput,
) (list wire.SigningIdentityList, err error) {
	if err = a.Signing.Check(ctx, caller); err == nil {
		list.SigningIdentities, err = a.Signing.List(ctx, caller.Account.ID)
	}
	return list, err
}

func (a *API) createSigningIdentity(
	ctx context.Context, caller call.Caller, in call.NewSigningIdentity,
) (made wire.SigningIdentity, err error) {
	if err = a.Signing.Check(ctx, caller); err == nil {
		made, err = a.Signing.Create(ctx, caller.Author, in)
	}
	if errors.Is(err, store.ErrExists) {
		err = wire.Invalid("name", "must be unique: another signing identity has this name")
	}
	return made, err
}

func (a *API) deleteSigningIdentity(ctx context.Context, caller call.Caller, in byID) (wire.Acknowledged, error) {
	err := a.Signing.Check(ctx, caller)
	if err == nil {
		_, err = a.Signing.Delete(ctx, caller.Author, in.ID)
	}
	return wire.Acknowledged{OK: err == nil}, err
}
