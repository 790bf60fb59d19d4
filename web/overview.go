package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

// latestLimit is the number of calls on the overview.
const latestLimit = 6

func (w *Web) latestCalls(v *pageRequest) ([]store.Call, error) {
	page, err := w.store.Calls(v.ctx(), store.CallFilter{AccountID: v.account.ID, List: store.List{Limit: latestLimit}})
	return page.Items, err
}

// showOverview shows the account at a glance, or, until its second document, the first run.
func (w *Web) showOverview(v *pageRequest) error {
	latest, err := w.latestCalls(v)
	if err != nil {
		return err
	}

	if made := takeOnce[views.MadeKey](v); made != nil {
		return w.firstRun(v, latest, made.Secret)
	}
	if isFirstRun(latest) && v.value("days") == "" {
		return w.firstRun(v, latest, "")
	}

	days := 30
	switch v.value("days") {
	case "1":
		days = 1
	case "7":
		days = 7
	}

	m, err := w.overview(v, days)
	if err != nil {
		return err
	}
	keys, err := w.keysOf(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	if m.Latest, err = w.documentsOf(v, latest, keys); err != nil {
		return err
	}

	p := v.page("Overview", "/dashboard")
	if p.Banner == nil {
		if p.Banner, err = w.failing(v); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, views.OverviewPage(p, m))
}

// failing warns of the endpoint that has failed for longest; nil where none does.
func (w *Web) failing(v *pageRequest) (*views.Banner, error) {
	list, err := w.store.Webhooks(v.ctx(), v.account.ID)
	var worst *store.Webhook
	for i, e := range list {
		if e.FailingSince != nil && e.Enabled && (worst == nil || e.FailingSince.Before(*worst.FailingSince)) {
			worst = &list[i]
		}
	}

	if worst == nil {
		return nil, err
	}
	return &views.Banner{
		Is: views.StateWarn, Bold: endpointOf(*worst).Host + " rejects every delivery.",
		Text: "The first failed attempt was", At: *worst.FailingSince,
		Link: views.Link{URL: deliveriesPath + "?endpoint=" + url.QueryEscape(worst.ID), Text: "View deliveries"},
	}, nil
}

func (w *Web) overview(v *pageRequest, days int) (views.Overview, error) {
	now := w.now().UTC()
	from := now.AddDate(0, 0, 1-days)
	activity, err := w.store.Activity(v.ctx(), v.account.ID, from, now)
	if err != nil {
		return views.Overview{}, err
	}
	sent, err := w.store.CountDeliveries(v.ctx(), v.account.ID, from)
	if err != nil {
		return views.Overview{}, err
	}

	m := views.Overview{
		Delivered: sent.Delivered, Sent: sent.Delivered + sent.Failed, Waiting: sent.Pending,
		Days: days, Balance: v.account.Balance, Calls: activity.Count + activity.Failed, Failures: activity.Failed,
		P95: activity.P95, Median: activity.Median, Spent: activity.Total,
	}

	spent := map[int64]store.DayUsage{}
	for _, d := range activity.Days {
		spent[d.Day.Unix()/86400] = d
	}
	for i := range days {
		at := from.AddDate(0, 0, i)
		day := at.Unix() / 86400
		failed := activity.FailedDays[day]
		m.Series = append(m.Series, views.Day{
			At:    at,
			Calls: spent[day].Count + failed,
			Fails: failed,
			Spent: spent[day].Total,
		})
	}

	today := m.Series[days-1]
	m.CallsToday = today.Calls
	m.SpentToday = today.Spent
	m.Pace = pace(
		v.account.Balance, activity.Total, days, "at this pace",
	)
	return m, nil
}

// pace returns how long a balance lasts at the daily spending of the span, which words names.
func pace(balance, spent credit.Amount, days int, words string) string {
	if spent <= 0 {
		return ""
	}
	left := int64(balance) * int64(days) / int64(spent)
	if left > 3650 {
		return "More than 10 years " + words
	}
	return views.Plural(left, "day", "days") + " " + words
}

// isFirstRun reports whether the first run is shown: an account has created at most one document.
func isFirstRun(latest []store.Call) bool {
	created := 0
	for _, call := range latest {
		if call.Status == store.CallDone {
			created++
		}
	}
	return len(latest) < latestLimit && created < 2
}

// firstCall returns the completed call of the first run, or else its latest failed call, or nil.
func firstCall(latest []store.Call) *store.Call {
	for _, status := range []string{store.CallDone, store.CallFailed} {
		if i := slices.IndexFunc(latest, func(c store.Call) bool { return c.Status == status }); i >= 0 {
			return &latest[i]
		}
	}
	return nil
}

// firstRun shows the three steps to the first document, and the document. The secret is the secret of a new key.
func (w *Web) firstRun(v *pageRequest, latest []store.Call, secret string) error {
	keys, err := w.store.Keys(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k store.Key) bool { return k.Grant })
	name := strings.TrimSpace(v.person.Name)
	if name != "" {
		name = ", " + strings.Fields(name)[0]
	}

	price := w.cfg.Prices["pdf.create"]
	m := views.FirstRun{
		Greeting: "Welcome" + name, Balance: v.account.Balance, Secret: secret, HasKey: len(keys) > 0,
		Curl: fmt.Sprintf(
			"curl %s/v1/pdf \\\n  -H \"Authorization: Bearer %s\" \\\n  -H \"Content-Type: application/json\" \\\n"+
				"  -d '{\"html\":\"<h1>Hello</h1>\",\"response\":\"url\"}'",
			w.cfg.BaseURL, cmp.Or(secret, "YOUR_KEY"),
		),
	}
	if price > 0 {
		m.PDFs = int64(v.account.Balance / price)
	}

	if call := firstCall(latest); call != nil {
		documents, err := w.documentsOf(v, []store.Call{*call}, nil)
		if err != nil {
			return err
		}
		m.Document = &documents[0]
		m.Error = call.Failure.Message
	}

	refusal, err := w.refusal(v, latest)
	if err != nil {
		return err
	}
	if refusal != nil {
		m.Refusal = &views.RequestDetail{Request: requestOf(*refusal, store.Key{}), Message: refusal.Message}
	}

	return v.show(http.StatusOK, views.FirstRunPage(v.page("Welcome", "/dashboard"), m))
}

// refusal returns the latest request, if it was refused before it became a call and no document exists yet. Otherwise
// it returns nil.
func (w *Web) refusal(v *pageRequest, latest []store.Call) (*store.Request, error) {
	call := firstCall(latest)
	if call != nil && call.Status == store.CallDone {
		return nil, nil
	}

	page, err := w.store.Requests(v.ctx(), store.RequestFilter{
		AccountID: v.account.ID,
		Outcome:   "failed",
		List:      store.List{Limit: 1},
	})
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}

	r := page.Items[0]
	if r.CallID != "" || call != nil && r.At.Before(call.CreatedAt) {
		return nil, nil
	}
	return &r, nil
}

// awaitFirst sends the ID of the call, or of the refused request, that the page of the first run shows next.
func (w *Web) awaitFirst(v *pageRequest) error {
	latest, err := w.latestCalls(v)
	if err != nil {
		return err
	}
	refusal, err := w.refusal(v, latest)
	if err != nil {
		return err
	}

	id := ""
	if call := firstCall(latest); refusal != nil {
		id = refusal.ID
	} else if call != nil {
		id = call.ID
	}

	v.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(map[string]string{"id": id})
}
