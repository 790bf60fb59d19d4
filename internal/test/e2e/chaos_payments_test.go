package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
	"github.com/relaypdf/relaypdf/web/mail"
	"github.com/relaypdf/relaypdf/web/payments"
)

const (
	chaosPayers       = 2
	chaosStripeKey    = "sk_test_" + "chaos"
	chaosStripeSecret = "whsec_" + "chaos"
	chaosCookie       = "relaypdf_session"
)

// chaosTill replaces Stripe while servers are killed: it outlives them, loses some of its responses, and sends its
// events late, twice, and in any order.
type chaosTill struct {
	fake   *fakestripe.Server
	api    *httptest.Server
	payers []*chaosPayer

	mu      sync.Mutex
	backlog [][]byte // events that are to be sent
	sent    atomic.Int64
	quiet   atomic.Bool // no answer is lost any more
}

// chaosPayer is an account whose wallet runs empty again and again. One goroutine makes all its requests.
type chaosPayer struct {
	*chaosCustomer

	person   string
	session  *http.Cookie
	disputed map[string]bool // intents
}

func newChaosTill(t *testing.T) *chaosTill {
	t.Helper()
	till := &chaosTill{fake: fakestripe.New(fakestripe.Config{SecretKey: chaosStripeKey, WebhookSecret: chaosStripeSecret, PageURL: "http://localhost:8787" + app.FakeStripePages})}
	till.fake.Fault = func(*http.Request, bool) bool {
		return !till.quiet.Load() && rand.IntN(12) == 0
	}
	till.api = httptest.NewServer(till.fake.API())
	t.Cleanup(till.api.Close)
	return till
}

// env are the settings of a server that takes payments. Without an email server, every email stays queued.
func (till *chaosTill) env() []string {
	return []string{
		"RELAYPDF_STRIPE_SECRET_KEY=" + chaosStripeKey, "RELAYPDF_STRIPE_WEBHOOK_SECRET=" + chaosStripeSecret, "RELAYPDF_STRIPE_API_URL=" + till.api.URL,
		"RELAYPDF_SMTP_URL=smtp://127.0.0.1:1",
	}
}

