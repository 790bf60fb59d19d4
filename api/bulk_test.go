package api_test

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

const bulkPath = "/v1/pdf/bulk"

// bulkLab is a server with a template that shows name, and fails in strict mode without it.
func bulkLab(t *testing.T, db *storetest.DB, changes ...func(*apitest.Settings)) templateLab {
	t.Helper()
	l := templateLab{toolServerOn(t, db, changes...), t}
	made, tag := l.record(201, "POST", "", object{"name": "Letter", "html": "<p>{{name}}</p>", "options": object{"format": "A6"}})
	l.record(200, "POST", "/"+made.ID+"/publish", object{}, "If-Match", tag)
	return l
}

// named writes records of names. An empty one has none, which fails in strict mode.
func named(names ...string) []object {
	var list []object
	for _, name := range names {
		record := object{"name": name}
		if name == "" {
			record = object{}
		}
		list = append(list, record)
	}
	return list
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}

func (l templateLab) bulk(more object) wire.JobStatus {
	l.t.Helper()
	input := object{"templateId": "letter", "strict": true}
	for name, value := range more {
		input[name] = value
	}
	body, err := json.Marshal(input)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.Enqueue(l.t, apitest.Request{Path: bulkPath, Body: string(body)})
}

// unpacked returns the names and contents of an archive.
func unpacked(t *testing.T, content string) (names []string, files map[string]string) {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, file.Name)
		files[file.Name] = string(text)
	}
	return names, files
}

func (l templateLab) expectProgress(job wire.JobStatus, total, processed, failed int) {
	l.t.Helper()
	if job.BulkStatus == nil || job.Total != total || job.Processed != processed || job.BulkStatus.Failed != failed {
		l.t.Errorf("the progress of %+v is %+v, want %d of %d, %d failed", job, job.BulkStatus, processed, total, failed)
	}
}

// TestBulkZip: each record is a document, a failed one is reported, free of charge, and does not stop the others.
func TestBulkZip(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		job := l.bulk(object{"records": named("Ada & Co", "", "Bo"), "filenamePattern": "letter-{{name}}", "filename": "letters"})
		l.expectProgress(l.Job(t, job.ID), 3, 0, 0)
		if balance, held := l.Balance(t); held != 6000 || balance != int64(apitest.Trial-6000) {
			t.Errorf("%d is held, want 6000", held)
		}
		l.Work(t)
		job = l.Await(t, job.ID)
		if job.Status != wire.JobCompleted || job.Filename != "letters.zip" {
			t.Fatalf("the job is %+v, its error %+v", job, job.Error)
		}
		l.expectProgress(job, 3, 3, 1)
		if len(job.Errors) != 1 || job.Errors[0].Index != 1 || job.Errors[0].Code != "invalid_request" || !strings.Contains(job.Errors[0].Message, "name") {
			t.Errorf("the errors are %+v", job.Errors)
		}
		names, files := unpacked(t, l.Content(t, job.ID))
		if want := []string{"errors.json", "letter-Ada & Co.pdf", "letter-Bo.pdf"}; !slices.Equal(names, want) {
			t.Errorf("the archive has %q, want %q", names, want)
		}
		if got := words(t, files["letter-Ada & Co.pdf"], ""); !slices.Equal(got, []string{"Ada", "&", "Co"}) {
			t.Errorf("the document reads %q", got)
		}
		expectEffects(t, l.Server, "call pdf.bulk done charged 4000", "ledger hold wallet -6000", "ledger hold held 6000",
			"ledger settle held -4000", "ledger settle revenue 4000", "ledger settle held -2000", "ledger settle wallet 2000",
			"job ended tries 1", fmt.Sprintf("file letters.zip %d", job.SizeBytes), fmt.Sprintf("blob %d", job.SizeBytes))
	})
}

