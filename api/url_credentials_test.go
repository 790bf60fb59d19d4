package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestCredentialsInURLs: a URL with a user name or a password is refused with the field and the place for credentials.
// The password is in no response, request log or server log.
func TestCredentialsInURLs(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	hook := s.NewWebhook(t, `{"url":"https://example.com/"}`)
	const page, file, canary = "options.extraHTTPHeaders", "presigned URL", "c4n4ry"
	for name, c := range map[string]struct{ method, path, body, field, want string }{
		"page":            {"POST", "/v1/pdf", `{"url":"URL"}`, "url", page},
		"page in a job":   {"POST", "/v1/pdf", `{"url":"URL","response":"async"}`, "url", page},
		"image":           {"POST", "/v1/images", `{"url":"URL"}`, "url", page},
		"convert":         {"POST", "/v1/convert", `{"url":"URL","to":"docx"}`, "url", file},
		"convert to PDF":  {"POST", "/v1/convert", `{"url":"URL","to":"pdf"}`, "url", file},
		"wkhtmltopdf":     {"POST", "/v1/convert", `{"url":"URL","to":"pdf","engine":"wkhtmltopdf"}`, "url", file},
		"tool":            {"POST", "/v1/pdf/info", `{"url":"URL"}`, "url", file},
		"files":           {"POST", "/v1/pdf/merge", `{"files":[{"url":"URL"},{"url":"https://example.com/a.pdf"}]}`, "files[0].url", file},
		"other file":      {"POST", "/v1/pdf/overlay", `{"file":` + inline([]byte("%PDF-1.7")) + `,"overlay":{"url":"URL"}}`, "overlay.url", file},
		"step":            {"POST", "/v1/pipelines", `{"steps":[{"id":"a","op":"pdf.info","input":{"url":"URL"}}],"output":["a"]}`, "steps[0].input.url", file},
		"page of a step":  {"POST", "/v1/pipelines", `{"steps":[{"id":"a","op":"pdf.create","input":{"url":"URL"}}],"output":["a"]}`, "steps[0].input.url", page},
		"destination":     {"POST", "/v1/pdf", `{"html":"a","deliverTo":{"url":"URL"}}`, "deliverTo.url", "deliverTo.headers"},
		"callback":        {"POST", "/v1/pdf", `{"html":"a","callbackUrl":"URL"}`, "callbackUrl", "webhook endpoint"},
		"endpoint":        {"POST", "/v1/webhooks", `{"url":"URL"}`, "url", "signature"},
		"endpoint change": {"PATCH", "/v1/webhooks/" + hook.ID, `{"url":"URL"}`, "url", "signature"},
	} {
		for _, address := range []string{"https://ada:c4n4ry@example.com/a", "http://ada:c4n4ry@example.com/a", "https://c4n4ry@example.com", "https://ada:c4n4ry%zz@example.com/", "https://ada:c4n4ry@127.0.0.1/"} {
			got := s.Send(t, apitest.Request{Method: c.method, Path: c.path, Body: strings.ReplaceAll(c.body, "URL", address)})
			failure := got.Refused(t, wire.URLNotAllowed)
			if len(failure.Details) != 1 || failure.Details[0].Field != c.field || !strings.Contains(failure.Message, " must not contain a user name or a password. ") || !strings.Contains(failure.Message, c.want) {
				t.Errorf("%s with %s: %s", name, address, got.Body)
			}
			if strings.Contains(got.Body, canary) {
				t.Errorf("%s: the response is %s", name, got.Body)
			}
		}
	}

	two := s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"url":"https://ada:c4n4ry@example.com/","deliverTo":{"url":"https://ada:c4n4ry@example.com/"},"callbackUrl":"http://example.com/"}`}).Refused(t, wire.URLNotAllowed)
	if len(two.Details) != 3 || !strings.Contains(two.Message, page) || !strings.Contains(two.Message, "deliverTo.headers") || !strings.Contains(two.Message, "callbackUrl must be an https URL") {
		t.Errorf("three URLs: %+v", two)
	}

	waitForCalls(t, s)
	for _, request := range logged(t, s, 75) {
		if request.Method != http.MethodGet && (strings.Contains(request.Body, canary) || strings.Contains(request.Message, canary) || strings.Contains(request.Path, canary)) {
			t.Errorf("logged %+v", request)
		}
	}
	if log := s.Log.String(); strings.Contains(log, canary) {
		t.Errorf("the log is %s", log)
	}
	expectBalance(t, s, apitest.Trial)
}
