package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/render/pagedcss"
)

const (
	// maxSheets is the maximum number of style sheets of a document in which constructs of paged media are searched,
	// maxSheet the maximum length of one in characters, with which the browser's message stays within maxMessage, and
	// maxStyles that of all.
	maxSheets, maxSheet, maxStyles = 200, 1 << 20, 8 << 20
	// maxAttributes is the maximum number of style attributes, and maxAttribute the maximum length of one.
	maxAttributes, maxAttribute = 1000, 10_000
)

// sheet is a style sheet of the document that a page shows.
type sheet struct {
	id, url string
	inline  bool
	line    int // of its first line in the document
	length  int

	text, rewritten string
	imports         map[string]bool // URLs of the files that it imports, directly or not
}

// styleSheetAdded records a style sheet.
func (t *tab) styleSheetAdded(params json.RawMessage) {
	var e proto.CSSStyleSheetAdded
	if json.Unmarshal(params, &e) != nil || e.Header == nil || len(t.sheets) > maxSheets {
		return
	}

	h := e.Header
	if h.Origin != proto.CSSStyleSheetOriginRegular || h.FrameID != t.frame || h.IsConstructed {
		return
	}

	s := sheet{id: string(h.StyleSheetID), url: h.SourceURL, length: int(h.Length)}
	if h.IsInline {
		s.inline = true
		s.line = int(h.StartLine)
	}
	t.sheets = append(t.sheets, s)
}

// styleScript returns the text of style elements and of style attributes that may be of interest: all other pages pay
// nothing for their transfer.
const styleScript = `({most, pattern}) => {
  const all = [...document.querySelectorAll('style')].map(e => e.textContent)
      .concat([...document.querySelectorAll('[style]')].map(e => e.getAttribute('style')));
  return all.filter(text => new RegExp(pattern).test(text)).join('\n').slice(0, most);
}`

// mentionsPaged reports whether the document may use constructs of paged media. Documents without network are judged
// by their text; for others, the style sheets that they have loaded are read too.
func (t *tab) mentionsPaged(ctx context.Context, job Job) (bool, error) {
	if mentioned := pagedcss.Mentions(job.HTML); mentioned || t.mode != ModeOnce {
		return mentioned, nil
	}

	if job.URL != "" {
		var styles string
		args := map[string]any{"most": maxSheet, "pattern": pagedcss.Pattern}
		if err := ignoreStale(ctx, t.eval(ctx, styleScript, args, &styles)); err != nil || pagedcss.Mentions(styles) {
			return err == nil, err
		}
	}

	t.mu.Lock()
	linked := slices.Clone(t.load.linked)
	t.mu.Unlock()
	for _, id := range linked {
		var out proto.NetworkGetResponseBodyResult
		err := t.call(ctx, proto.NetworkGetResponseBody{RequestID: proto.NetworkRequestID(id)}, &out)
		if err := ignoreStale(ctx, err); err != nil {
			return false, err
		}
		if pagedcss.Mentions(out.Body) {
			return true, nil
		}
	}
	return false, nil
}

// emulatePrint applies the style sheets that apply in print.
func (t *tab) emulatePrint(ctx context.Context) error {
	printed := t.emulated
	if printed.media == "" {
		printed.media = "print"
	}
	return t.emulate(ctx, printed)
}

// numbering reports whether the document is printed with constructs of paged media.
func (t *tab) numbering() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.load.numbering
}

// attributesScript returns the style attributes that may be of interest.
const attributesScript = `({most, longest, pattern}) => {
  const all = [...document.querySelectorAll('[style]')].filter(e => new RegExp(pattern).test(e.getAttribute('style')));
  globalThis.relayStyled = all.filter(e => e.getAttribute('style').length <= longest).slice(0, most);
  return {texts: globalThis.relayStyled.map(e => e.getAttribute('style')),
      more: all.length - globalThis.relayStyled.length};
}`

// rewriteScript gives these elements other style attributes.
const rewriteScript = `texts => globalThis.relayStyled.forEach((e, i) => {
  if (texts[i] !== e.getAttribute('style')) e.setAttribute('style', texts[i]);
})`