// TestBulkMerged: the documents are one PDF in the order of the records, each after its steps.
func TestBulkMerged(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		for _, n := range []int{1, 2, 120} {
			job := l.bulk(object{"records": named(numbered(n)...), "output": "merged", "then": []object{{"op": "pdf.rotate", "input": object{"degrees": 90}}}})
			l.Work(t)
			job = l.Await(t, job.ID)
			if job.Status != wire.JobCompleted || job.Filename != "documents.pdf" {
				t.Fatalf("the job is %+v, its error %+v", job, job.Error)
			}
			if got := words(t, l.Content(t, job.ID), ""); !slices.Equal(got, numbered(n)) {
				t.Errorf("the pages read %q", got)
			}
			call, err := l.Store.CallByResult(t.Context(), job.ID)
			if want := credit.Amount(2500 * n); err != nil || call.Charge != want || call.Quote != want {
				t.Errorf("charged %v of %v, want %v; %v", call.Charge, call.Quote, want, err)
			}
		}
	})
}

// TestBulkPagedCSS: the page numbers and running headings of each document are its own, and its links stay in it.
func TestBulkPagedCSS(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		made, tag := l.record(201, "POST", "", object{"name": "Book", "options": object{"format": "A6"}, "html": `<style>@page { margin: 2cm; @top-left { content: "of " string(s) } }
		h2 { break-before: page; string-set: s content() } .toc a::after { content: target-counter(attr(href), page) }</style><h1>T</h1>{{toc}}
		{{#each parts}}<h2>{{this}}</h2>{{#unless @last}}<p style="break-before: page">more</p>{{/unless}}{{/each}}`})
		l.record(200, "POST", "/"+made.ID+"/publish", object{}, "If-Match", tag)
		var records []object
		for _, name := range []string{"a", "b", "c"} {
			records = append(records, object{"parts": []string{name + "1", name + "2", name + "3"}})
		}
		job := l.bulk(object{"templateId": "book", "records": records, "output": "merged"})
		l.Work(t)
		job = l.Await(t, job.ID)
		if job.Status != wire.JobCompleted {
			t.Fatalf("the job is %+v, its error %+v", job, job.Error)
		}
		content := l.Content(t, job.ID)
		got := strings.Join(words(t, content, ""), " ")
		for _, name := range []string{"a", "b", "c"} {
			// Each document has six pages: its contents on the first, and headings on the second, fourth and sixth.
			for part, page := range []int{2, 4, 6} {
				if entry := fmt.Sprintf("%s%d%d", name, part+1, page); !strings.Contains(got, entry) {
					t.Errorf("no entry %s in %q", entry, got)
				}
				if heading := fmt.Sprintf("of %s%d", name, part+1); !strings.Contains(got, heading) {
					t.Errorf("no heading %s in %q", heading, got)
				}
			}
		}
		if len(job.Errors) > 0 {
			t.Errorf("the errors are %+v", job.Errors)
		}
	})
}

// TestBulkFiles: a form is filled from a table, and each document has a URL.
func TestBulkFiles(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		table := send(t, l.Server, "name,colour\nAda,red\nBo,blue\n")
		body := fmt.Sprintf(`{"templateId":"letter","fileId":%q,"output":"files","quote":true}`, table)
		quote := l.Send(t, apitest.Request{Path: bulkPath, Body: body}).OK(t)
		if got := decode[operation.BulkQuote](t, quote); got != (operation.BulkQuote{Records: 2, AmountMicrodollars: 4000}) || quote.Header.Get("x-service-charged-microdollars") != "0" {
			t.Errorf("the quote is %+v, charged %s", got, quote.Header.Get("x-service-charged-microdollars"))
		}
		job := l.bulk(object{"fileId": table, "output": "files", "filenamePattern": "{{colour}}.pdf"})
		l.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/files/" + table}).OK(t) // The job has pinned it.
		l.Work(t)
		job = l.Await(t, job.ID)
		if job.Status != wire.JobCompleted || job.Filename != "documents.json" {
			t.Fatalf("the job is %+v, its error %+v", job, job.Error)
		}
		var list operation.BulkReport
		if err := json.Unmarshal([]byte(l.Content(t, job.ID)), &list); err != nil || len(list.Documents) != 2 || len(list.Errors) != 0 {
			t.Fatalf("the list is %+v, %v", list, err)
		}
		for i, document := range list.Documents {
			want := []struct{ name, word string }{{"red.pdf", "Ada"}, {"blue.pdf", "Bo"}}[i]
			file := l.Send(t, apitest.Request{Method: http.MethodGet, Path: strings.TrimPrefix(document.URL, l.URL), Header: http.Header{"Authorization": nil}}).OK(t)
			if document.Index != i || document.Filename != want.name || document.SizeBytes != int64(len(file.Body)) || !slices.Equal(words(t, file.Body, ""), []string{want.word}) {
				t.Errorf("document %d is %+v", i, document)
			}
		}
	})
}

