package web_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web"
)

// tenants are two users with an account each. Maya's account owns what the pages are about.
type tenants struct {
	*house
	t             *testing.T
	db            storetest.DB
	maya, mallory *visitor
	account       store.Account // Maya's
	person        store.User    // Maya
	lease         string
	count         int
}

// owned makes one thing of the kind that the pages with a parameter after this path are about, for Maya's account, and
// returns the parameter. Each request gets a new one, because some requests end it.
var owned = map[string]func(o *tenants, pattern string) string{
	"/dashboard/documents/":         (*tenants).newDocument,
	"/dashboard/requests/":          (*tenants).newRequest,
	"/dashboard/webhooks/":          (*tenants).newEndpoint,
	"/dashboard/deliveries/":        (*tenants).newDelivery,
	"/dashboard/keys/":              (*tenants).newKey,
	"/dashboard/connections/":       (*tenants).newConnection,
	"/dashboard/signing/":           (*tenants).newIdentity,
	"/dashboard/apps/":              (*tenants).newApp,
	"/dashboard/settings/sessions/": (*tenants).newSession,
	"/dashboard/settings/invites/":  (*tenants).newInvitation,
	"/dashboard/settings/members/":  (*tenants).newMember,
	"/dashboard/templates/":         (*tenants).newTemplateOf,
	"/dashboard/templates/partials/": func(o *tenants, _ string) string {
		name := o.name("partial")
		_, err := o.PutPartial(o.t.Context(), o.account.ID, name, "<hr>")
		o.check(err)
		return name
	},
}

// withRenderer are the patterns whose page also responds with 404 to the owner where nothing renders.
var withRenderer = []string{"/dashboard/documents/{id}/images/{n}"}

// ofAllAccounts are the patterns whose parameter is not a thing of an account.
var ofAllAccounts = []string{"/dashboard/playground/{operation}", "/dashboard/playground/{operation}/run"}

func (o *tenants) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// name returns a new name of a kind.
func (o *tenants) name(kind string) string {
	o.count++
	return fmt.Sprintf("%s-%d", kind, o.count)
}

// newDocument makes a call whose result is stored, or, for the pages that cancel, a waiting job.
func (o *tenants) newDocument(pattern string) string {
	ctx, result := o.t.Context(), o.NewID("file")
	begun := store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: o.account.ID, Operation: "pdf.create", Mode: "binary", RequestID: "r", Quote: 1, Lease: o.lease}
	if strings.HasSuffix(pattern, "/cancel") {
		begun.Mode, begun.Lease, begun.Job = store.Async, "", &store.NewJob{Input: []byte("sealed")}
	}
	o.check(o.Begin(ctx, begun))
	if begun.Job == nil {
		_, err := o.Blobs().Put(ctx, result, strings.NewReader("content"))
		o.check(err)
		file := &store.File{ID: result, BlobKey: result, Filename: "a.txt", ContentType: "text/plain", Size: 7, ExpiresAt: o.clock.Now().Add(time.Hour)}
		o.check(o.Settle(ctx, store.Settlement{CallID: begun.ID, Charge: 1, File: file}))
	}
	return begun.ID
}

func (o *tenants) newRequest(string) string {
	sent := o.name("request")
	o.check(o.AddRequests(o.t.Context(), []store.Request{{AccountID: o.account.ID, RequestID: sent, Method: "POST", Path: "/v1/pdf", Status: 400, Code: "invalid_request", At: o.clock.Now()}}))
	page, err := o.Requests(o.t.Context(), store.RequestFilter{AccountID: o.account.ID, Text: sent})
	o.check(err)
	return page.Items[0].ID
}

// newEndpoint makes the account's only endpoint: their number is limited.
func (o *tenants) newEndpoint(string) string {
	before, err := o.Webhooks(o.t.Context(), o.account.ID)
	o.check(err)
	for _, endpoint := range before {
		o.check(o.DeleteWebhook(o.t.Context(), o.account.ID, endpoint.ID))
	}
	id := o.NewID("we")
	_, err = o.CreateWebhook(o.t.Context(), store.NewWebhook{ID: id, AccountID: o.account.ID, URL: "https://hooks.example/in", Secret: []byte("sealed"), SecretPrefix: "whsec_x"})
	o.check(err)
	return id
}

