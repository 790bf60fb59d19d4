package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// Limits of the files that a page refers to. Style sheets refer to further files, up to a depth. Files above the
// limits are left out.
const (
	maxReferences     = 200
	maxReferenceBytes = 50 << 20
	referenceDepth    = 4
	referencesAtOnce  = 8
)

// PageConversion is an HTML document to convert with wkhtmltopdf. Exactly one of Content and URL is set.
type PageConversion struct {
	Content engine.Content
	URL     string // https
	// TOC adds a table of contents at the front, made of the headings. The headings become bookmarks as well.
	TOC bool
}

// ConvertPage makes a PDF of an HTML document with wkhtmltopdf. wkhtmltopdf has no network: the files that the
// document refers to are fetched here, as far as egress allows. Missing files are left out and reported as
// warnings. Errors are *egress.RefusedError and *chrome.LoadError of the URL, *office.Error, office.ErrUnavailable,
// *chrome.LimitError, *chrome.BusyError, *engine.TimeoutError, chrome.ErrClosed and the error of ctx.
func (a *Account) ConvertPage(ctx context.Context, c PageConversion) (made Converted, err error) {
	p := pageFetch{account: a, content: c.Content, args: office.PageArgs{
		TOC: c.TOC, MaxPages: MaxPages, Files: map[string]string{},
	}}
	defer func() { err = errors.Join(err, p.close()) }()

	// One deadline for all fetches; the engines have their own timeouts.
	p.fetchUntil = time.Now().Add(maxFetchTime)
	if c.URL != "" {
		if err := p.fetchPage(ctx, c.URL); err != nil {
			return made, err
		}
	}

	if err := refuseOther(p.content); err != nil {
		return made, err
	}
	if err := p.fetchReferences(ctx); err != nil {
		return made, err
	}

	result, err := a.runEngine(ctx, engine.Job{Name: office.PageJob, Args: p.args, Files: p.files()})
	if err != nil {
		return made, convertError(err)
	}
	var about office.PageResult
	if err := json.Unmarshal(result.Body, &about); err != nil {
		return made, errors.Join(err, result.Close())
	}

	for _, reference := range about.Nowhere {
		p.lacks(reference, "could not be loaded: the URL is relative and the page has no base URL")
	}
	made.Warnings = p.lacking[:min(len(p.lacking), chrome.MaxWarnings)]
	if len(about.Headings) == 0 {
		made.Body = result.Output(0)
		return made, nil
	}
	defer func() { err = errors.Join(err, result.Close()) }()

	file := PDFFile{Content: result.Output(0)}
	outline := pdf.Outline{Input: file.Input(), Bookmarks: headingBookmarks(about.Headings)}
	made.Body, err = RunFile(ctx, a, pdf.BookmarksJob, outline, file.File())
	return made, err
}

// embed makes one HTML file with images and style sheets embedded, including those of the assets.
func (a *Account) embed(ctx context.Context, c Conversion) (_ *spool.File, warnings []chrome.Warning, err error) {
	p := pageFetch{
		account:    a,
		content:    c.Content,
		assets:     c.Assets,
		fetchUntil: time.Now().Add(maxFetchTime),
		args: office.PageArgs{
			Address: c.Address, Public: c.Address != "", Files: map[string]string{}, Office: c.To != office.ToHTML,
		},
	}
	defer func() { err = errors.Join(err, p.close()) }()

	if len(c.Assets) > 0 {
		p.args.Address = chrome.AssetOrigin + "/"
		p.args.Public = false
	}
	// Spreadsheets have no images.
	if c.To != office.ToXLSX {
		if err := p.fetchReferences(ctx); err != nil {
			return nil, nil, err
		}
	}
	result, err := a.runEngine(ctx, engine.Job{Name: office.EmbedJob, Args: p.args, Files: p.files()})
	if err != nil {
		return nil, nil, convertError(err)
	}

	var about office.EmbedResult
	if err := json.Unmarshal(result.Body, &about); err != nil {
		return nil, nil, errors.Join(err, result.Close())
	}

	switch {
	case c.To != office.ToXLSX:
		for _, reference := range about.Nowhere {
			p.lacks(reference, chrome.LooseLink)
		}
		for _, reference := range about.Omitted {
			p.lacks(reference, "was omitted: the document would be too large")
		}
	case about.Images > 0:
		p.lacking = []chrome.Warning{{
			Code: picturesOmitted,
			Message: fmt.Sprintf(
				"%d images were omitted: spreadsheets made from HTML or Markdown contain text and tables only",
				about.Images,
			),
		}}
	}
	return result.Output(0), p.lacking[:min(len(p.lacking), chrome.MaxWarnings)], nil
}

