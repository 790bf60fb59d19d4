package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestRepeatOutlivesTheTemplate: an earlier call's answer needs no template any more.
func TestRepeatOutlivesTheTemplate(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := templateLab{toolServerOn(t, &db), t}
		l.record(201, "POST", "", object{"name": "gone", "html": "<p>{{name}}</p>"})
		l.record(200, "POST", "/gone/publish", nil)
		l.Work(t)
		asked := map[string]string{
			"binary": `{"templateId":"gone","templateData":{"name":"Ada"}}`, "url": `{"templateId":"gone","templateData":{"name":"Ada"},"response":"url"}`,
			"async": `{"templateId":"gone","templateData":{"name":"Ada"},"response":"async"}`,
		}
		first := map[string]apitest.Response{}
		for key, body := range asked {
			first[key] = withKey(t, l.Server, key, "/v1/pdf", body)
			if key == "async" {
				l.Await(t, first[key].Header.Get("x-service-id"))
			}
		}
		first["preview"] = withKey(t, l.Server, "preview", "/v1/templates/preview", `{"templateId":"gone"}`)
		asked["preview"] = `{"templateId":"gone"}`
		l.send("DELETE", "/gone", nil).OK(t)
		balance, _ := l.Balance(t)
		for key, body := range asked {
			path := "/v1/pdf"
			if key == "preview" {
				path = "/v1/templates/preview"
			}
			got := withKey(t, l.Server, key, path, body)
			if got.Status != first[key].Status || got.Body != first[key].Body || got.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: got %d, replayed %q, want what came first", key, got.Status, got.Header.Get("Idempotent-Replayed"))
			}
			l.refuses(withKey(t, l.Server, key, path, strings.Replace(body, "{", `{"filename":"x",`, 1)), wire.InvalidRequest, "Idempotency-Key")
			l.refuses(withKey(t, l.Server, key+"-new", path, body), wire.NotFound, "templateId")
		}
		if after, held := l.Balance(t); after != balance || held != 0 {
			t.Errorf("the repetitions took %d, held %d", balance-after, held)
		}
	})
}

// refuses fails the test unless the response refuses one field.
func (l templateLab) refuses(r apitest.Response, code wire.Code, field string) {
	l.t.Helper()
	if got := r.Refused(l.t, code); len(got.Details) != 1 || got.Details[0].Field != field {
		l.t.Errorf("refused with %+v, want %s", got, field)
	}
}

// TestPreviewLikeAnyRow: a preview as bytes, as an address and as a job, reported to
// a callback, repeated under its key, and paid once each.
func TestPreviewLikeAnyRow(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := templateLab{toolServerOn(t, &db), t}
		l.record(201, "POST", "", object{"name": "draft", "html": "<p>Dear {{name}}</p>", "sampleData": object{"name": "Ada"}})
		l.Work(t)
		start, _ := l.Balance(t)
		const callback = `,"callbackUrl":"https://hooks.example.com/done"`
		paid := int64(0)
		for _, mode := range []string{"binary", "url", "async"} {
			body := `{"templateId":"draft","filename":"look","response":"` + mode + `"` + callback + `}`
			first := withKey(t, l.Server, mode, "/v1/templates/preview", body)
			id := first.Header.Get("x-service-id")
			if mode == "async" {
				if first.Status != http.StatusAccepted {
					t.Fatalf("a job: %d %s", first.Status, first.Body)
				}
				l.Await(t, id)
			} else {
				first.OK(t)
			}
			if got := strings.TrimSpace(pdfText(t, []byte(l.Content(t, id)))); got != "Dear Ada" {
				t.Errorf("%s: the PDF says %q", mode, got)
			}
			again := withKey(t, l.Server, mode, "/v1/templates/preview", body)
			if again.Body != first.Body || again.Status != first.Status || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: the repetition is %d %.100s", mode, again.Status, again.Body)
			}
			paid += 2000
			if balance, held := l.Balance(t); start-balance != paid || held != 0 {
				t.Errorf("%s: %d was taken, %d held, want %d", mode, start-balance, held, paid)
			}
		}
		effects := l.Effects(t)
		for _, line := range []string{"event callback", "delivery pending attempts 0"} {
			n := 0
			for _, effect := range effects {
				if effect == line {
					n++
				}
			}
			if n != 3 {
				t.Errorf("%d times %q in %q, want one for each mode", n, line, effects)
			}
		}
		if !slices.Contains(effects, "call templates.preview done charged 2000") {
			t.Errorf("the calls are %q", effects)
		}
		l.Send(t, apitest.Request{Path: "/v1/templates/preview", Body: `{"templateId":"draft","callbackUrl":"http://hooks.example.com/"}`}).Refused(t, wire.URLNotAllowed)
	})
}

// TestTemplatesWithoutRenderer: a process that makes no documents reports that.
func TestTemplatesWithoutRenderer(t *testing.T) {
	t.Parallel()
	l := templateLab{apitest.New(t, apitest.Options{Operations: operation.Rows, Change: func(cfg *apitest.Settings) { cfg.NoRateLimits = true }}), t}
	l.record(201, "POST", "", object{"name": "draft", "html": "<p>x</p>"})
	for _, q := range []struct{ method, path, body string }{
		{"POST", "/validate", `{"html":"x"}`}, {"POST", "/draft/publish", `{}`}, {"PUT", "/partials/p", `{"html":"x"}`},
	} {
		got := l.Send(t, apitest.Request{Method: q.method, Path: templatesPath + q.path, Body: q.body})
		if failure := got.Refused(t, wire.ConvertUnavailable); got.Header.Get("Retry-After") == "" || !strings.Contains(failure.Message, "unavailable on this server") {
			t.Errorf("%s: %+v", q.path, failure)
		}
	}
}
