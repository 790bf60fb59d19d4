package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

const keysPath = "/dashboard/keys"

// showKeys shows the list, with the secret of a new key.
func (w *Web) showKeys(v *pageRequest) error {
	keys, err := w.store.Keys(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	today, err := w.store.Activity(v.ctx(), v.account.ID, w.now(), w.now())
	if err != nil {
		return err
	}

	m := views.Keys{Made: takeOnce[views.MadeKey](v), New: w.newKeyModel(v), Revoked: v.value("state") == "revoked"}
	for _, k := range slices.Backward(keys) {
		if k.Grant { // which is under the connected apps
			continue
		}
		shown := w.keyLine(k, today.Keys[k.ID])
		if !shown.Live {
			m.RevokedCount++
		}
		if shown.Live != m.Revoked {
			m.List = append(m.List, shown)
		}
	}

	return v.show(http.StatusOK, views.KeysPage(v.page("Keys", keysPath), m))
}

func (w *Web) keyLine(k store.Key, today store.Spent) views.Key {
	line := views.Key{
		ID: k.ID, Name: keyName(k), Prefix: k.Prefix, LastUsed: k.LastUsedAt,
		CallsToday: today.Calls, SpentToday: today.Amount,
		Note: keyNote(k), State: views.Status{Is: views.StateOK, Word: "Active"}, Live: true,
	}

	now := w.now()
	switch {
	case k.RevokedAt != nil:
		line.State = views.Status{Is: views.StateOff, Word: "Revoked"}
		line.Live = false
	case k.ExpiresAt != nil && !k.ExpiresAt.After(now):
		line.State = views.Status{Is: views.StateOff, Word: "Expired"}
		line.Live = false
	case k.ExpiresAt != nil && k.ExpiresAt.Sub(now) <= store.KeyOverlap:
		line.State = views.Status{Is: views.StateWarn, Word: "Expires " + k.ExpiresAt.UTC().Format("Jan 2, 15:04")}
	}

	return line
}

func keyName(k store.Key) string {
	if k.Name == "" {
		return "unnamed"
	}
	return k.Name
}

// keyNote returns a line about the permissions of a key.
func keyNote(k store.Key) string {
	limit := "no limit"
	operations := "all operations"
	if k.SpendLimit != nil {
		limit = views.Dollars(k.Spent) + " of " + views.Dollars(*k.SpendLimit)
	}

	switch len(k.Operations) {
	case 0:
	case 1:
		operations = k.Operations[0]
	default:
		operations = strconv.Itoa(len(k.Operations)) + " operations"
	}

	note := limit + " · " + operations
	if k.Signs {
		note += " · signing identities"
	}
	if k.Test {
		note = "test · " + note
	}
	if k.ExpiresAt != nil {
		note += " · expires " + k.ExpiresAt.UTC().Format("Jan 2, 2006")
	}

	return note
}

func (w *Web) newKeyModel(v *pageRequest) views.NewKey {
	m := views.NewKey{
		Form:   views.Form{Values: map[string]string{}, Errors: map[string]string{}},
		Chosen: map[string]bool{},
	}
	if !w.cfg.Dev {
		m.MaxTests = call.MaxTests
	}

	for _, name := range []string{"name", "test", "signs", "limit", "expires", "scope"} {
		m.Values[name] = v.value(name)
	}

	m.Scopes = []views.Choice{{
		Value: scopeAll,
		Text:  "All operations",
		Note:  "Call all operations, and manage templates, webhooks and spending limits.",
	}}
	for _, s := range keyScopes {
		m.Scopes = append(m.Scopes, s.Choice)
	}
	m.Scopes = append(m.Scopes, views.Choice{
		Value: views.ScopeChosen,
		Text:  "Selected operations",
		Note:  "Only the operations that you select.",
	})

	for _, g := range operationGroups {
		m.Groups = append(m.Groups, views.KeyOperations{Title: g.title})
	}
	for _, o := range w.cfg.Table.All() {
		group := &m.Groups[operationGroup(o.Name)]
		group.Names = append(group.Names, o.Name)
	}
	m.Groups = slices.DeleteFunc(m.Groups, func(g views.KeyOperations) bool { return len(g.Names) == 0 })

	for _, name := range v.r.Form["operations"] {
		m.Chosen[name] = w.cfg.Table.Lookup(name) != nil
	}
	if m.Values["scope"] == "" {
		m.Values["scope"] = scopeAll
		if len(m.Chosen) > 0 {
			m.Values["scope"] = views.ScopeChosen
		}
	}

	return m
}

// scopeAll is the scope of a key for everything.
const scopeAll = "all"

// keyScope is a preset of a key's operations.
type keyScope struct {
	views.Choice
	has func(*apiOperation) bool
}

var keyScopes = []keyScope{
	{
		views.Choice{
			Value: "render", Text: "Render only",
			Note: "Create PDFs and images from HTML, URLs, Markdown, templates and emails.",
		},
		isRender,
	},
	{
		views.Choice{Value: "tools", Text: "PDF tools", Note: "Read and change PDFs."},
		isTool,
	},
	{
		views.Choice{
			Value: "read", Text: "Read only",
			Note: "Get the properties, text, data and form fields of PDFs.",
		},
		func(o *apiOperation) bool { return isTool(o) && slices.Equal(o.Produces, []string{"application/json"}) },
	},
}

func isRender(o *apiOperation) bool {
	return slices.Contains([]string{"pdf.create", "templates.preview", "images.create", "email.create"}, o.Name)
}

func isTool(o *apiOperation) bool { return strings.HasPrefix(o.Name, "pdf.") && o.Name != "pdf.create" }

// keyOperations returns the operations that the form allows, or an error text; a key without operations has all.
func (w *Web) keyOperations(m views.NewKey, listed []string) (names []string, wrong string) {
	scope := m.Value("scope")
	if i := slices.IndexFunc(keyScopes, func(s keyScope) bool { return s.Value == scope }); i >= 0 {
		for _, o := range w.offered {
			if keyScopes[i].has(o) {
				names = append(names, o.Name)
			}
		}
		if len(names) == 0 {
			return nil, "This server has no operation of this kind."
		}
		return names, ""
	}

	switch {
	case scope == scopeAll:
		return nil, ""
	case scope != views.ScopeChosen:
		return nil, "Operations must be one of the listed choices."
	case len(listed) == 0:
		return nil, "Select at least one operation, or allow all operations."
	}

	for _, name := range listed {
		if !m.Chosen[name] {
			return nil, "No operation with the name " + name + "."
		}
	}

	return listed, ""
}

func (w *Web) showNewKey(v *pageRequest) error {
	return v.show(http.StatusOK, views.NewKeyPage(v.page("Create key", keysPath), w.newKeyModel(v)))
}

// makeKey makes a key from the form.
func (w *Web) makeKey(v *pageRequest) error {
	m := w.newKeyModel(v)
	n := store.NewKey{
		AccountID: v.account.ID,
		Name:      v.value("name"),
		Test:      v.value("test") != "",
		Signs:     v.value("signs") != "",
	}

	if n.Name == "" {
		m.Errors["name"] = "Name is required. Use the name of your application."
	}
	var wrong string
	if n.SpendLimit, wrong = dollars(v.value("limit")); wrong != "" {
		m.Errors["limit"] = wrong
	}
	if n.ExpiresAt, wrong = keyEnd(v.value("expires"), w.now()); wrong != "" {
		m.Errors["expires"] = wrong
	}
	if n.Operations, wrong = w.keyOperations(m, v.r.Form["operations"]); wrong != "" {
		m.Errors[""] = wrong
	}

	if m.Failed() {
		return v.show(http.StatusUnprocessableEntity, views.NewKeyPage(v.page("Create key", keysPath), m))
	}

	key, secret, err := w.store.CreateKey(v.ctx(), n)
	if err != nil {
		return err
	}
	if err := v.record("key.made", key.Name, keyNote(key)); err != nil {
		return err
	}

	page := keysPath
	if v.value("first") != "" {
		page = "/dashboard"
	}
	return v.redirectOnce(page, views.MadeKey{Name: keyName(key), Secret: secret, Note: keyNote(key)})
}

// keyEnd reads the number of days until a key expires; an empty text means never. It returns an error text, or
// nothing.
func keyEnd(text string, now time.Time) (*time.Time, string) {
	if text == "" {
		return nil, ""
	}
	days, err := strconv.Atoi(text)
	if err != nil || days <= 0 || days > 3650 {
		return nil, "Expires must be one of the listed periods."
	}
	at := now.Add(time.Duration(days) * 24 * time.Hour)
	return &at, ""
}

// keyOf returns the key that an address names.
func (w *Web) keyOf(v *pageRequest) (store.Key, error) {
	keys, err := w.store.Keys(v.ctx(), v.account.ID)
	if err != nil {
		return store.Key{}, err
	}
	at := slices.IndexFunc(keys, func(k store.Key) bool { return k.ID == chi.URLParam(v.r, "id") && !k.Grant })
	if at < 0 {
		return store.Key{}, store.ErrNotFound
	}
	return keys[at], nil
}

func (w *Web) changeKey(v *pageRequest, key store.Key) (views.ChangeKey, error) {
	today, err := w.store.Activity(v.ctx(), v.account.ID, w.now(), w.now())
	used := today.Keys[key.ID].Calls

	m := views.ChangeKey{
		Form: views.Form{Values: map[string]string{}, Errors: map[string]string{}},
		Key:  w.keyLine(key, today.Keys[key.ID]),
	}

	if used > 0 {
		m.Used = "It was used for " + views.Plural(used, "call", "calls") + " today."
	}
	return m, err
}

func (w *Web) showRevokeKey(v *pageRequest) error {
	return w.showKeyChange(v, "Revoke ", views.RevokeKeyPage)
}

func (w *Web) revokeKey(v *pageRequest) error {
	key, err := w.keyOf(v)
	if err != nil {
		return err
	}

	if v.value("confirm") != keyName(key) {
		m, err := w.changeKey(v, key)
		if err != nil {
			return err
		}
		m.Values["confirm"] = v.value("confirm")
		m.Errors["confirm"] = "Type the name of the key: " + keyName(key) + "."
		return v.show(http.StatusUnprocessableEntity, views.RevokeKeyPage(v.page("Revoke "+m.Name, keysPath), m))
	}

	if err := w.store.RevokeKey(v.ctx(), v.account.ID, key.ID); err != nil {
		return err
	}
	if err := v.record("key.revoked", keyName(key), ""); err != nil {
		return err
	}
	return v.redirectWith(keysPath, "Key “"+keyName(key)+"” revoked. Calls with it now fail.")
}

func (w *Web) showRollKey(v *pageRequest) error {
	return w.showKeyChange(v, "Rotate ", views.RollKeyPage)
}

// showKeyChange shows the page of a change to a key, before it is made.
func (w *Web) showKeyChange(v *pageRequest, verb string, page func(views.Page, views.ChangeKey) templ.Component) error {
	key, err := w.keyOf(v)
	if err != nil {
		return err
	}
	m, err := w.changeKey(v, key)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, page(v.page(verb+m.Name, keysPath), m))
}

