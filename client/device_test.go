package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client"
)

// deviceAnswer is one response of a service to a device.
type deviceAnswer struct {
	status  int
	body    string
	seconds string // to wait
}

// devices answers one request after the other, and records the requests and the pauses before them.
func devices(t *testing.T, answers ...deviceAnswer) (service *client.Client, asked *[]url.Values, waited *[]time.Duration) {
	t.Helper()
	asked, waited = &[]url.Values{}, &[]time.Duration{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key of before was sent along")
		}
		if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" {
			t.Errorf("asked %s, %v", r.URL, err)
		}
		*asked = append(*asked, r.PostForm)
		a := answers[min(len(*asked), len(answers))-1]
		if a.seconds != "" {
			w.Header().Set("Retry-After", a.seconds)
		}
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	}))
	t.Cleanup(server.Close)
	return &client.Client{BaseURL: server.URL + "/", Key: "pdf_live_old", Wait: func(_ context.Context, d time.Duration) error {
		*waited = append(*waited, d)
		return nil
	}}, asked, waited
}

func said(code string) deviceAnswer {
	return deviceAnswer{status: http.StatusBadRequest, body: `{"error":"` + code + `","error_description":"why"}`}
}

var begun = client.DeviceCode{DeviceCode: "secret", UserCode: "WDJB-MJHT", VerificationURI: "https://pdf.example/device", ExpiresIn: 600, Interval: 5}

func TestBeginDevice(t *testing.T) {
	t.Parallel()
	service, asked, _ := devices(t, deviceAnswer{status: http.StatusOK, body: `{"device_code":"secret","user_code":"WDJB-MJHT","verification_uri":"https://pdf.example/device","expires_in":600,"interval":5}`})
	got, err := service.BeginDevice(t.Context(), client.Machine{Name: "lantern", System: "Linux arm64"})
	if err != nil || got != begun || (*asked)[0].Encode() != "client_id=relaypdf&machine=lantern&system=Linux+arm64" {
		t.Errorf("got %+v, %v after %v", got, err, *asked)
	}
	for name, q := range map[string]struct {
		answer deviceAnswer
		want   client.Code
	}{
		"too many":       {deviceAnswer{http.StatusTooManyRequests, `{"error":"slow_down","error_description":"wait"}`, "60"}, client.RateLimited},
		"another server": {deviceAnswer{http.StatusNotFound, `<html>`, ""}, client.NotFound},
	} {
		service, _, _ := devices(t, q.answer)
		var refused *client.Error
		if _, err := service.BeginDevice(t.Context(), client.Machine{}); !errors.As(err, &refused) || refused.Code != q.want {
			t.Errorf("%s: got %v, want %s", name, err, q.want)
		}
	}
	service, _, _ = devices(t, deviceAnswer{status: http.StatusOK, body: `{}`})
	if _, err := service.BeginDevice(t.Context(), client.Machine{}); err == nil {
		t.Error("an answer without a code is one")
	}
}

// TestWaitDeviceIsPolite checks that the client waits before its first request, and waits longer after slow_down
// and after a failed connection.
func TestWaitDeviceIsPolite(t *testing.T) {
	t.Parallel()
	service, asked, waited := devices(t, said("authorization_pending"), said("slow_down"), said("authorization_pending"),
		deviceAnswer{http.StatusTooManyRequests, `{"error":"slow_down","error_description":"wait"}`, "40"}, deviceAnswer{http.StatusBadGateway, "<html>", ""},
		deviceAnswer{http.StatusOK, `{"access_token":"pdf_live_new","token_type":"Bearer","account":"Ada","key":{"name":"cli","prefix":"pdf_live_new"}}`, ""})
	got, err := service.WaitDevice(t.Context(), begun)
	if err != nil || got.AccessToken != "pdf_live_new" || got.Account != "Ada" || got.Key.Name != "cli" {
		t.Errorf("got %+v, %v", got, err)
	}
	if want := []time.Duration{5 * time.Second, 5 * time.Second, 10 * time.Second, 10 * time.Second, 40 * time.Second, time.Minute}; !slices.Equal(*waited, want) {
		t.Errorf("waited %v, want %v", *waited, want)
	}
	if form := (*asked)[0]; form.Get("device_code") != "secret" || form.Get("client_id") != "relaypdf" || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:device_code" {
		t.Errorf("asked %v", form)
	}
}

func TestWaitDeviceEnds(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]client.Code{"access_denied": client.Unauthorized, "expired_token": client.Unauthorized, "invalid_grant": client.InvalidRequest, "authorization_pending": client.Unauthorized} {
		service, _, _ := devices(t, said(code))
		var refused *client.Error
		if got, err := service.WaitDevice(t.Context(), begun); !errors.As(err, &refused) || refused.Code != want || got.AccessToken != "" {
			t.Errorf("%s: got %v, want %s", code, err, want)
		}
	}
	service, _, _ := devices(t, deviceAnswer{status: http.StatusInternalServerError, body: `{"error":"server_error","error_description":"why"}`})
	var refused *client.Error
	if _, err := service.WaitDevice(t.Context(), begun); !errors.As(err, &refused) || refused.Code != client.InternalError {
		t.Errorf("a service that fails for ever: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	service.Wait = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	if _, err := service.WaitDevice(ctx, begun); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
}
