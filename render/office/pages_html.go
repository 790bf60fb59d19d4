package office

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// PagesHTMLJob makes an HTML document of a PDF that opens without a password, for engine.Job. Its pages look as in
// print: each is a drawing, with a text layer for searching and selecting. The output is one file.
const PagesHTMLJob = "office.pages-html"

// PagesHTMLArgs are the arguments of a PagesHTMLJob.
type PagesHTMLArgs struct {
	Input string
	Title string
	// MaxBytes bounds the result.
	MaxBytes int64
}

const pagesHead = `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>
body { margin: 0; background: #e4e4e4 }
svg { display: block; margin: 16px auto; max-width: calc(100%% - 32px); height: auto; background: #fff; box-shadow: 0 1px 4px #0004 }
text { fill: transparent; white-space: pre; font-family: sans-serif }
@media print { @page { margin: 0 } body { background: none } svg { margin: 0; max-width: none; box-shadow: none; break-after: page } }
</style>
</head>
<body>
`

// textPage is a page in the words of pdftotext.
type textPage struct {
	Width  float64 `xml:"width,attr"`
	Height float64 `xml:"height,attr"`
	Lines  []struct {
		XMin  float64  `xml:"xMin,attr"`
		YMin  float64  `xml:"yMin,attr"`
		XMax  float64  `xml:"xMax,attr"`
		YMax  float64  `xml:"yMax,attr"`
		Words []string `xml:"word"`
	} `xml:"flow>block>line"`
}

func pagesHTML(ctx context.Context, w *engine.Work, args PagesHTMLArgs) ([]byte, error) {
	const words, output = "words.xml", "output.html"
	_, err := w.Exec(ctx, engine.Program{
		Name: "pdftotext",
		Args: []string{"-bbox-layout", engine.PathArg(args.Input), engine.PathArg(words)},
	})
	if err != nil {
		return nil, drawError(err)
	}

	in, err := os.Open(w.Path(words))
	if err != nil {
		return nil, err
	}
	defer in.Close()

	file, err := os.OpenFile(w.Path(output), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}

	buffered := bufio.NewWriterSize(file, 256<<10)
	out := &limited{to: buffered, left: args.MaxBytes}
	if _, err = fmt.Fprintf(out, pagesHead, html.EscapeString(args.Title)); err == nil {
		err = drawPages(ctx, w, args.Input, in, out)
	}
	if err == nil {
		_, err = fmt.Fprint(out, "</body>\n</html>\n")
	}

	if err := errors.Join(err, buffered.Flush(), file.Close()); err != nil {
		return nil, err
	}
	w.Output(output)
	return nil, nil
}

// drawPages writes every page of a document, whose text is in words.
func drawPages(ctx context.Context, w *engine.Work, name string, words io.Reader, out io.Writer) error {
	decoder := xml.NewDecoder(&printable{words})
	decoder.Strict = false

	for number := 1; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("words: %w", err)
		}

		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "page" {
			continue
		}

		var page textPage
		if err := decoder.DecodeElement(&page, &start); err != nil {
			return fmt.Errorf("words: %w", err)
		}
		if err := drawPage(ctx, w, name, number, page, out); err != nil {
			return err
		}
		number++
	}
}

// drawPage writes one page.
func drawPage(ctx context.Context, w *engine.Work, name string, number int, page textPage, out io.Writer) error {
	const drawing = "page.svg"
	n := strconv.Itoa(number)
	_, err := w.Exec(ctx, engine.Program{
		Name: "pdftocairo",
		Args: []string{"-svg", "-f", n, "-l", n, engine.PathArg(name), engine.PathArg(drawing)},
	})
	if err != nil {
		return drawError(err)
	}

	content, err := os.ReadFile(w.Path(drawing))
	if err != nil {
		return drawError(err)
	}

	// In an image, scripts of a drawing cannot run.
	_, err = fmt.Fprintf(out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%gpt" height="%[2]gpt" viewBox="0 0 %[1]g %[2]g">`+"\n"+
			`<image width="%[1]g" height="%[2]g" href="data:image/svg+xml;base64,%[3]s"/>`+"\n",
		page.Width, page.Height, base64.StdEncoding.EncodeToString(content))

	for _, line := range page.Lines {
		if err != nil {
			return err
		}
		height := line.YMax - line.YMin
		const baseline, size = 0.8, 0.9 // of a line's height
		_, err = fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%.1f" textLength="%.1f"`+
			` lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			line.XMin, line.YMin+baseline*height, size*height, max(line.XMax-line.XMin, 1),
			html.EscapeString(strings.Join(line.Words, " ")))
	}

	if err == nil {
		_, err = fmt.Fprint(out, "</svg>\n")
	}
	return errors.Join(err, os.Remove(w.Path(drawing)))
}

// drawError blames the document for a program that failed on it.
func drawError(err error) error {
	var exit *engine.ExitError
	if errors.As(err, &exit) || errors.Is(err, os.ErrNotExist) {
		return &Error{Reason: Damaged, Detail: err.Error()}
	}
	return err
}

// limited fails when more is written than is left.
type limited struct {
	to   io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, engine.ErrOutputTooLarge
	}
	return l.to.Write(p)
}

// printable removes control characters, which the program writes unchanged and XML does not allow.
type printable struct{ from io.Reader }

func (r *printable) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	for i, b := range p[:n] {
		if b < ' ' && !bytes.ContainsRune([]byte("\t\n\r"), rune(b)) {
			p[i] = ' '
		}
	}
	return n, err
}