// lacks records a file that is left out of a page.
func (p *pageFetch) lacks(address, why string) {
	p.lacking = append(p.lacking, chrome.Warning{Code: chrome.ResourceFailed, Message: why, URL: address}.Bounded())
}

// lacksBecause returns the reason why a referenced file is left out. err is the error of Fetch.
func lacksBecause(err error) string {
	var failed *FetchError
	switch {
	case errors.As(err, &failed):
		return "could not be loaded: " + failed.Error()
	case errors.Is(err, errNoAsset):
		return fmt.Sprintf("returned status %d", http.StatusNotFound) // the wording of missing files of pages
	case errors.Is(err, egress.ErrRefused):
		return "could not be loaded: only public URLs are allowed"
	case errors.Is(err, spool.ErrTooLarge):
		return fmt.Sprintf("exceeds the limit of %d MiB", maxReferenceBytes>>20)
	}
	return "timed out"
}

// refuseOther returns an error if the content is not text, because wkhtmltopdf would print its bytes.
func refuseOther(content engine.Content) error {
	source, err := office.Sniff(content.Open(), "page.html")
	var unknown *office.Error
	if errors.As(err, &unknown) || err == nil && source.Format != office.FormatHTML {
		return &office.Error{Reason: office.NotHTML}
	}
	return err
}

// headingBookmarks nests headings by their levels.
func headingBookmarks(headings []office.Heading) (bookmarks []pdf.Bookmark) {
	for len(headings) > 0 {
		end := 1
		for end < len(headings) && headings[end].Level > headings[0].Level {
			end++
		}
		bookmarks = append(bookmarks, pdf.Bookmark{
			Title: headings[0].Title, Page: headings[0].Page, Children: headingBookmarks(headings[1:end]),
		})
		headings = headings[end:]
	}
	return bookmarks
}

// pageFetch collects a page and the files that it refers to.
type pageFetch struct {
	account *Account
	content engine.Content
	args    office.PageArgs
	fetched []engine.File
	owned   []io.Closer
	bytes   int64
	lacking []chrome.Warning
	assets  []chrome.Asset
	// fetchUntil is the deadline of all fetches.
	fetchUntil time.Time
}

func (p *pageFetch) files() []engine.File {
	return append([]engine.File{{Name: office.PageInput, Content: p.content}}, p.fetched...)
}

// sheets returns the page and the style sheets, which may refer to other files.
func (p *pageFetch) sheets() []engine.File {
	files := []engine.File{{Name: office.PageInput, Content: p.content}}
	for _, f := range p.fetched {
		if strings.HasSuffix(f.Name, office.StyleExtension) {
			files = append(files, f)
		}
	}
	return files
}

func (p *pageFetch) close() error {
	var faults []error
	for _, c := range p.owned {
		faults = append(faults, c.Close())
	}
	return errors.Join(faults...)
}

// fetchPage fetches the page itself, instead of a browser.
func (p *pageFetch) fetchPage(ctx context.Context, address string) error {
	bounded, cancel := context.WithDeadline(ctx, p.fetchUntil)
	defer cancel()

	u, err := p.account.render.policy.CheckURL(address, "https")
	if err != nil {
		return err
	}

	request, err := http.NewRequestWithContext(bounded, http.MethodGet, u.String(), nil)
	if err != nil {
		return &chrome.LoadError{URL: u.String(), Reason: "the URL is not valid"}
	}
	request.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")

	response, err := p.account.render.pages.Do(request)
	if err != nil {
		return pageError(ctx, u.String(), err)
	}
	defer response.Body.Close()

	if response.StatusCode >= http.StatusBadRequest {
		return &chrome.LoadError{URL: u.String(), Status: response.StatusCode}
	}

	file := spool.New("", maxReferenceBytes)
	p.owned = append(p.owned, file)
	if _, err := io.Copy(file, response.Body); err != nil {
		return pageError(ctx, u.String(), err)
	}

	p.content = file
	p.args.Address = response.Request.URL.String()
	p.args.ContentType = response.Header.Get("Content-Type")
	return nil
}

// pageError returns the reason why a page did not load.
func pageError(ctx context.Context, address string, err error) error {
	var failed *FetchError
	err = fetchError(ctx, err)
	switch {
	case errors.As(err, &failed):
		return &chrome.LoadError{URL: address, Reason: failed.Error()}
	case errors.Is(err, spool.ErrTooLarge):
		return &chrome.LimitError{What: "bytes", Max: maxReferenceBytes}
	}
	return err
}

