package api_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const pipelines = "/v1/pipelines"

// flowStep writes a step of a pipeline.
func flowStep(id, op, input string) string {
	return fmt.Sprintf(`{"input":%s,"id":%q,"op":%q}`, input, id, op) // The input comes before the operation that reads it.
}

// flow writes the body of a pipeline. The last argument has further members.
func flow(more string, steps ...string) string {
	return `{"steps":[` + strings.Join(steps, ",") + `]` + more + `}`
}

// flowBooks are the entries of a call that was held and settled, or released.
func flowBooks(operation string, held, charged int) []string {
	if charged < 0 {
		return []string{
			fmt.Sprintf("call %s failed charged 0 invalid_request", operation), fmt.Sprintf("ledger hold wallet -%d", held), fmt.Sprintf("ledger hold held %d", held),
			fmt.Sprintf("ledger release held -%d", held), fmt.Sprintf("ledger release wallet %d", held),
		}
	}
	books := []string{
		fmt.Sprintf("call %s done charged %d", operation, charged), fmt.Sprintf("ledger hold wallet -%d", held), fmt.Sprintf("ledger hold held %d", held),
		fmt.Sprintf("ledger settle held -%d", held), fmt.Sprintf("ledger settle revenue %d", charged),
	}
	if held > charged {
		books = append(books, fmt.Sprintf("ledger settle wallet %d", held-charged))
	}
	return books
}

// three is a pipeline of three steps: the second page, merged with a third one, with a password.
func three(more string) string {
	return flow(more,
		flowStep("second", "pdf.extract", `{"file":`+inline(letters("alpha", "beta"))+`,"pages":"2"}`),
		flowStep("both", "pdf.merge", `{"files":[{"step":"second"},{"file":`+inline(letters("gamma"))+`}]}`),
		flowStep("closed", "pdf.protect", `{"step":"both","userPassword":"secret"}`))
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		answer := s.Send(t, apitest.Request{Path: pipelines, Body: three("")}).OK(t)
		if got := words(t, answer.Body, "secret"); !slices.Equal(got, []string{"beta", "gamma"}) {
			t.Errorf("the pages read %q", got)
		}
		if got := answer.Header.Get("x-service-charged-microdollars"); got != "1500" {
			t.Errorf("charged %s, want 1500", got)
		}
		if got := answer.Header.Get("Content-Disposition"); !strings.Contains(got, `"closed.pdf"`) {
			t.Errorf("Content-Disposition is %s", got)
		}
		expectEffects(t, s, flowBooks("pipelines.create", 1500, 1500)...)
		expectBalance(t, s, apitest.Trial-1500)
	})
}

