package pdf

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestVariants does everything to the same document in the ways in which it can
// be written: the results have its pages and its text.
func TestVariants(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	plain := linked().Write()
	encrypt := func(options ...string) []string {
		return append([]string{"--allow-weak-crypto", "--encrypt", "u", "o"}, append(options, "--")...)
	}
	for name, options := range map[string][]string{
		"R3": encrypt("128", "--use-aes=n"), "R4 with RC4": encrypt("128", "--use-aes=n", "--force-V4"), "R4 with AES": encrypt("128", "--use-aes=y"),
		"R5": encrypt("256", "--force-R5"), "R6": encrypt("256"), "R6 with metadata": encrypt("256", "--cleartext-metadata"),
		"linearized": {"--linearize"}, "object streams": {"--object-streams=generate"}, "linearized object streams": {"--linearize", "--object-streams=generate"},
		"encrypted object streams": append([]string{"--object-streams=generate"}, encrypt("256")...), "PDF 2.0": {"--force-version=2.0"}, "QDF": {"--qdf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variant, password := pdftest.Transform(t, plain, options...), ""
			if strings.Contains(strings.Join(options, " "), "--encrypt") {
				password = "u"
			}
			doJobs(t, variant, password, pageTexts(t, plain, ""))
		})
	}
}

// TestGhostscript does everything to a document that Ghostscript has written.
func TestGhostscript(t *testing.T) {
	const script = `/Times-Roman findfont 24 scalefont setfont
[/Title (One) /Page 1 /OUT pdfmark [/Title (Three) /Page 3 /OUT pdfmark
1 1 3 { 72 700 moveto (page ) show 3 string cvs show
[/Rect [72 600 300 640] /Page 1 /View [/Fit] /Subtype /Link /ANN pdfmark showpage } for`
	path := filepath.Join(t.TempDir(), "made.pdf")
	gs := exec.CommandContext(t.Context(), "gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", "-o", path, "-")
	gs.Stdin = strings.NewReader(script)
	if out, err := gs.CombinedOutput(); err != nil {
		t.Fatalf("gs: %v\n%s", err, out)
	}
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	texts := pageTexts(t, document, "")
	if want := []string{"page 1", "page 2", "page 3"}; !reflect.DeepEqual(texts, want) {
		t.Fatalf("Ghostscript wrote %q, want %q", texts, want)
	}
	doJobs(t, document, "", texts)
}

// doJobs does every job on one document, whose pages begin with these texts.
func doJobs(t *testing.T, document []byte, password string, texts []string) {
	t.Helper()
	in := input(password)
	all := Selection{Input: in}
	for job, test := range map[string]struct {
		args     any
		password string // of the result
		texts    []string
	}{
		ExtractJob.Name: {Selection{Input: in, Pages: "last,1"}, password, []string{texts[len(texts)-1], texts[0]}}, CompressJob.Name: {in, password, texts},
		RotateJob.Name:      {RotateArgs{all, 180}, password, nil},
		ProtectJob.Name:     {ProtectArgs{Input: in, UserPassword: "n", OwnerPassword: "m"}, "n", texts},
		BookmarksJob.Name:   {Outline{Input: in, Bookmarks: []Bookmark{{Title: "x", Page: 1}}}, password, texts},
		MergeJob.Name:       {MergeArgs{Inputs: []MergeInput{{Input: in}, {Input: in}}}, "", append(append([]string{}, texts...), texts...)},
		StampJob.Name:       {StampArgs{Input: in, Marks: stampArgs(nil).Marks}, password, texts},
		DeletePagesJob.Name: {Selection{Input: in, Pages: "1"}, password, texts[1:]},
		RepairJob.Name:      {in, password, texts},
		CropJob.Name:        {CropArgs{Selection: all, Margin: images.Margin{Bottom: 10}}, password, texts},
		OptimizeJob.Name:    {OptimizeArgs{Input: in, Linearize: true, Quality: 70, MaxDPI: 100}, password, texts},
		ResizeJob.Name:      {ResizeArgs{Selection: all, Width: 842, Height: 595}, password, texts},
		AttachJob.Name:      {AttachArgs{Input: in, Files: []NewAttachment{{File: inputName(1), Filename: "plate.png"}}}, password, texts},
	} {
		result, err := runJob(t, job, test.args, document, plate(t, green, 40, 20))
		if err != nil {
			t.Errorf("%s: %v", job, err)
			continue
		}
		pages := len(test.texts)
		if test.texts == nil {
			pages = len(texts)
		}
		sound(t, read(t, result), test.password, pages)
		if got := pageTexts(t, read(t, result), test.password); test.texts != nil && !reflect.DeepEqual(got, test.texts) {
			t.Errorf("%s: pages %q, want %q", job, got, test.texts)
		}
	}
	if got := readTexts(t, TextArgs{Input: in}, document); len(got.Pages) != len(texts) || !strings.HasPrefix(got.Pages[0].Text, texts[0]) {
		t.Errorf("text: %+v, want %q", got, texts)
	}
	for _, job := range []struct {
		name string
		args any
	}{{InfoJob.Name, in}, {RasterJob.Name, RasterArgs{Input: in, DPI: 36}}, {form.FieldsJob.Name, form.FieldsArgs{Input: in}}, {AttachmentsJob.Name, in}} {
		if _, err := runJob(t, job.name, job.args, document); err != nil {
			t.Errorf("%s: %v", job.name, err)
		}
	}
}

