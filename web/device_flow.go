package web

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"relaypdf/api/middleware"
	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/views"
	"relaypdf/web/mail"
)

const (
	devicePath = "/device"
	// deviceLimit and deviceDays are the defaults for a key of the command line.
	deviceLimit = "5.00"
	deviceDays  = "90"
)

// How often one address may begin in triesWindow, and ask in a minute: a handful of
// machines behind it, each every five seconds.
const (
	devicesPerAddress = 30
	asksPerAddress    = 240
)

// programError is an error response for an application, in the terms of RFC 6749 and 8628.
type programError struct {
	Status     int
	Code, Text string
	RetryAfter time.Duration
}

func (e *programError) Error() string { return e.Code + ": " + e.Text }

func refuseProgram(code, text string) error {
	return &programError{Status: http.StatusBadRequest, Code: code, Text: text}
}

func tooMany(wait time.Duration) error {
	return &programError{Status: http.StatusTooManyRequests, Code: wire.DeviceSlow, Text: "Too many requests from this address; wait as Retry-After says.", RetryAfter: wait}
}

// serveProgram makes a handler of what programs ask: it looks at no session.
func (w *Web) serveProgram(p page) http.Handler {
	return middleware.Recover(w.failProgram)(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		v := &visit{web: w, w: rw, r: r}
		err := readForm(v, rw, maxStranger)
		if errors.Is(err, errForm) {
			err = refuseProgram("invalid_request", "The form cannot be read.")
		}
		if err == nil {
			err = p.handle(v)
		}
		if err != nil {
			w.failProgram(rw, r, err)
		}
	}))
}

// failProgram responds with an error. Errors other than *programError are logged and not shown.
func (w *Web) failProgram(rw http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	var told *programError
	if !errors.As(err, &told) {
		id := w.cfg.RequestID(r.Context())
		w.log.LogAttrs(r.Context(), slog.LevelError, "program not answered", slog.String("requestId", id), slog.Any("error", err))
		told = &programError{Status: http.StatusInternalServerError, Code: "server_error", Text: "Something failed on our side; quote " + id + "."}
	}
	if told.RetryAfter > 0 {
		rw.Header().Set("Retry-After", strconv.Itoa(int((told.RetryAfter+time.Second-1)/time.Second)))
	}
	if err := answerProgram(rw, told.Status, wire.DeviceError{Code: told.Code, Text: told.Text}); err != nil {
		w.log.LogAttrs(r.Context(), slog.LevelInfo, "answer not delivered", slog.Any("error", err))
	}
}

func answerProgram(rw http.ResponseWriter, status int, answer any) error {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	return json.NewEncoder(rw).Encode(answer)
}

// parameter returns a field of an application's form. It ignores the URL, which ends up in logs.
func parameter(v *visit, name string) (string, error) {
	values := v.r.PostForm[name] //nolint:forbidigo // what was sent; it sends nothing
	if len(values) > 1 {
		return "", refuseProgram("invalid_request", name+" is there more than once.")
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], nil
}

// checkClient refuses programs that are not known.
func (w *Web) checkClient(v *visit) error {
	client, err := parameter(v, "client_id")
	if err == nil && client != wire.DeviceClient {
		err = refuseProgram("invalid_client", "client_id must be "+wire.DeviceClient+".")
	}
	return err
}

// deviceName returns the name that a machine gives itself, without invisible characters.
func deviceName(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, text))
}

// begin gives a device its codes.
func (w *Web) begin(v *visit) error {
	if err := w.checkClient(v); err != nil {
		return err
	}
	address := w.cfg.ClientIP(v.r)
	if wait, ok := w.allow(v.ctx(), "device:begin:"+address, devicesPerAddress, triesWindow); !ok {
		return tooMany(wait)
	}
	n := store.NewDevice{Address: w.cfg.ClientIP(v.r)}
	for name, into := range map[string]*string{"machine": &n.Machine, "system": &n.System} {
		text, err := parameter(v, name)
		if err != nil {
			return err
		}
		*into = deviceName(text)
	}
	if n.Machine == "" {
		n.Machine = "a machine without a name"
	}
	codes, err := w.store.Devices().Begin(v.ctx(), n)
	if err != nil {
		return err
	}
	return answerProgram(v.w, http.StatusOK, wire.DeviceBegun{
		DeviceCode: codes.Secret, UserCode: codes.Typed, VerificationURI: w.cfg.BaseURL + devicePath,
		ExpiresIn: int(store.DeviceLife / time.Second), Interval: int(store.DevicePause / time.Second),
	})
}