// TestPipelineFaults sends steps with faults of all kinds: all are listed, and nothing happens.
func TestPipelineFaults(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	file := `"file":` + inline(letters("alpha"))
	body := flow(`,"output":["a","zz"],"nope":1`,
		flowStep("a", "pdf.rotate", `{`+file+`,"degrees":45,"response":"url","then":[]}`),
		flowStep("b", "pdf.rotat", `{"step":"a"}`),
		flowStep("c", "pdf.rotate", `{"step":"d","degrees":90}`),
		flowStep("d", "pdf.extract", `{"step":"a","url":"https://example.com/x.pdf"}`),
		flowStep("d", "pdf.create", `{"url":"http://127.0.0.1/","options":{"scale":9}}`),
		flowStep("e", "pipelines.create", `{}`),
		`{"id":"f","op":"pdf.info"}`)
	var got []string
	for _, detail := range s.Send(t, apitest.Request{Path: pipelines, Body: body}).Refused(t, wire.InvalidRequest).Details {
		got = append(got, detail.Field)
	}
	want := []string{
		"nope", "steps[6].input", "output[1]", "steps[4].id", "steps[0].input.degrees", "steps[1].op", "steps[2].input.step", "steps[3].input.fileId",
		"steps[4].input.options.scale", "steps[4].input.url", "steps[5].op",
	}
	for _, field := range want {
		if !slices.Contains(got, field) {
			t.Errorf("%s is not among the faults %q", field, got)
		}
	}
	for _, c := range []struct{ path, body, field string }{
		{pipelines, flow("", flowStep("a", "pdf.rotate", `{`+file+`,"degrees":90,"response":"url"}`)), "steps[0].input.response"},
		{pipelines, flow("", flowStep("a", "pdf.rotate", `{`+file+`,"degrees":90,"then":[]}`)), "steps[0].input.then"},
		{pipelines, flow("", flowStep("a", "pdf.rotate", `{`+file+`,"degrees":90}`), flowStep("b", "pdf.rotate", `{`+file+`,"degrees":90}`)), "steps[0].id"},
		{pipelines, flow("", flowStep("a", "pdf.rotate", `{"step":"a","degrees":90}`)), "steps[0].input.step"},
		{pipelines, flow("", flowStep("a", "pdf.rotate", `{"fileId":"step:b","degrees":90}`)), "steps[0].input.fileId"},
		{"/v1/pdf/rotate", `{"fileId":"step:a","degrees":90}`, "fileId"},
		{"/v1/pdf/merge", `{"files":[{` + file + `},{"fileId":"step:previous"}],"then":[{"op":"pdf.rotate","input":{"degrees":90}}]}`, "files[1].fileId"},
		{pipelines, flow(`,"then":[]`, flowStep("a", "pdf.rotate", `{`+file+`,"degrees":90}`)), "then"},
		{pipelines, `{"steps":[]}`, "steps"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":1}},{"op":"pdf.stamp","input":{}}]}`, "then[0].input.degrees"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":90,"then":[]}}]}`, "then[0].input.then"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"zip.create","input":{"files":[{` + file + `,"filename":"x"}]}}]}`, "then[0].input"},
		{"/v1/pdf/rotate", `{"step":"a","degrees":90}`, "step"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.text","input":{}}]}`, "then[0].op"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.attachments","input":{}}]}`, "then[0].op"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.ocr","input":{"output":"text"}}]}`, "then[0].op"},
		{pipelines, flow("", flowStep("a", "pdf.data", `{`+file+`}`)), "steps[0].op"}, // Its price depends on its result.
		{pipelines, flow("", flowStep("a", "templates.generate", `{"prompt":"x"}`)), "steps[0].op"},
		{"/v1/pdf/info", `{` + file + `,"then":[]}`, "then"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.create","input":{"url":"https://127.0.0.1/"}}]}`, "then[0].input"},
	} {
		failure := s.Send(t, apitest.Request{Path: c.path, Body: c.body}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) == 0 || failure.Details[0].Field != c.field {
			t.Errorf("%.200s: details %+v, want %s", c.body, failure.Details, c.field)
		}
	}
	// Fields of the response are those of the call as a whole, also if they are wrong for another reason.
	for _, field := range []string{`"response":"url"`, `"expiresIn":60`, `"maxDownloads":2`, `"callbackUrl":"https://example.com/"`} {
		body := `{` + file + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":90,` + field + `}}]}`
		failure := s.Send(t, apitest.Request{Path: "/v1/pdf/rotate", Body: body}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) != 1 || failure.Details[0].Message != "is not allowed in a step" {
			t.Errorf("%s: details %+v", field, failure.Details)
		}
	}
	refused := s.Send(t, apitest.Request{Path: pipelines, Body: flow("", flowStep("a", "pdf.create", `{"url":"http://127.0.0.1/"}`))}).Refused(t, wire.URLNotAllowed)
	if len(refused.Details) != 1 || refused.Details[0].Field != "steps[0].input.url" {
		t.Errorf("details %+v", refused.Details)
	}
	expectEffects(t, s)
}

