package pdf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"relaypdf/render/engine"
	"relaypdf/render/spool"
)

// TestMain makes this program its own engine.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := engine.Serve(os.Stdin, os.Stdout, Handlers()); err != nil {
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
	if pool, err = engine.Start(engine.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer pool.Close()
	return m.Run()
}

// do runs a job on files and returns what it made.
func do(t testing.TB, name string, args any, files ...[]byte) (engine.Result, error) {
	t.Helper()
	job := engine.Job{Name: name, Args: args, MaxOutput: MaxBytes}
	for i, content := range files {
		job.Files = append(job.Files, engine.File{Name: inputName(i), Content: spool.FromBytes(content)})
	}
	result, err := pool.Run(t.Context(), job)
	if err == nil {
		t.Cleanup(func() { _ = result.Close() })
	}
	return result, FromJob(err)
}

func inputName(i int) string { return fmt.Sprintf("in%d.pdf", i) }

// input is the first file of a job.
func input(password string) Input { return Input{Name: inputName(0), Password: password} }

// make1 runs a job whose result is one PDF, which must be sound.
func make1(t testing.TB, name string, args any, files ...[]byte) []byte {
	t.Helper()
	result, err := do(t, name, args, files...)
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

// fails runs a job that must fail with an *Error.
func fails(t testing.TB, want Kind, name string, args any, files ...[]byte) *Error {
	t.Helper()
	_, err := do(t, name, args, files...)
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != want {
		t.Fatalf("%s: error %v, want %s", name, err, want)
	}
	return failed
}

// tool runs a program by hand and returns what it printed.
func tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// save writes a document to a file of the test and returns its path.
func save(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a file.
func load(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// transform runs qpdf by hand: options stand between the input and the output.
func transform(t testing.TB, content []byte, options ...string) []byte {
	t.Helper()
	in, out := save(t, content), filepath.Join(t.TempDir(), "out.pdf")
	tool(t, "qpdf", append(append([]string{in}, options...), out)...)
	return load(t, out)
}

// sound fails the test unless qpdf, poppler and MuPDF can all read a document
// of so many pages.
func sound(t testing.TB, content []byte, password string, pages int) {
	t.Helper()
	path := save(t, content)
	tool(t, "qpdf", "--check", "--password="+password, path)
	about := tool(t, "pdfinfo", "-upw", password, "-opw", password, path)
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^Pages: +%d$`, pages)).MatchString(about) {
		t.Errorf("poppler does not see %d pages:\n%s", pages, about)
	}
	if got, want := strings.Count(tool(t, "mutool", "pages", "-p", password, path), "<page "), pages; got != want {
		t.Errorf("MuPDF sees %d pages, want %d", got, want)
	}
}

// pageTexts returns the first line of each page.
func pageTexts(t testing.TB, content []byte, password string) []string {
	t.Helper()
	pages := strings.Split(tool(t, "pdftotext", "-upw", password, save(t, content), "-"), "\f")
	for i := range pages {
		pages[i], _, _ = strings.Cut(strings.TrimSpace(pages[i]), "\n")
	}
	return pages[:len(pages)-1]
}

// source is a document written by hand: one page for each text, with what a
// test needs beside it.
type source struct {
	pages   []string
	version string
	info    string
	catalog string   // more entries of the catalog
	objects []string // from number 100 on
	annots  map[int]string
}

// write makes the PDF. The page of number i, from 0, is object 10+2i.
func (s source) write() []byte {
	objects := map[int]string{
		1: "<< /Type /Catalog /Pages 2 0 R " + s.catalog + " >>",
		3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		4: "<< " + s.info + " >>",
	}
	var kids strings.Builder
	for i, text := range s.pages {
		fmt.Fprintf(&kids, "%d 0 R ", 10+2*i)
		objects[10+2*i] = fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d 400] /Contents %d 0 R /Annots [%s] "+
			"/Resources << /Font << /F1 3 0 R >> >> >>", 300+i, 11+2*i, s.annots[i])
		content := "BT /F1 24 Tf 40 300 Td (" + text + ") Tj ET"
		objects[11+2*i] = fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	objects[2] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(s.pages))
	for i, object := range s.objects {
		objects[100+i] = object
	}
	version := s.version
	if version == "" {
		version = "1.7"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%PDF-%s\n%%\xe2\xe3\xcf\xd3\n", version)
	highest, offsets := 0, map[int]int{}
	for n := range objects {
		highest = max(highest, n)
	}
	for n := 1; n <= highest; n++ {
		if objects[n] != "" {
			offsets[n] = b.Len()
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, objects[n])
		}
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", highest+1)
	for n := 1; n <= highest; n++ {
		if offsets[n] == 0 {
			b.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d 00000 n \n", offsets[n])
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", highest+1, xref)
	return b.Bytes()
}

// three is a plain document.
func three() source { return source{pages: []string{"alpha", "beta", "gamma"}} }

// outlineOf returns the outline of a document as lines "title → page", indented
// by level.
func outlineOf(t testing.TB, content []byte) []string {
	t.Helper()
	var s structure
	if err := json.Unmarshal([]byte(tool(t, "qpdf", "--json=2", "--json-key=outlines", save(t, content))), &s); err != nil {
		t.Fatal(err)
	}
	var lines []string
	var walk func(items []outlineItem, indent string)
	walk = func(items []outlineItem, indent string) {
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