// newDelivery makes a waiting delivery, or, for the page that replays, a failed one.
func (o *tenants) newDelivery(pattern string) string {
	endpoint := o.newEndpoint("")
	o.send(o.t, o.account.ID, endpoint, 1, nil)
	if strings.HasSuffix(pattern, "/replay") {
		due, err := o.ClaimDeliveries(o.t.Context(), store.MaxList)
		o.check(err)
		for _, delivery := range due {
			delivery.Attempts = store.MaxAttempts - 1
			_, err := o.FinishAttempt(o.t.Context(), delivery, store.Attempt{StatusCode: http.StatusServiceUnavailable, Error: "503"})
			o.check(err)
		}
	}
	page, err := o.Deliveries(o.t.Context(), store.DeliveryFilter{AccountID: o.account.ID, EndpointID: endpoint})
	o.check(err)
	return page.Items[0].ID
}

func (o *tenants) newKey(string) string {
	key, _, err := o.CreateKey(o.t.Context(), store.NewKey{AccountID: o.account.ID, Name: "yes"})
	o.check(err)
	return key.ID
}

func (o *tenants) newConnection(string) string {
	id := o.NewID("conn")
	_, err := o.CreateConnection(o.t.Context(), store.Connection{ID: id, AccountID: o.account.ID, Name: o.name("bucket"), Kind: "s3", Settings: `{"region":"eu-central-1","bucket":"abc","accessKeyId":"a"}`, Secret: []byte("sealed")})
	o.check(err)
	return id
}

func (o *tenants) newIdentity(string) string {
	id := o.NewID("sig")
	_, err := o.CreateSigningIdentity(o.t.Context(), store.SigningIdentity{ID: id, AccountID: o.account.ID, Name: o.name("identity"), Certificate: "{}", Secret: []byte("sealed")})
	o.check(err)
	return id
}

func (o *tenants) newApp(string) string {
	ctx := o.t.Context()
	code, err := o.AuthorizeClient(ctx, store.Consent{
		Client: store.OAuthClient{ID: "app", Name: "App"}, Redirect: callback, Challenge: challengeOf(verifier), Resource: o.url + "/mcp",
		Scopes: []string{"documents"}, AccountID: o.account.ID, PersonID: o.person.ID, Limit: 1, ExpiresAt: o.clock.Now().Add(time.Hour),
	})
	o.check(err)
	_, err = o.RedeemGrantCode(ctx, store.Redemption{Code: code, ClientID: "app", Redirect: callback, Challenge: challengeOf(verifier)}, nil)
	o.check(err)
	list, err := o.Grants(ctx, o.account.ID)
	o.check(err)
	return list[slices.IndexFunc(list, func(g store.Grant) bool { return g.RevokedAt == nil })].ID
}

func (o *tenants) newSession(string) string {
	before, err := o.Sessions(o.t.Context(), o.person.ID)
	o.check(err)
	o.signedIn(o.t, o.person)
	after, err := o.Sessions(o.t.Context(), o.person.ID)
	o.check(err)
	return after[slices.IndexFunc(after, func(s store.Session) bool {
		return !slices.ContainsFunc(before, func(b store.Session) bool { return b.ID == s.ID })
	})].ID
}

func (o *tenants) newInvitation(string) string {
	email := o.name("guest") + "@example.com"
	_, err := o.NewInvite(o.t.Context(), store.Invite{AccountID: o.account.ID, Email: email, Role: store.RoleViewer, InviterID: o.person.ID, ExpiresAt: o.clock.Now().Add(time.Hour)})
	o.check(err)
	list, err := o.Invites(o.t.Context(), o.account.ID)
	o.check(err)
	return list[slices.IndexFunc(list, func(i store.Invite) bool { return i.Email == email })].ID
}