// TestPipelineFails has each step fail when it runs.
func TestPipelineFails(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		var want []string
		for i, id := range []string{"a", "b", "c"} {
			pages := []string{"1", "1", "1"}
			pages[i] = "9"
			failure := s.Send(t, apitest.Request{Path: pipelines, Body: flow("",
				flowStep("a", "pdf.extract", `{"file":`+inline(letters("alpha"))+`,"pages":"`+pages[0]+`"}`),
				flowStep("b", "pdf.rotate", `{"step":"a","degrees":90,"pages":"`+pages[1]+`"}`),
				flowStep("c", "pdf.rotate", `{"step":"b","degrees":90,"pages":"`+pages[2]+`"}`))}).Refused(t, wire.InvalidRequest)
			if field := fmt.Sprintf("steps[%d].input.pages", i); len(failure.Details) != 1 || failure.Details[0].Field != field {
				t.Errorf("details %+v, want %s", failure.Details, field)
			}
			if name := fmt.Sprintf("Step %s (steps[%d], pdf.", id, i); !strings.HasPrefix(failure.Message, name) {
				t.Errorf("the message is %q, want %s…", failure.Message, name)
			}
			want = append(want, flowBooks("pipelines.create", 1500, -1)...)
		}
		slices.Sort(want)
		got := s.Effects(t)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("effects are %q, want %q", got, want)
		}
		expectBalance(t, s, apitest.Trial)
	})
}

func TestPipelineCap(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	header := func(maximum string) http.Header { return http.Header{"X-Service-Max-Charge-Microdollars": {maximum}} }
	s.Send(t, apitest.Request{Path: pipelines, Body: three(""), Header: header("1499")}).Refused(t, wire.PaymentRequired)
	expectEffects(t, s)
	s.Send(t, apitest.Request{Path: pipelines, Body: three(""), Header: header("1500")}).OK(t)
	expectBalance(t, s, apitest.Trial-1500)
}

func TestPipelineReplay(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		first := withKey(t, s, "k", pipelines, three("")).OK(t)
		again := withKey(t, s, "k", pipelines, strings.Replace(three(""), `{"step":"second"}`, `{"fileId":"step:second"}`, 1)).OK(t)
		if again.Body != first.Body || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the replay has %d bytes and is %q, want %d", len(again.Body), again.Header.Get("Idempotent-Replayed"), len(first.Body))
		}
		withKey(t, s, "k", pipelines, strings.Replace(three(""), "secret", "other", 1)).Refused(t, wire.InvalidRequest)
		expectBalance(t, s, apitest.Trial-1500)
	})
}

// TestPipelineJob runs a pipeline as a job, with an upload that it pins. Only the output is stored.
func TestPipelineJob(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		upload := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: string(letters("alpha", "beta")), Header: http.Header{"X-Filename": {"two.pdf"}, "Content-Type": {"application/pdf"}}})).ID
		job := s.Enqueue(t, apitest.Request{Path: pipelines, Body: flow(`,"response":"async"`,
			flowStep("second", "pdf.extract", `{"fileId":"`+upload+`","pages":"2"}`),
			flowStep("turned", "pdf.rotate", `{"step":"second","degrees":90}`))})
		s.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/files/" + upload}).OK(t)
		s.Work(t)
		if job = s.Await(t, job.ID); job.Status != "completed" || job.Filename != "turned.pdf" {
			t.Fatalf("the job is %+v", job)
		}
		if got := words(t, s.Content(t, job.ID), ""); !slices.Equal(got, []string{"beta"}) {
			t.Errorf("the pages read %q", got)
		}
		expectBalance(t, s, apitest.Trial-1000)
		missing := s.Send(t, apitest.Request{Path: pipelines, Body: flow(`,"response":"async"`,
			flowStep("a", "pdf.rotate", `{"fileId":"file_gone","degrees":90}`))}).Refused(t, wire.InvalidRequest)
		if len(missing.Details) != 1 || missing.Details[0].Field != "steps[0].input.fileId" {
			t.Errorf("details %+v", missing.Details)
		}
	})
}

