package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const (
	adminPath = "/admin"
	// regionSpan is the period for which calls are counted by region: the count reads every call of it.
	regionSpan = time.Hour
	// runningShown is the number of running calls on the page.
	runningShown = 50
	// paymentErrorsShown is the number of unapplied payments above the accounts.
	paymentErrorsShown = 20
)

// adminPage is a page of the operator's: all of them open the same section.
func (v *pageRequest) adminPage(title string) views.Page { return v.page(title, adminPath) }

func (w *Web) showAccounts(v *pageRequest) error {
	m := views.AdminAccounts{Text: v.value("q"), State: v.value("state")}
	f := store.AccountSearch{Text: m.Text, State: m.State, List: store.List{Cursor: v.value("cursor")}}
	page, err := w.store.SearchAccounts(v.ctx(), f)
	if err != nil {
		return err
	}

	var ids []string
	for _, a := range page.Items {
		ids = append(ids, a.ID)
	}
	spent, err := w.store.SpentByAccount(v.ctx(), ids, w.now().AddDate(0, 0, -29))
	if err != nil {
		return err
	}

	for _, a := range page.Items {
		m.List = append(m.List, views.AdminAccountLine{
			ID: a.ID, Name: a.Name, Email: a.Email, State: accountState(a),
			Balance: a.Balance, Spent: spent[a.ID], Joined: a.CreatedAt,
		})
	}
	m.Pager = pager(v, adminPath, page.Next, views.Plural(len(m.List), "account", "accounts"))
	if m.Tiles, err = w.tiles(v); err != nil {
		return err
	}

	failed, err := w.store.PaymentErrors(v.ctx(), paymentErrorsShown)
	if err != nil {
		return err
	}
	for _, e := range failed {
		m.Payments = append(m.Payments, views.AdminPaymentError{
			Subject: e.Subject,
			Account: e.AccountID,
			Error:   e.Text,
			At:      e.LastAt,
		})
	}

	return v.show(http.StatusOK, views.AdminAccountsPage(v.adminPage("Accounts"), m))
}

func accountState(a store.Account) views.Status {
	switch {
	case a.Suspended:
		return views.Status{Is: views.StateBad, Word: "Suspended"}
	case a.Owed > 0:
		return views.Status{Is: views.StateWarn, Word: "Owes money"}
	}
	return views.Status{Is: views.StateOK, Word: "Active"}
}

// tiles show how the service does, above the accounts.
func (w *Web) tiles(v *pageRequest) ([]views.AdminTile, error) {
	b, err := w.store.Backlog(v.ctx())
	if err != nil {
		return nil, err
	}

	var tiles []views.AdminTile
	engines := w.cfg.Host.Engines()
	for _, e := range engines.Pools {
		switch e.Name {
		case "browser":
			tiles = append(tiles,
				views.AdminTile{
					Name:  "Queue",
					Value: strconv.Itoa(e.Waiting),
					Of:    strconv.Itoa(e.Limit),
					Note:  "waiting for a browser",
				},
				views.AdminTile{
					Name:  "Browser slots",
					Value: strconv.Itoa(e.Busy),
					Of:    strconv.Itoa(e.Slots),
					Note: views.Plural(engines.Restarts, "restart", "restarts") + ", " +
						views.Plural(engines.Crashes, "crash", "crashes"),
				},
			)

		case "office":
			tiles = append(tiles, views.AdminTile{
				Name:  "LibreOffice slots",
				Value: strconv.Itoa(e.Busy),
				Of:    strconv.Itoa(e.Slots),
				Note:  strconv.Itoa(e.Waiting) + " waiting",
			})
		}
	}

	return append(tiles, views.AdminTile{
		Name: "Jobs", Value: strconv.FormatInt(b.Queued, 10),
		Note: "waiting, " + strconv.FormatInt(b.Running, 10) + " running",
	}), nil
}