// TestBulkForm fills a PDF form from a table whose columns are the names of its fields.
func TestBulkForm(t *testing.T) {
	t.Parallel()
	l := bulkLab(t, nil)
	content, err := os.ReadFile("../render/pdf/testdata/form.pdf")
	if err != nil {
		t.Fatal(err)
	}
	form, bare := send(t, l.Server, string(content)), send(t, l.Server, string(letters("alpha")))
	table := send(t, l.Server, "name,country\nŁukasz,Japan\nAda,Atlantis\nBo,Japan\n")
	l.Work(t)
	job := l.Await(t, l.Enqueue(t, apitest.Request{Path: bulkPath, Body: fmt.Sprintf(`{"form":{"fileId":%q,"flatten":true},"fileId":%q,"filenamePattern":"{{name}}"}`, form, table)}).ID)
	if job.Status != wire.JobCompleted {
		t.Fatalf("the job is %+v, its error %+v", job, job.Error)
	}
	l.expectProgress(job, 3, 3, 1)
	if len(job.Errors) != 1 || job.Errors[0].Index != 1 || !strings.Contains(job.Errors[0].Message, "records[1].country") {
		t.Errorf("the errors are %+v", job.Errors)
	}
	names, files := unpacked(t, l.Content(t, job.ID))
	if want := []string{"errors.json", "Łukasz.pdf", "Bo.pdf"}; !slices.Equal(names, want) {
		t.Fatalf("the archive has %q, want %q", names, want)
	}
	for _, name := range []string{"Łukasz", "Bo"} {
		if got := words(t, files[name+".pdf"], ""); !slices.Contains(got, name) || !slices.Contains(got, "Japan") {
			t.Errorf("the form of %s reads %q", name, got)
		}
	}
	expectBalance(t, l.Server, apitest.Trial-1000)
	job = l.Await(t, l.Enqueue(t, apitest.Request{Path: bulkPath, Body: fmt.Sprintf(`{"form":{"fileId":%q},"fileId":%q}`, bare, table)}).ID)
	if job.Status != wire.JobFailed || !strings.HasPrefix(job.Error.Message, "All 3 records failed. Record 0: ") {
		t.Errorf("the job without a form is %+v, its error %+v", job, job.Error)
	}
	expectBalance(t, l.Server, apitest.Trial-1000)
}

// TestBulkLinks: the URLs of the result, and of its documents, work as often and as long as the call asks.
func TestBulkLinks(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		l.Work(t)
		job := l.bulk(object{"records": named("Ada", "Bo"), "output": "files", "expiresIn": 120, "maxDownloads": 1})
		job = l.Await(t, job.ID)
		if job.MaxDownloads != 1 || job.ExpiresAt == nil || job.ExpiresAt.Sub(l.Clock.Now()).Round(time.Second) != 2*time.Minute {
			t.Errorf("the job is %+v", job)
		}
		var list operation.BulkReport
		if err := json.Unmarshal([]byte(download(t, l.Server, job.ID, nil).OK(t).Body), &list); err != nil || len(list.Documents) != 2 {
			t.Fatalf("the list is %+v, %v", list, err)
		}
		ada, bo := list.Documents[0].ID, list.Documents[1].ID
		if got := download(t, l.Server, ada, nil).OK(t).Body; !slices.Equal(words(t, got, ""), []string{"Ada"}) {
			t.Errorf("the first document reads %q", words(t, got, ""))
		}
		for _, used := range []string{job.ID, ada} {
			download(t, l.Server, used, nil).Refused(t, wire.NotFound)
		}
		l.Clock.Advance(2 * time.Minute)
		download(t, l.Server, bo, nil).Refused(t, wire.NotFound)
	})
}