// TestPipelineOutputs returns several results as an archive.
func TestPipelineOutputs(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	answer := s.Send(t, apitest.Request{Path: pipelines, Body: flow(`,"output":["text","code","turned"],"filename":"all"`,
		flowStep("turned", "pdf.rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90,"filename":"Turned."}`),
		flowStep("text", "pdf.text", `{"step":"turned"}`),
		flowStep("code", "barcodes.create", `{"type":"qr","text":"x"}`))}).OK(t)
	archive, err := zip.NewReader(strings.NewReader(answer.Body), int64(len(answer.Body)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name)
	}
	if want := []string{"text.json", "code.png", "Turned.pdf"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
	if got := answer.Header.Get("Content-Disposition"); !strings.Contains(got, `"all.zip"`) {
		t.Errorf("Content-Disposition is %s", got)
	}
	expectBalance(t, s, apitest.Trial-1100)
}

func TestThen(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		body := func(response string) string {
			return `{"file":` + inline(letters("alpha", "beta")) + `,"pages":"2","filename":"x","response":"` + response + `","then":[
				{"op":"pdf.merge","input":{"files":[{"step":"previous"},{"file":` + inline(letters("gamma")) + `}]}},
				{"input":{"userPassword":"secret"},"op":"pdf.protect"}]}`
		}
		answer := s.Send(t, apitest.Request{Path: "/v1/pdf/extract", Body: body("binary")}).OK(t)
		if got := words(t, answer.Body, "secret"); !slices.Equal(got, []string{"beta", "gamma"}) {
			t.Errorf("the pages read %q", got)
		}
		expectEffects(t, s, flowBooks("pdf.extract", 1500, 1500)...)
		job := s.Enqueue(t, apitest.Request{Path: "/v1/pdf/extract", Body: body("async")})
		s.Work(t)
		if job = s.Await(t, job.ID); job.Status != "completed" || job.Filename != "x.pdf" {
			t.Fatalf("the job is %+v", job)
		}
		expectBalance(t, s, apitest.Trial-3000)
		failure := s.Send(t, apitest.Request{Path: "/v1/pdf/rotate", Body: `{"file":` + inline(letters("alpha")) + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":90,"pages":"9"}}]}`}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) != 1 || failure.Details[0].Field != "then[0].input.pages" {
			t.Errorf("details %+v", failure.Details)
		}
		expectBalance(t, s, apitest.Trial-3000)
	})
}

// TestFlowScopes restricts a key: it needs the operation of each step.
func TestFlowScopes(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	_, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "few", Operations: []string{"pipelines.create", "pdf.rotate"}})
	with := func(path, body string) apitest.Response {
		return s.Send(t, apitest.Request{Path: path, Body: body, Header: http.Header{"Authorization": {"Bearer " + secret}}})
	}
	turn := flowStep("a", "pdf.rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90}`)
	with(pipelines, flow("", turn)).OK(t)
	with(pipelines, flow("", turn, flowStep("b", "pdf.compress", `{"step":"a"}`))).Refused(t, wire.Unauthorized)
	with("/v1/pdf/rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90,"then":[{"op":"pdf.compress","input":{}}]}`).Refused(t, wire.Unauthorized)
	expectBalance(t, s, apitest.Trial-500*credit.Microdollar)
}

// testMarks counts the test marks of the PDFs in a result: of its pages, of its attachments, or of the entries of an archive.
func testMarks(t *testing.T, contentType, password string, content []byte) (counts []int) {
	t.Helper()
	run := func(name string, args ...string) []byte {
		out, err := exec.CommandContext(t.Context(), name, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	if contentType == "application/zip" {
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.File {
			text, err := fs.ReadFile(archive, file.Name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file.Name, ".pdf") {
				counts = append(counts, testMarks(t, "application/pdf", password, text)...)
			}
		}
		return counts
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "document.pdf")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := run("qpdf", "--password="+password, "--decrypt", "--qdf", "--object-streams=disable", file, "-")
	counts = append(counts, bytes.Count(plain, []byte("\n0.2 g 0.06000 0.06000 "))) // the band
	run("pdfdetach", "-upw", password, "-saveall", "-o", dir, file)
	run("pdfimages", "-upw", password, "-png", file, filepath.Join(dir, "image"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch path.Ext(entry.Name()) {
		case ".pdf":
			if entry.Name() != "document.pdf" {
				counts = append(counts, testMarks(t, "application/pdf", "", text)...)
			}
		case ".png":
			if len(unmarked(t, "image/png", "", text)) == 0 {
				t.Errorf("an image in the PDF has a mark")
			}
		}
	}
	return counts
}

// TestFlowOfTestKey marks what leaves a flow, and marks it once.
func TestFlowOfTestKey(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	secret := newTester(t, s)
	with := func(path, body string) apitest.Response {
		return s.Send(t, apitest.Request{Path: path, Body: body, Header: bearerOf(secret)})
	}
	file := `"file":` + inline(letters("alpha"))
	for name, c := range map[string]struct {
		path, body, contentType, password string
		marks                             []int // of the PDFs
	}{
		"a pipeline": {pipelines, three(""), "application/pdf", "secret", []int{1}},
		"two outputs": {pipelines, flow(`,"output":["turned","stamped"]`,
			flowStep("turned", "pdf.rotate", `{`+file+`,"degrees":90}`), flowStep("stamped", "pdf.stamp", `{"step":"turned","text":"x"}`)), "application/zip", "", []int{1, 1}},
		"then":            {"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.stamp","input":{"text":"x"}},{"op":"pdf.compress","input":{}}]}`, "application/pdf", "", []int{1}},
		"an image inside": {"/v1/pdf/raster", `{` + file + `,"then":[{"op":"pdf.from-images","input":{"files":[{"step":"previous"}]}}]}`, "application/pdf", "", []int{1}},
		"images": {pipelines, flow("", flowStep("turned", "pdf.rotate", `{"file":`+inline(letters("alpha", "beta"))+`,"degrees":90}`),
			flowStep("images", "pdf.raster", `{"step":"turned","pages":"1-2"}`)), "application/zip", "", nil},
		"an attachment": {pipelines, flow("", flowStep("inner", "pdf.rotate", `{`+file+`,"degrees":90}`),
			flowStep("outer", "pdf.attachments", `{`+file+`,"action":"add","files":[{"step":"inner","filename":"inner.pdf"}]}`)), "application/pdf", "", []int{1, 1}},
		"a code": {pipelines, flow("", flowStep("code", "barcodes.create", `{"type":"qr","text":"x"}`),
			flowStep("stamped", "pdf.stamp", `{`+file+`,"image":{"step":"code"}}`)), "application/pdf", "", []int{1}},
	} {
		answer := with(c.path, c.body).OK(t)
		if got := answer.Header.Get("Content-Type"); got != c.contentType {
			t.Errorf("%s: the result is %s", name, got)
		}
		if c.marks == nil {
			if found := unmarked(t, c.contentType, c.password, []byte(answer.Body)); len(found) > 0 {
				t.Errorf("%s: without a mark: %q", name, found)
			}
		} else if got := testMarks(t, c.contentType, c.password, []byte(answer.Body)); !slices.Equal(got, c.marks) {
			t.Errorf("%s: the pages have %v marks, want %v", name, got, c.marks)
		}
	}
	with(pipelines, flow("", flowStep("a", "convert.create", `{"html":"x","to":"docx"}`))).Refused(t, wire.InvalidRequest)
	expectBalance(t, s, apitest.Trial)
}

// TestFlowsCountOnce: a call with steps counts as one request.
func TestFlowsCountOnce(t *testing.T) {
	t.Parallel()
	s := toolServer(t, func(cfg *apitest.Settings) { cfg.NoRateLimits = false })
	for i, call := range []struct{ path, body string }{
		{pipelines, three("")}, {"/v1/pdf/rotate", `{"file":` + inline(letters("alpha")) + `,"degrees":90,"then":[{"op":"pdf.compress","input":{}}]}`},
	} {
		got := s.Send(t, apitest.Request{Path: call.path, Body: call.body}).OK(t)
		if left, want := got.Header.Get("RateLimit"), fmt.Sprintf(`"burst";r=%d;`, 4-i); !strings.Contains(left, want) {
			t.Errorf("%s: RateLimit is %q, want %s", call.path, left, want)
		}
	}
}

// TestFlowForms sends flows in each form of the response, with a key and a cap.
func TestFlowForms(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		then := func(response string) string {
			return `{"file":` + inline(letters("alpha", "beta")) + `,"pages":"2","filename":"x","response":"` + response + `","then":[{"op":"pdf.rotate","input":{"degrees":90}}]}`
		}
		for _, c := range []struct {
			path  string
			body  func(response string) string
			name  string
			price int
		}{
			{pipelines, func(response string) string { return three(`,"response":"` + response + `"`) }, "closed.pdf", 1500},
			{"/v1/pdf/extract", then, "x.pdf", 1000},
		} {
			limit := http.Header{"X-Service-Max-Charge-Microdollars": {strconv.Itoa(c.price - 1)}}
			before, _ := s.Balance(t)
			s.Work(t)
			for _, response := range []string{"binary", "url", "async"} {
				s.Send(t, apitest.Request{Path: c.path, Body: c.body(response), Header: limit}).Refused(t, wire.PaymentRequired)
				var first string
				for i := range 2 {
					got := withKey(t, s, c.path+response, c.path, c.body(response))
					if i == 0 {
						first = got.Header.Get("x-service-id")
					}
					if got.Status >= 300 || got.Header.Get("x-service-id") != first || (got.Header.Get("Idempotent-Replayed") == "true") != (i == 1) {
						t.Errorf("%s, %s: call %d has status %d, replayed %q: %.200s", c.path, response, i, got.Status, got.Header.Get("Idempotent-Replayed"), got.Body)
					}
				}
				if response == "async" {
					s.Await(t, first)
				}
				if got := s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/files/" + first}).OK(t).Header.Get("Content-Disposition"); !strings.Contains(got, c.name) {
					t.Errorf("%s, %s: the file is %s, want %s", c.path, response, got, c.name)
				}
			}
			if after, held := s.Balance(t); before-after != int64(3*c.price) || held != 0 {
				t.Errorf("%s: three calls cost %d with %d held, want %d", c.path, before-after, held, 3*c.price)
			}
		}
	})
}

// TestFlowCallbacks: the callback and the event of a job with steps have its result, or name the step that failed.
func TestFlowCallbacks(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		receiver := apitest.NewReceiver(t, nil)
		s.Deliver(t)
		s.NewWebhook(t, `{"url":"`+receiver.URL+`"}`)
		s.Work(t)
		for _, page := range []string{"1", "9"} {
			job := s.Enqueue(t, apitest.Request{Path: pipelines, Body: flow(`,"response":"async","callbackUrl":"`+receiver.URL+`"`,
				flowStep("a", "pdf.rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90}`),
				flowStep("b", "pdf.extract", `{"step":"a","pages":"`+page+`"}`))})
			for range 2 { // the callback and the endpoint's event
				got := receiver.Next(t)
				event := struct{ Data *wire.JobStatus }{}
				status := &wire.JobStatus{}
				if err := errors.Join(json.Unmarshal(got.Body, &event), json.Unmarshal(got.Body, status)); err != nil {
					t.Fatal(err)
				}
				status = cmp.Or(event.Data, status)
				failed := status.Error != nil && strings.HasPrefix(status.Error.Message, "Step b (steps[1], pdf.extract): pages must select")
				if status.ID != job.ID || (status.Status == "completed") != (page == "1") || failed != (page == "9") {
					t.Errorf("page %s: received %s", page, got.Body)
				}
			}
		}
		effects := flowBooks("pipelines.create", 1000, 1000)
		effects = append(effects, flowBooks("pipelines.create", 1000, -1)...)
		slices.Sort(effects)
		got := slices.DeleteFunc(s.Effects(t), func(effect string) bool {
			return !strings.HasPrefix(effect, "call ") && !strings.HasPrefix(effect, "ledger ")
		})
		if slices.Sort(got); !slices.Equal(got, effects) {
			t.Errorf("effects are %q, want %q", got, effects)
		}
		expectBalance(t, s, apitest.Trial-1000)
	})
}

