package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Machine describes the device that requests a key, as the user reads it.
type Machine struct {
	Name   string // such as "lantern-ci-02"
	System string // such as "Linux arm64"
}

type (
	// DeviceCode holds the UserCode to show to the user, and the URL where the user enters it.
	DeviceCode = wire.DeviceBegun
	// DeviceKey is the key that a user has allowed.
	DeviceKey = wire.DeviceKey
)

// devicePause is the default pause between two requests, and the increase of the pause after each request that came
// too early (RFC 8628).
const devicePause = 5 * time.Second

// BeginDevice asks for a code that a user types on the pages of the service, to give this machine a key. It needs
// no key.
func (c *Client) BeginDevice(ctx context.Context, m Machine) (code DeviceCode, err error) {
	err = c.askDevice(ctx, wire.DeviceBeginPath,
		url.Values{"client_id": {wire.DeviceClient}, "machine": {m.Name}, "system": {m.System}}, &code)
	var refusal *deviceRefusal
	if errors.As(err, &refusal) {
		err = refusal.fault()
	}
	if err == nil && (code.DeviceCode == "" || code.UserCode == "" || code.VerificationURI == "") {
		err = errors.New("the answer has no code in it: the service may be another one")
	}
	return code, err
}

// WaitDevice waits until a user has decided, and returns the key. It polls at the interval that the service asks
// for, and less often if the service does not respond. An *Error with the code Unauthorized means that the user
// refused or did not respond in time.
func (c *Client) WaitDevice(ctx context.Context, code DeviceCode) (DeviceKey, error) {
	pause := time.Duration(code.Interval) * time.Second
	if pause <= 0 {
		pause = devicePause
	}
	form := url.Values{
		"client_id": {wire.DeviceClient}, "grant_type": {wire.DeviceGrant}, "device_code": {code.DeviceCode},
	}

	for waited := time.Duration(0); ; {
		if err := c.wait(ctx, pause); err != nil {
			return DeviceKey{}, err
		}
		waited += pause
		var key DeviceKey
		err := c.askDevice(ctx, wire.DeviceTokenPath, form, &key)
		if err == nil {
			return key, nil
		}

		over := waited > time.Duration(code.ExpiresIn)*time.Second+time.Minute
		var refusal *deviceRefusal
		switch {
		case ctx.Err() != nil:
			return key, ctx.Err()
		case !errors.As(err, &refusal) && over:
			return key, err
		case !errors.As(err, &refusal):
			pause = min(2*pause, time.Minute)
		case refusal.Code == wire.DevicePending && !over:
		case refusal.Code == wire.DeviceSlow && !over:
			pause = max(pause+devicePause, refusal.retryAfter)
		case refusal.status >= http.StatusInternalServerError && !over:
			pause = min(2*pause, time.Minute)
		default:
			return key, refusal.fault()
		}
	}
}

// deviceRefusal is an error response of RFC 6749.
type deviceRefusal struct {
	wire.DeviceError
	status     int
	retryAfter time.Duration
	requestID  string
}

func (e *deviceRefusal) Error() string { return e.Text }

// fault returns the refusal as an *Error, as for the rest of the API.
func (e *deviceRefusal) fault() error {
	apiError := &Error{
		Code: codeOf(e.status), Message: e.Text, RequestID: e.requestID, RetryAfter: int(e.retryAfter / time.Second),
		Received: e.status,
	}

	switch e.Code {
	case wire.DeviceDenied:
		apiError.Code = Unauthorized
		apiError.Message = "The request for a key was denied."
	case wire.DeviceExpired, wire.DevicePending, wire.DeviceSlow:
		if e.status != http.StatusTooManyRequests {
			apiError.Code = Unauthorized
			apiError.Message = "Nobody has approved in time, and the code has expired. Begin again."
		}
	}

	return apiError
}

// askDevice sends a form and reads the response, or returns a *deviceRefusal. It sends no key, because its purpose
// is to get one.
func (c *Client) askDevice(ctx context.Context, path string, form url.Values, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base()+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}

	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	response, err := c.do(r)
	if err != nil {
		return err
	}

	if response.StatusCode == http.StatusOK {
		return readAnswer(response, into)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxErrorText))
	if err != nil {
		return fmt.Errorf("%s, and its text did not arrive: %w", response.Status, err)
	}

	refusal := &deviceRefusal{
		status: response.StatusCode, retryAfter: time.Duration(retryAfterOf(response)) * time.Second,
		requestID: response.Header.Get(wire.RequestIDHeader),
	}
	if err := json.Unmarshal(text, &refusal.DeviceError); err != nil || refusal.Text == "" {
		refusal.Text = "The server answered " + response.Status + ", without saying more."
	}
	return refusal
}