func (o *tenants) newMember(string) string {
	person, err := o.CreateUser(o.t.Context(), store.NewUser{Email: o.name("member") + "@example.com", Verified: true})
	o.check(err)
	o.check(o.AddMember(o.t.Context(), o.account.ID, person.ID, store.RoleDeveloper))
	return person.ID
}

// newTemplateOf makes a template with a version and a draft.
func (o *tenants) newTemplateOf(pattern string) string {
	slug := o.name("letter")
	content := store.TemplateContent{HTML: "<p>a", SampleData: []byte("{}"), Options: []byte("{}")}
	made, err := o.CreateTemplate(o.t.Context(), store.NewTemplate{AccountID: o.account.ID, Slug: slug, Name: slug, Content: content})
	o.check(err)
	_, err = o.PublishTemplate(o.t.Context(), o.account.ID, made.ID, 0, "", nil)
	o.check(err)
	if strings.HasSuffix(pattern, "/undelete") {
		o.maya.post(templatesPath+"/"+made.ID+"/delete", http.StatusSeeOther, url.Values{})
	}
	return made.ID
}

// unknown returns an ID like the given one, of nothing.
func (o *tenants) unknown(id string) string {
	switch kind, _, typed := strings.Cut(id, "_"); {
	case kind == "call":
		return store.CallID(o.NewID("file"))
	case typed:
		return o.NewID(kind)
	}
	return o.name("nothing")
}

