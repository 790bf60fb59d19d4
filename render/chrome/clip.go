package chrome

import (
	"context"
	"math"
	"strconv"
)

// clipScript returns the content that is cut off: by the edges of the page in print, and by elements with a fixed size.
// Content that is entirely beyond an edge usually waits to slide in; in a scroller it is lost. Content that its author
// hides or abbreviates is not lost: boxes of a few pixels, ellipses, line clamps, and what no one can scroll to.
//
// Pages whose style sheets set a size are that wide: the script returns the size of their content, and checks the edges
// only if it is the size of the window.
const clipScript = `({limit, margins, scale, within, frame, image}) => {
  const out = {width: 0, height: 0, right: null, left: null, shift: null, turned: false, cut: []};
  if (!document.body) return out;
` + nameScript + `
  const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const pictures = 'img, svg, canvas, video, iframe, frame, object, embed';
  const boxes = pictures + ', input, button, select, textarea, progress, meter';
  const html = document.documentElement, htmlStyle = getComputedStyle(html);
  const propagates = e => e === html || e === document.body &&
      htmlStyle.overflowX === 'visible' && htmlStyle.overflowY === 'visible';
  const clips = e => {
    const s = getComputedStyle(e), contained = /paint|strict|content/.test(s.contain);
    const kind = value => contained || value === 'clip' ? 'hidden' : value;
    return propagates(e) ? null : {s, x: kind(s.overflowX), y: kind(s.overflowY)};
  };
  // Reports whether an element between a part and a box clips, so that the box does not show or cut the part.
  const apart = (part, box, r) => {
    for (let p = part; p && p !== box; p = p.parentElement) {
      const s = getComputedStyle(p);
      if (s.position === 'fixed') return true;
      if (s.position === 'absolute' && !box.contains(p.offsetParent)) return true;
      if (p === part && part.nodeType === 1 && part.matches(boxes)) continue;
      if (s.overflowX !== 'visible' || s.overflowY !== 'visible') {
        const c = p.getBoundingClientRect();
        if (r.top >= c.bottom - 2 || r.bottom <= c.top + 2
            || r.left >= c.right - 2 || r.right <= c.left + 2) return true;
      }
    }
    return false;
  };
  const range = document.createRange();
  const parts = function* (e, most) {
    const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let n; most-- > 0 && (n = walker.nextNode());) {
      if (n.nodeType === 3) {
        if (!/\S/.test(n.data) || /^(script|style|template|noscript|option|textarea)$/i.test(n.parentElement.localName))
            continue;
        range.selectNodeContents(n);
        for (const r of range.getClientRects())
            if (r.width > 0 && r.height > 0) yield {e: n.parentElement, r, text: true};
      } else if (n.matches(boxes)) {
        const r = n.getBoundingClientRect();
        if (r.width > 4 && r.height > 4) yield {e: n, r, text: false};
      }
    }
  };
  // Returns the axis on which a box cuts off its content. Kinds are hidden, visible, or scrollers.
  const axis = (e, box, x, y, s) => {
    const rtl = s.direction === 'rtl', scrolls = kind => kind !== 'hidden';
    for (const {e: part, r, text} of parts(e, 20000)) {
      const under = r.bottom - box.bottom, over = e.scrollTop > 0 ? box.top - r.top : 0, high = Math.max(under, over);
      const right = !rtl || e.scrollLeft !== 0 ? r.right - box.right : 0,
          left = rtl || e.scrollLeft !== 0 ? box.left - r.left : 0,
          wide = Math.max(right, left);
      const outside = right > 0 ? r.left > box.right - 1 : r.right < box.left + 1;
      const line = part.closest('table, pre');
      let found = '';
      if (y !== 'visible' && (text ? high > .3 * r.height
          : scrolls(y) ? high > 2 + .05 * r.height : high >= r.height - 1))
          found = 'height';
      else if (x !== 'visible' &&
          (text ? wide > 3 && (scrolls(x) || !outside || line && e.contains(line) && e !== line)
          : scrolls(x) && wide > 2 + .05 * r.width))
          found = 'width';
      if (found && shown(part) && !apart(part, e, r)) return found;
    }
    return '';
  };
  const add = (e, axis, visible, whole, kind) => {
    if (out.cut.length < 10 && !out.cut.some(c => c.name === name(e) && c.axis === axis))
        out.cut.push({name: name(e), axis, shown: Math.round(visible), whole: Math.round(whole), kind});
  };
  const control = e => {
    const type = e.localName;
    if (type === 'textarea' && e.value.trim() || type === 'select' && (e.multiple || e.size > 1)) {
      if (e.scrollHeight > e.clientHeight + 6 && shown(e)) add(e, 'height', e.clientHeight, e.scrollHeight, 'control');
    }
    if ((type === 'textarea' || type === 'input' && /^(text|search|url|tel|email|number)$/.test(e.type))
        && e.value.trim() && e.scrollWidth > e.clientWidth + 3 && shown(e))
        add(e, 'width', e.clientWidth, e.scrollWidth, 'control');
  };
  const every = function* (root) {
    for (const e of root.querySelectorAll('*')) {
      yield e;
      if (e.shadowRoot) yield* every(e.shadowRoot);
    }
  };

  const inside = within ? document.querySelector(within) : html;
  if (!inside) return out;
  for (const e of [...within ? [inside] : [], ...every(inside)]) {
    if (e.localName === 'textarea' || e.localName === 'input' || e.localName === 'select') { control(e); continue; }
    if (e.clientHeight < 4 || e.clientWidth < 4
        || e.scrollHeight <= e.clientHeight + 1 && e.scrollWidth <= e.clientWidth + 1)
        continue;
    const c = clips(e);
    if (!c || c.x === 'visible' && c.y === 'visible') continue;
    const clamped = c.s.webkitLineClamp !== 'none' && c.s.webkitLineClamp;
    const y = clamped || e.scrollHeight <= e.clientHeight + 1 ? 'visible' : c.y;
    const x = c.s.textOverflow !== 'clip' || e.scrollWidth <= e.clientWidth + 1 ? 'visible' : c.x;
    if (x === 'visible' && y === 'visible' || !shown(e)) continue;
    const r = e.getBoundingClientRect(), left = r.left + e.clientLeft, top = r.top + e.clientTop;
    const found = axis(e, {left, top, right: left + e.clientWidth, bottom: top + e.clientHeight}, x, y, c.s);
    if (found === 'height') add(e, found, e.clientHeight, e.scrollHeight, 'element');
    if (found === 'width') add(e, found, e.clientWidth, e.scrollWidth, 'element');
  }
  const root = document.scrollingElement || html;
  if (frame) {
    const kind = value => /hidden|clip/.test(value) ? 'hidden' : 'scroll';
    const s = getComputedStyle(document.body),
        own = htmlStyle.overflowX !== 'visible' || htmlStyle.overflowY !== 'visible' ? htmlStyle : s;
    if (innerWidth < 8 || innerHeight < 8) return out;
    const found = axis(document.body, {left: 0, top: 0, right: innerWidth, bottom: innerHeight},
        kind(own.overflowX), kind(own.overflowY), htmlStyle);
    if (found) out.cut.push({name: '', axis: found,
        shown: found === 'height' ? innerHeight : innerWidth,
        whole: found === 'height' ? root.scrollHeight : root.scrollWidth, kind: 'frame'});
    return out;
  }
  if (!limit) return out;
  out.turned = htmlStyle.direction === 'rtl' && (scale !== 1 || root.scrollWidth > innerWidth + 1);

  // The size that style sheets give to all pages, or the window's.
  const pages = [];
  const collect = rules => {
    for (const r of rules) {
      if (r instanceof CSSPageRule) pages.push(r);
      else if (r.cssRules && !(r instanceof CSSMediaRule && !matchMedia(r.media.mediaText).matches))
          collect(r.cssRules);
    }
  };
  for (const s of [...document.styleSheets, ...document.adoptedStyleSheets]) {
    try {
      if (!s.disabled && matchMedia(s.media.mediaText || 'all').matches) collect(s.cssRules);
    } catch {}
  }
  const sized = image ? [] : pages.filter(r => r.style.size);
  let width = innerWidth, height = innerHeight;
  if (sized.length) {
    const units = {px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 96 / 2.54, mm: 96 / 25.4, q: 96 / 101.6};
    const papers = {
        a0: [841, 1189], a1: [594, 841], a2: [420, 594], a3: [297, 420], a4: [210, 297],
        a5: [148, 210], a6: [105, 148], b4: [250, 353], b5: [176, 250],
        'jis-b4': [257, 364], 'jis-b5': [182, 257], letter: [215.9, 279.4],
        legal: [215.9, 355.6], ledger: [279.4, 431.8],
    };
    const length = text => {
      const m = /^([\d.]+)([a-z]*)$/i.exec(text || '');
      return m ? m[1] * (m[2] ? units[m[2].toLowerCase()] : m[1] === '0' ? 1 : NaN) : NaN;
    };
    const size = text => {
      const words = text.toLowerCase().split(/\s+/), paper = words.find(w => papers[w]),
          turned = words.includes('landscape');
      const lengths = words.map(length).filter(n => n > 0);
      const [w, h] = paper ? papers[paper].map(n => n * units.mm)
          : lengths.length ? [lengths[0], lengths[1] || lengths[0]] : [NaN, NaN];
      return turned === w < h && (turned || words.includes('portrait')) ? [h, w] : [w, h];
    };
    const plain = pages.every(r => !r.selectorText) && new Set(sized.map(r => r.style.size)).size === 1;
    const side = (name, given) => {
      for (const r of [...pages].reverse()) if (r.style[name]) return length(r.style[name]);
      return given;
    };
    const [w, h] = plain ? size(sized[0].style.size) : [NaN, NaN];
    width = Math.round((w - side('marginLeft', margins[3]) - side('marginRight', margins[1])) / scale);
    height = Math.round((h - side('marginTop', margins[0]) - side('marginBottom', margins[2])) / scale);
    if (!(width > 0 && height > 0)) return out;
    out.width = width;
    out.height = height;
    if (Math.abs(width - innerWidth) > 1) return out;
  }
  limit = width * limit;

  const hides = e => /hidden|clip/.test(getComputedStyle(e).overflowX);
  if (hides(html) || hides(document.body)) return out;
  const holds = e => e.textContent.trim() || e.matches(pictures) || e.querySelector(pictures);
  const flows = e => {
    for (let p = e; p && p !== document.body; p = p.parentElement) {
      const s = getComputedStyle(p);
      if (/absolute|fixed/.test(s.position) || parseFloat(s.marginLeft) < -1) return false;
    }
    return true;
  };
  // The part of an element that other elements show.
  const reach = (e, box) => {
    let left = box.left, right = box.right;
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      const s = getComputedStyle(p);
      if (s.overflowX === 'visible') continue;
      const c = p.getBoundingClientRect();
      left = Math.max(left, c.left);
      right = Math.min(right, c.right);
    }
    return {left: left + scrollX, right: right + scrollX};
  };
  const wide = root.scrollWidth > limit;
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (!(box.height > 0)) continue;
    const l = box.left + scrollX, r = box.right + scrollX;
    if (wide && r > limit + 1 && l < limit && (!out.right || r > out.right.at + 1)
        && shown(e) && holds(e) && reach(e, box).right > limit + 1)
        out.right = {name: name(e), at: Math.ceil(r)};
    if (l >= -1) continue;
    const rtl = getComputedStyle(e).direction === 'rtl';
    // What is moved beyond the edge is hidden by design; what flows there is not.
    if (r <= 0 && !flows(e)) continue;
    if (rtl) {
      if ((!out.shift || l < out.shift.at - 1) && shown(e) && holds(e) && reach(e, box).left < -1)
          out.shift = {name: name(e), at: Math.floor(l)};
      continue;
    }
    if (out.left || !shown(e) || reach(e, box).left >= -2) continue;
    for (const n of e.childNodes) {
      if (n.nodeType !== 3 || !/\S/.test(n.data)) continue;
      range.selectNodeContents(n);
      const cut = [...range.getClientRects()].find(t => t.left + scrollX < -2);
      if (cut) out.left = {name: name(e), at: Math.floor(cut.left + scrollX)};
    }
  }
  if (!out.right && wide || !out.shift && root.scrollWidth > width) {
    for (const {e, r, text} of parts(document.body, 50000)) {
      if (!text) continue;
      const l = r.left + scrollX, right = r.right + scrollX;
      if (!out.right && wide && right > limit + 1 && l < limit && shown(e)
          && reach(e, r).right > limit + 1)
          out.right = {name: name(e), at: Math.ceil(right)};
      if (l < -1 && right > 0 && (!out.shift || l < out.shift.at)
          && getComputedStyle(e).direction === 'rtl' && shown(e) && reach(e, r).left < -1)
          out.shift = {name: name(e), at: Math.floor(l)};
    }
  }
  return out;
}`