// deviceAnswers are the responses to the device for each decision.
var deviceAnswers = []struct {
	err        error
	code, text string
}{
	{store.ErrWaiting, wire.DevicePending, "Nobody has decided yet; ask again."},
	{store.ErrTooEarly, wire.DeviceSlow, "Wait 5 seconds longer between two requests from now on."},
	{store.ErrDenied, wire.DeviceDenied, "The request was denied."},
	{store.ErrExpired, wire.DeviceExpired, "The code has expired; begin again."},
	{store.ErrUsed, "invalid_grant", "A key was made for this code already; it is revoked now."},
	{store.ErrNotFound, "invalid_grant", "The device code is unknown."},
}

// deviceToken answers a device's question for its key.
func (w *Web) deviceToken(v *visit) error {
	if err := w.checkClient(v); err != nil {
		return err
	}
	grant, err := parameter(v, "grant_type")
	if err != nil {
		return err
	}
	if grant != wire.DeviceGrant {
		return refuseProgram("unsupported_grant_type", "grant_type must be "+wire.DeviceGrant+".")
	}
	secret, err := parameter(v, "device_code")
	if err != nil {
		return err
	}
	if secret == "" {
		return refuseProgram("invalid_request", "device_code is missing.")
	}
	if wait, ok := w.allow(v.ctx(), "device:ask:"+w.cfg.ClientIP(v.r), asksPerAddress, time.Minute); !ok {
		return tooMany(wait)
	}
	got, err := w.store.Devices().Collect(v.ctx(), secret, w.deviceTelling())
	for _, answer := range deviceAnswers {
		if errors.Is(err, answer.err) {
			return refuseProgram(answer.code, answer.text)
		}
	}
	if err != nil {
		return err
	}
	if w.mail != nil {
		w.mail.Wake()
	}
	made := wire.DeviceKey{AccessToken: got.Secret, TokenType: "Bearer", Account: got.Account, Key: wire.KeyFacts{Name: got.Key.Name, Prefix: got.Key.Prefix, SpendLimit: (*int64)(got.Key.SpendLimit), ExpiresAt: got.Key.ExpiresAt}}
	if at := got.Key.ExpiresAt; at != nil {
		made.ExpiresIn = max(1, int64(at.Sub(w.now())/time.Second))
	}
	return answerProgram(v.w, http.StatusOK, made)
}

// deviceTelling writes to people of a key that was made for a device; nil where no mail
// is sent.
func (w *Web) deviceTelling() store.TellingKey {
	if w.mail == nil {
		return nil
	}
	return func(key store.Key, device store.Device, to []string) ([]store.Letter, error) {
		return sealAll(w.mail, to, mail.Letter{
			Subject: "A new key for the command line on " + device.Machine,
			Lines: []string{
				"The relaypdf command line on " + device.Machine + ", at the address " + device.Address + ", was given the key “" + keyName(key) + "” (" + keyNote(key) + "), " +
					w.now().UTC().Format("January 2, 2006, 15:04 UTC") + ".",
				"If none of you did this, revoke the key.",
			},
			Link: mail.Link{Text: "Look at the keys", URL: w.cfg.BaseURL + keysPath},
		})
	}
}

// sealAll makes the same letter for each of these addresses.
func sealAll(mailer Mailer, to []string, letter mail.Letter) ([]store.Letter, error) {
	var kept []store.Letter
	for _, letter.To = range to {
		sealed, err := mailer.Seal(letter)
		if err != nil {
			return nil, err
		}
		kept = append(kept, sealed)
	}
	return kept, nil
}

