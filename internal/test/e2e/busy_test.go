package e2e

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// busyDays is the age of the account of the busy pages, in days.
const busyDays = 30

// busyCalls lists the account's calls: the share in percent, the duration of each, and the steps on which the time
// is spent.
var busyCalls = []struct {
	operation              string
	share, minimum, spread int // milliseconds
	first, second          string
}{
	{"pdf.create", 58, 180, 420, "load", "print"},
	{"images.create", 16, 240, 500, "load", "capture"},
	{"pdf.merge", 9, 60, 240, "work", "store"},
	{"pdf.text", 8, 40, 160, "work", "store"},
	{"convert.create", 6, 700, 1400, "work", "store"},
	{"barcodes.create", 3, 4, 12, "work", "store"},
}

// busy is an account with a month of calls, payments and deliveries, created by a store whose clock runs through
// the month.
type busy struct {
	t        *testing.T
	past     *store.Store
	clock    *storetest.Clock
	random   *rand.Rand
	prices   map[string]credit.Amount
	account  store.Account
	keys     []string
	endpoint store.Webhook
	n        int
}

const busyOwner = "maya@paperlantern.example"

// newBusy makes the account in the data of a service that is not started yet, with
// an endpoint that answers at first.
func newBusy(t *testing.T, config app.Config) *busy {
	t.Helper()
	b := &busy{t: t, clock: storetest.NewClock(time.Now().UTC().AddDate(0, 0, -busyDays).Truncate(24 * time.Hour)), random: rand.New(rand.NewPCG(11, 2026))}
	table, err := schema.NewTable(operation.Rows)
	if err == nil {
		b.prices, err = operation.Prices(table, config.Prices)
	}
	if err == nil {
		b.past, err = app.OpenStore(t.Context(), config, slog.New(slog.DiscardHandler), app.Hooks{Clock: b.clock.Now})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.past.Close() })
	b.account, err = b.past.CreateAccount(t.Context(), busyOwner, 5*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	person, err := b.past.CreateUser(t.Context(), store.NewUser{Email: busyOwner, Name: "Maya Lind", Verified: true})
	if err == nil {
		err = b.past.AddMember(t.Context(), b.account.ID, person.ID, store.RoleOwner)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"production", "website", "back office"} {
		key, _, err := b.past.CreateKey(t.Context(), store.NewKey{AccountID: b.account.ID, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		b.keys = append(b.keys, key.ID)
	}
	b.endpoint, err = b.past.CreateWebhook(t.Context(), store.NewWebhook{
		ID: b.past.NewID("we"), AccountID: b.account.ID, URL: "https://erp.paperlantern.example/in/pdf", Secret: []byte("sealed"), SecretPrefix: "whsec_",
	})
	if err == nil {
		err = b.past.Credit(t.Context(), b.account.ID, 40*credit.Dollar, "top-up")
	}
	if err != nil {
		t.Fatal(err)
	}
	b.live()
	return b
}

// live runs through the month until now.
func (b *busy) live() {
	b.t.Helper()
	for now := time.Now(); ; {
		day := b.clock.Now().Truncate(24 * time.Hour)
		calls := 34 + b.random.IntN(16)
		if weekday := day.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			calls = 8 + b.random.IntN(6)
		}
		// Work begins at six and ends in the evening.
		for i := range calls {
			at := day.Add(6*time.Hour + time.Duration(i)*14*time.Hour/time.Duration(calls))
			if at.After(now.Add(-time.Minute)) {
				break
			}
			b.wait(at)
			b.call()
		}
		if next := day.Add(24 * time.Hour); next.Before(now) {
			b.wait(next)
			continue
		}
		b.wait(now.Add(-30 * time.Second))
		b.call()
		return
	}
}

// wait lets the time come.
func (b *busy) wait(at time.Time) {
	if ahead := at.Sub(b.clock.Now()); ahead > 0 {
		b.clock.Advance(ahead)
	}
}

// call makes a call of a kind, and a delivery of its end.
func (b *busy) call() {
	b.t.Helper()
	ctx := b.t.Context()
	which := busyCalls[0]
	for at, pick := 0, b.random.IntN(100); at < len(busyCalls); at++ {
		if which = busyCalls[at]; pick < which.share {
			break
		}
		pick -= which.share
	}
	b.n++
	if b.prices[which.operation] == 0 {
		b.t.Fatalf("no operation is called %s", which.operation)
	}
	result := b.past.NewID("file")
	call := store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: b.account.ID, KeyID: b.keys[min(b.random.IntN(5), 4)*len(b.keys)/5], Operation: which.operation, Mode: "url",
		RequestID: b.past.NewID("req"), Quote: b.prices[which.operation], Lease: "lease_busy",
	}
	if err := b.past.Begin(ctx, call); err != nil {
		b.t.Fatal(err)
	}
	took := time.Duration(which.minimum+b.random.IntN(which.spread)) * time.Millisecond
	b.clock.Advance(took)
	steps := store.Steps("").With("hold", 2*time.Millisecond).With("queue", took/20).With(which.first, took/2).With(which.second, took*2/5).With("store", took/40)
	data := map[string]any{"id": result, "status": "completed", "operation": which.operation}
	if b.random.IntN(60) == 0 {
		data["status"] = "failed"
		err := b.past.Release(ctx, call.ID, store.Failure{Code: "render_failed", Message: "The page did not load within 30 s.", Steps: steps}, &store.Outbox{Event: store.EventJobFailed, Data: data})
		if err != nil {
			b.t.Fatal(err)
		}
		return
	}
	done := store.Settlement{CallID: call.ID, Charge: call.Quote, Duration: took, Steps: steps}
	if b.n%4 == 0 {
		done.Outbox = &store.Outbox{Event: store.EventJobCompleted, Data: data}
	}
	if err := b.past.Settle(ctx, done); err != nil {
		b.t.Fatal(err)
	}
	b.deliver()
}

