package render

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/relaypdf/relaypdf/render/chrome"
)

const (
	// maxLetterheadImage is the maximum size of one image in a header or footer.
	maxLetterheadImage = 5 << 20
	// maxLetterheadImages is the maximum number of images in a header or footer.
	maxLetterheadImages = 20
	// letterheadTime limits the wait for all of them.
	letterheadTime = 10 * time.Second
)

// letterhead embeds the images of a header or footer, because the browser loads nothing for these. Missing images
// are reported as warnings.
type letterhead struct {
	account *Account
	assets  []chrome.Asset
	offline bool
	images  int
	found   []chrome.Warning
}

// addressed matches other URLs that a style would load.
var addressed = regexp.MustCompile(`(?i)@import|url\(\s*["']?\s*(?:https?:)?//`)

// fill returns the template with its images embedded. name is header or footer.
func (l *letterhead) fill(ctx context.Context, name, template string) string {
	if !strings.Contains(template, "<") || !loadsSomething(template) {
		return template
	}

	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(template))
	for {
		kind := tokens.Next()
		raw := string(tokens.Raw())
		if kind == html.ErrorToken {
			return out.String()
		}

		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			token := tokens.Token()
			if l.tag(ctx, name, &token) {
				raw = token.String()
			}
		}

		if kind == html.TextToken && addressed.MatchString(raw) {
			l.warn(
				name,
				"does not load URLs in styles. Use data: URIs for backgrounds, and fonts from GET /v1/fonts",
				"",
			)
		}
		out.WriteString(raw)
	}
}

// loadsSomething reports whether a template may refer to other files.
func loadsSomething(template string) bool {
	lower := strings.ToLower(template)
	return strings.Contains(lower, "src") || strings.Contains(lower, "<link") || addressed.MatchString(template)
}

// tag embeds the image of an element, and reports whether it did.
func (l *letterhead) tag(ctx context.Context, name string, token *html.Token) bool {
	changed := false
	for i, attribute := range token.Attr {
		switch {
		case token.Data == "img" && attribute.Key == "src" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(attribute.Val)), "data:"):
			data, err := l.fetchImage(ctx, strings.TrimSpace(attribute.Val))
			if err != nil {
				l.warn(name, "has a missing image: "+err.Error(), attribute.Val)
				continue
			}
			token.Attr[i].Val = data
			changed = true
		case token.Data == "link" && attribute.Key == "href":
			l.warn(name, "does not load style sheets. Use inline styles", attribute.Val)
		case token.Data == "script" && attribute.Key == "src":
			l.warn(name, "does not run scripts", attribute.Val)
		case attribute.Key == "style" && addressed.MatchString(attribute.Val):
			l.warn(
				name, "does not load URLs in styles. Use data: URIs for backgrounds, and fonts from GET /v1/fonts",
				"",
			)
		}
	}
	return changed
}

func (l *letterhead) warn(name, text, address string) {
	if len(l.found) < maxLetterheadImages {
		l.found = append(
			l.found,
			chrome.Warning{Code: chrome.ResourceFailed, Message: "the " + name + " " + text, URL: address}.Bounded(),
		)
	}
}

// fetchImage returns the image at a URL as a data: URI.
func (l *letterhead) fetchImage(ctx context.Context, address string) (string, error) {
	if l.images++; l.images > maxLetterheadImages {
		return "", fmt.Errorf("the limit is %d images", maxLetterheadImages)
	}
	content, err := l.content(ctx, address)
	if err != nil {
		return "", err
	}

	kind := http.DetectContentType(content)
	if !strings.HasPrefix(kind, "image/") {
		if !strings.Contains(string(content[:min(len(content), 4096)]), "<svg") {
			return "", errors.New("the URL does not return an image")
		}
		kind = "image/svg+xml"
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content), nil
}

func (l *letterhead) content(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("its URL is not valid")
	}

	if u.Scheme == "" && u.Host == "" {
		for _, asset := range l.assets {
			if asset.Name == strings.TrimPrefix(path.Clean("/"+u.Path), "/") &&
				asset.Content.Size() <= maxLetterheadImage {
				return io.ReadAll(asset.Content.Open())
			}
		}
		return nil, errors.New("its URL is relative and no asset has that name")
	}

	if l.offline {
		return nil, errors.New("the document has no network access")
	}

	file, err := l.account.Fetch(ctx, address, maxLetterheadImage)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file.Open())
}

// letterheads fills the header and the footer of a document, and returns warnings for missing images.
func letterheads(ctx context.Context, a *Account, src Source, page PageSettings, opt *PDF) ([]chrome.Warning, error) {
	if opt.Header == "" && opt.Footer == "" {
		return nil, nil
	}

	bounded, cancel := context.WithTimeout(ctx, letterheadTime)
	defer cancel()
	l := letterhead{account: a, assets: src.Assets, offline: page.Offline}
	opt.Header = l.fill(bounded, "header", opt.Header)
	opt.Footer = l.fill(bounded, "footer", opt.Footer)

	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if page.Strict.Resources && len(l.found) > 0 {
		return nil, &chrome.WarningsError{Faults: l.found}
	}
	return l.found, nil
}