// showDeviceCode asks for a code. It accepts none from the URL: users who follow a link from someone else must look
// at their own terminal.
func (w *Web) showDeviceCode(v *visit) error { return w.codePage(v, http.StatusOK, "") }

func (w *Web) codePage(v *visit, status int, wrong string) error {
	m := views.Form{Errors: map[string]string{}}
	if wrong != "" {
		m.Errors["code"] = wrong
	}
	return v.show(status, views.DeviceCodePage(v.page("Approve the command line", ""), m))
}

// typeCode shows who waits with the code that was typed.
func (w *Web) typeCode(v *visit) error {
	for key, most := range map[string]int{"device:address:" + w.cfg.ClientIP(v.r): triesPerAddress, "device:person:" + v.person.ID: triesPerPerson} {
		if wait, ok := w.allow(v.ctx(), key, most, triesWindow); !ok {
			return w.codePage(v, http.StatusTooManyRequests, "Too many attempts. Wait "+views.Duration(wait.Round(time.Second))+", then try again.")
		}
	}
	device, err := w.store.Devices().Typed(v.ctx(), v.value("code"), v.person.ID)
	if errors.Is(err, store.ErrNotFound) {
		return w.codePage(v, http.StatusUnprocessableEntity, "No command line is waiting with this code. Codes work once, for 10 minutes: check it, or run relaypdf setup again.")
	}
	if err != nil {
		return err
	}
	m := w.deviceModel(v, device)
	m.Values["limit"], m.Values["expires"] = deviceLimit, deviceDays
	return v.show(http.StatusOK, views.DevicePage(v.page("Approve the command line", ""), m))
}

func (w *Web) deviceModel(v *visit, d store.Device) views.Device {
	return views.Device{
		Form: views.Form{Values: map[string]string{"limit": v.value("limit"), "expires": v.value("expires")}, Errors: map[string]string{}},
		ID:   d.ID, Code: store.ShownCode(v.value("code")), Machine: d.Machine, System: d.System, Address: d.Address, Here: w.cfg.ClientIP(v.r),
		Asked: d.CreatedAt, Until: d.ExpiresAt, Account: v.member.AccountName, Email: v.person.Email, KeyName: "cli " + d.Machine,
	}
}

// decideDevice approves or denies. The key is made when the device asks next, so no one else ever sees it.
func (w *Web) decideDevice(v *visit) error {
	device, err := w.store.Devices().Waiting(v.ctx(), v.value("id"), v.person.ID)
	if err != nil {
		return err
	}
	m := w.deviceModel(v, device)
	switch v.value("decision") {
	case "approve":
		return w.approve(v, m)
	case "deny":
		if err := w.store.Devices().Deny(v.ctx(), m.ID, v.person.ID); err != nil {
			return err
		}
		if err := v.record("device.denied", m.Machine, m.Address); err != nil {
			return err
		}
		return v.show(http.StatusOK, views.DeviceDonePage(v.page("Denied", ""), m))
	}
	m.Errors[""] = "Approve or deny."
	return w.askAgain(v, m)
}

func (w *Web) askAgain(v *visit, m views.Device) error {
	return v.show(http.StatusUnprocessableEntity, views.DevicePage(v.page("Approve the command line", ""), m))
}

func (w *Web) approve(v *visit, m views.Device) error {
	n := store.NewKey{AccountID: v.account.ID, Name: m.KeyName, Test: w.local}
	for name, read := range map[string]func(string) string{
		"limit":   func(text string) (wrong string) { n.SpendLimit, wrong = dollars(text); return wrong },
		"expires": func(text string) (wrong string) { n.ExpiresAt, wrong = keyEnd(text, w.now()); return wrong },
	} {
		if wrong := read(v.value(name)); wrong != "" {
			m.Errors[name] = wrong
		}
	}
	if m.Failed() {
		return w.askAgain(v, m)
	}
	if err := w.store.Devices().Approve(v.ctx(), m.ID, v.person.ID, n); err != nil {
		return err
	}
	if err := v.record("device.approved", m.KeyName, m.Address); err != nil {
		return err
	}
	m.Approved = true
	return v.show(http.StatusOK, views.DeviceDonePage(v.page("Back to your terminal", ""), m))
}
