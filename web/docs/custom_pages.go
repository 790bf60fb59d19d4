package docs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// maxCustomPage is the maximum size of the file of an operator's page, in bytes.
const maxCustomPage = 256 << 10

// CustomPage is a page that the operator of the server has written: its path and name in links, its title, and its
// content.
type CustomPage struct{ Path, Name, Title, HTML string }

// customPages are the pages that an operator may write. The file of each is its path, as Markdown.
var customPages = []CustomPage{
	{Path: "/terms", Name: "Terms"}, {Path: "/privacy", Name: "Privacy"}, {Path: "/contact", Name: "Contact"},
}

// CustomPages reads those of an operator's pages that a folder has: terms.md, privacy.md and contact.md. HTML in them
// is left out. An empty folder name is no pages.
func CustomPages(folder string) ([]CustomPage, error) {
	if folder == "" {
		return nil, nil
	}

	var found []CustomPage
	var errs []error
	for _, page := range customPages {
		name := filepath.Join(folder, page.Path+".md")
		src, err := readCustomPage(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			page.Title, page.HTML, err = renderCustomPage(src)
			page.Title = cmp.Or(page.Title, page.Name)
			found = append(found, page)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}

	return found, errors.Join(errs...)
}

// readCustomPage reads a file of Markdown.
func readCustomPage(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", withoutPath(err)
	}
	defer file.Close()

	src, err := io.ReadAll(io.LimitReader(file, maxCustomPage+1))
	switch {
	case err != nil:
		return "", withoutPath(err)
	case len(src) > maxCustomPage:
		return "", fmt.Errorf("is larger than %d KiB; shorten it", maxCustomPage>>10)
	case !utf8.Valid(src):
		return "", errors.New("is not valid UTF-8; save it as UTF-8")
	case strings.TrimSpace(string(src)) == "":
		return "", errors.New("is empty; write the page, or remove the file")
	}
	return strings.TrimPrefix(string(src), "\ufeff"), nil
}

// withoutPath returns an error of a file without its name.
func withoutPath(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// renderCustomPage renders Markdown that may begin with a title.
func renderCustomPage(src string) (title, html string, err error) {
	body := strings.TrimSpace(strings.ReplaceAll(src, "\r\n", "\n"))
	if rest, ok := strings.CutPrefix(body, "# "); ok {
		title, body, _ = strings.Cut(rest, "\n")
		title = plainText(title)
	}
	html, _, err = toHTML([]byte(body), linkCustomPages)
	return title, html, err
}

// linkCustomPages turns links between the files into links between the pages.
func linkCustomPages(doc ast.Node, _ []byte) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			for _, page := range customPages {
				target := strings.TrimPrefix(string(link.Destination), "./")
				if rest, ok := strings.CutPrefix(target, page.Path[1:]+".md"); ok {
					link.Destination = []byte(page.Path + rest)
				}
			}
		}
		return ast.WalkContinue, nil
	})
}
