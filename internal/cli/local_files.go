package cli

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"golang.org/x/net/html"
)

// localFiles uploads the local files that a page refers to: styles, images, fonts, scripts and, as assets, framed
// pages, from its folder or below. They are sent as assets if the operation accepts these, and otherwise as data:
// URLs in place of the references. Nothing outside the page's folder is read, including targets of links that lead
// out of it.
type localFiles struct {
	off      bool // of --no-local-files
	asAssets bool
	root     *os.Root
	assets   []any // in the API's form

	sent   []string // paths from the page's folder, in the order of the page
	bytes  int64
	missed []string // sentences about files that were not sent
	opened []string // styles that are being read
}

const (
	// maxLocalFile is the maximum size of one file in a page: with Base64, a larger one exceeds the service's limit
	// for HTML.
	maxLocalFile = 10 << 20
	// maxLocalAssets and maxLocalBytes are the service's limits for the assets of a page.
	maxLocalAssets = 100
	maxLocalBytes  = 50 << 20
)

// assetsField is the field for the assets of a page.
const assetsField = "assets"

// takesAssets reports whether an operation with that input always accepts a page's files as assets. A conversion with
// a chosen target format accepts them only for some formats.
func takesAssets(input *jsonschema.Schema) bool {
	if input.Properties == nil {
		return false
	}
	_, assets := input.Properties.Get(assetsField)
	_, chosen := input.Properties.Get("to")
	return assets && !chosen
}

// addTo puts the files into a request, after those that the command line names.
func (l *localFiles) addTo(input map[string]any) {
	given, _ := input[assetsField].([]any)
	for _, asset := range l.assets {
		about, _ := asset.(map[string]any)
		if !slices.ContainsFunc(given, func(other any) bool {
			named, _ := other.(map[string]any)
			return named["filename"] == about["filename"]
		}) {
			given = append(given, asset)
		}
	}

	if len(given) > 0 {
		input[assetsField] = given
	}
}

// localTypes maps the extensions of files that are sent to their types. A page does not need other files to be
// rendered.
var localTypes = map[string]string{
	".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".avif": "image/avif", ".svg": "image/svg+xml", ".bmp": "image/bmp", ".ico": "image/x-icon",
	".woff2": "font/woff2", ".woff": "font/woff", ".ttf": "font/ttf", ".otf": "font/otf",
}

// pageTypes are the same for pages in frames. They are sent as assets only, because the files that they refer to
// would have no URL otherwise.
var pageTypes = map[string]string{".html": pageType, ".htm": pageType}

const pageType = "text/html"

// embed returns a page, or Markdown, with the files that it refers to.
func (l *localFiles) embed(name, field, text string) (embedded string, err error) {
	if l.off {
		return text, nil
	}

	if l.root, err = os.OpenRoot(filepath.Dir(name)); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.root.Close()) }()

	if field == "markdown" {
		embedded = l.markdown(text)
	} else {
		embedded = l.page(text, ".")
	}
	if l.asAssets {
		return text, nil
	}
	return embedded, nil
}

// page rewrites the references of HTML in a folder. Everything else stays unchanged, byte for byte.
func (l *localFiles) page(text, folder string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(text))
	inside := "" // the element of a text that contains references

	for {
		kind := tokens.Next()
		raw := string(tokens.Raw())

		switch kind {
		case html.ErrorToken:
			out.WriteString(raw)
			return out.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			if token.Data == "base" && attribute(token, "href") != "" {
				return text // its references are not to files here
			}
			inside = ""
			if kind == html.StartTagToken &&
				(token.Data == "style" || token.Data == "script" && attribute(token, "type") == "module") {
				inside = token.Data
			}

			out.WriteString(l.tag(token, raw, folder))
		case html.EndTagToken:
			inside = ""
			out.WriteString(raw)
		case html.TextToken:
			switch inside {
			case "style":
				raw = l.style(raw, folder)
			case "script":
				l.imports(raw, folder)
			}
			out.WriteString(raw)
		default:
			out.WriteString(raw)
		}
	}
}

