package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tool is an operation on files: the same work by hand, with the program that is best
// at it on files on the disk, and by the service, which gets the files in the request.
type tool struct {
	name string
	call func(*fixtures) request
	hand string // a shell command
}

// toolParts makes a part of each tool.
func (l *lab) toolParts() (parts []part) {
	for _, t := range l.toolList() {
		parts = append(parts, part{"tools/" + t.name, func(ctx context.Context) (_ []Row, err error) {
			if l.tools == nil {
				if l.tools, err = newFixtures(ctx, l); err != nil {
					return nil, err
				}
			}
			floor := &side{do: l.tools.shell(t.hand)}
			ours := &side{do: l.own(t.call(l.tools))}
			err = interleave(ctx, choose(l, 5, 1), 1, choose(l, 1, 0), time.Nanosecond, floor, ours)
			goal := Goal{Times: 1.15, Plus: 15}
			if strings.HasPrefix(t.hand, "mutool") { // It neither looks elsewhere than in the text nor at the result.
				goal = Goal{}
			}
			commands := strings.Split(t.hand, " && ")
			program, _, _ := strings.Cut(commands[len(commands)-1], " ")
			return []Row{timeRow(t.name, program+" by hand, on files", goal, floor, ours)}, err
		}})
	}
	return parts
}

func (l *lab) toolList() []tool {
	pages := choose(l, 400, 8)
	half := fmt.Sprintf("%d-%d", pages/4+1, pages*3/4)
	drawn := fmt.Sprint(min(20, pages))
	call := func(path, name string, magic []byte, more ...any) func(*fixtures) request {
		return func(f *fixtures) request { return newRequest("/v1/"+path, with(f.file(name), more...), magic) }
	}
	files := func(path string, magic []byte, names ...string) func(*fixtures) request {
		return func(f *fixtures) request {
			var all []any
			for _, name := range names {
				all = append(all, with(f.file(name), "filename", name))
			}
			return newRequest("/v1/"+path, map[string]any{"files": all}, magic)
		}
	}
	text := []byte("{")
	archive := []byte("PK")
	const gs = "gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -o out.pdf "
	return []tool{
		{"merge", files("pdf/merge", pdfMagic, "outlined.pdf", "outlined2.pdf"), "qpdf --empty --pages outlined.pdf 1-z outlined2.pdf 1-z -- out.pdf"},
		{"extract", call("pdf/extract", "outlined.pdf", pdfMagic, "pages", half), "qpdf outlined.pdf --pages . " + half + " -- out.pdf"},
		{"compress", call("pdf/compress", "plain.pdf", pdfMagic), "qpdf --object-streams=generate --compress-streams=y --recompress-flate --compression-level=9 plain.pdf out.pdf"},
		{"protect", call("pdf/protect", "plain.pdf", pdfMagic, "userPassword", "secret"), "qpdf --encrypt secret owner 256 -- plain.pdf out.pdf"},
		{"optimize, 50 pages", call("pdf/optimize", "fifty.pdf", pdfMagic), "qpdf --linearize --object-streams=generate --recompress-flate --compression-level=9 fifty.pdf out.pdf"},
		{"optimize, a scan", call("pdf/optimize", "scan.pdf", pdfMagic, "maxImageDpi", 100),
			gs + "-dDownsampleColorImages -dColorImageDownsampleThreshold=1 -dColorImageDownsampleType=/Bicubic -dColorImageResolution=100 scan.pdf"},
		{"pdfa, 10 pages", call("pdf/pdfa", "ten.pdf", pdfMagic), gs + "-dPDFA=2 -sColorConversionStrategy=UseDeviceIndependentColor ten.pdf"},
		{"redact, 50 pages", call("pdf/redact", "fifty.pdf", pdfMagic, "terms", []string{redactTerm}), "mutool run redact.js fifty.pdf out.pdf '" + redactTerm + "'"},
		{"text", call("pdf/text", "plain.pdf", text), "pdftotext plain.pdf out.txt"},
		{"info", call("pdf/info", "outlined.pdf", text), fmt.Sprintf("pdfinfo -f 1 -l %d outlined.pdf", pages)},
		{"raster, 20 JPEG", call("pdf/raster", "plain.pdf", archive, "pages", "1-"+drawn, "type", "jpeg"), "pdftoppm -jpeg -r 150 -l " + drawn + " plain.pdf out"},
		{"raster, 20 PNG", call("pdf/raster", "plain.pdf", archive, "pages", "1-"+drawn, "type", "png"), "pdftoppm -png -r 150 -l " + drawn + " plain.pdf out"},
		{"ocr, a page", call("pdf/ocr", "scan.pdf", pdfMagic), "pdftoppm -gray -r 300 -singlefile scan.pdf scan && tesseract scan.pgm out --dpi 300 pdf"},
		{"convert a DOCX", call("convert", "document.docx", pdfMagic, "sourceFilename", "document.docx"), "soffice -env:UserInstallation=file://$PWD/office --headless --convert-to pdf document.docx"},
		{"zip, 30 files", files("zip", archive, chapterNames()...), "zip -q out.zip chapter-*.html"},
	}
}

