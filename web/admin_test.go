package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web"
)

// operator logs in an operator of the installation, who owns an account too.
func (h *house) operator(t *testing.T) *visitor {
	t.Helper()
	person, err := h.CreateUser(t.Context(), store.NewUser{Email: "lena@ops.example", Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SetOperator(t.Context(), person.ID, true); err != nil {
		t.Fatal(err)
	}
	return h.signedIn(t, person)
}

// signedIn signs a user in by a link.
func (h *house) signedIn(t *testing.T, person store.User) *visitor {
	t.Helper()
	secret, err := h.NewToken(t.Context(), store.Token{Purpose: store.TokenSignIn, PersonID: person.ID, ExpiresAt: h.clock.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	v := h.visitor(t)
	v.post("/login/link?token="+secret, http.StatusSeeOther, url.Values{})
	return v
}

// TestOperatorsSeePaymentErrors: money that could not be applied is above the accounts.
func TestOperatorsSeePaymentErrors(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		op := h.operator(t)
		if text := op.get("/admin").body; strings.Contains(text, "not applied") {
			t.Error("the page tells of payments although there are none")
		}
		h.join(t, "maya@example.com")
		for range 2 {
			if _, err := h.RecordPaymentError(t.Context(), store.PaymentError{Subject: "pi_1", AccountID: h.mayas(t).ID, Text: "its currency is eur"}); err != nil {
				t.Fatal(err)
			}
		}
		text := op.get("/admin").body
		for _, want := range []string{"Payments not applied", "pi_1", "its currency is eur", "/admin/accounts/" + h.mayas(t).ID} {
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	})
}

var reference = regexp.MustCompile(`name="reference" value="([^"]+)"`)

func TestOperatorsSearchAccounts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		op := h.operator(t)
		h.join(t, "maya@example.com")
		key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: h.mayas(t).ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 25 {
			if _, err := h.CreateAccount(t.Context(), fmt.Sprintf("team_%02d@other.example", i), 0); err != nil {
				t.Fatal(err)
			}
			h.clock.Advance(time.Second)
		}
		first := op.sees("/admin", "Accounts", "20 accounts", "team_24@other.example")
		next := regexp.MustCompile(`href="(/admin\?cursor=[^"]*)" rel="next"`).FindStringSubmatch(first.body)
		if next == nil {
			t.Fatal("no second page is linked")
		}
		op.sees(next[1], "7 accounts", "maya@example.com")
		for _, text := range []string{"MAYA@exam", h.mayas(t).ID, key.ID, key.Prefix} {
			page := op.sees("/admin?q="+url.QueryEscape(text), "maya@example.com")
			if strings.Contains(page.body, "other.example") {
				t.Errorf("searching for %q shows other accounts too", text)
			}
		}
		op.sees("/admin?q=team_1", "team_10@other.example")
		op.sees("/admin?q=team%25", "No matching accounts") // a percent sign is literal
		op.sees("/admin?state=suspended", "No matching accounts")
		if a := op.get("/admin?cursor=%00"); a.status != http.StatusNotFound {
			t.Errorf("a cursor of nobody: got status %d", a.status)
		}
	})
}

func TestOperatorsSuspendAndResume(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		op := h.operator(t)
		owner := h.join(t, "maya@example.com")
		account := h.mayas(t)
		path := "/admin/accounts/" + account.ID
		op.sees(path, "maya@example.com", "Active", "$5.00", "Trial credit", "owner")
		op.post(path+"/suspend", http.StatusUnprocessableEntity, url.Values{"reason": {" "}})
		op.post(path+"/suspend", http.StatusSeeOther, url.Values{"reason": {"Phishing kit; see ticket 4418."}})
		if got := h.mayas(t); !got.Suspended || got.SuspendReason != "Phishing kit; see ticket 4418." {
			t.Errorf("the account is %+v", got)
		}
		op.sees(path, "is suspended", "Account suspended lena@ops.example", "ticket 4418", "Lift suspension")
		op.sees("/admin?state=suspended", "maya@example.com", "Suspended")
		op.sees("/admin/audit", "ticket 4418", "lena@ops.example", account.ID)
		// The owner learns that it was the operator, and neither who nor why.
		seen := owner.sees("/dashboard/settings/audit", "Account suspended", "the operator")
		file := owner.get("/dashboard/settings/audit.csv")
		if text := seen.body + file.body; strings.Contains(text, "ticket 4418") || strings.Contains(text, "lena@") {
			t.Error("the owner reads the operator's name or reason")
		}
		op.post(path+"/resume", http.StatusUnprocessableEntity, url.Values{})
		op.post(path+"/resume", http.StatusSeeOther, url.Values{"reason": {"Resolved."}})
		if h.mayas(t).Suspended {
			t.Error("the account is still suspended")
		}
		if got := h.actions(t, account.ID); !slices.Contains(got, "account.suspended") || !slices.Contains(got, "account.resumed") {
			t.Errorf("the audit log says %q", got)
		}
		op.post("/admin/accounts/acc_unknown/suspend", http.StatusNotFound, url.Values{"reason": {"x"}})
	})
}