// fetchReferences fetches the files that the page refers to, and then the files that these refer to.
func (p *pageFetch) fetchReferences(ctx context.Context) error {
	for range referenceDepth {
		result, err := p.account.runEngine(
			ctx,
			engine.Job{Name: office.ReferencesJob, Time: engine.ReadTime, Args: p.present(), Files: p.sheets()},
		)
		if err != nil {
			return convertError(err)
		}

		var missing []office.Reference
		if err := json.Unmarshal(result.Body, &missing); err != nil {
			return fmt.Errorf("references: %w", err)
		}
		if len(missing) == 0 {
			return nil
		}
		if err := p.fetchAll(ctx, missing); err != nil {
			return err
		}
	}
	return nil
}

// present returns the arguments of a job that lists references: the sheets only, with every other file marked as
// missing.
func (p *pageFetch) present() office.PageArgs {
	args := p.args
	args.Files = map[string]string{}
	for address, name := range p.args.Files {
		args.Files[address] = ""
		if strings.HasSuffix(name, office.StyleExtension) {
			args.Files[address] = name
		}
	}
	return args
}

// fetchAll fetches references concurrently. Missing files are left out, as in browsers.
func (p *pageFetch) fetchAll(ctx context.Context, references []office.Reference) error {
	bounded, cancel := context.WithDeadline(ctx, p.fetchUntil)
	defer cancel()

	files := make([]*spool.File, len(references))
	faults := make([]error, len(references))
	taken := make([]engine.Content, len(references))

	group := guard.NewGroup()
	group.SetLimit(referencesAtOnce)
	for i, reference := range references {
		if len(p.fetched)+i >= maxReferences {
			break
		}
		if file, ok := p.asset(reference); ok {
			if file == nil {
				faults[i] = errNoAsset
			}
			taken[i] = file
			continue
		}
		group.Go(func() error {
			fetched, err := p.account.Fetch(bounded, reference.Address, maxReferenceBytes)
			files[i] = fetched.File
			faults[i] = err
			return nil
		})
	}

	if err := group.Wait(); err != nil {
		for _, file := range files {
			if file != nil {
				p.owned = append(p.owned, file)
			}
		}
		return err
	}

	for i, reference := range references {
		name := ""
		switch {
		case faults[i] != nil:
			p.lacks(reference.Address, lacksBecause(faults[i]))
		case taken[i] != nil:
			name = p.add(reference, taken[i])
		case files[i] == nil:
			p.lacks(reference.Address, fmt.Sprintf("was not loaded: the limit is %d files per page", maxReferences))
		default:
			p.owned = append(p.owned, files[i])
			if p.bytes += files[i].Size(); p.bytes > maxReferenceBytes {
				p.lacks(
					reference.Address,
					fmt.Sprintf("was omitted: the limit is %d MiB of files per page", maxReferenceBytes>>20),
				)
				break
			}
			name = p.add(reference, files[i])
		}
		p.args.Files[reference.Address] = name
	}
	return ctx.Err()
}

// add adds a file to the document and returns its name.
func (p *pageFetch) add(reference office.Reference, content engine.Content) string {
	name := referenceName(len(p.fetched), reference)
	p.fetched = append(p.fetched, engine.File{Name: name, Content: content})
	return name
}

var errNoAsset = errors.New("no asset has this name")

// asset returns the asset that a reference names, or nil if no asset has the name. The second result reports
// whether the reference names an asset at all.
func (p *pageFetch) asset(reference office.Reference) (engine.Content, bool) {
	if len(p.assets) == 0 {
		return nil, false
	}
	name, ok := chrome.AssetName(reference.Address)
	for _, asset := range p.assets {
		if ok && asset.Name == name {
			return asset.Content, true
		}
	}
	return nil, ok
}

// referenceName names a file so that wkhtmltopdf, which goes by extensions, recognises its type.
func referenceName(number int, reference office.Reference) string {
	extension := office.StyleExtension
	if !reference.Style {
		extension = ""
		address, _, _ := strings.Cut(reference.Address, "?")
		switch known := strings.ToLower(path.Ext(address)); known {
		case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".svg", ".js", ".woff", ".woff2", ".ttf", ".otf":
			extension = known
		}
	}
	return fmt.Sprintf("reference%d%s", number, extension)
}