// redactTerm is on some pages of fifty.
const redactTerm = "chapter 4"

// redactScript removes a term from all pages with MuPDF, which has no command for it.
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

// with returns an input with more fields.
func with(input map[string]any, more ...any) map[string]any {
	all := maps.Clone(input)
	for i := 0; i+1 < len(more); i += 2 {
		all[fmt.Sprint(more[i])] = more[i+1]
	}
	return all
}

// fixtures are the files that the tools work on, in a folder of their own. The PDFs are the service's. Two files that
// are merged differ: qpdf reads a file once that it is given twice.
type fixtures struct {
	dir   string
	files map[string][]byte
}

func newFixtures(ctx context.Context, l *lab) (_ *fixtures, err error) {
	f := &fixtures{files: map[string][]byte{}}
	if f.dir, err = os.MkdirTemp(l.dir, "tools-"); err != nil {
		return nil, err
	}
	pages := choose(l, 400, 8)
	strip := choose(l, "", "-x 0 -y 0 -W 1700 -H 200 ") // reading the text of a whole page is slow
	first := chapters(pages)
	outlined := map[string]any{"outline": true}
	for name, input := range map[string]map[string]any{
		"plain.pdf":     {"html": first},
		"outlined.pdf":  {"html": first, "options": outlined},
		"outlined2.pdf": {"html": strings.ReplaceAll(first, "hapter", "ection"), "options": outlined},
	} {
		if err := f.make(ctx, l, name, newRequest("/v1/pdf", input, pdfMagic)); err != nil {
			return nil, err
		}
	}
	err = errors.Join(f.add("redact.js", []byte(redactScript)), f.add("document.html", []byte(chapters(min(10, pages)))))
	for _, name := range chapterNames() {
		err = errors.Join(err, f.add(name, []byte(chapters(40))))
	}
	if err != nil {
		return nil, err
	}
	err = f.shell("pdftoppm -gray -r 200 -png -singlefile "+strip+"plain.pdf scan"+
		fmt.Sprintf(" && qpdf plain.pdf --pages . 1-%d -- ten.pdf && qpdf plain.pdf --pages . 1-%d -- fifty.pdf", min(10, pages), min(50, pages))+
		" && soffice -env:UserInstallation=file://$PWD/office --headless '--infilter=HTML (StarWriter)' --convert-to 'docx:MS Word 2007 XML' document.html")(ctx, 0)
	for _, name := range []string{"scan.png", "ten.pdf", "fifty.pdf", "document.docx"} {
		if err == nil {
			f.files[name], err = os.ReadFile(filepath.Join(f.dir, name))
		}
	}
	if err != nil {
		return nil, err
	}
	scan := map[string]any{"files": []any{with(f.file("scan.png"), "filename", "scan.png")}, "options": map[string]any{"format": "A4"}}
	err = f.make(ctx, l, "scan.pdf", newRequest("/v1/pdf/from-images", scan, pdfMagic))
	return f, err
}

// make adds a file that the service makes.
func (f *fixtures) make(ctx context.Context, l *lab, name string, r request) error {
	content, err := l.client.do(ctx, l.keys[0], r)
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return f.add(name, content)
}

func (f *fixtures) add(name string, content []byte) error {
	f.files[name] = content
	return os.WriteFile(filepath.Join(f.dir, name), content, 0o600)
}

// file is the input of an operation on one file.
func (f *fixtures) file(name string) map[string]any { return map[string]any{"file": f.files[name]} }

func chapterNames() (names []string) {
	for i := range 30 {
		names = append(names, fmt.Sprintf("chapter-%02d.html", i))
	}
	return names
}

// shell does work by hand, in the folder.
func (f *fixtures) shell(command string) work {
	return func(ctx context.Context, _ int) error {
		cmd := exec.CommandContext(ctx, "sh", "-c", "exec 2>&1; "+command)
		cmd.Dir = f.dir
		if out, err := cmd.Output(); err != nil {
			return fmt.Errorf("%s: %w: %.200s", command, err, out)
		}
		return nil
	}
}
