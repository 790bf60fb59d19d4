package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-rod/rod/lib/proto"

	"relaypdf/render/pagedcss"
)

const (
	// maxSheets is the maximum number of style sheets of a document in which constructs of paged media are searched,
	// and maxSheet the maximum length of one in characters: the browser's message with its text stays within
	// maxMessage.
	maxSheets, maxSheet = 200, 1 << 20
	// maxAttributes is the maximum number of style attributes.
	maxAttributes = 1000
)

// sheet is a style sheet of the document that a page shows.
type sheet struct {
	id, url string
	line    int // of its first line in the document; 0 if it has its own file
	length  int
}

// styleSheetAdded records a style sheet.
func (p *page) styleSheetAdded(params json.RawMessage) {
	var e proto.CSSStyleSheetAdded
	if json.Unmarshal(params, &e) != nil || e.Header == nil || len(p.sheets) >= maxSheets {
		return
	}
	h := e.Header
	if h.Origin != proto.CSSStyleSheetOriginRegular || h.FrameID != p.frame || h.IsConstructed {
		return
	}
	s := sheet{id: string(h.StyleSheetID), url: h.SourceURL, length: int(h.Length)}
	if h.IsInline {
		s.line = int(h.StartLine)
	}
	p.sheets = append(p.sheets, s)
}

// styleScript returns the text of style elements and of style attributes that may be of interest: all other pages pay
// nothing for their transfer.
const styleScript = `({most, pattern}) => {
  const all = [...document.querySelectorAll('style')].map(e => e.textContent).concat([...document.querySelectorAll('[style]')].map(e => e.getAttribute('style')));
  return all.filter(text => new RegExp(pattern).test(text)).join('\n').slice(0, most);
}`

// mentionsPaged reports whether the document may use constructs of paged media. Documents without network are judged
// by their text; for others, the style sheets that they have loaded are read too.
func (p *page) mentionsPaged(ctx context.Context, job Job) (bool, error) {
	if pagedcss.Mentions(job.HTML) || p.lane != Once {
		return pagedcss.Mentions(job.HTML), nil
	}
	if job.URL != "" {
		var styles string
		args := map[string]any{"most": maxSheet, "pattern": pagedcss.Pattern}
		if err := ignoreStale(ctx, p.eval(ctx, styleScript, args, &styles)); err != nil || pagedcss.Mentions(styles) {
			return err == nil, err
		}
	}
	p.mu.Lock()
	linked := slices.Clone(p.load.linked)
	p.mu.Unlock()
	for _, id := range linked {
		var out proto.NetworkGetResponseBodyResult
		if err := ignoreStale(ctx, p.call(ctx, proto.NetworkGetResponseBody{RequestID: proto.NetworkRequestID(id)}, &out)); err != nil {
			return false, err
		}
		if pagedcss.Mentions(out.Body) {
			return true, nil
		}
	}
	return false, nil
}

// attributesScript returns the style attributes that may be of interest.
const attributesScript = `({most, pattern}) => [...document.querySelectorAll('[style]')].map(e => e.getAttribute('style')).filter(text => new RegExp(pattern).test(text)).slice(0, most)`

// warnPaged warns of constructs of paged media that have no effect.
func (p *page) warnPaged(ctx context.Context, job Job) (err error) {
	if mentioned, err := p.mentionsPaged(ctx, job); err != nil || !mentioned {
		return err
	}
	p.mu.Lock()
	p.sheets = nil
	p.mu.Unlock()
	if err := p.batch(ctx, proto.DOMEnable{}, proto.CSSEnable{}); err != nil {
		return ignoreStale(ctx, err)
	}
	p.mu.Lock()
	sheets := slices.Clone(p.sheets)
	p.mu.Unlock()
	// The browser reports the latest sheet first.
	slices.SortStableFunc(sheets, func(a, b sheet) int { return a.line - b.line })
	for _, s := range sheets {
		if s.length > maxSheet {
			continue
		}
		var out proto.CSSGetStyleSheetTextResult
		if err := ignoreStale(ctx, p.call(ctx, proto.CSSGetStyleSheetText{StyleSheetID: proto.CSSStyleSheetID(s.id)}, &out)); err != nil {
			return err
		}
		for _, c := range pagedcss.Sheet(out.Text) {
			warn(p, noEffect(c, s, job))
		}
	}
	var attributes []string
	args := map[string]any{"most": maxAttributes, "pattern": pagedcss.Pattern}
	if err := ignoreStale(ctx, p.eval(ctx, attributesScript, args, &attributes)); err != nil {
		return err
	}
	for _, text := range attributes {
		for _, c := range pagedcss.Attribute(text) {
			warn(p, Warning{Code: CSSUnsupported, Message: c.Name + " in a style attribute has no effect"})
		}
	}
	return ignoreStale(ctx, p.batch(ctx, proto.CSSDisable{}, proto.DOMDisable{}))
}

// noEffect returns the warning about a construct.
func noEffect(c pagedcss.Construct, s sheet, job Job) Warning {
	w := Warning{Code: CSSUnsupported, Message: c.Name + " has no effect"}
	if strings.HasPrefix(s.url, "http") && s.url != job.URL {
		w.URL = s.url
	}
	if !job.Generated || w.URL != "" {
		w.Message += fmt.Sprintf(" (line %d)", s.line+c.Line)
	}
	return w
}