// TestFlowWarnings: the response has the warnings of every step, with the step's name.
func TestFlowWarnings(t *testing.T) {
	t.Parallel()
	s := toolServer(t, func(cfg *apitest.Settings) {
		cfg.Operations = append(slices.Clone(cfg.Operations), faulty())
	})
	answer := s.Send(t, apitest.Request{Path: pipelines, Body: flow(`,"output":["a","b"],"response":"url"`, flowStep("a", "test.faulty", `{"text":"x"}`), flowStep("b", "test.faulty", `{"text":"xy"}`))}).OK(t)
	var got []string
	for _, warning := range decode[wire.FileURL](t, answer).Warnings {
		got = append(got, warning.Message)
	}
	first, second := twoFaults[0].Message, twoFaults[1].Message
	want := []string{"Step a (steps[0], test.faulty): " + first, "Step b (steps[1], test.faulty): " + first, "Step b (steps[1], test.faulty): " + second}
	if !slices.Equal(got, want) || answer.Header.Get("x-service-warnings") != "3" {
		t.Errorf("the warnings are %q and the header is %q, want %q", got, answer.Header.Get("x-service-warnings"), want)
	}
}

// waitInput is the input of an operation that does not end.
type waitInput struct {
	schema.Common
	operation.FileSource
}

