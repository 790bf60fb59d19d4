package pdf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// TestMain makes this program its own engine.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := engine.Serve(os.Stdin, os.Stdout, testHandlers()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testMain(m))
}

// pool is the engine of all tests: starting a child takes longer than most jobs.
var pool *engine.Pool

func testMain(m *testing.M) int {
	var err error
	if pool, err = engine.Start(engine.Config{Memory: engineMemory}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer pool.Close()
	return m.Run()
}

// runJob runs a job on files and returns what it made.
func runJob(t testing.TB, name string, args any, files ...[]byte) (engine.Result, error) {
	t.Helper()
	jobValue := engine.Job{Name: name, Args: args, MaxOutput: job.MaxBytes}
	for i, content := range files {
		jobValue.Files = append(jobValue.Files, engine.File{Name: inputName(i), Content: spool.FromBytes(content)})
	}
	result, err := pool.Run(t.Context(), jobValue)
	if err == nil {
		t.Cleanup(func() { _ = result.Close() })
	}
	if archived, is := args.(archive.Args); is && err == nil {
		passesCheck(t, archived.Level, read(t, result))
	}
	return result, job.FromJob(err)
}

func inputName(i int) string { return fmt.Sprintf("in%d.pdf", i) }

// input is the first file of a job.
func input(password string) job.Input { return job.Input{Name: inputName(0), Password: password} }

// makeOne runs a job whose result is one PDF, which must be sound.
func makeOne(t testing.TB, name string, args any, files ...[]byte) []byte {
	t.Helper()
	result, err := runJob(t, name, args, files...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return read(t, result)
}

// read returns the only output of a job.
func read(t testing.TB, result engine.Result) []byte {
	t.Helper()
	content, err := io.ReadAll(result.Output(0).Open())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// runFailing runs a job that must fail with an *Error.
func runFailing(t testing.TB, want job.Kind, name string, args any, files ...[]byte) *job.Error {
	t.Helper()
	_, err := runJob(t, name, args, files...)
	var failed *job.Error
	if !errors.As(err, &failed) || failed.Kind != want {
		t.Fatalf("%s: error %v, want %s", name, err, want)
	}
	return failed
}

// sound fails the test unless qpdf, poppler and MuPDF can all read a document
// of so many pages.
func sound(t testing.TB, content []byte, password string, pages int) {
	t.Helper()
	path := pdftest.Save(t, content)
	pdftest.Tool(t, "qpdf", "--check", "--password="+password, path)
	about := pdftest.Tool(t, "pdfinfo", "-upw", password, "-opw", password, path)
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^Pages: +%d$`, pages)).MatchString(about) {
		t.Errorf("poppler does not see %d pages:\n%s", pages, about)
	}
	if got, want := strings.Count(pdftest.Tool(t, "mutool", "pages", "-p", password, path), "<page "), pages; got != want {
		t.Errorf("MuPDF sees %d pages, want %d", got, want)
	}
}

// pageTexts returns the first line of each page.
func pageTexts(t testing.TB, content []byte, password string) []string {
	t.Helper()
	pages := strings.Split(pdftest.Tool(t, "pdftotext", "-upw", password, pdftest.Save(t, content), "-"), "\f")
	for i := range pages {
		pages[i], _, _ = strings.Cut(strings.TrimSpace(pages[i]), "\n")
	}
	return pages[:len(pages)-1]
}

// source is a document written by hand.
type source = pdftest.Source

// three is a plain document.
func three() source { return pdftest.Three() }

// linked has an outline, links and fields.
func linked() source { return pdftest.Linked() }

// outlineOf returns the outline of a document as lines "title → page", indented
// by level.
func outlineOf(t testing.TB, content []byte) []string {
	t.Helper()
	var s job.Structure
	if err := json.Unmarshal([]byte(pdftest.Tool(t, "qpdf", "--json=2", "--json-key=outlines", pdftest.Save(t, content))), &s); err != nil {
		t.Fatal(err)
	}
	var lines []string
	var walk func(items []pdffile.OutlineItem, indent string)
	walk = func(items []pdffile.OutlineItem, indent string) {
		for _, item := range items {
			page := "-"
			if item.Page != nil {
				page = fmt.Sprint(*item.Page)
			}
			lines = append(lines, indent+item.Title+" "+page)
			walk(item.Kids, indent+"  ")
		}
	}
	walk(s.Outlines, "")
	return lines
}
