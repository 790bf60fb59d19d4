package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// brokenPrefix stands before the names of jobs whose last step breaks the result.
const brokenPrefix = "broken."

// testHandlers are the jobs, each of them a second time with a last step that cuts off
// the end of the results.
func testHandlers() engine.Handlers {
	handlers := job.Handlers()
	for name, handler := range job.Handlers() {
		handlers[brokenPrefix+name] = func(ctx context.Context, w *engine.Work, args json.RawMessage, body []byte) ([]byte, error) {
			result, err := handler(ctx, w, args, body)
			if err != nil {
				return nil, err
			}
			for _, made := range w.Outputs() {
				content, err := os.ReadFile(w.Path(made))
				if err != nil {
					return nil, err
				}
				const end = 200 // more than a table of objects, or a part of it
				if err := os.WriteFile(w.Path(made), content[:max(0, len(content)-end)], 0o600); err != nil {
					return nil, err
				}
			}
			return result, nil
		}
	}
	return CheckResults(handlers)
}

// writingJobs are all jobs whose result is a PDF, with arguments and files.
func writingJobs(t *testing.T) map[string]func() (args any, files [][]byte) {
	t.Helper()
	jobs := map[string]func() (any, [][]byte){}
	document, rasterImage := linked().Write(), plate(t, green, 30, 20)
	for name, args := range jobsOnOne() {
		jobs[name] = func() (any, [][]byte) { return args, [][]byte{document} }
	}
	maps.DeleteFunc(jobs, func(name string, _ func() (any, [][]byte)) bool { return slices.Contains(readingJobs(), name) })
	jobs[RemoveAttachmentsJob.Name] = func() (any, [][]byte) {
		attached := makeOne(t, AttachJob.Name, AttachArgs{Input: input(""), Files: []NewAttachment{{File: inputName(1), Filename: "a.txt"}}}, document, []byte("a"))
		return NamedAttachments{Input: input("")}, [][]byte{attached}
	}
	jobs[DeletePagesJob.Name] = func() (any, [][]byte) {
		return Selection{Input: input(""), Pages: "1"}, [][]byte{three().Write()}
	}
	jobs[UnlockJob.Name] = func() (any, [][]byte) {
		return input("u"), [][]byte{pdftest.Transform(t, document, "--encrypt", "u", "o", "256", "--")}
	}
	jobs[SetInfoJob.Name] = func() (any, [][]byte) {
		return SetInfoArgs{Input: input(""), Info: pdffile.Info{Title: "a title"}}, [][]byte{document}
	}
	for _, name := range []string{NUpJob.Name, BookletJob.Name} { // which refuse fields without an appearance
		args := jobsOnOne()[name]
		jobs[name] = func() (any, [][]byte) { return args, [][]byte{numbered(4)} }
	}
	jobs[StandardsJob.Name] = func() (any, [][]byte) { return jobsOnOne()[StandardsJob.Name], [][]byte{tagged()} }
	jobs[InvoiceJob.Name] = func() (any, [][]byte) {
		return jobsOnOne()[InvoiceJob.Name], [][]byte{document, []byte(smallInvoice)}
	}
	jobs[StampJob.Name] = func() (any, [][]byte) { return stampArgs(nil), [][]byte{document, rasterImage} }
	jobs[SignJob.Name] = func() (any, [][]byte) {
		args := signArgs(t, newSigner(t))
		wanted := unmarshal[PendingRequests](t, result(t, SignJob.Name, args, document))
		args.Responses = []Response{{RemoteRequest: wanted.Requests[0], File: inputName(1)}}
		return args, [][]byte{document, {0x30, 0}}
	}
	jobs[images.FromImagesJob.Name] = func() (any, [][]byte) { return imagesArgs(1), [][]byte{rasterImage} }
	jobs[form.FillJob.Name] = func() (any, [][]byte) {
		return form.FillArgs{Input: input("")}, [][]byte{pdftest.Load(t, "testdata/form.pdf")}
	}
	jobs[redact.Job.Name] = func() (any, [][]byte) {
		return redact.Args{Input: input(""), Areas: []redact.Area{{Page: 1, X: 10, Y: 10, Width: 40, Height: 40}}}, [][]byte{document}
	}
	return jobs
}