// TestBulkTakesTurns: after 10 seconds a bulk job lets the other jobs of its account go first.
func TestBulkTakesTurns(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var l templateLab
		var chunks atomic.Int64
		other := make(chan string, 1)
		l = bulkLab(t, &db, func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				switch {
				case step != "chunk":
				case chunks.Add(1) == 1:
					l.Clock.Advance(11 * time.Second)
					other <- l.Enqueue(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"x","response":"async"}`}).ID
				default:
					id := <-other
					if got := l.Job(t, id); got.Status != wire.JobCompleted {
						t.Errorf("the other job is %+v", got)
					}
				}
			}
		})
		job := l.bulk(object{"records": named(numbered(100)...), "output": "merged"})
		l.WorkBy(t, 1)
		job = l.Await(t, job.ID)
		if got := words(t, l.Content(t, job.ID), ""); job.Status != wire.JobCompleted || !slices.Equal(got, numbered(100)) {
			t.Errorf("the job is %+v with %q", job, got)
		}
		expectBalance(t, l.Server, apitest.Trial-202_000)
	})
}

// TestSlowBulkSettles: records that take long are settled in smaller chunks, so that another job waits for no longer.
func TestSlowBulkSettles(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var l templateLab
		l = bulkLab(t, &db, func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				if step == "worked" {
					l.Clock.Advance(6 * time.Second)
				}
			}
		})
		job := l.bulk(object{"records": named(numbered(9)...), "output": "merged"})
		l.WorkBy(t, 1)
		job = l.Await(t, job.ID)
		if got := words(t, l.Content(t, job.ID), ""); job.Status != wire.JobCompleted || !slices.Equal(got, numbered(9)) {
			t.Errorf("the job is %+v with %q", job, got)
		}
		if chunks, err := l.Store.Chunks(t.Context(), store.CallID(job.ID)); err != nil || len(chunks) < 3 {
			t.Errorf("got %d chunks, %v, want at least 3", len(chunks), err)
		}
		expectBalance(t, l.Server, apitest.Trial-18_000)
	})
}

// TestBulkFails: with onError fail one failed record makes the job fail, and free, whatever was settled before.
func TestBulkFails(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		l.Work(t)
		job := l.bulk(object{"records": named(append(numbered(60), "")...), "onError": "fail"})
		job = l.Await(t, job.ID)
		if job.Status != wire.JobFailed || job.Error.Code != "invalid_request" || job.Error.Message != "records[60] is missing values that the template uses: name." {
			t.Errorf("the job is %+v, its error %+v", job, job.Error)
		}
		l.expectProgress(job, 61, 50, 0)
		job = l.bulk(object{"records": named("", "")})
		job = l.Await(t, job.ID)
		if job.Status != wire.JobFailed || job.Error.Message != "All 2 records failed. records[0] is missing values that the template uses: name." {
			t.Errorf("the job is %+v, its error %+v", job, job.Error)
		}
		expectBalance(t, l.Server, apitest.Trial)
	})
}

// TestFreeBulkIsLimited: jobs with onError fail are free if they fail, so the documents that they make before are limited,
// for one job and for a day. Other bulk jobs are not.
func TestFreeBulkIsLimited(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db, func(cfg *apitest.Settings) { cfg.NoRateLimits = false })
		at := apitest.Request{Path: bulkPath}
		send := func(records int, more string) apitest.Response {
			at.Body = `{"templateId":"letter","records":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, records), ",") + `]` + more + `}`
			l.Clock.Advance(time.Minute) // past the limits of requests
			return l.Send(t, at)
		}
		accepted := func(got apitest.Response) {
			t.Helper()
			if got.Status != http.StatusAccepted {
				t.Errorf("status %d: %s", got.Status, got.Body)
			}
		}
		for _, more := range []string{`,"onError":"fail"`, `,"onError":"fail","quote":true`} {
			if refused := send(1001, more).Refused(t, wire.InvalidRequest); len(refused.Details) != 1 || refused.Details[0].Field != "onError" {
				t.Errorf("1001 records: %+v", refused)
			}
		}
		send(1001, `,"quote":true`).OK(t)
		send(1000, `,"onError":"fail","quote":true`).OK(t)

		// A job that has failed after 1,000 documents, as the store has it.
		failed := l.bulk(object{"records": named(numbered(2)...), "onError": "fail"})
		end := func(code string, made int) {
			execute(t, db, "UPDATE calls SET status = 'failed', error_code = '"+code+"' WHERE result_id = '"+failed.ID+"'")
			execute(t, db, fmt.Sprintf("UPDATE bulks SET total = 9999, processed = %d, failed = 1 WHERE call_id = '%s'", made+1, store.CallID(failed.ID)))
		}
		for _, harmless := range []struct {
			code string
			made int
		}{{"render_failed", 999}, {"internal_error", 5000}, {"storage_unavailable", 5000}} {
			end(harmless.code, harmless.made)
			accepted(send(1, `,"onError":"fail"`))
		}
		end("render_failed", 1000)
		if refused := send(1, `,"onError":"fail"`).Refused(t, wire.RateLimited); !strings.Contains(refused.Message, "1000 documents") {
			t.Errorf("after 1,000 free documents: %+v", refused)
		}
		send(1, `,"onError":"fail","quote":true`).OK(t)
		accepted(send(1, ``))
		l.Clock.Advance(24 * time.Hour)
		accepted(send(1, `,"onError":"fail"`))

		// The job has its hold, so it runs in the books.
		execute(t, db, "UPDATE calls SET status = 'running', error_code = '' WHERE result_id = '"+failed.ID+"'")
		execute(t, db, "UPDATE bulks SET total = 2, processed = 0, failed = 0 WHERE call_id = '"+store.CallID(failed.ID)+"'")
	})
}

