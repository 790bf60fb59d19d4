package chrome

import (
	"context"
	"errors"
)

// Sheets describes a document that package batch has joined: each child of its body has a page.
type Sheets struct {
	Count int
	// Width and Height are the size of the area of a page, in CSS pixels.
	Width, Height float64
	// Prefix begins the names of the document's elements.
	Prefix string
	// Rounds checks that no element clips its content by round corners: inside the clip of a part, viewers draw the edges
	// of such an element in other shades.
	Rounds bool
}

// Sheet is a part of such a document.
type Sheet struct {
	// Fits means that everything in it is inside the area of its page.
	Fits bool `json:"fits"`
	// End is the distance of the end of its text from the top of the area, in CSS pixels.
	End float64 `json:"end"`
}

// sheetsScript measures the parts of a joined document in the size of a page. It returns nothing if the document is not
// as it was written, or its body or root element has a style that would apply to a page by itself.
const sheetsScript = `({Count, Width, Height, Prefix, Rounds}) => {
  const sheets = [...document.body.children], last = document.styleSheets[document.styleSheets.length - 1];
  const named = (e, name, count) => e?.localName === Prefix + name && e.childElementCount === count;
  if (sheets.length !== Count || document.body.childNodes.length !== Count || document.compatMode !== 'CSS1Compat') return [];
  const root = getComputedStyle(document.documentElement);
  const none = 'rgba(0, 0, 0, 0)', zero = s => /^(0px ?)+$/.test(s);
  if (!zero(root.margin) || !zero(root.padding) || !zero(root.borderWidth) || root.display !== 'block' || root.position !== 'static' || root.transform !== 'none' ||
      root.opacity !== '1' || root.filter !== 'none' || root.writingMode !== 'horizontal-tb' || root.overflow !== 'visible' || root.float !== 'none' || root.zoom !== '1' || root.columns !== 'auto') return [];
  const painted = root.backgroundColor !== none || root.backgroundImage !== 'none';
  const at = last.insertRule('body:not(#a#a#a#a) > *:not(#a#a#a#a) { width: ' + Width + 'px !important; height: ' + Height + 'px !important }', last.cssRules.length);
  const round = e => {
    const style = getComputedStyle(e);
    return (style.overflow !== 'visible' || e.localName === 'img') && style.borderRadius !== '0px';
  };
  const found = sheets.map((sheet, i) => {
    const [page, end] = sheet.children, body = page?.children[1];
    if (!named(sheet, i + 1, 2) || !named(page, 'root', 2) || !named(end, 'end', 1) || body?.localName !== Prefix + 'body') return null;
    const style = getComputedStyle(body), range = document.createRange();
    range.selectNodeContents(page);
    const box = sheet.getBoundingClientRect(), all = range.getBoundingClientRect();
    const plain = (painted || style.backgroundColor === none && style.backgroundImage === 'none') && style.overflow === 'visible' &&
      style.writingMode === root.writingMode && style.direction === root.direction && style.display !== 'none' && style.position !== 'absolute';
    const inside = all.left >= box.left - .5 && all.top >= box.top - .5 && all.right <= box.right + .5 && all.bottom <= box.bottom + .5;
    return {fits: plain && inside && !(Rounds && [...page.querySelectorAll('*')].some(round)) && sheet.scrollWidth <= Math.ceil(Width) && sheet.scrollHeight <= Math.ceil(Height), end: end.getBoundingClientRect().bottom - box.top};
  });
  last.deleteRule(at);
  return found.includes(null) ? [] : found;
}`

// sheets measures the parts of a joined document.
func (p *page) sheets(ctx context.Context, of Sheets) (found []Sheet, err error) {
	err = p.eval(ctx, sheetsScript, of, &found)
	return found, ignoreStale(ctx, err)
}

// ErrSheets means that most parts of a joined document do not fit on their pages, so that it was not printed.
var ErrSheets = errors.New("chrome: most parts of the document do not fit on one page")

// worthwhile reports whether most parts fit.
func worthwhile(sheets []Sheet) bool {
	fit := 0
	for _, s := range sheets {
		if s.Fits {
			fit++
		}
	}
	return fit*2 > len(sheets)
}