// clipped is the result of clipScript.
type clipped struct {
	Width  int `json:"width"` // of the content of the pages, if style sheets set the size of them
	Height int `json:"height"`
	// Right and Left are elements that an edge of the page cuts, and Shift is one of right-to-left text that is wider
	// than the page.
	Right *edge `json:"right"`
	Left  *edge `json:"left"`
	Shift *edge `json:"shift"`
	// Turned means that the document is right-to-left and printed at another scale than 1.
	Turned bool `json:"turned"`
	Cut    []struct {
		Name  string `json:"name"`
		Axis  string `json:"axis"`
		Shown int    `json:"shown"`
		Whole int    `json:"whole"`
		Kind  string `json:"kind"`
	} `json:"cut"`
}

// edge is an element and how far it extends, in CSS pixels.
type edge struct {
	Name string `json:"name"`
	At   int    `json:"at"`
}

// clipArgs are the arguments of clipScript.
type clipArgs struct {
	// Limit is by how much the browser shrinks content that is wider than the page; 0 checks no edges.
	Limit   float64    `json:"limit"`
	Margins [4]float64 `json:"margins"` // of the paper: top, right, bottom, left
	Scale   float64    `json:"scale"`
	Within  string     `json:"within"` // a selector; empty checks the whole document
	Frame   bool       `json:"frame"`  // the document is that of a frame
	Image   bool       `json:"image"`  // the document has no pages
}