// execute runs a statement on a database that a store has opened.
func execute(t *testing.T, db storetest.DB, statement string) {
	t.Helper()
	driver, source := "pgx", db.URL
	if path, ok := strings.CutPrefix(db.URL, "sqlite://"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(60000)"
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	if _, err := pool.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestBulkIsRefused(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		for body, want := range map[string]string{
			`{}`:                                   "records",
			`{"templateId":"letter","records":[]}`: "records",
			`{"templateId":"letter","records":[{}],"fileId":"x"}`:                                                "fileId",
			`{"templateId":"letter","form":{"fileId":"x"},"records":[{}]}`:                                       "form",
			`{"templateId":"letter","records":[{}],"response":"url"}`:                                            "response",
			`{"templateId":"letter","records":[{}],"output":"merged","filenamePattern":"x"}`:                     "filenamePattern",
			`{"templateId":"letter","records":[{}],"filenamePattern":"{{#if}"}`:                                  "filenamePattern",
			`{"templateId":"letter","records":[{}],"output":"merged","then":[{"op":"pdf.raster","input":{}}]}`:   "output",
			`{"templateId":"letter","records":[{}],"then":[{"op":"pdf.bulk","input":{}}]}`:                       "then[0].op",
			`{"templateId":"letter","fileId":"file_unknown"}`:                                                    "fileId",
			`{"templateId":"letter","fileId":"` + send(t, l.Server, "a,a\n1,2\n") + `"}`:                         "fileId",
			`{"templateId":"letter","records":[` + strings.TrimSuffix(strings.Repeat("{},", 10_001), ",") + `]}`: "records",
		} {
			refused := l.Send(t, apitest.Request{Path: bulkPath, Body: body}).Refused(t, wire.InvalidRequest)
			if !slices.ContainsFunc(refused.Details, func(d wire.Detail) bool { return d.Field == want }) {
				t.Errorf("%.100s: the errors are %+v, want %s", body, refused.Details, want)
			}
		}
		l.Send(t, apitest.Request{Path: bulkPath, Body: `{"templateId":"unknown","records":[{}]}`}).Refused(t, wire.NotFound)
		expectBalance(t, l.Server, apitest.Trial)
	})
}