func attribute(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// tag rewrites one element of a page in a folder.
func (l *localFiles) tag(token html.Token, raw, folder string) string {
	if token.Data == "link" {
		relations := strings.Fields(strings.ToLower(attribute(token, "rel")))
		if !slices.Contains(relations, "stylesheet") || slices.Contains(relations, "alternate") {
			return raw // icons and hints are not rendered
		}
	}

	changed := false
	for i, a := range token.Attr {
		value := a.Val
		switch {
		case a.Key == "style":
			value = l.style(a.Val, folder)
		case a.Key == "srcdoc" && token.Data == "iframe":
			value = l.page(a.Val, folder)
		case a.Key == "srcset" && (token.Data == "img" || token.Data == "source"):
			value = l.set(a.Val, folder)
		case namesFile(token.Data, a.Key), l.asAssets && token.Data == "use" && strings.HasSuffix(a.Key, "href"):
			value = l.reference(a.Val, folder)
		}

		if value != a.Val {
			token.Attr[i].Val = value
			changed = true
		}
	}

	if !changed {
		return raw
	}
	return token.String()
}

// namesFile reports whether an attribute has the URL of a file that is rendered or executed.
func namesFile(element, attribute string) bool {
	switch element {
	case "link", "image", "feimage":
		return attribute == "href" || attribute == "xlink:href"
	case "img", "script", "source", "embed", "input", "iframe", "frame":
		return attribute == "src"
	case "object":
		return attribute == "data"
	case "video":
		return attribute == "poster"
	case "body", "table", "td", "th":
		return attribute == "background"
	}

	return false
}

// set rewrites the images of a srcset. One with commas in its addresses stays.
func (l *localFiles) set(text, folder string) string {
	if strings.Contains(text, "data:") {
		return text
	}
	candidates := strings.Split(text, ",")
	for i, candidate := range candidates {
		fields := strings.Fields(candidate)
		if len(fields) > 0 {
			fields[0] = l.reference(fields[0], folder)
			candidates[i] = strings.Join(fields, " ")
		}
	}
	return strings.Join(candidates, ", ")
}

// styleReference matches url(…) and @import "…".
var styleReference = regexp.MustCompile(
	`(?i)(url\(\s*)("[^"]*"|'[^']*'|[^"')\s]+)(\s*\))|(@import\s+)("[^"]*"|'[^']*')`)

// style rewrites the references of CSS in a folder.
func (l *localFiles) style(text, folder string) string {
	return styleReference.ReplaceAllStringFunc(text, func(found string) string {
		match := styleReference.FindStringSubmatch(found)
		before := match[1]
		quoted := match[2]
		after := match[3]
		if match[4] != "" {
			before = match[4]
			quoted = match[5]
		}

		name := strings.Trim(quoted, `"'`)
		embedded := l.reference(name, folder)
		if embedded == name {
			return found
		}
		return before + `"` + embedded + `"` + after
	})
}

// moduleImport matches the statements of a script that import other scripts by a relative path.
var moduleImport = regexp.MustCompile(
	"(?m)(?:^|;)\\s*(?:import|(?:import|export)\\b[^;\"'`()]*\\bfrom)\\s*[\"'](\\.{1,2}/[^\"']+)[\"']")

// imports uploads the scripts that a script in a folder imports. Only as assets do scripts have URLs that relative
// paths resolve against.
func (l *localFiles) imports(text, folder string) {
	if !l.asAssets {
		return
	}
	for _, match := range moduleImport.FindAllStringSubmatch(text, -1) {
		l.reference(match[1], folder)
	}
}

// markdownImage matches an image, and the definition that one may refer to.
var markdownImage = regexp.MustCompile(`(!\[[^\]]*\]\(\s*)<?([^)\s>]+)>?|^( {0,3}\[[^\]]+\]:\s*)<?([^\s>]+)>?`)

// htmlTag matches the elements of Markdown that show files.
var htmlTag = regexp.MustCompile(`(?i)<(?:img|source|video|link)\b[^>]*>`)

// styleElement is a style sheet in Markdown.
var styleElement = regexp.MustCompile(`(?is)<style[^>]*>(.*?)</style>`)

// markdown rewrites the images of Markdown, but for those in code.
func (l *localFiles) markdown(text string) string {
	if l.asAssets {
		for _, style := range styleElement.FindAllStringSubmatch(text, -1) {
			l.style(style[1], ".")
		}
	}

	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " ")
		mark := bare[:len(bare)-len(strings.TrimLeft(bare, "`~"))]

		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(bare[len(mark):]) == "" {
				fence = ""
			}
			out.WriteString(line)
			continue
		case len(mark) >= 3:
			fence = mark
			out.WriteString(line)
			continue
		}

		// Every other part is between backticks.
		parts := strings.Split(line, "`")
		for i := 0; i < len(parts); i += 2 {
			parts[i] = markdownImage.ReplaceAllStringFunc(parts[i], func(found string) string {
				match := markdownImage.FindStringSubmatch(found)
				before := match[1] + match[3]
				name := match[2] + match[4]
				if match[3] != "" && !strings.HasPrefix(localTypes[strings.ToLower(path.Ext(name))], "image/") {
					return found // the address of a link
				}
				if embedded := l.reference(name, "."); embedded != name {
					return before + embedded
				}
				return found
			})
			parts[i] = htmlTag.ReplaceAllStringFunc(parts[i], func(tag string) string { return l.page(tag, ".") })
		}
		out.WriteString(strings.Join(parts, "`"))
	}

	return out.String()
}

