package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tool is one row of the operations on files: the same work done by hand, by the
// program that is best at it and on files that lie there, and by the service,
// which gets the files in the request.
type tool struct {
	name string
	// The service may take factor times as long as the work by hand, and extra
	// longer. A factor of zero is no goal.
	factor    float64
	extra     time.Duration
	operation string
	call      request
	hand      work
	// noGoal is set where the work by hand is less than the service's.
	noGoal bool
}

const (
	toolFactor = 1.15
	toolExtra  = 15 * time.Millisecond
)

// toolFigures are those of a row, in milliseconds, as medians. Transport is what
// the service takes beside the run of the operation: reading the request with
// its files, which come as Base64, paying and sending the result.
type toolFigures struct {
	Name      string  `json:"name"`
	Hand      float64 `json:"handMs"`
	Ours      float64 `json:"oursMs"`
	Transport float64 `json:"transportMs"`
	Goal      float64 `json:"goalMs,omitempty"` // zero is none
}

// tools measures the operations on files.
func (l *lab) tools(ctx context.Context, r *report) (err error) {
	f, err := newFixtures(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	for _, row := range l.toolRows(f) {
		if !l.wants("tools/" + row.name) {
			continue
		}
		figures, err := measureTool(ctx, l, row)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		r.Tools = append(r.Tools, figures)
	}
	return nil
}

// toolRows lists the rows in their order.
func (l *lab) toolRows(f *fixtures) []tool {
	plain, outlined := f.pdf("plain.pdf"), f.pdf("outlined.pdf")
	half := fmt.Sprintf("%d-%d", f.pages/4+1, f.pages*3/4)
	drawn := fmt.Sprintf("1-%d", min(20, f.pages))
	two := func(first, second string) map[string]any {
		return map[string]any{"files": []any{f.pdf(first), f.pdf(second)}}
	}
	const out = "out.pdf"
	rows := []tool{
		{name: "merge", operation: "pdf.merge", call: toolRequest("/v1/pdf/merge", two("plain.pdf", "plain2.pdf"), pdfMagic),
			hand: f.program("qpdf", "--empty", "--pages", "plain.pdf", "1-z", "plain2.pdf", "1-z", "--", out)},
		{name: "merge with outlines", operation: "pdf.merge", call: toolRequest("/v1/pdf/merge", two("outlined.pdf", "outlined2.pdf"), pdfMagic),
			hand: f.program("qpdf", "--empty", "--pages", "outlined.pdf", "1-z", "outlined2.pdf", "1-z", "--", out)},
		{name: "extract", operation: "pdf.extract", call: toolRequest("/v1/pdf/extract", with(outlined, "pages", half), pdfMagic),
			hand: f.program("qpdf", "outlined.pdf", "--pages", ".", half, "--", out)},
		{name: "compress", operation: "pdf.compress", call: toolRequest("/v1/pdf/compress", plain, pdfMagic),
			hand: f.program("qpdf", "--object-streams=generate", "--compress-streams=y", "--recompress-flate", "--compression-level=9", "plain.pdf", out)},
		{name: "optimize, a scan", operation: "pdf.optimize", call: toolRequest("/v1/pdf/optimize", with(f.pdf("scan.pdf"), "maxImageDpi", 100), pdfMagic),
			hand: f.program("gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", "-dDownsampleColorImages", "-dColorImageDownsampleThreshold=1",
				"-dColorImageDownsampleType=/Bicubic", "-dColorImageResolution=100", "-o", out, "scan.pdf")},
		{name: "optimize, 50 pages", operation: "pdf.optimize", call: toolRequest("/v1/pdf/optimize", f.pdf("fifty.pdf"), pdfMagic),
			hand: f.program("qpdf", "--linearize", "--object-streams=generate", "--recompress-flate", "--compression-level=9", "fifty.pdf", out)},
		{name: "protect", operation: "pdf.protect", call: toolRequest("/v1/pdf/protect", with(plain, "userPassword", "secret"), pdfMagic),
			hand: f.program("qpdf", "--encrypt", "secret", "owner", "256", "--", "plain.pdf", out)},
		{name: "text", operation: "pdf.text", call: toolRequest("/v1/pdf/text", plain, []byte("{")),
			hand: f.program("pdftotext", "plain.pdf", "out.txt")},
		{name: "info", operation: "pdf.info", call: toolRequest("/v1/pdf/info", outlined, []byte("{")),
			hand: f.program("pdfinfo", "-f", "1", "-l", fmt.Sprint(f.pages), "outlined.pdf")},
		{name: "raster, 20 JPEG", operation: "pdf.raster", call: rasterRequest(plain, drawn, "jpeg"),
			hand: f.program("pdftoppm", "-jpeg", "-r", "150", "-l", "20", "plain.pdf", "out")},
		{name: "raster, 20 PNG", operation: "pdf.raster", call: rasterRequest(plain, drawn, "png"),
			hand: f.program("pdftoppm", "-png", "-r", "150", "-l", "20", "plain.pdf", "out")},
		{name: "ocr, a page", operation: "pdf.ocr", call: toolRequest("/v1/pdf/ocr", f.pdf("scan.pdf"), pdfMagic),
			hand: f.programs([]string{"pdftoppm", "-gray", "-r", "300", "-singlefile", "scan.pdf", "scan"}, []string{"tesseract", "scan.pgm", "out", "--dpi", "300", "pdf"})},
		{name: "redact, 50 pages", operation: "pdf.redact", call: toolRequest("/v1/pdf/redact", with(f.pdf("fifty.pdf"), "terms", []string{redactTerm}), pdfMagic),
			hand: f.program("mutool", "run", "redact.js", "fifty.pdf", out, redactTerm), noGoal: true},
		{name: "pdfa, 10 pages", operation: "pdf.pdfa", call: toolRequest("/v1/pdf/pdfa", f.pdf("ten.pdf"), pdfMagic),
			hand: f.program("gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", "-dPDFA=2", "-sColorConversionStrategy=UseDeviceIndependentColor", "-o", out, "ten.pdf")},
		{name: "markdown", operation: "pdf.data", call: toolRequest("/v1/pdf/data", f.pdf("plain.pdf"), []byte("{")),
			hand: f.program("pdftotext", "plain.pdf", "out.txt"), noGoal: true},
		{name: "email", operation: "email.create", call: toolRequest("/v1/email", map[string]any{"file": f.files["mail.eml"]}, pdfMagic),
			hand: f.program("chromium-headless-shell", "--no-sandbox", "--no-pdf-header-footer", "--print-to-pdf="+out, f.names[0])},
		{name: "zip, 30 files", operation: "zip.create", call: toolRequest("/v1/zip", map[string]any{"files": f.letters()}, []byte("PK")),
			hand: f.program("zip", append([]string{"-q", "out.zip"}, f.names...)...)},
	}
	if _, err := exec.LookPath("ocrmypdf"); err == nil {
		rows = append(rows, tool{name: "ocr, a page, ocrmypdf", operation: "pdf.ocr", call: toolRequest("/v1/pdf/ocr", f.pdf("scan.pdf"), pdfMagic),
			hand: f.program("ocrmypdf", "--quiet", "--rotate-pages", "--deskew", "--output-type=pdf", "scan.pdf", out)})
	} else {
		l.say("ocrmypdf is not installed: no row compares with it")
	}
	for i := range rows {
		if !rows[i].noGoal {
			rows[i].factor, rows[i].extra = toolFactor, toolExtra
		}
	}
	return rows
}

// redactTerm is on some pages of fifty.
const redactTerm = "chapter 4"

// redactScript takes a word off all pages with MuPDF. Nobody has a command for that;
// and it neither looks anywhere else nor at the result.
const redactScript = `var document = new PDFDocument(scriptArgs[0]);
for (var i = 0; i < document.countPages(); i++) {
	var page = document.loadPage(i);
	var found = page.toStructuredText().search(scriptArgs[2]);
	for (var j = 0; j < found.length; j++)
		page.createAnnotation("Redact").setQuadPoints(found[j]);
	if (found.length > 0)
		page.applyRedactions(true);
}
document.save(scriptArgs[1], "garbage,compress");
`

// toolRequest is a call with an input of any kind.
func toolRequest(path string, input map[string]any, magic []byte) request {
	body, _ := json.Marshal(input) //nolint:errchkjson // Texts, numbers and bytes always marshal.
	return request{path: path, body: body, magic: magic}
}

func rasterRequest(pdf map[string]any, pages, kind string) request {
	return toolRequest("/v1/pdf/raster", with(with(pdf, "pages", pages), "type", kind), []byte("PK"))
}

// with returns an input with one more field.
func with(input map[string]any, field string, value any) map[string]any {
	more := map[string]any{field: value}
	for name, value := range input {
		more[name] = value
	}
	return more
}

// program does the work by hand, on the files that lie in the folder.
func (f *fixtures) program(name string, args ...string) work {
	return func(ctx context.Context, _ int) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = f.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.200s", name, err, out)
		}
		return nil
	}
}

