package operation

import (
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
)

// NotAllowed is the message for a field whose URL is refused.
const NotAllowed = "must be an https URL of a public host"

// URLUse is the use of the URL in a field: the rule for its text, and where credentials belong instead.
type URLUse struct{ rule, credentials string }

// The uses of URLs.
var (
	PageURL        = URLUse{NotAllowed, "For a page, send the header Authorization in options.extraHTTPHeaders"}
	FileURL        = URLUse{"must be an http or https URL of a public host", "Send the file itself or a presigned URL"}
	DestinationURL = URLUse{NotAllowed, "Send the header Authorization in deliverTo.headers"}
	CallbackURL    = URLUse{NotAllowed, "Use a webhook endpoint, whose requests are signed, or a token in the path"}
	EndpointURL    = URLUse{NotAllowed, "Verify the signature of each request, or use a token in the path"}
	// convertedPageURL is a page that wkhtmltopdf loads itself, without headers of the request.
	convertedPageURL = URLUse{NotAllowed, FileURL.credentials}
	TimestampURL     = URLUse{"must be an http or https URL of a public host", "Use a timestamp authority without them"}
)

// EndpointCheck returns the check of the URL of a webhook endpoint: the error of check, in words for the field url.
func EndpointCheck(check func(address string) error) func(address string) error {
	return func(address string) error {
		if err := check(address); err != nil {
			return RefuseURL("url", RefusedText(address, EndpointURL), err)
		}
		return nil
	}
}

// RefusedText returns why a URL is refused: the error in its text, or the rule. It contains no part of the URL.
func RefusedText(address string, use URLUse) string {
	switch {
	case strings.HasPrefix(address, "\ufeff"):
		return "must not begin with a byte order mark (U+FEFF)"
	case hasCredentials(address):
		return "must not contain a user name or a password. " + use.credentials
	}
	return use.rule
}

// hasCredentials reports whether the URL of a page or a file has a user name or a password as browsers read it, however
// many slashes it has.
func hasCredentials(address string) bool {
	scheme, rest, _ := strings.Cut(address, ":")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return false
	}
	authority := strings.TrimLeft(rest, `/\`)
	if end := strings.IndexAny(authority, `/\?#`); end >= 0 {
		authority = authority[:end]
	}
	return strings.Contains(authority, "@")
}

// URLError refuses URLs.
type URLError struct {
	// Refused are the fields with the URLs, and what is wrong with each.
	Refused schema.FieldErrors
	Cause   error
}

// RefuseURL returns the error of the URL in a field. Text is that of RefusedText.
func RefuseURL(field, text string, cause error) *URLError {
	return &URLError{Refused: schema.FieldErrors{{Field: field, Message: text}}, Cause: cause}
}

func (e *URLError) Error() string { return e.Refused[0].Field + ": " + e.Cause.Error() }

// Unwrap returns the policy's refusal.
func (e *URLError) Unwrap() error { return e.Cause }

// failure returns the error of the API.
func (e *URLError) failure() *wire.Error {
	failed := &wire.Error{Code: wire.URLNotAllowed}
	for _, refused := range e.Refused {
		failed.Message += refused.Field + " " + refused.Message + ". "
		failed.Details = append(failed.Details, wire.Detail{Field: refused.Field, Message: refused.Message})
	}
	failed.Message = strings.TrimSpace(failed.Message)
	return failed
}
