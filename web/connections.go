package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const connectionsPath = "/dashboard/connections"

// connectionOf shows a connection.
func connectionOf(c wire.Connection) views.Connection {
	shown := views.Connection{ID: c.ID, Name: c.Name, Made: c.CreatedAt}

	switch {
	case c.S3 != nil:
		shown.Kind = "S3"
		shown.Server = "Amazon S3"
		shown.Place = strings.TrimSuffix(c.S3.Bucket+"/"+c.S3.Prefix, "/")
		if c.S3.Endpoint != "" {
			shown.Server = strings.TrimPrefix(c.S3.Endpoint, "https://")
		}

	case c.SFTP != nil:
		shown.Kind = "SFTP"
		shown.Server = c.SFTP.Host
		shown.Place = c.SFTP.Folder
		shown.HostKey = c.SFTP.HostKey
		shown.Untested = c.SFTP.HostKey == ""
	}

	return shown
}

func (w *Web) showConnections(v *pageRequest) error { return w.connectionsPage(v, http.StatusOK, "") }

// connectionsPage shows the connections, and why a test failed.
func (w *Web) connectionsPage(v *pageRequest, status int, failed string) error {
	list, err := w.cfg.Connections.List(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	m := views.Connections{Max: store.MaxConnections, Failed: failed}
	for _, c := range list {
		m.List = append(m.List, connectionOf(c))
	}
	return v.show(status, views.ConnectionsPage(v.page("Connections", connectionsPath), m))
}

// connectionFields are the fields of each kind of connection, besides its secrets.
var connectionFields = map[string][]string{
	schema.KindS3:   {"endpoint", "region", "bucket", "prefix", "pathStyle", "accessKeyId"},
	schema.KindSFTP: {"host", "port", "username", "hostKey", "folder"},
}

// connectionKind returns the kind of connection that a form is about.
func connectionKind(v *pageRequest) string {
	if v.value("kind") == schema.KindSFTP {
		return schema.KindSFTP
	}
	return schema.KindS3
}

// connectionForm is the form of a connection as it was sent, without its secrets, or empty.
func connectionForm(v *pageRequest) views.ConnectionForm {
	m := views.ConnectionForm{
		Form: views.Form{Values: map[string]string{}, Errors: map[string]string{}},
		SFTP: connectionKind(v) == schema.KindSFTP,
	}
	m.ID = chi.URLParam(v.r, "id")
	m.Values["name"] = v.value("name")

	for _, name := range connectionFields[connectionKind(v)] {
		name = connectionKind(v) + "." + name
		m.Values[name] = v.value(name)
	}
	return m
}

func (w *Web) showNewConnection(v *pageRequest) error {
	return showConnectionForm(v, http.StatusOK, connectionForm(v))
}

func showConnectionForm(v *pageRequest, status int, m views.ConnectionForm) error {
	return v.show(status, views.ConnectionFormPage(v.page(m.Title(), connectionsPath), m))
}

// showConnection shows the form of a connection as it is stored.
func (w *Web) showConnection(v *pageRequest) error {
	c, err := w.cfg.Connections.Get(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}

	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var stored map[string]any
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}

	m := connectionForm(v)
	m.SFTP = c.SFTP != nil
	m.Values["name"] = c.Name
	settings, _ := stored[c.Kind].(map[string]any)
	for name, value := range settings {
		m.Values[c.Kind+"."+name] = fmt.Sprint(value)
	}

	return showConnectionForm(v, http.StatusOK, m)
}

// readConnection reads the form of a connection into a request of the API. The error is schema.FieldErrors.
func readConnection[In any](v *pageRequest) (*In, error) {
	kind := connectionKind(v)
	settings := map[string]any{}

	for _, name := range slices.Concat(connectionFields[kind], []string{"secretAccessKey", "password", "privateKey"}) {
		text := v.value(kind + "." + name)
		if name == "password" || name == "secretAccessKey" { // Spaces are a part of it.
			text = v.r.FormValue(kind + "." + name)
		}

		switch port, err := strconv.Atoi(text); {
		case text == "":
		case name == "pathStyle":
			settings[name] = true
		case name == "port" && err == nil:
			settings[name] = port
		case name == "privateKey":
			settings[name] = text + "\n"
		default:
			settings[name] = text
		}
	}

	return bindForm[In](v, map[string]any{"name": v.value("name"), kind: settings})
}

func (w *Web) makeConnection(v *pageRequest) error {
	n, err := readConnection[delivery.NewConnection](v)
	var made wire.Connection
	if err == nil {
		made, err = w.cfg.Connections.Create(v.ctx(), v.author(), *n)
	}
	if err != nil {
		return w.wrongConnection(v, err)
	}
	return v.redirectWith(connectionsPath, "Connection "+made.Name+" added. Test it before you use it.")
}

func (w *Web) changeConnection(v *pageRequest) error {
	if _, err := w.connection(v); err != nil {
		return err
	}

	change, err := readConnection[delivery.ConnectionChange](v)
	var changed wire.Connection
	if err == nil {
		changed, err = w.cfg.Connections.Update(v.ctx(), v.author(), chi.URLParam(v.r, "id"), *change)
	}
	if err != nil {
		return w.wrongConnection(v, err)
	}

	return v.redirectWith(connectionsPath, "Connection "+changed.Name+" saved.")
}

// wrongConnection shows the form of a connection with its errors.
func (w *Web) wrongConnection(v *pageRequest, err error) error {
	m := connectionForm(v)
	var faults schema.FieldErrors
	var address *delivery.AddressError

	switch {
	case errors.As(err, &faults):
		m.Errors = faultTexts(faults)
	case errors.As(err, &address):
		m.Errors[address.Field] = "It must be an https URL with a public host."
		if m.SFTP {
			m.Errors[address.Field] = "The host or port is not allowed. Use a public host."
		}
	case errors.Is(err, store.ErrExists):
		m.Errors["name"] = "Another connection has this name."
	case errors.Is(err, store.ErrTooManyConnections):
		limit := strconv.Itoa(store.MaxConnections)
		m.Errors[""] = "Connection limit reached: " + limit + " of " + limit + ". Delete a connection first."
	default:
		return err
	}

	return showConnectionForm(v, http.StatusUnprocessableEntity, m)
}

// connection returns the connection that the URL names.
func (w *Web) connection(v *pageRequest) (store.Connection, error) {
	return w.store.Connection(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
}

func (w *Web) testConnection(v *pageRequest) error {
	c, err := w.connection(v)
	if err != nil {
		return err
	}

	test, err := w.cfg.Connections.Test(v.ctx(), v.author(), c.ID)
	var limit *delivery.LimitError
	if errors.As(err, &limit) {
		return w.connectionsPage(v, http.StatusTooManyRequests, limit.Error())
	}
	if err != nil {
		return err
	}

	if !test.OK {
		return w.connectionsPage(
			v, http.StatusUnprocessableEntity,
			"The test of "+c.Name+" failed at the step "+test.FailedStep+". "+test.Message,
		)
	}
	return v.redirectWith(connectionsPath, "The test of "+c.Name+" succeeded: a file was written and deleted.")
}

func (w *Web) showDeleteConnection(v *pageRequest) error {
	c, err := w.connection(v)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, views.DeleteConnectionPage(
		v.page("Delete connection", connectionsPath), views.Connection{ID: c.ID, Name: c.Name},
	))
}

func (w *Web) deleteConnection(v *pageRequest) error {
	name, err := w.cfg.Connections.Delete(v.ctx(), v.author(), chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}
	return v.redirectWith(connectionsPath, "Connection "+name+" deleted.")
}
