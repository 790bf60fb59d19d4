package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestNumbersReachTheDocumentAsWritten sends numbers that a float64 loses digits of by every way that data has into a
// document: at once, as a job, through steps, records, stored samples and forms.
func TestNumbersReachTheDocumentAsWritten(t *testing.T) {
	t.Parallel()
	const digits = "12345678901234567890 1.10 100.00 0.0000001 1e-7 -0.50"
	written := strings.Fields(digits)
	data := fmt.Sprintf(`{"a":%s,"b":%s,"c":[%s,{"d":%s}],"e":%s,"f":%s}`, written[0], written[1], written[2], written[3], written[4], written[5])
	const html = "<p>{{a}} {{b}} {{c.[0]}} {{c.[1].d}} {{e}} {{f}}</p>"

	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		l := templateLab{toolServerOn(t, &db), t}
		made, _ := l.record(201, "POST", "", object{"name": "Numbers", "html": html})
		if answer := l.Send(t, apitest.Request{Method: "PATCH", Path: templatesPath + "/" + made.ID, Body: `{"sampleData":` + data + `}`}).OK(t); !strings.Contains(answer.Body, data) {
			t.Errorf("the sample data is stored as %s", answer.Body)
		}
		l.record(200, "POST", "/"+made.ID+"/publish", nil)
		l.Work(t)

		expect := func(way, pdf string) {
			t.Helper()
			if got := strings.Join(strings.Fields(pdfText(t, []byte(pdf))), " "); got != digits {
				t.Errorf("%s: got %q, want %q", way, got, digits)
			}
		}
		create := `"templateId":"numbers","templateData":` + data
		for way, q := range map[string]apitest.Request{
			"at once":       {Path: "/v1/pdf", Body: `{` + create + `}`},
			"with a step":   {Path: "/v1/pdf", Body: `{` + create + `,"then":[{"op":"pdf.compress","input":{}}]}`},
			"stored sample": {Path: templatesPath + "/preview", Body: `{"templateId":"numbers"}`},
			"sample sent":   {Path: templatesPath + "/preview", Body: fmt.Sprintf(`{"html":%q,"sampleData":%s}`, html, data)},
			"pipeline":      {Path: "/v1/pipelines", Body: `{"steps":[{"id":"a","op":"pdf.create","input":{` + create + `}}]}`},
		} {
			expect(way, l.Send(t, q).OK(t).Body)
		}
		for way, q := range map[string]apitest.Request{
			"job":      {Path: "/v1/pdf", Body: `{` + create + `,"response":"async"}`},
			"records":  {Path: bulkPath, Body: `{"templateId":"numbers","records":[` + data + `],"output":"merged"}`},
			"form job": {Path: "/v1/pdf/form/fill", Body: `{"file":` + formSource(t) + `,"fields":` + formValues(written) + `,"response":"async"}`},
		} {
			job := l.Await(t, l.Enqueue(t, q).ID)
			if job.Status != "completed" {
				t.Errorf("%s: %+v", way, job)
				continue
			}
			if way != "form job" {
				expect(way, l.Content(t, job.ID))
				continue
			}
			expectFormValues(t, l.Server, l.Content(t, job.ID), written)
		}
	})
}

// TestNumbersFillFormsAsWritten fills text fields with numbers.
func TestNumbersFillFormsAsWritten(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	for _, written := range [][]string{
		{"12345678901234567890", "1.10", "100.00", "1e-7"},
		{"0.0000001", "-0", "1E5", "9223372036854775808"},
		{"3.0", "0.10", "1000000000000000000000", "7"},
	} {
		filled := s.Send(t, apitest.Request{Path: "/v1/pdf/form/fill", Body: `{"file":` + formSource(t) + `,"fields":` + formValues(written) + `}`}).OK(t)
		expectFormValues(t, s, filled.Body, written)
	}
}

// formFields are text fields of the form.
var formFields = []string{"name", "address.street", "address.second", "notes"}

func formValues(written []string) string {
	var members []string
	for i, field := range formFields {
		members = append(members, fmt.Sprintf("%q:%s", field, written[i]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func expectFormValues(t *testing.T, s *apitest.Server, pdf string, written []string) {
	t.Helper()
	fields := s.Send(t, apitest.Request{Path: "/v1/pdf/form/fields", Body: `{"file":` + inline([]byte(pdf)) + `}`}).OK(t).Body
	for i, field := range formFields {
		if want := fmt.Sprintf(`{"name":%q,"type":"text","value":%q`, field, written[i]); !strings.Contains(fields, want) {
			t.Errorf("no %s in %.300s", want, fields)
		}
	}
}