func (w *Web) showEngine(v *pageRequest) error {
	b, err := w.store.Backlog(v.ctx())
	if err != nil {
		return err
	}

	m := views.AdminEngines{
		Engines:   w.cfg.Host.Engines(),
		Queued:    b.Queued,
		Running:   b.Running,
		Letters:   b.Letters,
		Processes: b.Processes,
	}

	return v.show(http.StatusOK, views.AdminEnginesPage(v.adminPage("Engines"), m))
}

func (w *Web) showJobs(v *pageRequest) error {
	m := views.AdminJobs{Text: v.value("q")}
	calls, err := w.callsFor(v, m.Text)
	if err != nil {
		return err
	}

	m.Missing = m.Text != "" && len(calls) == 0
	for _, call := range calls {
		shown := views.AdminCall{Document: documentOf(call, nil), Account: call.AccountID, RequestID: call.RequestID}
		if call.Status == store.CallFailed {
			shown.Error = call.Failure.Code + ": " + call.Failure.Message
		}
		m.List = append(m.List, shown)
	}

	return v.show(http.StatusOK, views.AdminJobsPage(v.adminPage("Jobs"), m))
}

// callsFor returns the calls that run, or the one whose id or result's id is
// looked for.
func (w *Web) callsFor(v *pageRequest, text string) ([]store.Call, error) {
	if text == "" {
		return w.store.RunningCalls(v.ctx(), runningShown)
	}

	call, err := w.store.Call(v.ctx(), text)
	if errors.Is(err, store.ErrNotFound) {
		call, err = w.store.CallByResult(v.ctx(), text)
	}

	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return []store.Call{call}, err
}

func (w *Web) showAllDeliveries(v *pageRequest) error {
	m := views.AdminDeliveries{Text: v.value("q")}
	if m.Text != "" {
		d, err := w.store.DeliveryByID(v.ctx(), m.Text)
		switch {
		case errors.Is(err, store.ErrNotFound):
			m.Missing = true
		case err != nil:
			return err
		default:
			m.Account = d.AccountID
			if m.Open, err = w.deliveryDetail(v, d); err != nil {
				return err
			}
			m.Open.Replayable = false // its account's members replay it
		}
	}

	return v.show(http.StatusOK, views.AdminDeliveriesPage(v.adminPage("Deliveries"), m))
}

func (w *Web) showEdge(v *pageRequest) error {
	regions, err := w.store.CallsByRegion(v.ctx(), w.now().Add(-regionSpan))
	if err != nil {
		return err
	}

	m := views.AdminEdge{Region: w.cfg.Region, Since: w.started}
	for _, r := range regions {
		m.Regions = append(m.Regions, views.RegionLine(r))
	}
	m.Counts = w.cfg.Host.Counters()

	return v.show(http.StatusOK, views.AdminEdgePage(v.adminPage("Edge"), m))
}

func (w *Web) showSettingsInForce(v *pageRequest) error {
	return v.show(http.StatusOK, views.AdminSettingsPage(v.adminPage("Effective settings"), w.cfg.Settings))
}

func (w *Web) showAudit(v *pageRequest) error {
	entries, err := w.store.OperatorAuditEntries(v.ctx(), v.value("cursor"), auditShown+1)
	if err != nil {
		return err
	}

	next := ""
	if len(entries) > auditShown {
		entries = entries[:auditShown]
		next = entries[auditShown-1].ID
	}

	m := views.AdminAudit{}
	for _, e := range entries {
		line := auditLine(e)
		if line.Note != "" && e.AccountID != "" {
			line.Note += " · "
		}
		line.Note += e.AccountID
		m.Lines = append(m.Lines, line)
	}

	m.Pager = pager(v, adminPath+"/audit", next, views.Plural(len(m.Lines), "entry", "entries"))
	return v.show(http.StatusOK, views.AdminAuditPage(v.adminPage("Audit log"), m))
}