// preparePaged rewrites the constructs of paged media in the styles of the document, and warns of those that have no
// effect. It returns nil if there is nothing to print in a special way.
func (t *tab) preparePaged(ctx context.Context, job Job, opt PDF) (*pagedDocument, error) {
	if mentioned, err := t.mentionsPaged(ctx, job); err != nil || !mentioned {
		return nil, err
	}

	// The browser reports sheets of media that apply only.
	if err := t.emulatePrint(ctx); err != nil {
		return nil, err
	}

	css, err := t.rewrite(ctx, job)
	if err != nil || css.Empty() {
		return nil, ignoreStale(ctx, err)
	}

	t.mu.Lock()
	t.load.numbering = true
	t.mu.Unlock()
	return t.collect(ctx, css, opt.Outline)
}

// rewrite rewrites the style sheets and style attributes of the document.
func (t *tab) rewrite(ctx context.Context, job Job) (css pagedcss.Features, err error) {
	t.mu.Lock()
	t.sheets = nil
	t.mu.Unlock()
	if err := t.batch(ctx, proto.DOMEnable{}, proto.CSSEnable{}); err != nil {
		return css, err
	}

	sheets, err := t.readSheets(ctx)
	if err != nil {
		return css, err
	}

	var styled struct {
		Texts []string `json:"texts"`
		More  int      `json:"more"`
	}
	args := map[string]any{"most": maxAttributes, "longest": maxAttribute, "pattern": pagedcss.Pattern}
	if err := t.eval(ctx, attributesScript, args, &styled); err != nil {
		return css, err
	}
	if styled.More > 0 {
		warnf(t, CSSUnsupported, "CSS for paged media has no effect in %d style attributes: "+
			"only the first %d, of at most %d characters each, are read. Use a style element",
			styled.More, maxAttributes, maxAttribute)
	}

	attributes := styled.Texts
	pass := func() (warnings []Warning) {
		for i := range sheets {
			s := &sheets[i]
			var found []pagedcss.Construct
			s.rewritten, found = css.Sheet(s.text)
			for _, c := range found {
				warnings = append(warnings, noEffect(c, *s, job))
			}
		}
		return warnings
	}

	warnings := pass()
	if css.Numbered() {
		warnings = pass()
	}

	for i, text := range attributes {
		var found []pagedcss.Construct
		attributes[i], found = css.Attribute(text)
		for _, c := range found {
			message := c.Name + " in a style attribute has no effect"
			warnings = append(warnings, Warning{Code: CSSUnsupported, Message: message})
		}
	}

	for _, w := range warnings {
		warn(t, w)
	}

	if !css.Empty() {
		if err := t.writeSheets(ctx, sheets); err != nil {
			return css, err
		}
		if err := t.eval(ctx, rewriteScript, list(attributes), nil); err != nil {
			return css, err
		}
	}
	return css, t.batch(ctx, proto.CSSDisable{}, proto.DOMDisable{})
}

// readSheets reads the style sheets of the document.
func (t *tab) readSheets(ctx context.Context) ([]sheet, error) {
	t.mu.Lock()
	sheets := slices.Clone(t.sheets)
	t.mu.Unlock()

	// The browser reports the latest sheet first.
	slices.SortStableFunc(sheets, func(a, b sheet) int { return a.line - b.line })
	total := 0
	sheets = slices.DeleteFunc(sheets, func(s sheet) bool {
		skipped := s.length > maxSheet || total+s.length > maxStyles
		if skipped {
			warn(t, s.warning(fmt.Sprintf("CSS for paged media has no effect in a style sheet of %d characters: "+
				"the limit is %d characters per sheet, and %d in total. Move these rules to a separate style element",
				s.length, maxSheet, maxStyles)))
		} else {
			total += s.length
		}
		return skipped
	})

	if len(sheets) > maxSheets {
		warnf(t, CSSUnsupported,
			"the document has more than %d style sheets; CSS for paged media has no effect in the rest", maxSheets)
		sheets = sheets[:maxSheets]
	}

	for i := range sheets {
		var out proto.CSSGetStyleSheetTextResult
		err := t.call(ctx, proto.CSSGetStyleSheetText{StyleSheetID: proto.CSSStyleSheetID(sheets[i].id)}, &out)
		if err := ignoreStale(ctx, err); err != nil {
			return nil, err
		}
		sheets[i].text = out.Text
	}
	return sheets, nil
}

