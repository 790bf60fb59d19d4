package oauth

import (
	"net/http"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/store"
)

// checkDeviceClient refuses clients of the device flow other than the command line.
func checkDeviceClient(r *http.Request) error {
	client, err := parameter(r, "client_id")
	if err == nil && client != wire.DeviceClient {
		err = newError("invalid_client", "client_id must be "+wire.DeviceClient+".")
	}
	return err
}

// beginDevice issues the codes of a device (RFC 8628, 3.1).
func (s *Server) beginDevice(w http.ResponseWriter, r *http.Request) error {
	if err := checkDeviceClient(r); err != nil {
		return err
	}

	ip := s.cfg.ClientIP(r.Context())
	if err := s.allow(r.Context(), "device:begin:"+ip, devicesPerIP, limitWindow); err != nil {
		return err
	}

	device := store.NewDevice{Address: ip}
	for name, field := range map[string]*string{"machine": &device.Machine, "system": &device.System} {
		text, err := parameter(r, name)
		if err != nil {
			return err
		}
		*field = visible(text)
	}
	if device.Machine == "" {
		device.Machine = "unnamed machine"
	}

	codes, err := s.store.CreateDevice(r.Context(), device)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.DeviceBegun{
		DeviceCode: codes.Secret, UserCode: codes.Typed, VerificationURI: s.cfg.DeviceURL,
		ExpiresIn: int(store.DeviceLife / time.Second), Interval: int(store.DevicePause / time.Second),
	})
}

// deviceErrors are the replies to a device code that gives no key yet, or none at all.
var deviceErrors = []errorReply{
	{store.ErrWaiting, wire.DevicePending, "The user has not decided yet. Poll again."},
	{store.ErrTooEarly, wire.DeviceSlow, "Polling is too fast. Increase the interval by 5 seconds."},
	{store.ErrDenied, wire.DeviceDenied, "The user denied the request."},
	{store.ErrExpired, wire.DeviceExpired, "The device code has expired. Start the login again."},
	{store.ErrUsed, "invalid_grant", "The device code was already used, so its API key was revoked. Start the login again."},
	{store.ErrNotFound, "invalid_grant", "The device code is unknown. Start the login again."},
}

// deviceToken exchanges a device code for a key (RFC 8628, 3.4).
func (s *Server) deviceToken(w http.ResponseWriter, r *http.Request) error {
	if err := checkDeviceClient(r); err != nil {
		return err
	}

	grant, err := parameter(r, "grant_type")
	if err != nil {
		return err
	}
	if grant != wire.DeviceGrant {
		return newError("unsupported_grant_type", "grant_type must be "+wire.DeviceGrant+".")
	}

	q, err := parameters(r, []string{"device_code"}, nil)
	if err != nil {
		return err
	}
	if err := s.allow(r.Context(), "device:token:"+s.cfg.ClientIP(r.Context()), tokensPerIPMinute, time.Minute); err != nil {
		return err
	}

	collected, err := s.store.CollectKey(r.Context(), q["device_code"], s.cfg.KeyEmails)
	if err != nil {
		return reply(err, deviceErrors)
	}
	s.sendEmails()

	key := collected.Key
	response := wire.DeviceKey{
		AccessToken: collected.Secret, TokenType: "Bearer", Account: collected.Account,
		Key: wire.KeyFacts{
			Name: key.Name, Prefix: key.Prefix, SpendLimit: (*int64)(key.SpendLimit), ExpiresAt: key.ExpiresAt,
		},
	}
	if key.ExpiresAt != nil {
		response.ExpiresIn = max(1, int64(key.ExpiresAt.Sub(s.now())/time.Second))
	}
	return writeJSON(w, http.StatusOK, response)
}