// newPayer makes an account without money, whose wallet refills itself.
func (c *chaos) newPayer(email string) *chaosPayer {
	c.t.Helper()
	ctx := c.t.Context()
	account, err := c.store.CreateAccount(ctx, email, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	_, secret, err := c.store.CreateKey(ctx, store.NewKey{AccountID: account.ID, Name: "chaos"})
	if err != nil {
		c.t.Fatal(err)
	}
	person, err := c.store.CreateUser(ctx, store.NewUser{Email: email, Verified: true})
	if err == nil {
		err = c.store.AddMember(ctx, account.ID, person.ID, store.RoleOwner)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	p := &chaosPayer{
		chaosCustomer: &chaosCustomer{
			account: account, key: secret, jobs: map[string]bool{}, results: map[string]bool{}, byKey: map[string]string{}, endpoint: map[string]string{}, pays: true,
		},
		person: person.ID, disputed: map[string]bool{},
	}
	c.setReload(p, true)
	return p
}

func (c *chaos) setReload(p *chaosPayer, on bool) {
	c.t.Helper()
	settings := store.AutoReload{On: on, Threshold: 15 * credit.Dollar, Amount: 15 * credit.Dollar, Monthly: 900_000 * credit.Dollar}
	for deadline := time.Now().Add(chaosCalm); ; {
		err := c.store.SetAutoReload(c.t.Context(), p.account.ID, settings)
		switch {
		case err == nil || c.t.Context().Err() != nil:
			return
		case !strings.Contains(err.Error(), "SQLITE_BUSY") || time.Now().After(deadline): // A stopped server may have the write lock.
			c.t.Error(err)
			return
		}
	}
}

// intents are the payer's payments at Stripe that were made.
func (till *chaosTill) intents(customer string) (paid []string) {
	for _, o := range till.fake.Find("payment_intent") {
		if o["customer"] == customer && o["status"] == "succeeded" {
			paid = append(paid, o["id"].(string))
		}
	}
	return paid
}

// chaosCards are the cards that a payer has, one after the other.
var chaosCards = []string{fakestripe.CardWorks, fakestripe.CardWorks, fakestripe.CardDeclined, fakestripe.CardAction}

// pay repeats the actions of users, cards and banks.
func (c *chaos) pay(ctx context.Context, p *chaosPayer, random *rand.Rand) {
	for ; ctx.Err() == nil; <-time.After(time.Duration(random.IntN(20)) * time.Millisecond) {
		buyer, err := c.store.Customer(ctx, p.account.ID)
		var paid []string
		if err == nil {
			paid = c.till.intents(buyer.ID)
		}
		if len(paid) == 0 {
			c.topUp(ctx, p, random)
			continue
		}
		intent := paid[random.IntN(len(paid))]
		switch random.IntN(10) {
		case 0, 1:
			c.topUp(ctx, p, random)
		case 2, 3, 4:
			c.spend(ctx, p, random)
		case 5:
			if !p.disputed[intent] {
				c.till.fake.Refund(intent, 100+random.Int64N(400))
			}
		case 6:
			c.till.failRefund(buyer.ID, random)
		case 7:
			if random.IntN(4) == 0 && !p.disputed[intent] {
				p.disputed[intent] = true
				if dispute := c.till.fake.Dispute(intent); random.IntN(2) == 0 {
					c.till.fake.CloseDispute(dispute, random.IntN(2) == 0)
				}
			}
		case 8:
			c.till.fake.SetCard(buyer.ID, chaosCards[random.IntN(len(chaosCards))])
			c.setReload(p, true)
		default:
			c.till.confirm(buyer.ID, func() bool { return random.IntN(2) == 0 })
		}
	}
}

// failRefund has the bank refuse one of a customer's refunds.
func (till *chaosTill) failRefund(customer string, random *rand.Rand) {
	var mine []string
	paid := till.intents(customer)
	for _, o := range till.fake.Find("refund") {
		if intent, _ := o["payment_intent"].(string); slices.Contains(paid, intent) {
			id, _ := o["id"].(string)
			mine = append(mine, id)
		}
	}
	if len(mine) > 0 {
		till.fake.FailRefund(mine[random.IntN(len(mine))])
	}
}

// confirm acts as the owners of cards whose banks ask for a confirmation; an empty customer means all.
func (till *chaosTill) confirm(customer string, yes func() bool) {
	for _, o := range till.fake.Find("payment_intent") {
		if o["status"] == "requires_action" && (customer == "" || o["customer"] == customer) {
			id, _ := o["id"].(string)
			till.fake.Confirm(id, yes())
		}
	}
}

// anyServer returns the address of a server that runs, or nothing.
func (c *chaos) anyServer() string { return c.servers[rand.IntN(len(c.servers))].address() }

// spend makes a small paid call, at once or as a job. It may make the wallet refill
// itself, and may be refused for want of money.
func (c *chaos) spend(ctx context.Context, p *chaosPayer, random *rand.Rand) {
	address := c.anyServer()
	if address == "" {
		return
	}
	body := map[string]any{"type": "qr", "text": strconv.FormatUint(random.Uint64(), 10), "response": []string{"binary", "async"}[random.IntN(2)]}
	response, err := c.post(ctx, address+"/v1/barcodes", "", p.chaosCustomer, body)
	if err != nil {
		return
	}
	answer, err := readChaos(response)
	switch {
	case err != nil || answer.status >= 500 || answer.status == http.StatusTooManyRequests || answer.status == http.StatusPaymentRequired:
	case answer.status == http.StatusOK || answer.status == http.StatusAccepted:
		p.told(c.t, "", answer)
	default:
		c.t.Errorf("a payer's call: status %d: %s", answer.status, answer.body)
	}
}

// form sends a form of the dashboard's, and returns the response without following where it leads.
func (c *chaos) form(ctx context.Context, p *chaosPayer, path string, form url.Values) (*http.Response, error) {
	address := c.anyServer()
	if address == "" {
		return nil, errors.New("the server is down")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.session != nil {
		r.AddCookie(p.session)
	}
	client := *chaosHTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return response, err
}

// logIn signs a payer in, and reports whether that worked.
func (c *chaos) logIn(ctx context.Context, p *chaosPayer) bool {
	secret, err := c.store.NewToken(ctx, store.Token{Purpose: store.TokenSignIn, PersonID: p.person, ExpiresAt: time.Now().Add(time.Hour)})
	if err != nil {
		return false
	}
	response, err := c.form(ctx, p, "/login/link?token="+secret, nil)
	if err != nil {
		return false
	}
	for _, cookie := range response.Cookies() {
		if cookie.Name == chaosCookie {
			p.session = cookie
		}
	}
	return p.session != nil
}

// topUp opens Stripe's page from the wallet's form, where the payment succeeds, is declined, is abandoned or has
// expired.
func (c *chaos) topUp(ctx context.Context, p *chaosPayer, random *rand.Rand) {
	if p.session == nil && !c.logIn(ctx, p) {
		return
	}
	response, err := c.form(ctx, p, "/dashboard/wallet/topup", url.Values{"amount": {[]string{"5", "20"}[random.IntN(2)]}})
	if err != nil || response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
		return // Stripe's answer was lost, or the server.
	}
	to := response.Header.Get("Location")
	_, session, ok := strings.Cut(to, app.FakeStripePages+"/pay/")
	switch {
	case !ok && strings.HasPrefix(to, "/login"):
		p.session = nil // It was not stored, or a wrong clock ended it.
		return
	case !ok:
		c.t.Errorf("a top-up: status %d, %q", response.StatusCode, to)
		return
	}
	switch random.IntN(6) {
	case 0:
		c.till.fake.Expire(session)
	case 1:
		c.till.fake.Pay(session, fakestripe.CardDeclined)
	default:
		c.till.fake.Pay(session, fakestripe.CardWorks)
	}
}

// tellServers sends an event of the backlog, whichever, and reports whether there
// is one. One that is not taken is sent again; some of the others are sent twice,
// and some never.
func (c *chaos) tellServers(ctx context.Context) bool {
	till := c.till
	till.mu.Lock()
	for _, event := range till.fake.Events() {
		if till.quiet.Load() || rand.IntN(10) > 0 {
			till.backlog = append(till.backlog, event)
		}
	}
	if len(till.backlog) == 0 {
		till.mu.Unlock()
		return false
	}
	i := rand.IntN(len(till.backlog))
	event := till.backlog[i]
	till.backlog = slices.Delete(till.backlog, i, i+1)
	till.mu.Unlock()
	status := c.sendEvent(ctx, event)
	if status == http.StatusBadRequest && till.quiet.Load() { // Before, a wrong clock may refuse it.
		c.t.Errorf("an event was refused: %s", event)
		return true
	}
	if till.sent.Add(1); status != http.StatusOK || rand.IntN(3) == 0 {
		till.mu.Lock()
		till.backlog = append(till.backlog, event)
		till.mu.Unlock()
	}
	return true
}

func (c *chaos) sendEvent(ctx context.Context, event []byte) (status int) {
	address := c.anyServer()
	if address == "" {
		return 0
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+payments.WebhookPath, bytes.NewReader(event))
	if err != nil {
		return 0
	}
	r.Header.Set("Stripe-Signature", c.till.fake.Sign(event, time.Now()))
	response, err := chaosHTTP.Do(r)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// tellAgain sends events until ctx ends.
func (c *chaos) tellAgain(ctx context.Context) {
	for ctx.Err() == nil {
		if !c.tellServers(ctx) || c.anyServer() == "" {
			<-time.After(20 * time.Millisecond)
		}
	}
}

// settleUp lets every payment come to its end: nothing is begun any more, cards'
// owners confirm, attempts that died with their process are looked up, and all
// events are sent.
func (c *chaos) settleUp() {
	c.t.Helper()
	c.till.quiet.Store(true)
	pay, err := payments.New(payments.Config{
		Store: c.store, SecretKey: chaosStripeKey, WebhookSecret: chaosStripeSecret, APIURL: c.till.api.URL, BaseURL: "http://localhost:8787",
		Mail: c.mailer(), Logger: slog.New(slog.NewTextHandler(c.t.Output(), nil)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range c.till.payers {
		c.setReload(p, false)
	}
	db := c.open()
	for deadline := time.Now().Add(chaosCalm); ; <-time.After(50 * time.Millisecond) {
		c.till.confirm("", func() bool { return true })
		for c.tellServers(c.t.Context()) {
			if time.Now().After(deadline) {
				c.t.Fatal("events are refused for ever")
			}
		}
		// Their lease would end by itself in two minutes, their pause in five.
		if _, err := db.ExecContext(c.t.Context(), `UPDATE reloads SET leased_until = 0, not_before = 0 WHERE attempt <> ''`); err != nil {
			c.t.Fatal(err)
		}
		for _, p := range c.till.payers {
			if err := pay.Reload(c.t.Context(), p.account.ID); err != nil {
				c.t.Log(err)
			}
		}
		if c.number(db, `SELECT COUNT(*) FROM reloads WHERE attempt <> ''`) == 0 && !c.tellServers(c.t.Context()) {
			break
		}
		if time.Now().After(deadline) {
			c.t.Fatal("attempts to refill wallets have no end")
		}
	}
	// Stripe's lists contain the payments without an event.
	if err := pay.Reconcile(c.t.Context()); err != nil {
		c.t.Error(err)
	}
}

// sealing is the key that seals the servers' emails.
func (c *chaos) sealing() *seal.Box {
	c.t.Helper()
	config := loadConfig(c.t, []string{"--data-dir=" + c.db.DataDir, "--database-url=" + c.db.URL})
	box, err := app.OpenBox(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return box
}

// mailer queues emails as the servers do.
func (c *chaos) mailer() *mail.Queue {
	c.t.Helper()
	post, err := mail.New(mail.Config{Store: c.store, Box: c.sealing(), Server: "smtp://127.0.0.1:1", From: "relaypdf <noreply@example.com>", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.t.Fatal(err)
	}
	return post
}

// checkPayments compares each wallet with Stripe: every payment was credited once, every refund and lost dispute
// debited once, to the microdollar.
func (c *chaos) checkPayments(db *sql.DB) {
	c.t.Helper()
	if n := c.number(db, `SELECT COUNT(*) FROM (SELECT account_id, reference FROM journal WHERE kind = 'payment' GROUP BY account_id, reference HAVING COUNT(*) > 1) AS x`); n != 0 {
		c.t.Errorf("%d payments were credited twice", n)
	}
	for _, p := range c.till.payers {
		buyer, err := c.store.Customer(c.t.Context(), p.account.ID)
		if err != nil {
			c.t.Logf("%s has paid nothing: %v", p.account.Email, err)
			continue
		}
		var cents, paid int64
		for _, o := range c.till.fake.Find("payment_intent") {
			if o["customer"] == buyer.ID && o["status"] == "succeeded" {
				cents += o["amount_received"].(int64)
				paid++
			}
		}
		for _, o := range c.till.fake.Find("charge") {
			if o["customer"] == buyer.ID {
				cents -= o["amount_refunded"].(int64)
			}
		}
		for _, o := range c.till.fake.Find("dispute") {
			if p.disputed[o["payment_intent"].(string)] && o["status"] != "won" {
				cents -= o["amount"].(int64)
			}
		}
		spent := c.number(db, `SELECT COALESCE(SUM(charge), 0) FROM calls WHERE account_id = $1`, p.account.ID)
		have := c.number(db, `SELECT balance - owed FROM accounts WHERE id = $1`, p.account.ID)
		if want := cents*10_000 - spent; have != want {
			c.t.Errorf("%s has %d microdollars, want %d", p.account.Email, have, want)
		}
		for what, query := range map[string]string{
			"payments in the ledger": `SELECT COUNT(*) FROM journal WHERE kind = 'payment' AND account_id = $1`,
			"payments that are paid": `SELECT COUNT(*) FROM payments WHERE state = 'paid' AND account_id = $1`,
			"events of payments":     `SELECT COUNT(*) FROM events WHERE type IN ('wallet.topup', 'wallet.auto_reload') AND account_id = $1`,
		} {
			if n := c.number(db, query, p.account.ID); n != paid {
				c.t.Errorf("%s: %d %s, %d at Stripe", p.account.Email, n, what, paid)
			}
		}
	}
	c.checkLetters(db)
}

// checkLetters: who was charged without being asked was written to, once for each
// payment, whatever was killed.
func (c *chaos) checkLetters(db *sql.DB) {
	c.t.Helper()
	box := c.sealing()
	rows, err := db.QueryContext(c.t.Context(), `SELECT id, sealed FROM letters`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	refilled := map[string]int64{}
	for rows.Next() {
		var id string
		var sealed []byte
		if err := rows.Scan(&id, &sealed); err != nil {
			c.t.Fatal(err)
		}
		text, err := box.Open("letter "+id, sealed)
		var letter mail.Message
		if err == nil {
			err = json.Unmarshal(text, &letter)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if strings.HasPrefix(letter.Subject, "Your wallet was topped up") {
			refilled[letter.To]++
		}
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	for _, p := range c.till.payers {
		paid := c.number(db, `SELECT COUNT(*) FROM payments WHERE account_id = $1 AND kind = 'auto_reload' AND state = 'paid'`, p.account.ID)
		if refilled[p.account.Email] != paid {
			c.t.Errorf("%s was written to %d times of %d reloads", p.account.Email, refilled[p.account.Email], paid)
		}
	}
}

// paid counts the payments that Stripe has.
func (till *chaosTill) paid() (n int) {
	for _, o := range till.fake.Find("payment_intent") {
		if o["status"] == "succeeded" {
			n++
		}
	}
	return n
}
