package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
)

// caller returns the caller of a service: the member, or the user of a link to the editor.
func (v *pageRequest) caller() call.Caller {
	return call.Caller{Account: *v.account, Kind: call.ByPerson, Author: v.author()}
}

// submit calls a method of the template service with an input that a page has made.
func submit[In, Out any](v *pageRequest, in In, method templates.Method[In, Out]) (Out, error) {
	out, err := templates.Submit(v.ctx(), v.caller(), in, method)
	if e := refused(err); e != nil && e.Code == wire.StorageUnavailable {
		_ = v.fault(err)
	}
	return out, err
}

// receive calls a method of the template service with JSON that the editor's script has sent.
func receive[In, Out any](
	v *pageRequest, body []byte, method templates.Method[In, Out], params ...schema.Value,
) (Out, error) {
	return templates.Receive(v.ctx(), v.caller(), params, bytes.NewReader(body), method)
}

// bindForm binds the fields of a form as a request of the API is bound. The error is schema.FieldErrors.
func bindForm[In any](v *pageRequest, fields any) (*In, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	request, err := schema.NewRequest[In]()
	if err != nil {
		return nil, err
	}
	return request.Bind(v.ctx(), nil, bytes.NewReader(body))
}

// faultTexts returns the errors of a request by the fields of its form.
func faultTexts(faults schema.FieldErrors) map[string]string {
	texts := map[string]string{}
	for _, fault := range faults {
		texts[fault.Field] = "It " + fault.Message + "."
	}
	return texts
}

// refused returns the refusal that an error is, or nil where something failed or is not there.
func refused(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) && e.Code != wire.InternalError {
		return e
	}
	return nil
}

// answerScript answers the editor's script with JSON, or with the error that a client of the API
// would read.
func (v *pageRequest) answerScript(out any, err error) error {
	if v.ctx().Err() != nil {
		return v.ctx().Err()
	}
	v.w.Header().Set("Content-Type", "application/json")
	status, body := v.scriptAnswer(out, err)
	v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(status)
	_, err = v.w.Write(body)
	return err
}

// scriptAnswer returns the status and the JSON of a response, and sets the other headers that it has.
func (v *pageRequest) scriptAnswer(out any, err error) (int, []byte) {
	if err == nil {
		var body []byte

		if body, err = json.Marshal(out); err == nil {
			if state, ok := out.(interface{ ETag() string }); ok {
				v.w.Header().Set("ETag", state.ETag())
			}
			return http.StatusOK, body
		}
	}

	e := v.fault(err)
	if e.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	response := e.Body(middleware.RequestID(v.ctx()), v.web.cfg.BaseURL)
	body, _ := json.Marshal(response) //nolint:errchkjson // texts and numbers, which always marshal
	return e.Status(), body
}

// fault gives an error its code, and logs one that the operator has to know of.
func (v *pageRequest) fault(err error) *wire.Error {
	e := call.APIError(err)
	if e.Code == wire.InternalError || e.Code == wire.StorageUnavailable {
		v.web.log.LogAttrs(
			v.ctx(), slog.LevelError, "editor request failed",
			slog.String("requestId", middleware.RequestID(v.ctx())), slog.Any("error", err),
		)
	}
	return e
}

// jsonText indents JSON for reading, and returns any other text unchanged.
func jsonText(text []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSpace(text), "", "  ") != nil {
		return string(text)
	}
	return out.String()
}