// clipped warns of content that is cut off. In print, right-to-left content that is wider than the page is moved and
// shrunk, as the browser does it with other content.
func (r *jobRun) clipped(ctx context.Context, p *tab) error {
	args := clipArgs{Scale: 1, Within: r.task.selector}
	if r.task.paper != nil {
		o := r.task.paper
		args.Limit = maxShrink
		args.Scale = o.Scale
		for i, inches := range [4]float64{o.MarginTop, o.MarginRight, o.MarginBottom, o.MarginLeft} {
			args.Margins[i] = inches * cssPerInch
		}
		if err := p.emulatePrint(ctx); err != nil {
			return err
		}
	}

	var seen clipped
	if err := p.eval(ctx, clipScript, args, &seen); err != nil {
		return ignoreStale(ctx, err)
	}

	// A script would see the size of the window change.
	resized := seen.Width > 0 && seen.Width != p.emulated.viewport.Width
	if resized && r.job.HTML != "" && !containsFold(r.job.HTML, "<script") {
		sized := p.emulated
		sized.viewport = Viewport{Width: seen.Width, Height: seen.Height, Scale: 1}
		if err := p.emulate(ctx, sized); err != nil {
			return err
		}
		if err := p.eval(ctx, clipScript, args, &seen); err != nil {
			return ignoreStale(ctx, err)
		}
	}

	if err := p.shrink(ctx, seen); err != nil {
		return err
	}
	r.warnClipped(p, seen)

	if r.job.RenderMode == ModeInline || r.task.selector != "" {
		return nil // A document of this render mode has no frames.
	}
	return r.clippedFrames(ctx, p)
}