// readingJobs returns the jobs whose usual result is not a PDF.
func readingJobs() []string {
	return []string{InfoJob.Name, images.ConvertJob.Name, ExtractImagesJob.Name, AttachmentsJob.Name, DetachJob.Name, RasterJob.Name, TextJob.Name, form.FieldsJob.Name, archive.ClaimJob.Name, MarkdownJob.Name, CheckJob.Name, compare.Job.Name, SplitJob.Name, MetadataJob.Name, MeasureJob.Name, InvoiceReadJob.Name, VerifyJob.Name, SignKeyJob.Name, SignDigestJob.Name, SealJob.Name}
}

// TestResultsPassCheck does every job that writes a PDF: its result passes qpdf --check,
// and a result that its last step broke is none.
func TestResultsPassCheck(t *testing.T) {
	t.Parallel()
	jobs := writingJobs(t)
	for name := range job.Handlers() {
		if _, writes := jobs[name]; writes == slices.Contains(readingJobs(), name) {
			t.Errorf("%s is in none or both of the tables of jobs that write a PDF and that do not", name)
		}
	}
	for name, make := range jobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, files := make()
			result, err := runJob(t, name, args, files...)
			if err != nil {
				t.Fatal(err)
			}
			password := ""
			if name == ProtectJob.Name {
				password = "u"
			}
			if out := pdftest.Tool(t, "qpdf", "--check", "--password="+password, pdftest.Save(t, read(t, result))); strings.Contains(out, "WARNING") {
				t.Error(out)
			}
			if failed := runFailing(t, job.BrokenStructure, brokenPrefix+name, args, files...); !strings.Contains(failed.Text, "damaged PDF") {
				t.Errorf("the error is %q", failed.Text)
			}
		})
	}
}

// TestCheckKeepsDamagedData: a stream that came damaged stays as it is. A damaged source
// is not the result of a job that could not make it smaller.
func TestCheckKeepsDamagedData(t *testing.T) {
	t.Parallel()
	c := craft("q 10 0 0 10 0 0 cm /Im0 Do Q")
	c.pages[0].resources = "/XObject << /Im0 " + c.stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode", "no JPEG") + " >>"
	inData := c.write()
	sealed := pdftest.Transform(t, inData, "--encrypt", "u", "o", "256", "--")
	for password, document := range map[string][]byte{"": inData, "u": sealed} {
		makeOne(t, StampJob.Name, func() StampArgs { a := stampArgs(nil); a.Input.Password = password; return a }(), document, plate(t, green, 30, 20))
		makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input(password)}, 90}, document)
	}
	whole := three().Write()
	at := bytes.LastIndex(whole, []byte("startxref"))
	damaged := slices.Concat(whole[:at], []byte("startxref\n5\n%%EOF\n"))
	for jobName, args := range map[string]any{CompressJob.Name: input(""), OptimizeJob.Name: OptimizeArgs{Input: input("")}} {
		sound(t, makeOne(t, jobName, args, damaged), "", 3)
	}
}

// TestResultsHaveASize: of a document without a table of objects, qpdf writes one whose
// trailer lacks the /Size.
func TestResultsHaveASize(t *testing.T) {
	t.Parallel()
	for jobName, args := range map[string]any{RepairJob.Name: input(""), ExtractJob.Name: Selection{Input: input(""), Pages: "1"}} {
		result := makeOne(t, jobName, args, []byte(blankPDF))
		sound(t, result, "", 1)
		if out := pdftest.Tool(t, "qpdf", "--check", pdftest.Save(t, result)); strings.Contains(out, "WARNING") {
			t.Errorf("%s: %s", jobName, out)
		}
	}
}

// TestPasswordsIn finds what opens a result among arguments.
func TestPasswordsIn(t *testing.T) {
	args, err := json.Marshal(ProtectArgs{Input: input("one"), UserPassword: "two"})
	if err != nil {
		t.Fatal(err)
	}
	got := passwordsIn(args)
	slices.Sort(got)
	if want := []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("passwords %q, want %q", got, want)
	}
	if got := passwordsIn(json.RawMessage("{")); got != nil {
		t.Error(got)
	}
}
