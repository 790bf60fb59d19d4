package web

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const signingPath = "/dashboard/signing"

// maxKeyForm is the maximum size of the form of a signing identity in bytes: a file of 256 KiB and the other fields.
const maxKeyForm = 300 << 10

func (w *Web) showSigning(v *pageRequest) error {
	list, err := w.cfg.Signing.List(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	m := views.SigningIdentities{Max: store.MaxSigningIdentities}
	for _, i := range list {
		m.List = append(m.List, views.SigningIdentity{
			ID: i.ID, Name: i.Name, Subject: i.Certificate.Subject, Issuer: i.Certificate.Issuer,
			Ends: i.Certificate.NotAfter, Expired: i.Certificate.NotAfter.Before(w.now()),
		})
	}

	return v.show(http.StatusOK, views.SigningPage(v.page("Signing identities", signingPath), m))
}

func (w *Web) showNewSigning(v *pageRequest) error {
	return w.newSigningPage(v, http.StatusOK, views.Form{})
}

func (w *Web) newSigningPage(v *pageRequest, status int, m views.Form) error {
	return v.show(status, views.NewSigningPage(v.page("Add signing identity", signingPath), m))
}

// newSigning reads the form of a signing identity. The error is schema.FieldErrors.
func newSigning(v *pageRequest) (*call.NewSigningIdentity, error) {
	// Spaces are a part of it.
	fields := map[string]string{"name": v.value("name"), "password": v.r.FormValue("password")}
	if file, _, err := v.r.FormFile("pkcs12"); err == nil {
		content, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		fields["pkcs12"] = base64.StdEncoding.EncodeToString(content)
		clear(content)
	}

	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}

	return bindForm[call.NewSigningIdentity](v, fields)
}

func (w *Web) makeSigning(v *pageRequest) error {
	n, err := newSigning(v)
	var made wire.SigningIdentity
	if err == nil {
		made, err = w.cfg.Signing.Create(v.ctx(), v.author(), *n)
	}
	if err != nil {
		return w.wrongSigning(v, err)
	}
	return v.redirectWith(signingPath, "Signing identity "+made.Name+" added.")
}

// wrongSigning shows the form of a signing identity with its errors.
func (w *Web) wrongSigning(v *pageRequest, err error) error {
	m := views.Form{Values: map[string]string{"name": v.value("name")}, Errors: map[string]string{}}
	var faults schema.FieldErrors

	switch {
	case errors.As(err, &faults):
		m.Errors = faultTexts(faults)
	case errors.Is(err, store.ErrExists):
		m.Errors["name"] = "Another signing identity has this name."
	case errors.Is(err, store.ErrTooManyIdentities):
		limit := strconv.Itoa(store.MaxSigningIdentities)
		m.Errors[""] = "Signing identity limit reached: " +
			limit + " of " + limit + ". Delete a signing identity first."
	default:
		e := call.APIError(err)
		if e.Code == wire.InternalError {
			return err
		}
		m.Errors[""] = e.Error()
		return w.newSigningPage(v, e.Status(), m)
	}

	return w.newSigningPage(v, http.StatusUnprocessableEntity, m)
}

func (w *Web) showDeleteSigning(v *pageRequest) error {
	i, err := w.store.SigningIdentity(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.DeleteSigningPage(
		v.page("Delete signing identity", signingPath), views.SigningIdentity{ID: i.ID, Name: i.Name},
	))
}

func (w *Web) deleteSigning(v *pageRequest) error {
	name, err := w.cfg.Signing.Delete(v.ctx(), v.author(), chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}
	return v.redirectWith(signingPath, "Signing identity "+name+" deleted.")
}
