package oauth

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Error is an error response of RFC 6749, 7009, 7591 or 8628.
type Error struct {
	Status     int
	Code, Text string
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Code + ": " + e.Text }

func newError(code, text string) error {
	return &Error{Status: http.StatusBadRequest, Code: code, Text: text}
}

func tooManyRequests(wait time.Duration) error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: wire.DeviceSlow,
		Text:       "Too many requests from this IP address. Wait for the number of seconds in Retry-After.",
		RetryAfter: wait,
	}
}

// writeError writes an error response. An error other than *Error is logged and not shown.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}

	var public *Error
	if !errors.As(err, &public) {
		id := s.cfg.RequestID(r.Context())
		s.cfg.Logger.LogAttrs(r.Context(), slog.LevelError, "oauth request failed", slog.String("requestId", id),
			slog.Any("error", err))
		public = &Error{
			Status: http.StatusInternalServerError, Code: "server_error",
			Text: "The server failed. Retry; if it fails again, send request ID " + id + " to the operator.",
		}
	}

	if public.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((public.RetryAfter+time.Second-1)/time.Second)))
	}
	if err := writeJSON(w, public.Status, wire.DeviceError{Code: public.Code, Text: public.Text}); err != nil {
		s.cfg.Logger.LogAttrs(r.Context(), slog.LevelInfo, "response not delivered", slog.Any("error", err))
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(body)
}
