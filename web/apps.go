package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// showApps lists the authorized apps, active ones first.
func (w *Web) showApps(v *pageRequest) error {
	list, err := w.store.Grants(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}

	m := views.Apps{URL: w.oauth.Resource()}
	now := w.now()
	slices.SortStableFunc(list, func(a, b store.Grant) int {
		switch {
		case a.Live(now) == b.Live(now):
			return 0
		case a.Live(now):
			return -1
		}
		return 1
	})

	for _, g := range list {
		m.List = append(m.List, w.appLine(g))
	}
	return v.show(http.StatusOK, views.AppsPage(v.page("Connected apps", settingsPath), m))
}

func (w *Web) appLine(g store.Grant) views.App {
	now := w.now()
	line := views.App{
		ID: g.ID, Name: g.Name, Back: backTo(g.Home), Email: g.Email, Since: g.CreatedAt,
		Ends: g.ExpiresAt, LastUsed: g.LastUsedAt, Limit: g.Limit, Spent: g.Spent,
		State: views.Status{Is: views.StateOK, Word: "Active"}, Live: g.Live(now),
	}

	for _, scope := range g.Scopes {
		line.May = append(line.May, scopeWords[scope].text)
	}

	switch {
	case g.RevokedAt != nil:
		line.State = views.Status{Is: views.StateOff, Word: "Revoked"}
	case !g.ExpiresAt.After(now):
		line.State = views.Status{Is: views.StateOff, Word: "Expired"}
	case g.Orphaned:
		line.State = views.Status{Is: views.StateOff, Word: "Member left"}
	case g.Spent >= g.Limit:
		line.State = views.Status{Is: views.StateWarn, Word: "Limit reached"}
	}

	return line
}

// showApp shows an app with the form that changes its spending limit.
func (w *Web) showApp(v *pageRequest) error {
	g, err := w.store.Grant(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}

	m := views.AppDetail{
		Form: views.Form{
			Values: map[string]string{"limit": strings.TrimPrefix(views.Dollars(g.Limit), "$")},
			Errors: map[string]string{},
		},
		App: w.appLine(g),
	}

	return v.show(http.StatusOK, views.AppPage(v.page(m.Name, settingsPath), m))
}

// limitApp changes the spending limit of an app.
func (w *Web) limitApp(v *pageRequest) error {
	g, err := w.store.Grant(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}

	limit, wrong := dollars(v.value("limit"))
	if wrong == "" && limit == nil {
		wrong = "Spending limit is required. Enter 0 to allow no spending."
	}
	if wrong != "" {
		m := views.AppDetail{
			Form: views.Form{
				Values: map[string]string{"limit": v.value("limit")},
				Errors: map[string]string{"limit": wrong},
			},
			App: w.appLine(g),
		}
		return v.show(http.StatusUnprocessableEntity, views.AppPage(v.page(m.Name, settingsPath), m))
	}

	if err := w.store.SetGrantLimit(v.ctx(), v.account.ID, g.ID, *limit); err != nil {
		return err
	}
	if err := v.record("grant.limited", g.Name, views.Dollars(*limit)); err != nil {
		return err
	}
	return v.redirectWith(appsPath, "Spending limit of "+g.Name+" set to "+views.Dollars(*limit)+".")
}

// revokeApp ends the access of an app.
func (w *Web) revokeApp(v *pageRequest) error {
	g, err := w.store.Grant(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}

	if err := w.store.RevokeGrant(v.ctx(), v.account.ID, g.ID); err != nil {
		return err
	}
	if err := v.record("grant.revoked", g.Name, ""); err != nil {
		return err
	}

	return v.redirectWith(appsPath, "Access of "+g.Name+" revoked.")
}