// mediaOf returns the media type of a file by its extension, or "" for files that are not sent.
func (l *localFiles) mediaOf(name string) string {
	extension := strings.ToLower(path.Ext(name))
	if media := pageTypes[extension]; l.asAssets && media != "" {
		return media
	}
	return localTypes[extension]
}

// reference returns the content of a local file as a data: URL. It returns the reference itself if it leads
// elsewhere or cannot be sent.
func (l *localFiles) reference(reference, folder string) string {
	address, err := url.Parse(strings.TrimSpace(reference))
	if err != nil || address.Scheme != "" || address.Host != "" || address.Path == "" ||
		strings.Contains(reference, "{{") {
		return reference
	}

	name := path.Join(folder, address.Path)
	if strings.HasPrefix(address.Path, "/") {
		name = strings.TrimPrefix(path.Clean(address.Path), "/")
	}

	media := l.mediaOf(name)
	if media == "" {
		l.miss("%s was not uploaded: it is not a style, image, font or script", name)
		return reference
	}

	content, err := l.read(name)
	if err != nil {
		l.miss("%s was not uploaded: %v", name, err)
		return reference
	}

	if !slices.Contains(l.sent, name) {
		if l.asAssets && (len(l.assets) == maxLocalAssets || l.bytes+int64(len(content)) > maxLocalBytes) {
			l.miss("%s was not uploaded: the limit is %d files of %d MiB in total", name, maxLocalAssets,
				maxLocalBytes>>20)
			return reference
		}
		l.sent = append(l.sent, name)
		l.bytes += int64(len(content))
		if l.asAssets {
			l.assets = append(l.assets,
				map[string]any{"filename": name, "file": base64.StdEncoding.EncodeToString(content)})
		}
	} else if l.asAssets {
		return reference
	}

	if slices.Contains(l.opened, name) {
		return reference // styles that import one another
	}
	content = l.follow(name, media, content)
	if l.asAssets {
		return reference
	}

	if media == "text/css" {
		media += ";charset=utf-8"
	}
	embedded := "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(content)
	if address.Fragment != "" {
		embedded += "#" + address.Fragment
	}
	return embedded
}

// follow adds the files that a file refers to, and returns its content with the new references.
func (l *localFiles) follow(name, media string, content []byte) []byte {
	switch media {
	case pageType:
		l.page(string(content), path.Dir(name))
	case "text/javascript":
		l.imports(string(content), path.Dir(name))
	case "text/css":
		l.opened = append(l.opened, name)
		content = []byte(l.style(string(content), path.Dir(name)))
		l.opened = l.opened[:len(l.opened)-1]
	}
	return content
}

func (l *localFiles) miss(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.missed, text) {
		l.missed = append(l.missed, text)
	}
}

// read returns a file of the page's folder.
func (l *localFiles) read(name string) ([]byte, error) {
	if name == ".." || strings.HasPrefix(name, "../") {
		return nil, errors.New("it is outside the page's folder")
	}

	f, err := l.root.Open(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the file does not exist")
	case err != nil && strings.Contains(err.Error(), "escapes"):
		return nil, errors.New("it is a symbolic link out of the page's folder")
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}

	maxSize := int64(maxLocalFile)
	if l.asAssets {
		maxSize = maxLocalBytes
	}

	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && int64(len(content)) > maxSize {
		err = fmt.Errorf("it is larger than %d MiB", maxSize>>20)
	}
	return content, err
}