// TestPipelineIsCancelled has the client leave during the second step.
func TestPipelineIsCancelled(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		begun := make(chan struct{})
		wait := schema.TypedDefinition[*operation.Deps, waitInput]{
			Info:    schema.Info{Name: "test.wait", Summary: "Wait", Price: 7, Produces: []string{"application/pdf"}},
			Example: waitInput{FileSource: operation.FileSource{File: schema.NewFile([]byte("x"))}},
			Run: func(ctx context.Context, _ *operation.Deps, _ *waitInput) (schema.Result, error) {
				close(begun)
				<-ctx.Done()
				return schema.Result{}, ctx.Err()
			},
		}
		s := toolServerOn(t, &db, func(cfg *apitest.Settings) { cfg.Operations = append(slices.Clone(cfg.Operations), wait) })
		body := flow("", flowStep("a", "pdf.rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90}`), flowStep("b", "test.wait", `{"step":"a"}`))
		ctx, leave := context.WithCancel(t.Context())
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+pipelines, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+s.Secret)
		q.Header.Set("Content-Type", "application/json")
		go func() {
			<-begun
			leave()
		}()
		if answer, err := s.HTTP.Do(q); err == nil {
			answer.Body.Close()
			t.Fatalf("got status %d", answer.StatusCode)
		}
		s.API.Calls.Wait(t.Context())
		expectEffects(t, s, strings.Replace(flowBooks("pipelines.create", 507, -1)[0], "invalid_request", "canceled", 1),
			"ledger hold wallet -507", "ledger hold held 507", "ledger release held -507", "ledger release wallet 507")
		expectBalance(t, s, apitest.Trial)
	})
}