// deliver makes the attempts that are due. In the last days the endpoint fails
// sometimes.
func (b *busy) deliver() {
	b.t.Helper()
	due, err := b.past.ClaimDeliveries(b.t.Context(), 10)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, d := range due {
		took := time.Duration(40+b.random.IntN(200)) * time.Millisecond
		attempt := store.Attempt{Delivered: true, StatusCode: http.StatusOK, Response: []byte("ok"), Duration: &took}
		if d.Attempts < 2 && b.random.IntN(12) == 0 || d.Attempts > 0 && d.Attempts < 3 {
			attempt = store.Attempt{
				StatusCode: http.StatusServiceUnavailable, Error: "The endpoint returned status 503.", Response: []byte("upstream connect error"), Duration: &took,
			}
		}
		if _, err := b.past.FinishAttempt(b.t.Context(), d, attempt); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestPagesOfABusyAccount checks the pages of an account after a busy month: full lists, long names and every state.
// `make screenshots` sets the folder for the images of the README.
func TestPagesOfABusyAccount(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	var b *busy
	app, browser := startPages(t, func(c *app.Config) { c.Dev, b = true, newBusy(t, *c) }), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.signIn(busyOwner)
	maya.open("/dashboard/wallet")
	maya.press("Pay $20.00 with Stripe")
	maya.press("Pay with the test card 4242")
	maya.finds("/dashboard/wallet", "Visa ending 4242")

	calls, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: b.account.ID, Operation: "pdf.create", Status: store.CallDone})
	if err != nil || len(calls.Items) == 0 {
		t.Fatalf("%d calls, %v", len(calls.Items), err)
	}
	failed, err := app.Store.Calls(t.Context(), store.CallFilter{AccountID: b.account.ID, Status: store.CallFailed})
	if err != nil || len(failed.Items) == 0 {
		t.Fatalf("%d failed calls, %v", len(failed.Items), err)
	}
	tried := b.triedAgain()
	for name, path := range map[string]string{
		"busy overview": "/dashboard", "busy overview of a day": "/dashboard?days=1", "busy documents": "/dashboard/documents", "busy document": "/dashboard/documents/" + calls.Items[0].ID,
		"busy document that failed": "/dashboard/documents/" + failed.Items[0].ID, "busy endpoints": "/dashboard/webhooks", "busy endpoint": "/dashboard/webhooks/" + b.endpoint.ID,
		"busy deliveries": "/dashboard/deliveries", "busy delivery": "/dashboard/deliveries?delivery=" + tried, "busy keys": "/dashboard/keys",
		"busy wallet": "/dashboard/wallet", "busy wallet by day": "/dashboard/wallet?by=day", "busy receipts": "/dashboard/wallet/receipts",
	} {
		maya.open(path)
		maya.weigh(path)
		maya.lookAt(name)
		maya.calm(name)
	}
	maya.picturesOfTheReadme(tried)
}

// triedAgain returns a delivery with more than one attempt.
func (b *busy) triedAgain() string {
	b.t.Helper()
	for cursor := ""; ; {
		page, err := b.past.Deliveries(b.t.Context(), store.DeliveryFilter{AccountID: b.account.ID, List: store.List{Limit: store.MaxList, Cursor: cursor}})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, d := range page.Items {
			if d.Attempts > 1 {
				return d.ID
			}
		}
		if cursor = page.Next; cursor == "" {
			b.t.Fatal("every delivery was taken at once")
		}
	}
}

// maxPicture is the maximum size of an image in the repository.
const maxPicture = 120_000

// picturesOfTheReadme takes three screenshots if the environment sets a folder.
func (s *screen) picturesOfTheReadme(delivery string) {
	s.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	for _, picture := range []struct{ name, path, theme string }{
		{"overview", "/dashboard", "light"}, {"wallet", "/dashboard/wallet", "dark"}, {"deliveries", "/dashboard/deliveries?delivery=" + delivery, "light"},
	} {
		err := s.page.SetViewport(&proto.EmulationSetDeviceMetricsOverride{Width: 1280, Height: 860, DeviceScaleFactor: 1.5})
		if err != nil {
			s.t.Fatal(err)
		}
		s.open(picture.path)
		if _, err := s.page.Eval(`theme => { document.documentElement.dataset.theme = theme; scrollTo(0, 0) }`, picture.theme); err != nil {
			s.t.Fatal(err)
		}
		quality := 82
		image, err := s.page.Screenshot(false, &proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatWebp, Quality: &quality})
		if err == nil && len(image) > maxPicture {
			err = fmt.Errorf("it has %d bytes, more than %d", len(image), maxPicture)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, picture.name+".webp"), image, 0o644)
		}
		if err != nil {
			s.t.Errorf("the picture of %s: %v", picture.name, err)
		}
	}
}