func (w *Web) rollKey(v *pageRequest) error {
	key, secret, err := w.store.RollKey(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}

	if err := v.record("key.rolled", keyName(key), ""); err != nil {
		return err
	}
	return v.redirectOnce(keysPath, views.MadeKey{
		Name:   keyName(key),
		Secret: secret,
		Note:   keyNote(key) + " · the old key works for 24 more hours",
	})
}

// accountKeys are keys of an account by their IDs.
type accountKeys map[string]store.Key

// name returns the name of a key, or nothing if the key is unknown.
func (k accountKeys) name(id string) string {
	if key, known := k[id]; known {
		return keyName(key)
	}
	return ""
}

// keysOf returns an account's keys.
func (w *Web) keysOf(ctx context.Context, accountID string) (accountKeys, error) {
	keys, err := w.store.Keys(ctx, accountID)
	return byID(keys), err
}

func byID(keys []store.Key) accountKeys {
	found := accountKeys{}
	for _, k := range keys {
		found[k.ID] = k
	}
	return found
}

// choicesOf returns keys by their names.
func choicesOf(keys []store.Key) (choices []views.Choice) {
	for _, k := range keys {
		choices = append(choices, views.Choice{Value: k.ID, Text: keyName(k)})
	}
	return choices
}

// keyLink returns the place of a key in the dashboard: its row, or the page of its app.
func keyLink(k store.Key) views.Link {
	address := keysPath + "#" + k.ID
	switch {
	case k.Grant:
		address = appsPath + "/" + k.ID
	case k.RevokedAt != nil:
		address = keysPath + "?state=revoked#" + k.ID
	}
	return views.Link{URL: address, Text: keyName(k)}
}

// dollars reads an amount of dollars; an empty text means none. It returns an error text, or nothing.
func dollars(text string) (*credit.Amount, string) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, ",", ""), "$")
	if text == "" {
		return nil, ""
	}
	amount, err := credit.ParseDollars(text)
	if err != nil || amount < 0 {
		return nil, "Enter an amount in dollars, such as 10 or 2.50."
	}
	return &amount, ""
}