// rows returns the rows of all tables, apart from sessions, which every request may write, and from counts, which are
// written up to a second after a request.
func (o *tenants) rows() map[string]int {
	o.t.Helper()
	driver, source, tables := "pgx", o.db.URL, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
	if file, ok := strings.CutPrefix(o.db.URL, "sqlite://"); ok {
		driver, source, tables = "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)", "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	raw, err := sql.Open(driver, source)
	o.check(err)
	defer func() { _ = raw.Close() }()

	found := map[string]int{}
	for _, table := range o.query(raw, tables) {
		if strings.Contains(table, "sessions") || strings.Contains(table, "usage_counts") {
			continue
		}
		for _, row := range o.query(raw, `SELECT * FROM "`+strings.Trim(table, "|")+`"`) {
			found[table+row]++
		}
	}
	return found
}

// query returns the rows of a statement as texts.
func (o *tenants) query(raw *sql.DB, statement string) (texts []string) {
	o.t.Helper()
	rows, err := raw.QueryContext(o.t.Context(), statement)
	o.check(err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	o.check(err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		o.check(rows.Scan(into...))
		text := ""
		for i, value := range values {
			if columns[i] != "downloads" {
				text += fmt.Sprintf("%s|", fmt.Append(nil, value))
			}
		}
		texts = append(texts, text)
	}
	o.check(rows.Err())
	return texts
}

// pageAsk is a request for a page: a form, the JSON of a script, or no body.
type pageAsk struct{ method, body string }

// requestsFor returns the requests that a page is asked with. The form has what the forms of all pages need.
func requestsFor(method string) []pageAsk {
	if method != http.MethodPost {
		return []pageAsk{{method, ""}}
	}
	return []pageAsk{{method, "form"}, {method, `{"html":"changed"}`}}
}

// asks sends a request and returns what the response shows, with the parameter replaced.
func (o *tenants) asks(v *visitor, ask pageAsk, path, id string) string {
	o.t.Helper()
	var a answer
	switch ask.body {
	case "":
		a = v.do(ask.method, path, nil)
	case "form":
		a = v.do(ask.method, path, url.Values{
			"html": {"changed"}, "sampleData": {"{}"}, "options": {"{}"}, "version": {"1"}, "name": {o.name("changed")}, "slug": {o.name("changed")}, "role": {store.RoleViewer},
			"url": {"https://other.example/in"}, "events": {store.EventJobFailed}, "confirm": {"yes"}, "limit": {"1"}, "kind": {"s3"}, "bucket": {"other"},
		})
	default:
		a = v.send(path, ask.body)
	}
	if a.status == http.StatusSeeOther {
		v.get("/dashboard/settings") // which shows the sentence for the next page
	}
	shown := fmt.Sprint(a.status, " ", a.header.Get("Location"), " ", a.header.Get("Content-Type"), " ", textOf(a.body))
	return counted.ReplaceAllString(strings.ReplaceAll(shown, id, "ID"), "changed")
}

// counted are the names that each form has for itself.
var counted = regexp.MustCompile(`changed-\d+`)

var (
	firstParameter = regexp.MustCompile(`\{[a-z]+\}`)
	ofMembers      = []string{"logged in", "manages", "pays", "owns"}
)

// TestNothingOfAnotherAccountOnPages: every page with a parameter answers for a thing of another account as for one that
// does not exist, and changes nothing. The same request works for the owner. A new kind of thing fails the test until it has
// a maker.
func TestNothingOfAnotherAccountOnPages(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
	h := newHouse(t, db.Open(t, clock), clock, func(c *web.Config) {
		c.Hooks.Calls = &fakeCalls{Calls: c.Calls, again: func(callID string) (string, error) { return callID, nil }}
	})
	o := &tenants{house: h, t: t, db: db, maya: h.join(t, "maya@example.com"), mallory: h.join(t, "mallory@example.com"), lease: acquire(t, h)}
	o.account = h.mayas(t)
	var err error
	o.person, err = h.UserByEmail(t.Context(), "maya@example.com")
	o.check(err)

	tried, deleted := map[string]bool{}, map[string]bool{}
	for _, page := range h.web.Pages() {
		before, _, has := strings.Cut(page.Pattern, "{")
		if !has || !slices.Contains(ofMembers, page.Need) || slices.Contains(ofAllAccounts, page.Pattern) {
			continue
		}
		if owned[before] == nil {
			t.Errorf("%s %s: the test cannot make anything of %s", page.Method, page.Pattern, before)
			continue
		}
		tried[before] = true
		works := false
		for _, ask := range requestsFor(page.Method) {
			works = o.walk(ask, page.Pattern, owned[before]) || works
		}
		if !works && !slices.Contains(withRenderer, page.Pattern) {
			t.Errorf("%s %s: the owner gets the response for an unknown ID", page.Method, page.Pattern)
		}
		if !deleted[page.Pattern] {
			deleted[page.Pattern] = true
			o.walk(pageAsk{http.MethodDelete, ""}, page.Pattern, owned[before])
		}
	}
	for kind := range owned {
		if !tried[kind] {
			t.Errorf("no page is about %s", kind)
		}
	}
}

// walk sends a request for a page to a thing of Maya: as Mallory, who must get the response for an unknown ID and change
// nothing, and as Maya. It reports whether Maya's response or its effect is another one.
func (o *tenants) walk(ask pageAsk, pattern string, newThing func(o *tenants, pattern string) string) (works bool) {
	o.t.Helper()
	path := func(id string) string {
		at := firstParameter.FindStringIndex(pattern)
		return pattern[:at[0]] + url.PathEscape(id) + firstParameter.ReplaceAllString(pattern[at[1]:], "1")
	}
	id := newThing(o, pattern)
	before := o.rows()
	foreign := o.asks(o.mallory, ask, path(id), id)
	after := o.rows()
	for row, count := range before {
		if after[row] < count {
			o.t.Errorf("%s %s: another account's member has changed or deleted %s", ask.method, pattern, row)
		}
	}
	for row, count := range after {
		if before[row] < count && (strings.Contains(row, o.account.ID) || strings.Contains(row, id)) {
			o.t.Errorf("%s %s: another account's member has made %s", ask.method, pattern, row)
		}
	}

	nothing := o.unknown(id)
	unknown := o.asks(o.mallory, ask, path(nothing), nothing)
	if foreign != unknown {
		o.t.Errorf("%s %s %s: the response for another account's is\n%s\nfor an unknown one\n%s", ask.method, pattern, ask.body, foreign, unknown)
	}

	before = o.rows()
	own := o.asks(o.maya, ask, path(id), id)
	changed := false
	for row, count := range o.rows() {
		changed = changed || before[row] < count && strings.Contains(row, o.account.ID)
	}
	return own != unknown || changed
}
