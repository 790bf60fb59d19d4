package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

const usagePath = "/dashboard/usage"

const (
	// maxUsageList bounds the operations, keys or templates on the page.
	maxUsageList = 100
	// dashboardKey selects the calls without a key.
	dashboardKey = "dashboard"
)

func (w *Web) showUsage(v *pageRequest) error { return w.usagePage(v, http.StatusOK, nil) }

// usageFilter returns the choices of the page as its model and as a filter of the store.
func (w *Web) usageFilter(v *pageRequest) (views.Usage, store.UsageFilter) {
	m := views.Usage{Days: 30, Group: v.value("by"), Of: v.value("of")}
	if days := v.value("days"); days == "7" || days == "90" {
		m.Days, _ = strconv.Atoi(days) // one of these
	}
	if !slices.Contains([]store.UsageGroup{store.ByKey, store.ByTemplate}, store.UsageGroup(m.Group)) {
		m.Group = string(store.ByOperation)
	}

	now := w.now().UTC()
	f := store.UsageFilter{
		AccountID: v.account.ID,
		From:      now.AddDate(0, 0, 1-m.Days),
		To:        now,
		Group:     store.UsageGroup(m.Group),
		Name:      m.Of,
		Named:     m.Of != "",
	}

	if f.Group == store.ByKey && m.Of == dashboardKey {
		f.Name = ""
	}
	return m, f
}

// usagePage shows the usage. A form of alerts with errors replaces the stored ones.
func (w *Web) usagePage(v *pageRequest, status int, alerts *views.Form) error {
	m, f := w.usageFilter(v)
	members, days, err := w.store.UsageBy(v.ctx(), f)
	if err != nil {
		return err
	}

	m.More = max(0, len(members)-maxUsageList)
	members = members[:min(len(members), maxUsageList)]
	name, err := w.usageNames(v, f.Group, members)
	if err != nil {
		return err
	}

	for _, u := range members {
		m.List = append(m.List, views.UsageMember{
			Of: usageName(f.Group, u.Name), Name: name(u.Name),
			Calls: u.Calls + u.Failures, Failures: u.Failures, Spent: u.Amount,
		})
	}
	m.Member = name(f.Name)

	at := map[int64]store.UsageSum{}
	for _, d := range days {
		at[d.Day.Unix()/86400] = d
	}
	for i := range m.Days {
		day := f.From.AddDate(0, 0, i)
		d := at[day.Unix()/86400]
		m.Series = append(m.Series, views.Day{At: day, Calls: d.Calls + d.Failures, Fails: d.Failures, Spent: d.Amount})
		m.Calls = m.Calls + d.Calls + d.Failures
		m.Failures += d.Failures
		m.Spent += d.Amount
	}

	if err := w.fillAlerts(v, &m, alerts); err != nil {
		return err
	}
	return v.show(status, views.UsagePage(v.page("Usage", usagePath), m))
}

// usageName returns the name of a member of a group in the address of the page.
func usageName(group store.UsageGroup, name string) string {
	if group == store.ByKey {
		return cmp.Or(name, dashboardKey)
	}
	return name
}

// usageNames returns a function that returns the names of members of a group as users know them.
func (w *Web) usageNames(
	v *pageRequest, group store.UsageGroup, members []store.UsageSum,
) (func(string) string, error) {
	var names map[string]string
	var err error
	switch group {
	case store.ByKey:
		keys, err := w.keysOf(v.ctx(), v.account.ID)
		return func(id string) string { return cmp.Or(keys.name(id), usageName(group, id)) }, err
	case store.ByTemplate:
		var ids []string
		for _, u := range members {
			ids = append(ids, u.Name)
		}
		names, err = w.store.TemplateNames(v.ctx(), v.account.ID, ids)
	}

	return func(name string) string { return cmp.Or(names[name], usageName(group, name)) }, err
}

func (w *Web) exportUsage(v *pageRequest) error {
	_, f := w.usageFilter(v)
	days, err := w.store.UsageByDay(v.ctx(), f)
	if err != nil {
		return err
	}

	name, err := w.usageNames(v, f.Group, days)
	if err != nil {
		return err
	}

	columns := []string{"day", string(f.Group), "name", "calls", "failed", "charge_usd"}
	return v.sendTable("usage.csv", columns, func(add func([]string) error) error {
		for _, d := range days {
			row := []string{
				d.Day.Format(time.DateOnly), usageName(f.Group, d.Name), name(d.Name),
				strconv.FormatInt(d.Calls+d.Failures, 10), strconv.FormatInt(d.Failures, 10), decimal(d.Amount),
			}
			if err := add(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillAlerts fills in the form of alerts.
func (w *Web) fillAlerts(v *pageRequest, m *views.Usage, form *views.Form) error {
	m.Mail = w.mail != nil
	m.Balance = v.account.Balance
	m.MinCalls = store.MinAlertCalls
	if v.account.MaxDay != nil {
		m.MaxDay = *v.account.MaxDay
	}

	if form != nil {
		m.Alerts = *form
		return nil
	}

	stored, err := w.store.Alerts(v.ctx(), v.account.ID)
	m.Alerts = views.Form{Values: map[string]string{}}
	for _, a := range alertFields {
		if threshold, on := stored[a.kind]; on {
			m.Alerts.Values[a.field] = strconv.FormatInt(threshold, 10)
			if a.kind == store.AlertLowBalance {
				m.Alerts.Values[a.field] = strings.TrimPrefix(credit.Amount(threshold).String(), "$")
			}
		}
	}
	return err
}

// alertFields are the fields of the form, with their kinds of alerts.
var alertFields = []struct{ field, kind, name string }{
	{"day", store.AlertDayLimit, "daily limit"}, {"balance", store.AlertLowBalance, "balance"},
	{"failures", store.AlertFailureRate, "failed calls"},
}

func (w *Web) saveAlerts(v *pageRequest) error {
	form := views.Form{Values: map[string]string{}, Errors: map[string]string{}}
	thresholds := map[string]int64{}
	var notes []string

	for _, a := range alertFields {
		text := v.value(a.field)
		form.Values[a.field] = text
		if text == "" {
			continue
		}

		threshold, wrong := readThreshold(a.kind, text)
		if wrong != "" {
			form.Errors[a.field] = wrong
		}
		thresholds[a.kind] = threshold
		notes = append(notes, a.name+": "+text)
	}

	if form.Failed() {
		return w.usagePage(v, http.StatusUnprocessableEntity, &form)
	}
	if err := w.store.SetAlerts(v.ctx(), v.account.ID, thresholds); err != nil {
		return err
	}
	if err := v.record("alerts.changed", "", cmp.Or(strings.Join(notes, ", "), "off")); err != nil {
		return err
	}
	return v.redirectWith(usagePath, "Alerts saved.")
}

// readThreshold reads the threshold of an alert. It returns an error text, or nothing.
func readThreshold(kind, text string) (int64, string) {
	if kind == store.AlertLowBalance {
		amount, wrong := dollars(text)
		if wrong != "" || amount == nil || *amount == 0 {
			return 0, cmp.Or(wrong, "Enter an amount above 0.")
		}
		return int64(*amount), ""
	}

	percent, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(text, "%")))
	if err != nil || percent < 1 || percent > 100 {
		return 0, "Enter a whole number from 1 to 100."
	}
	return int64(percent), ""
}
