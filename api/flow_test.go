package api_test

import (
	"archive/zip"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"relaypdf/api"
	"relaypdf/api/apierror"
	"relaypdf/api/apitest"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/storetest"
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
	for _, detail := range s.Send(t, apitest.Request{Path: pipelines, Body: body}).Refused(t, apierror.InvalidRequest).Details {
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
		{pipelines, flow(`,"then":[]`, flowStep("a", "pdf.rotate", `{`+file+`,"degrees":90}`)), "then"},
		{pipelines, `{"steps":[]}`, "steps"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":1}},{"op":"pdf.stamp","input":{}}]}`, "then[0].input.degrees"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":90,"then":[]}}]}`, "then[0].input.then"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"zip.create","input":{"files":[{` + file + `,"filename":"x"}]}}]}`, "then[0].input"},
		{"/v1/pdf/rotate", `{"step":"a","degrees":90}`, "step"},
		{"/v1/pdf/info", `{` + file + `,"then":[]}`, "then"},
		{"/v1/pdf/rotate", `{` + file + `,"degrees":90,"then":[{"op":"pdf.create","input":{"url":"https://127.0.0.1/"}}]}`, "then[0].input"},
	} {
		failure := s.Send(t, apitest.Request{Path: c.path, Body: c.body}).Refused(t, apierror.InvalidRequest)
		if len(failure.Details) == 0 || failure.Details[0].Field != c.field {
			t.Errorf("%.200s: details %+v, want %s", c.body, failure.Details, c.field)
		}
	}
	refused := s.Send(t, apitest.Request{Path: pipelines, Body: flow("", flowStep("a", "pdf.create", `{"url":"http://127.0.0.1/"}`))}).Refused(t, apierror.URLNotAllowed)
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
				flowStep("c", "pdf.rotate", `{"step":"b","degrees":90,"pages":"`+pages[2]+`"}`))}).Refused(t, apierror.InvalidRequest)
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
	header := func(most string) http.Header { return http.Header{"X-Service-Max-Charge-Microdollars": {most}} }
	s.Send(t, apitest.Request{Path: pipelines, Body: three(""), Header: header("1499")}).Refused(t, apierror.PaymentRequired)
	expectEffects(t, s)
	s.Send(t, apitest.Request{Path: pipelines, Body: three(""), Header: header("1500")}).OK(t)
	expectBalance(t, s, apitest.Trial-1500)
}

// TestPipelineCostsItsResults runs a step whose price depends on its result: the most is held, and the sum is exact.
func TestPipelineCostsItsResults(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	s.Send(t, apitest.Request{Path: pipelines, Body: flow(`,"output":["data","turned"]`,
		flowStep("turned", "pdf.rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90}`),
		flowStep("data", "pdf.data", `{"step":"turned"}`))}).OK(t)
	expectEffects(t, s, flowBooks("pipelines.create", 12500, 2500)...)
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
		withKey(t, s, "k", pipelines, strings.Replace(three(""), "secret", "other", 1)).Refused(t, apierror.InvalidRequest)
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
			flowStep("a", "pdf.rotate", `{"fileId":"file_gone","degrees":90}`))}).Refused(t, apierror.InvalidRequest)
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
		failure := s.Send(t, apitest.Request{Path: "/v1/pdf/rotate", Body: `{"file":` + inline(letters("alpha")) + `,"degrees":90,"then":[{"op":"pdf.rotate","input":{"degrees":90,"pages":"9"}}]}`}).Refused(t, apierror.InvalidRequest)
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
	with(pipelines, flow("", turn, flowStep("b", "pdf.compress", `{"step":"a"}`))).Refused(t, apierror.Unauthorized)
	with("/v1/pdf/rotate", `{"file":`+inline(letters("alpha"))+`,"degrees":90,"then":[{"op":"pdf.compress","input":{}}]}`).Refused(t, apierror.Unauthorized)
	expectBalance(t, s, apitest.Trial-500*credit.Microdollar)
}

// TestFlowOfTestKey marks each result that leaves a flow.
func TestFlowOfTestKey(t *testing.T) {
	t.Parallel()
	s := toolServer(t, func(cfg *api.Config) { cfg.Dev = false })
	_, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "test", Test: true})
	with := func(body string) apitest.Response {
		return s.Send(t, apitest.Request{Path: pipelines, Body: body, Header: http.Header{"Authorization": {"Bearer " + secret}}})
	}
	answer := with(three("")).OK(t)
	if found := unmarked(t, "application/pdf", "secret", []byte(answer.Body)); len(found) > 0 {
		t.Errorf("without a mark: %q", found)
	}
	several := with(three(`,"output":["both","closed"]`)).OK(t)
	if got := several.Header.Get("Content-Type"); got != "application/zip" {
		t.Errorf("several results are %s", got)
	}
	with(flow("", flowStep("a", "convert.create", `{"html":"x","to":"docx"}`))).Refused(t, apierror.InvalidRequest)
	expectBalance(t, s, apitest.Trial)
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
		wait := schema.Spec[*operation.Deps, waitInput]{
			Info:    schema.Info{Name: "test.wait", Summary: "Wait", Price: 7, Produces: []string{"application/pdf"}},
			Example: waitInput{FileSource: operation.FileSource{File: schema.NewFile([]byte("x"))}},
			Run: func(ctx context.Context, _ *operation.Deps, _ *waitInput) (schema.Result, error) {
				close(begun)
				<-ctx.Done()
				return schema.Result{}, ctx.Err()
			},
		}
		s := toolServerOn(t, &db, func(cfg *api.Config) { cfg.Operations = append(slices.Clone(cfg.Operations), wait) })
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
		expectEffects(t, s, strings.Replace(flowBooks("pipelines.create", 507, -1)[0], "invalid_request", "internal_error", 1),
			"ledger hold wallet -507", "ledger hold held 507", "ledger release held -507", "ledger release wallet 507")
		expectBalance(t, s, apitest.Trial)
	})
}