// TestOfficeForm fills a form that LibreOffice has made of text fields, a
// checkbox and a list, and does everything to it.
func TestOfficeForm(t *testing.T) {
	sharedtest.Slow(t)
	if testing.Short() {
		t.Skip("starts an office")
	}
	formEntries := officePDF(t, "testdata/form.fodt")
	types := map[string]form.FieldType{}
	for name, field := range readFields(t, formEntries, "") {
		types[name] = field.Type
	}
	want := map[string]form.FieldType{"name": "text", "notes": "text", "agree": "checkbox", "country": "choice"}
	if !reflect.DeepEqual(types, want) {
		t.Fatalf("fields %v, want %v", types, want)
	}
	values := map[string]any{"name": "Žofie Łuk 東京", "notes": "first\nвторая", "agree": true, "country": "Japan"}
	filled := fillForm(t, form.FillArgs{Input: input(""), Values: values}, formEntries)
	sound(t, filled, "", 1)
	for name, field := range readFields(t, filled, "") {
		if !reflect.DeepEqual(field.Value, values[name]) {
			t.Errorf("%s is %#v, want %#v", name, field.Value, values[name])
		}
	}
	keep(t, "office-filled.pdf", filled)
	flat := fillForm(t, form.FillArgs{Input: input(""), Values: values, Flatten: true}, formEntries)
	keep(t, "office-flattened.pdf", flat)
	sound(t, flat, "", 1)
	if left := readFields(t, flat, ""); len(left) > 0 {
		t.Errorf("flattened, it has %d fields", len(left))
	}
	path := pdftest.Save(t, flat)
	for viewer, text := range map[string]string{
		"poppler": pdftest.Tool(t, "pdftotext", "-layout", path, "-"), "MuPDF": pdftest.Tool(t, "mutool", "draw", "-q", "-F", "text", path),
	} {
		for _, want := range []string{"Application", "Žofie Łuk 東京", "first", "вторая", "Japan"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q:\n%s", viewer, want, text)
			}
		}
	}
	result, err := runJob(t, InfoJob.Name, input(""), formEntries)
	var about Info
	if err != nil || json.Unmarshal(result.Body, &about) != nil || !about.HasForm {
		t.Fatalf("info %+v, %v", about, err)
	}
	doEverything(t, formEntries, about)
	lookAtPages(t, formEntries, 1)
}

// officePDF makes a PDF of a document with LibreOffice. Its form fields can be filled in.
func officePDF(t *testing.T, document string) []byte {
	t.Helper()
	const filter = `pdf:writer_pdf_Export:{"ExportFormFields":{"type":"boolean","value":"true"}}`
	dir := t.TempDir()

	if out, err := exec.CommandContext(t.Context(), "soffice", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
		"--headless", "--convert-to", filter, "--outdir", dir, document).CombinedOutput(); err != nil {
		t.Fatalf("soffice: %v\n%s", err, out)
	}
	name := strings.TrimSuffix(filepath.Base(document), filepath.Ext(document)) + ".pdf"
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
