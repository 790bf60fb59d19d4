package web

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

const (
	deviceCookie       = "relaypdf_device"
	secureDeviceCookie = "__Host-" + deviceCookie
	devicePurpose      = "known device"
	// deviceLife is the period for which a browser is known after its latest login. maxDevicePeople is the
	// maximum number of users for whom one browser is known.
	deviceLife      = 365 * 24 * time.Hour
	maxDevicePeople = 8
)

// knownBrowser is the content of a browser's cookie, sealed, so that no one else can write one. It does not log in
// its user. Attempts to log in with it are counted separately from others', so those do not lock the user out.
type knownBrowser struct {
	ID     string    `json:"id"`
	People []string  `json:"people"` // who has logged in with it, the latest last
	At     time.Time `json:"at"`
}

func (w *Web) deviceCookieName() string {
	if w.secure {
		return secureDeviceCookie
	}
	return deviceCookie
}

func (w *Web) browserOf(r *http.Request) (b knownBrowser) {
	cookie, err := r.Cookie(w.deviceCookieName())
	if err != nil {
		return knownBrowser{}
	}

	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return knownBrowser{}
	}

	plain, err := w.box.Open(devicePurpose, sealed)
	if err != nil || json.Unmarshal(plain, &b) != nil || w.now().Sub(b.At) > deviceLife {
		return knownBrowser{}
	}
	return b
}

// knownDevice returns the ID of the visitor's browser where the user has logged in with it before, or nothing.
func (w *Web) knownDevice(v *pageRequest, personID string) string {
	if b := w.browserOf(v.r); personID != "" && slices.Contains(b.People, personID) {
		return b.ID
	}
	return ""
}

// rememberDevice notes in the visitor's browser that a user has logged in with it.
func (w *Web) rememberDevice(v *pageRequest, personID string) error {
	b := w.browserOf(v.r)
	if b.ID == "" {
		b.ID = rand.Text()
	}
	b.People = append(slices.DeleteFunc(b.People, func(id string) bool { return id == personID }), personID)
	b.People = b.People[max(0, len(b.People)-maxDevicePeople):]
	b.At = w.now()

	plain, err := json.Marshal(b)
	if err != nil {
		return err
	}
	sealed, err := w.box.Seal(devicePurpose, plain)
	if err != nil {
		return err
	}

	http.SetCookie(v.w, &http.Cookie{
		Name: w.deviceCookieName(), Value: base64.RawURLEncoding.EncodeToString(sealed),
		Path: "/", MaxAge: int(deviceLife.Seconds()),
		Secure: w.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return nil
}