// TestCancelJob: a job that waits fails and is free; a bulk job is charged for what it has made, and delivers it.
func TestCancelJob(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var l templateLab
		var canceled atomic.Pointer[string]
		l = bulkLab(t, &db, func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				if id := canceled.Swap(nil); step == "chunk" && id != nil {
					job := decode[wire.JobStatus](t, l.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/jobs/" + *id}).OK(t))
					if job.Status != wire.JobProcessing || job.BulkStatus == nil || !job.Canceled {
						t.Errorf("the cancelled job is %+v", job)
					}
				} else if id != nil {
					canceled.Store(id)
				}
			}
		})
		waiting := l.Enqueue(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"x","response":"async"}`})
		job := decode[wire.JobStatus](t, l.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/jobs/" + waiting.ID}).OK(t))
		if job.Status != wire.JobFailed || job.Error.Code != "canceled" {
			t.Errorf("the cancelled job is %+v", job)
		}
		expectBalance(t, l.Server, apitest.Trial)

		job = l.bulk(object{"records": named(numbered(160)...), "output": "merged"})
		canceled.Store(&job.ID)
		l.Work(t)
		job = l.Await(t, job.ID)
		l.expectProgress(job, 160, 100, 0)
		if got := words(t, l.Content(t, job.ID), ""); job.Status != wire.JobCompleted || !job.Canceled || !slices.Equal(got, numbered(100)) {
			t.Errorf("the job is %+v with %q", job, got)
		}
		expectBalance(t, l.Server, apitest.Trial-200_000)
		again := decode[wire.JobStatus](t, l.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/jobs/" + job.ID}).OK(t))
		if again.Status != wire.JobCompleted {
			t.Errorf("a job that has ended is %+v", again)
		}
		_, _, other := l.NewAccount(t, "other@example.com")
		l.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/jobs/" + job.ID, Header: http.Header{"Authorization": {"Bearer " + other}}}).Refused(t, wire.NotFound)
	})
}

// TestBulkContinues: a worker that stops after a chunk leaves the job to another, which begins with the next chunk.
func TestBulkContinues(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var chunks atomic.Int64
		reached, proceed := make(chan struct{}, 1), make(chan struct{})
		l := bulkLab(t, &db, func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				if step == "chunk" && chunks.Add(1) == 1 {
					reached <- struct{}{}
					<-proceed
				}
			}
		})
		job := l.bulk(object{"records": named(numbered(120)...), "output": "merged"})
		l.Work(t)
		<-reached
		l.Clock.Advance(10 * time.Second)
		running := l.Job(t, job.ID)
		l.expectProgress(running, 120, 50, 0)
		if running.ETASeconds == nil || *running.ETASeconds != 14 {
			t.Errorf("50 of 120 records took 10 s, and the rest is estimated at %v", running.ETASeconds)
		}
		call, err := l.Store.CallByResult(t.Context(), job.ID)
		if err != nil || call.Charge != 100_000 {
			t.Errorf("while it runs %v is charged, %v", call.Charge, err)
		}
		l.Clock.Advance(store.LeaseTerm + time.Minute) // The process counts as dead, and another one takes the job on.
		l.API.Calls.Reaper().Once(t.Context())
		close(proceed)
		job = l.Await(t, job.ID)
		if got := words(t, l.Content(t, job.ID), ""); job.Status != wire.JobCompleted || !slices.Equal(got, numbered(120)) {
			t.Errorf("the job is %+v with %q", job, got)
		}
		expectBalance(t, l.Server, apitest.Trial-240_000)
	})
}

// TestBulkCountsTriesByChunk: the storage fails in each chunk once. The job has its three tries again after each.
func TestBulkCountsTriesByChunk(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		const records = 20 // in chunks of at most four
		var l templateLab
		l = bulkLab(t, &db, func(cfg *apitest.Settings) {
			cfg.StorageTime = time.Nanosecond
			cfg.Store = db.OpenAs(t, store.Config{Now: cfg.Now, Blobs: &flakyBlobs{Store: cfg.Store.Blobs()}})
			cfg.AfterStep = func(step string) {
				if step == "worked" {
					l.Clock.Advance(6 * time.Second)
				}
			}
		})
		job := l.bulk(object{"records": named(numbered(records)...), "output": "merged"})
		l.WorkBy(t, 1)
		job = l.Await(t, job.ID)
		if got := words(t, l.Content(t, job.ID), ""); job.Status != wire.JobCompleted || !slices.Equal(got, numbered(records)) {
			t.Errorf("the job is %+v, its error %+v", job, job.Error)
		}
		effects := strings.Join(l.Effects(t), "\n")
		if tries, err := strconv.Atoi(ended.FindStringSubmatch(effects)[1]); err != nil || tries <= store.MaxTries {
			t.Errorf("effects are\n%s", effects)
		}
		expectBalance(t, l.Server, apitest.Trial-records*2000)
	})
}

// flakyBlobs fails to write the documents of each chunk twice.
type flakyBlobs struct {
	blob.Store
	failed sync.Map
}

// chunkRecord finds the first record in the key of a chunk: see store.ChunkKey.
var chunkRecord = regexp.MustCompile(`-\d+-(\d+)$`)

func (b *flakyBlobs) Put(ctx context.Context, key string, content io.Reader) (int64, error) {
	if found := chunkRecord.FindStringSubmatch(key); found != nil {
		times, _ := b.failed.LoadOrStore(found[1], new(atomic.Int64))
		if times.(*atomic.Int64).Add(1) <= 2 { // all are
			return 0, errors.New("the storage is away")
		}
	}
	return b.Store.Put(ctx, key, content)
}

// TestBulkWithTestKey: documents have the test mark and are free, and each record counts as a call.
func TestBulkWithTestKey(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		header := bearerOf(newTester(t, l.Server))
		few := `{"templateId":"letter","records":[{"name":"Ada"},{"name":"Bo"}],"output":"merged"}`
		answer := l.Send(t, apitest.Request{Path: bulkPath, Body: few, Header: header})
		if answer.Status != http.StatusAccepted {
			t.Fatalf("got %d %s", answer.Status, answer.Body)
		}
		l.Work(t)
		job := l.Await(t, decode[wire.JobStatus](t, answer).ID)
		content := l.Content(t, job.ID)
		if plain := unmarked(t, "application/pdf", "", []byte(content)); len(plain) > 0 {
			t.Errorf("%v have no test mark", plain)
		}
		if got := words(t, content, ""); !slices.Equal(got, []string{"Ada", "Bo"}) {
			t.Errorf("the pages read %q", got)
		}
		many := `{"templateId":"letter","records":[` + strings.TrimSuffix(strings.Repeat("{},", operation.MaxTestRecords+1), ",") + `]}`
		l.Send(t, apitest.Request{Path: bulkPath, Body: many, Header: header}).Refused(t, wire.InvalidRequest)
		expectBalance(t, l.Server, apitest.Trial)
	})
}

// TestBulkDelivers: the result of a bulk job reaches its destination. If that refuses it, the records that were charged
// are returned.
func TestBulkDelivers(t *testing.T) {
	t.Parallel()
	files := fakes3.Start(t)
	endpoint := files.TLS(t)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := bulkLab(t, &db)
		l.Work(t)
		receiver := apitest.NewReceiver(t, answers(nil, http.StatusCreated))
		job := l.Await(t, l.bulk(object{"records": named("Ada", "Bo"), "output": "merged", "deliverTo": object{"url": receiver.URL}}).ID)
		if job.Status != wire.JobCompleted || job.Delivered == nil || job.Delivered.StatusCode != http.StatusCreated {
			t.Errorf("the job is %+v, delivered %+v", job, job.Delivered)
		}
		if got := receiver.Next(t); !bytes.HasPrefix(got.Body, []byte("%PDF-")) || string(got.Body) != l.Content(t, job.ID) {
			t.Errorf("received %d bytes of %s", len(got.Body), got.Header.Get("Content-Type"))
		}
		bucket := newConnection(t, l.Server, bucketBody("archive", endpoint, fakes3.AccessKey, fakes3.SecretKey))
		job = l.Await(t, l.bulk(object{"records": named("Ada", "Bo"), "output": "merged", "deliverTo": object{"s3": object{"connection": bucket.ID, "key": "{{operation}}/{{id}}.{{extension}}"}}}).ID)
		key := "pdf.bulk/" + job.ID + ".pdf"
		if job.Status != wire.JobCompleted || job.Delivered == nil || job.Delivered.Key != key {
			t.Fatalf("the job is %+v, delivered %+v", job, job.Delivered)
		}
		if got := objectOf(t, files, "out/"+key); got != l.Content(t, job.ID) {
			t.Errorf("the object has %d bytes", len(got))
		}
		before, _ := l.Balance(t)
		refusing := apitest.NewReceiver(t, answers(nil, http.StatusForbidden))
		job = l.Await(t, l.bulk(object{"records": named("Ada", "Bo"), "deliverTo": object{"url": refusing.URL}}).ID)
		if job.Status != wire.JobFailed || job.Error.Code != "delivery_failed" {
			t.Errorf("the job is %+v, its error %+v", job, job.Error)
		}
		if after, held := l.Balance(t); after != before || held != 0 {
			t.Errorf("the balance is %d with %d held, want %d and 0", after, held, before)
		}
	})
}