// warnClipped adds the warnings about clipped content.
func (r *jobRun) warnClipped(p *tab, seen clipped) {
	room := p.emulated.viewport.withDefaults().Width
	limit := int(float64(room) * maxShrink)
	const remedy = "Let it wrap, or use a larger format, landscape or a smaller scale"

	if e := seen.Right; e != nil {
		warnf(p, ContentClipped,
			"%s extends to %d px and is cut off at the right edge: the page is %d px wide (%d at the smallest scale). %s",
			cut(e.Name, maxNameText), e.At, room, limit, remedy)
	}
	if e := seen.Shift; e != nil && room-e.At > limit {
		warnf(p, ContentClipped,
			"%s is %d px wide and is cut off at the left edge: the page is %d px wide (%d at the smallest scale). %s",
			cut(e.Name, maxNameText), room-e.At, room, limit, remedy)
	}
	if e := seen.Left; e != nil {
		warnf(p, ContentClipped,
			"%s begins at %d px and is cut off at the left edge. Remove its negative margin or position",
			cut(e.Name, maxNameText), e.At)
	}

	for _, c := range seen.Cut {
		cause := "it has a fixed size and hides or scrolls the rest"
		remedy := "Set height: auto and overflow: visible"
		switch {
		case c.Kind == "control":
			cause = "its text is longer than the field"
			remedy = "Make the field larger"
		case c.Kind == "frame":
			cause = "the document in it is larger"
			remedy = "Make the frame larger"
		case c.Axis == "width":
			remedy = "Let the content wrap, or set overflow: visible"
		}

		if r.task.step == StepPrint && c.Kind == "element" {
			remedy += ", for example in @media print"
		}
		warnf(p, ContentClipped, "%s shows %d of %d px of the %s of its content: %s. %s",
			cut(c.Name, maxNameText), c.Shown, c.Whole, c.Axis, cause, remedy)
	}
}