func TestOperatorsCreditAndDebit(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		op := h.operator(t)
		h.join(t, "maya@example.com")
		account := h.mayas(t)
		path := "/admin/accounts/" + account.ID
		form := func(kind, amount string) url.Values {
			t.Helper()
			found := reference.FindStringSubmatch(op.sees(path).body)
			if found == nil {
				t.Fatal("the form has no reference")
			}
			return url.Values{"kind": {kind}, "amount": {amount}, "reason": {"Sorry for the outage."}, "reference": {found[1]}}
		}
		for name, bad := range map[string]url.Values{
			"no amount": form("grant", ""), "zero": form("grant", "0"), "too much": form("grant", "100001"), "words": form("grant", "many"), "unknown kind": form("hold", "5"),
		} {
			if a := op.post(path+"/money", http.StatusUnprocessableEntity, bad); !strings.Contains(a.body, "Sorry for the outage.") {
				t.Errorf("%s: what was typed is lost", name)
			}
		}
		credited := form("grant", "12.50")
		op.post(path+"/money", http.StatusSeeOther, credited)
		op.sees(path, "$12.50 credited to", "$17.50", "Sorry for the outage.", "Credited $12.50")
		op.post(path+"/money", http.StatusSeeOther, credited)
		op.sees(path, "already sent", "$17.50")
		op.post(path+"/money", http.StatusSeeOther, form("debit", "20"))
		got := h.mayas(t)
		if got.Balance != 0 || got.Owed != credit.Dollar*5/2 || got.Funded {
			t.Errorf("after the debit the account is %+v", got)
		}
		op.sees(path, "Debited $20.00", "Owes")
		op.post(path+"/money", http.StatusSeeOther, form("payment", "10"))
		if got := h.mayas(t); got.Balance != credit.Dollar*15/2 || !got.Funded {
			t.Errorf("after the payment the account is %+v", got)
		}
		if report, err := h.CheckLedger(t.Context()); err != nil {
			t.Errorf("the ledger: %+v, %v", report, err)
		}
	})
}

func TestOperatorsFindJobsAndDeliveries(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		op := h.operator(t)
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		op.sees("/admin/jobs", "No running calls")
		result := h.NewID("file")
		call := store.CallID(result)
		if err := h.Begin(t.Context(), store.NewCall{ID: call, ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "binary", RequestID: "req_77", Quote: 2000, Lease: acquire(t, h)}); err != nil {
			t.Fatal(err)
		}
		op.sees("/admin/jobs", "pdf.create", "Processing")
		op.sees("/admin/edge", "loc", "this process")
		if err := h.Release(t.Context(), call, store.Failure{Code: "render_failed", Message: "The page broke."}, nil); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{call, result} {
			op.sees("/admin/jobs?q="+id, "render_failed: The page broke.", "req_77", "not charged")
		}
		op.sees("/admin/jobs?q=call_unknown", "No call or job with this ID")
		v.once("/dashboard/webhooks", url.Values{"url": {"https://hooks.example/in"}})
		list, err := h.Webhooks(t.Context(), account.ID)
		if err != nil {
			t.Fatal(err)
		}
		v.post("/dashboard/webhooks/"+list[0].ID+"/test", http.StatusSeeOther, url.Values{})
		sent, err := h.Deliveries(t.Context(), store.DeliveryFilter{AccountID: account.ID})
		if err != nil || len(sent.Items) != 1 {
			t.Fatalf("got %+v, %v", sent, err)
		}
		op.sees("/admin/deliveries?q="+sent.Items[0].ID, "webhook.test", "hooks.example", account.ID)
		op.sees("/admin/deliveries?q=dlv_unknown", "No delivery with this ID")
		op.sees("/admin/engine", "2 running", "0 waiting, 0 running") // the house's process and the one of acquire
	})
}

func TestOperatorsSeeTheProcess(t *testing.T) {
	h := sqliteHouse(t, func(c *web.Config) {
		c.Settings = []views.Setting{
			{Name: "RELAYPDF_REDIS_URL", From: "default", Doc: "`redis://` address"}, {Name: "RELAYPDF_DATABASE_URL", Value: "********", From: "environment"},
		}
		hostOf(c).engines = views.Engines{
			Pools: []views.EnginePool{{Name: "browser", Slots: 2, Busy: 2, Waiting: 64, Limit: 64}, {Name: "office", Slots: 1}}, Restarts: 3, Sandbox: "full",
		}
		hostOf(c).counters = []views.Counter{{Name: "429", Count: 1234}}
	})
	op := h.operator(t)
	op.sees("/admin", "64 / 64", "3 restarts", "Office")
	op.sees("/admin/engine", "Full", "full", "effective level")
	op.sees("/admin/edge", "429", "1,234")
	op.sees("/admin/settings", "Changed Setting Value Source RELAYPDF_DATABASE_URL ******** environment", "RELAYPDF_REDIS_URL redis:// address not set")
	op.sees("/admin/audit", "No entries yet")
	if err := h.AddAuditEntry(t.Context(), store.AuditEntry{Who: "command line", Action: "operator.named", Object: "tom@example.com", Operator: true}); err != nil {
		t.Fatal(err)
	}
	op.sees("/admin/audit", "Operator added: tom@example.com")
}