// writeSheets replaces the text of the sheets that were rewritten. A sheet that imports others loads them again, so it
// comes before them.
func (t *tab) writeSheets(ctx context.Context, sheets []sheet) error {
	files := map[string]sheet{} // by URL
	imported := map[string]bool{}
	for _, s := range sheets {
		if !s.inline {
			files[s.url] = s
		}
	}

	depth := map[string]int{} // how many sheets import a file, directly or not
	for i := range sheets {
		sheets[i].imports = imports(sheets[i], files)
		for to := range sheets[i].imports {
			depth[to]++
		}
	}

	slices.SortStableFunc(sheets, func(a, b sheet) int { return depth[a.url] - depth[b.url] })
	t.mu.Lock()
	t.sheets = nil
	t.mu.Unlock()

	for _, s := range sheets {
		if s.rewritten == s.text {
			continue
		}
		if err := t.writeSheet(ctx, s, !s.inline && imported[s.url]); err != nil {
			return err
		}
		maps.Copy(imported, s.imports)
	}

	if len(imported) == 0 {
		return nil
	}
	return t.awaitSheets(ctx)
}

// importTimeout is how long a sheet that was imported before may take to load again.
const importTimeout = 5 * time.Second

// writeSheet replaces the text of a sheet, which may have been loaded again and has another ID then.
func (t *tab) writeSheet(ctx context.Context, s sheet, again bool) error {
	for start := time.Now(); time.Since(start) < importTimeout; {
		ids := []string{s.id}
		if again {
			if err := t.awaitSheets(ctx); err != nil {
				return err
			}
			ids = t.idsOf(s.url)
		}

		written := false
		for _, id := range ids {
			change := proto.CSSSetStyleSheetText{StyleSheetID: proto.CSSStyleSheetID(id), Text: s.rewritten}
			err := t.call(ctx, change, nil)
			written = written || err == nil
			if err := ignoreStale(ctx, err); err != nil {
				return err
			}
		}

		if written {
			return nil
		}
		// While a sheet loads the ones that it imports, the browser knows none of them.
		if err := t.awaitSheets(ctx); err != nil {
			return err
		}
	}

	warn(t, s.warning("CSS for paged media has no effect in a style sheet that did not reload in time"))
	return nil
}

// idsOf returns the IDs of the sheets with a URL that were loaded again.
func (t *tab) idsOf(url string) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sheets {
		if s.url == url && !slices.Contains(ids, s.id) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// awaitSheets waits until sheets that are imported again have loaded.
func (t *tab) awaitSheets(ctx context.Context) error {
	const begin = 50 * time.Millisecond // until requests have begun, and until the browser has read their responses
	if err := pause(ctx, begin); err != nil {
		return err
	}
	if err := t.await(ctx, func(s *loadState) bool { return len(s.inFlight) == 0 }); err != nil {
		return err
	}
	if err := pause(ctx, begin); err != nil {
		return err
	}

	// The browser reports new sheets when it uses them.
	return ignoreStale(ctx, t.eval(ctx, "() => getComputedStyle(document.documentElement).color", nil, nil))
}

// importPattern matches the URL of an @import rule.
var importPattern = regexp.MustCompile(`(?i)@import\s+(?:url\(\s*)?["']?([^"')\s;]+)`)

// imports returns the URLs of the files that a sheet imports, and of those that they import.
func imports(s sheet, files map[string]sheet) map[string]bool {
	urls := map[string]bool{}
	list := []sheet{s}

	for len(list) > 0 {
		s = list[0]
		list = list[1:]
		base, err := url.Parse(s.url)
		if err != nil {
			continue
		}

		for _, m := range importPattern.FindAllStringSubmatch(s.text, maxSheets) {
			to, err := base.Parse(m[1])
			if err != nil {
				continue
			}
			if file, known := files[to.String()]; known && !urls[file.url] {
				urls[file.url] = true
				list = append(list, file)
			}
		}
	}
	return urls
}

// warning returns a warning about the sheet, with its URL if it has one on the network.
func (s sheet) warning(text string) Warning {
	w := Warning{Code: CSSUnsupported, Message: text}
	if strings.HasPrefix(s.url, "http") {
		w.URL = s.url
	}
	return w
}

// noEffect returns the warning about a construct.
func noEffect(c pagedcss.Construct, s sheet, job Job) Warning {
	w := s.warning(c.Name + " has no effect")
	if w.URL == job.URL {
		w.URL = "" // of a style element
	}
	if !job.Generated || w.URL != "" {
		w.Message += fmt.Sprintf(" (line %d)", s.line+c.Line)
	}
	return w
}