// programs does the work by hand with several programs, one after the other.
func (f *fixtures) programs(commands ...[]string) work {
	return func(ctx context.Context, n int) error {
		for _, c := range commands {
			if err := f.program(c[0], c[1:]...)(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
}

// addScan makes a PDF that is a picture of a page.
func (f *fixtures) addScan(ctx context.Context, l *lab) error {
	if err := f.program("pdftoppm", "-gray", "-r", "200", "-png", "-singlefile", "plain.pdf", "scan")(ctx, 0); err != nil {
		return err
	}
	picture, err := os.ReadFile(filepath.Join(f.dir, "scan.png"))
	if err != nil {
		return err
	}
	call := toolRequest("/v1/pdf/from-images", map[string]any{
		"files": []any{map[string]any{"file": picture, "filename": "scan.png"}}, "options": map[string]any{"format": "A4"},
	}, pdfMagic)
	answer, err := l.client.post(ctx, l.keys[0], call)
	if err == nil && answer.status != 200 {
		err = fmt.Errorf("status %d: %s", answer.status, answer.text)
	}
	if err != nil {
		return fmt.Errorf("make a scan: %w", err)
	}
	return f.add("scan.pdf", answer.result)
}

// addFirst makes a document of the first pages of another: Ghostscript takes a minute for
// all of it.
func (f *fixtures) addFirst(ctx context.Context, name string, pages int) error {
	if err := f.program("qpdf", "plain.pdf", "--pages", ".", fmt.Sprintf("1-%d", min(pages, f.pages)), "--", name)(ctx, 0); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(f.dir, name))
	f.files[name] = content
	return err
}

// measureTool measures both sides in turn.
func measureTool(ctx context.Context, l *lab, row tool) (toolFigures, error) {
	l.say("%s, by hand and by the service", row.name)
	f := toolFigures{Name: row.name}
	ours := l.own(row.call)
	if err := errors.Join(row.hand(ctx, 0), ours(ctx, 0)); err != nil { // Warm files, children and code.
		return f, err
	}
	before, err := scrape(ctx, l)
	if err != nil {
		return f, err
	}
	var hand, service []float64
	for range choose(l, 7, 1) {
		for _, side := range []struct {
			do   work
			took *[]float64
		}{{row.hand, &hand}, {ours, &service}} {
			begin := time.Now()
			if err := side.do(ctx, 0); err != nil {
				return f, err
			}
			*side.took = append(*side.took, ms(time.Since(begin)))
		}
	}
	after, err := scrape(ctx, l)
	if err != nil {
		return f, err
	}
	run := fmt.Sprintf(`relaypdf_step_seconds_sum{operation=%q,step="run"}`, row.operation)
	f.Hand, f.Ours = median(hand), median(service)
	f.Transport = mean(service) - (after[run]-before[run])*1000/float64(len(service))
	if row.factor > 0 {
		f.Goal = row.factor*f.Hand + ms(row.extra)
	}
	return f, nil
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// barcodeFigures are those of barcodes over HTTP.
type barcodeFigures struct {
	AtOnce    int     `json:"atOnce"`
	PerSecond float64 `json:"perSecond"` // median of the rounds
	P50       float64 `json:"p50Ms"`
	P95       float64 `json:"p95Ms"`
	Goal      float64 `json:"goalPerSecond"`
}

const (
	barcodeGoal = 700.0
	// barcodesAtOnce keep two cores busy while a transaction waits for the disk.
	barcodesAtOnce = 8
)

// barcodes measures an operation that hardly takes longer than it takes to pay
// for it.
func (l *lab) barcodes(ctx context.Context, r *report) error {
	l.say("barcodes")
	f := &barcodeFigures{AtOnce: barcodesAtOnce, Goal: barcodeGoal}
	call := l.own(toolRequest("/v1/barcodes", map[string]any{"type": "qr", "text": "https://example.com/?invoice=1234"}, []byte("\x89PNG")))
	if err := repeat(ctx, f.AtOnce, choose(l, 500, 20), call); err != nil {
		return err
	}
	var rates []float64
	var latencies []time.Duration
	for range choose(l, 5, 1) {
		s, err := closedLoop(ctx, f.AtOnce, choose(l, 2*time.Second, 200*time.Millisecond), call)
		if err != nil {
			return err
		}
		rates, latencies = append(rates, s.rate), append(latencies, s.latencies...)
	}
	f.PerSecond, f.P50, f.P95 = median(rates), ms(percentile(latencies, 50)), ms(percentile(latencies, 95))
	r.Barcodes = f
	return nil
}

// fixtures are the files that the rows work on, in a folder of their own.
type fixtures struct {
	dir   string
	pages int
	names []string // of the files to be packed
	files map[string][]byte
}

// newFixtures makes the files. The PDFs are ones that the service makes. What is
// merged differs: qpdf reads a file once that it is given twice.
func newFixtures(ctx context.Context, l *lab) (_ *fixtures, err error) {
	l.say("files for the tools")
	f := &fixtures{pages: 400, files: map[string][]byte{}}
	if l.short {
		f.pages = 8
	}
	if f.dir, err = os.MkdirTemp(l.dir, "tools-"); err != nil {
		return nil, err
	}
	first := chapters(f.pages)
	second := strings.ReplaceAll(first, "hapter", "ection")
	for name, html := range map[string]string{"plain.pdf": first, "plain2.pdf": second, "outlined.pdf": first, "outlined2.pdf": second} {
		outline := strings.HasPrefix(name, "outlined")
		call := toolRequest("/v1/pdf", map[string]any{"html": html, "options": map[string]any{"outline": outline}}, pdfMagic)
		answer, err := l.client.post(ctx, l.keys[0], call)
		if err == nil && answer.status != 200 {
			err = fmt.Errorf("status %d: %s", answer.status, answer.text)
		}
		if err == nil {
			err = f.add(name, answer.result)
		}
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
	}
	if err := f.addScan(ctx, l); err != nil {
		return nil, err
	}
	for i := range 30 {
		name := fmt.Sprintf("letter-%02d.html", i)
		f.names = append(f.names, name)
		if err := f.add(name, []byte(chapters(40))); err != nil {
			return nil, err
		}
	}
	mail := "From: a@example.com\nTo: b@example.com\nSubject: Report\nContent-Type: text/html; charset=utf-8\n\n" + chapters(40)
	if err := f.add("mail.eml", []byte(mail)); err != nil {
		return nil, err
	}
	if err := f.add("redact.js", []byte(redactScript)); err != nil {
		return nil, err
	}
	return f, errors.Join(f.addFirst(ctx, "ten.pdf", 10), f.addFirst(ctx, "fifty.pdf", 50))
}

func (f *fixtures) add(name string, content []byte) error {
	f.files[name] = content
	return os.WriteFile(filepath.Join(f.dir, name), content, 0o600)
}

// pdf is the input of an operation on one PDF.
func (f *fixtures) pdf(name string) map[string]any { return map[string]any{"file": f.files[name]} }

// letters are the inputs of an archive.
func (f *fixtures) letters() (files []any) {
	for _, name := range f.names {
		files = append(files, with(f.pdf(name), "filename", name))
	}
	return files
}
