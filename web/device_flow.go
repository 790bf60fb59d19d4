package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/mail"
)

const (
	devicePath = "/device"
	// deviceLimit and deviceDays are the defaults for a key of the command line.
	deviceLimit = "5.00"
	deviceDays  = "90"
)

// deviceKeyEmails writes to people of a key that was made for a device.
func (w *Web) deviceKeyEmails(key store.Key, device store.Device, to []string) ([]store.QueuedEmail, error) {
	return mail.SealAll(w.mail, to, mail.Message{
		Subject: "API key created for the command line on " + device.Machine,
		Lines: []string{
			"The relaypdf command line on " + device.Machine + ", IP address " +
				device.Address + ", received the key “" + keyName(key) + "” (" + keyNote(key) + ") on " +
				w.now().UTC().Format("January 2, 2006, 15:04 UTC") + ".",
			"If you do not recognize this, revoke the key.",
		},
		Link: mail.Link{Text: "View keys", URL: w.cfg.BaseURL + keysPath},
	})
}

// showDeviceCode asks for a code. It accepts none from the URL: users who follow a link from someone else must look
// at their own terminal.
func (w *Web) showDeviceCode(v *pageRequest) error { return w.codePage(v, http.StatusOK, "") }

func (w *Web) codePage(v *pageRequest, status int, wrong string) error {
	m := views.Form{Errors: map[string]string{}}
	if wrong != "" {
		m.Errors["code"] = wrong
	}
	return v.show(status, views.DeviceCodePage(v.page("Approve the command line", ""), m))
}

// typeCode shows who waits with the code that was typed.
func (w *Web) typeCode(v *pageRequest) error {
	maxTries := map[string]int{
		"device:address:" + middleware.ClientIP(v.ctx()): triesPerAddress,
		"device:person:" + v.person.ID:                   triesPerPerson,
	}
	for key, limit := range maxTries {
		if wait, ok := w.allow(v.ctx(), key, limit, triesWindow); !ok {
			return w.codePage(
				v, http.StatusTooManyRequests,
				"Too many attempts. Wait "+views.Duration(wait.Round(time.Second))+" and try again.",
			)
		}
	}

	device, err := w.store.ClaimDevice(v.ctx(), v.value("code"), v.person.ID)
	if errors.Is(err, store.ErrNotFound) {
		return w.codePage(
			v, http.StatusUnprocessableEntity,
			"No pending request with this code. Codes are valid once, for 10 minutes. Check the code, or run relaypdf setup again.",
		)
	}
	if err != nil {
		return err
	}

	m := w.deviceModel(v, device)
	m.Values["limit"] = deviceLimit
	m.Values["expires"] = deviceDays
	return v.show(http.StatusOK, views.DevicePage(v.page("Approve the command line", ""), m))
}

func (w *Web) deviceModel(v *pageRequest, d store.Device) views.Device {
	return views.Device{
		Form: views.Form{
			Values: map[string]string{"limit": v.value("limit"), "expires": v.value("expires")},
			Errors: map[string]string{},
		},
		ID: d.ID, Code: store.ShownCode(v.value("code")), Machine: d.Machine,
		System: d.System, Address: d.Address, Here: middleware.ClientIP(v.ctx()),
		Asked: d.CreatedAt, Until: d.ExpiresAt, Account: v.member.AccountName,
		Email: v.person.Email, KeyName: "cli " + d.Machine,
	}
}

// decideDevice approves or denies. The key is made when the device asks next, so no one else ever sees it.
func (w *Web) decideDevice(v *pageRequest) error {
	device, err := w.store.ClaimedDevice(v.ctx(), v.value("id"), v.person.ID)
	if err != nil {
		return err
	}

	m := w.deviceModel(v, device)
	switch v.value("decision") {
	case "approve":
		return w.approve(v, m)
	case "deny":
		if err := w.store.DenyDevice(v.ctx(), m.ID, v.person.ID); err != nil {
			return err
		}
		if err := v.record("device.denied", m.Machine, m.Address); err != nil {
			return err
		}
		return v.show(http.StatusOK, views.DeviceDonePage(v.page("Access denied", ""), m))
	}

	m.Errors[""] = "Select Approve access or Deny access."
	return w.askAgain(v, m)
}

func (w *Web) askAgain(v *pageRequest, m views.Device) error {
	return v.show(http.StatusUnprocessableEntity, views.DevicePage(v.page("Approve the command line", ""), m))
}

func (w *Web) approve(v *pageRequest, m views.Device) error {
	n := store.NewKey{AccountID: v.account.ID, Name: m.KeyName}
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
	if err := w.store.ApproveDevice(v.ctx(), m.ID, v.person.ID, n); err != nil {
		return err
	}
	if err := v.record("device.approved", m.KeyName, m.Address); err != nil {
		return err
	}

	m.Approved = true
	return v.show(http.StatusOK, views.DeviceDonePage(v.page("Access approved", ""), m))
}