// shiftScript moves the document to the right. Chromium misplaces right-to-left documents that it scales: then the
// direction is that of the body alone.
const shiftScript = `({by, turned, fixed}) => {
  const html = document.documentElement, body = document.body;
  const set = (e, name, value) => e.style.setProperty(name, value, 'important');
  if (fixed) set(html, 'width', html.clientWidth + 'px');
  if (turned) {
    const direction = getComputedStyle(body).direction,
        right = html.getBoundingClientRect().right - body.getBoundingClientRect().right;
    set(html, 'direction', 'ltr');
    set(body, 'direction', direction);
    if (Math.abs(html.getBoundingClientRect().right - body.getBoundingClientRect().right - right) > 1)
        set(body, 'margin-left', 'auto');
  }
  if (by) set(html, 'margin-left', parseFloat(getComputedStyle(html).marginLeft) + by + 'px');
}`

// shiftArgs are the arguments of shiftScript.
type shiftArgs struct {
	By     float64 `json:"by"`
	Turned bool    `json:"turned"`
	Fixed  bool    `json:"fixed"` // The document keeps its width.
}

// shrink makes room for content that extends beyond the left edge of the page. The browser shrinks only content that
// extends beyond the right one.
func (t *tab) shrink(ctx context.Context, seen clipped) error {
	if seen.Shift == nil && !seen.Turned {
		return nil
	}

	width := float64(t.emulated.viewport.withDefaults().Width)
	factor := 1.
	if seen.Shift != nil {
		factor = min((width-float64(seen.Shift.At))/width, maxShrink)
	}

	args := shiftArgs{By: math.Floor(width * (factor - 1)), Turned: seen.Turned}
	if err := t.eval(ctx, shiftScript, args, nil); err != nil {
		return ignoreStale(ctx, err)
	}

	t.mu.Lock()
	t.load.shrunk = factor
	t.mu.Unlock()
	return nil
}

// fitted returns the settings with the scale at which the page's document fits.
func (o PDF) fitted(p *tab) PDF {
	const smallest = 0.1 // that Chromium accepts
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.load.shrunk > 1 {
		o.Scale = max(smallest, o.Scale/p.load.shrunk)
	}
	return o
}

// clippedFrames warns of frames that are smaller than their documents.
func (r *jobRun) clippedFrames(ctx context.Context, p *tab) error {
	return eachFrame(ctx, p, clipScript, clipArgs{Scale: 1, Frame: true}, func(name func() string, seen clipped) {
		for i := range seen.Cut {
			if seen.Cut[i].Kind == "frame" {
				seen.Cut[i].Name = name()
			} else {
				seen.Cut[i].Name += " in " + name()
			}
		}
		r.warnClipped(p, clipped{Cut: seen.Cut})
	})
}

// mayClip reports whether the text of a document without network may cut off content by other means than its width, or
// has boxes beside each other, whose widths add up.
func mayClip(html string) bool {
	words := containsAny(html,
		"overflow", "contain:", "rtl", "flex", "grid", "column", "<textarea", "<select", "<input", "\\")
	return words || mayFrame(html) || negative(html)
}

// negative reports whether a text may have a negative length of a style of more than one digit.
func negative(html string) bool {
	for i := 1; i+2 < len(html); i++ {
		if html[i] != '-' || html[i+1] < '0' || html[i+1] > '9' {
			continue
		}
		switch html[i-1] {
		case ':', ' ', '(', ',':
			if _, err := strconv.Atoi(html[i+2 : i+3]); err == nil {
				return true
			}
		}
	}
	return false
}
