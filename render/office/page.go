package office

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
)

// The names of the jobs that make a PDF of an HTML document with wkhtmltopdf, for engine.Job. wkhtmltopdf has no
// network in its child: the caller fetches the files that the document refers to.
const (
	// ReferencesJob lists the references of the document and of the fetched style sheets. Its result is a
	// []Reference as JSON.
	ReferencesJob = "office.page.references"
	// PageJob makes the PDF. Its result is a PageResult as JSON.
	PageJob = "office.page"
)

// PageInput is the name of the HTML document among a job's files.
const PageInput = "page.html"

// PageArgs are the arguments of both jobs.
type PageArgs struct {
	// Address is the URL of the document. If it is empty, relative references lead nowhere.
	Address string
	// Public means that links may lead to Address; those to assets lead nowhere.
	Public bool
	// ContentType is the document's Content-Type, which may name an encoding.
	ContentType string
	// Files maps the URL of a fetched file to its name among the job's files.
	Files map[string]string
	// TOC asks for a table of contents in front.
	TOC      bool
	MaxPages int
	// Office means that LibreOffice reads the document, which runs no scripts.
	Office bool
}

// Reference is an address that a document or a style sheet refers to.
type Reference struct {
	Address string
	// Style marks style sheets, which may refer to further files.
	Style bool
}

// PageResult describes the result of a PageJob, besides the PDF.
type PageResult struct {
	// Nowhere are the document's references without a server, such as a relative link in a
	// document without a base URL; the first of them.
	Nowhere []string
	// Headings are the headings of the document in order, if a table of contents was requested.
	Headings []Heading
}

// Heading is a heading of a document.
type Heading struct {
	Title string
	// Level is 1 to 6, and Page the page of the PDF, from 1.
	Level, Page int

	mark string
}

// references reads a document and its style sheets.
func references(_ context.Context, w *engine.Work, args PageArgs) ([]byte, error) {
	page, err := readEmbedded(w, args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(page.missing)
}

// makePage makes the PDF of a document.
func makePage(ctx context.Context, w *engine.Work, args PageArgs) ([]byte, error) {
	page, err := readEmbedded(w, args)
	if err != nil {
		return nil, err
	}
	page.mark(args.TOC)

	const source, printed, output = "body.html", "body.pdf", "output.pdf"
	if err := page.write(source); err != nil {
		return nil, err
	}
	if err := printPage(ctx, w, source, printed, page.scripts); err != nil {
		return nil, err
	}

	doc, err := describePDF(ctx, w, printed)
	if err != nil {
		return nil, err
	}

	result := PageResult{Nowhere: page.nowhere, Headings: doc.locate(page.headings)}
	if args.TOC && len(result.Headings) > 0 {
		contents, err := prependContents(ctx, w, printed, result.Headings, page.language())
		if err != nil {
			return nil, err
		}
		if doc, err = describePDF(ctx, w, contents); err != nil {
			return nil, err
		}
	}

	if len(doc.Pages) > args.MaxPages {
		return nil, &Error{Reason: TooManyPages, Max: args.MaxPages}
	}
	if err := doc.link(ctx, output); err != nil {
		return nil, err
	}

	w.Output(output)
	return json.Marshal(result)
}

// webProgram prints HTML.
const webProgram = "wkhtmltopdf"

// pageMargin is the margin of a printed page on all sides.
const pageMargin = "15mm"

// printPage prints a document of the job's folder. It may read nothing else.
func printPage(ctx context.Context, w *engine.Work, source, output string, scripts bool) error {
	const scriptTime = "200" // milliseconds that scripts have after loading
	args := []string{
		"--quiet", "--page-size", "A4", "--encoding", "utf-8", "--disable-plugins",
		"-T", pageMargin, "-R", pageMargin, "-B", pageMargin, "-L", pageMargin,
		"--disable-local-file-access", "--allow", w.Dir,
		"--load-error-handling", "ignore", "--load-media-error-handling", "ignore",
	}

	if scripts {
		args = append(args, "--enable-javascript", "--javascript-delay", scriptTime)
	} else {
		args = append(args, "--disable-javascript")
	}

	_, err := w.Exec(ctx, engine.Program{
		Name: webProgram, Args: append(args, engine.PathArg(source), engine.PathArg(output)),
		Env: []string{"XDG_RUNTIME_DIR=" + w.Dir, "QT_QPA_PLATFORM=offscreen"},
	})

	var exit *engine.ExitError
	if errors.As(err, &exit) && exit.Signal == 0 {
		// wkhtmltopdf also fails if it could not load an image. The job fails only without a result.
		if _, missing := os.Stat(w.Path(output)); missing == nil {
			return nil
		}
		return &Error{Reason: Damaged, Detail: exit.Error()}
	}
	if err != nil {
		return err
	}

	if _, err := os.Stat(w.Path(output)); errors.Is(err, fs.ErrNotExist) {
		return &Error{Reason: Damaged, Detail: "nothing was printed"}
	} else if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}
