package chrome

import "context"

// textRasterized is the code of the warning that a PDF shows text as an image.
const textRasterized = "text_rasterized"

// rasterScript returns the elements whose text the browser would print as an image. Before, it prints filters that are
// decoration by other means: it removes those without effect, and makes shadows of boxes and text of those that draw a
// shadow.
const rasterScript = `most => {
  const found = [];
` + nameScript + `
  const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const set = (e, property, value) => e.style.setProperty(property, value, 'important');
  const every = function* (root) {
    for (const e of root.querySelectorAll('*')) {
      yield e;
      if (e.shadowRoot) yield* every(e.shadowRoot);
    }
  };
  const frames = 'iframe, frame, object, embed', pictures = 'img, svg, canvas, video, picture';
  const texts = e => {
    const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), list = [];
    for (let n; n = walker.nextNode();) {
      if (/\S/.test(n.data) && !/^(script|style|template|noscript|title|desc|textarea|option)$/i.test(n.parentElement.localName)
          && shown(n.parentElement)) list.push(n);
    }
    return list;
  };
  const text = e => texts(e).map(n => n.data.trim()).join(' ').replace(/\s+/g, ' ').slice(0, 200);
  const generates = style => style.display !== 'none' && /"[^"]*[\p{L}\p{N}][^"]*"/u.test(style.content);
  const holds = e => texts(e).length > 0 ||
      [e, ...every(e)].some(c => c.matches(frames) || c.matches('input, textarea, select') &&
      c.value?.trim() && shown(c) ||
    ['::before', '::after'].some(part => generates(getComputedStyle(c, part))));
  const add = (e, cause, remedy, part = '') => {
    if (!part) e.told = true; // see textsScript
    if (found.length < most) found.push({element: name(e) + part, text: part ? '' : text(e), cause, remedy});
  };

  // The functions of a filter, such as ['blur', '4px'].
  const functions = value => [...value.matchAll(/([a-z-]+)\(((?:[^()]|\([^()]*\))*)\)/g)].map(m => [m[1], m[2]]);
  const idle = ([f, arg]) => {
    const n = parseFloat(arg);
    if (/^(brightness|contrast|saturate|opacity)$/.test(f)) return n === 1;
    return /^(blur|grayscale|sepia|invert|hue-rotate)$/.test(f) && n === 0;
  };
  const opaque = color => !/^rgba\(|\/|transparent/.test(color) || /[,/] ?1\)$/.test(color);
  const painted = s => opaque(s.backgroundColor) || s.backgroundImage !== 'none';
  const grey = color => {
    const m = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(color);
    return m && (m[1] === m[2] && m[2] === m[3] || m[4] === '0');
  };
  const colorless = e => [e, ...every(e)].every(c => {
    const s = getComputedStyle(c);
    return !c.matches(pictures) && !c.matches(frames) && s.backgroundImage === 'none'
        && s.boxShadow === 'none' && s.textShadow === 'none' &&
      [s.color, s.backgroundColor, s.borderTopColor, s.borderRightColor,
          s.borderBottomColor, s.borderLeftColor, s.textDecorationColor].every(grey);
  });
  // Draws a shadow behind what an element paints: its box, or else its content.
  const shade = (e, [x, y, blur, color]) => {
    const s = getComputedStyle(e), value = [x, y, blur, color].join(' ');
    const join = old => (old === 'none' ? '' : old + ', ') + value;
    if (e.matches(pictures)) {
      set(e, 'filter', (s.filter === 'none' ? '' : s.filter + ' ') +
          'drop-shadow(' + [x, y, parseFloat(blur) / 2 + 'px', color].join(' ') + ')');
      return;
    }
    if (painted(s)) {
      set(e, 'box-shadow', join(s.boxShadow));
      return;
    }
    const own = [...e.childNodes].some(n => n.nodeType === 3 && /\S/.test(n.data)), before = s.textShadow;
    if (own) set(e, 'text-shadow', join(before));
    for (const c of e.children) {
      if (own) set(c, 'text-shadow', before);
      shade(c, [x, y, blur, color]);
    }
  };
  let owner;
  try { owner = frameElement; } catch {}
  if (!innerWidth || !innerHeight || owner && !shown(owner)) return found;
  for (const e of every(document)) {
    const s = getComputedStyle(e);
    if (s.filter !== 'none' && !e.matches('img, canvas, video') && shown(e) && holds(e)) {
      let left = functions(s.filter).filter(f => !idle(f));
      const shadows = left.filter(([f]) => f === 'drop-shadow'), plain = !e.closest('svg') && !e.querySelector(frames);
      if (left.some(([f]) => /^(grayscale|saturate|hue-rotate)$/.test(f)) && plain && colorless(e))
          left = left.filter(([f]) => !/^(grayscale|saturate|hue-rotate)$/.test(f));
      const others = left.filter(([f]) => f !== 'drop-shadow' && f !== 'opacity');
      if (others.length || shadows.length && !plain) {
        add(e, 'its filter ' + s.filter, 'Remove the filter in @media print, or apply it to images only');
      } else {
        set(e, 'filter', 'none');
        for (const [f, arg] of left) if (f === 'opacity') set(e, 'opacity', s.opacity * parseFloat(arg));
        for (const [, arg] of shadows) {
          const lengths = arg.replace(/rgba?\([^)]*\)|[a-z]+\([^)]*\)/g, '').trim().split(/\s+/),
              color = /(?:rgba?|[a-z]+)\([^)]*\)/.exec(arg);
          // The blur of a filter is a deviation, half of the radius of a shadow.
          shade(e, [lengths[0], lengths[1], 2 * parseFloat(lengths[2] || '0') + 'px', color ? color[0] : s.color]);
        }
      }
    }
    const m = /^matrix3d\((.*)\)$/.exec(s.transform)?.[1].split(',').map(Number);
    const deep = m && (m[3] || m[7] || (m[2] || m[6]) && getComputedStyle(e.parentElement || e).perspective !== 'none');
    if (deep && shown(e) && holds(e)) add(e, 'its perspective', 'Remove the 3D transform in @media print');
    if (s.webkitBoxReflect && s.webkitBoxReflect !== 'none' && shown(e) && holds(e))
        add(e, 'its reflection', 'Remove -webkit-box-reflect in @media print');
    if (e.localName === 'pattern' && e.querySelector('text'))
        add(e, 'the SVG pattern', 'Draw the text outside of the pattern');
    for (const part of ['::before', '::after']) {
      const p = getComputedStyle(e, part);
      if (p.filter !== 'none' && generates(p) && functions(p.filter).some(f => !idle(f)) && shown(e))
          add(e, 'its filter ' + p.filter, 'Remove the filter in @media print', part);
    }
  }
  return found;
}`

// rasterized is a text that the browser prints as an image or twice.
type rasterized struct {
	Element string `json:"element"` // a selector
	Text    string `json:"text"`
	Cause   string `json:"cause"`
	Remedy  string `json:"remedy"`
}

// mayRasterize reports whether the text of a document without network may have text that is printed as an image.
func mayRasterize(html string) bool {
	return containsAny(html, "filter", "perspective", "3d", "reflect", "<pattern", "\\")
}

// mayFrame reports whether the text of a document without network may have frames, whose content it may hide: data:
// URLs are encoded.
func mayFrame(html string) bool { return containsAny(html, "<iframe", "<frame", "<object", "<embed") }

// rasterized prints text as text where it can, and warns of text that is printed as an image. It returns what keeps the
// document from being read as it looks.
func (t *tab) rasterized(ctx context.Context, job Job) (lost []Untagged, err error) {
	framed := t.mode == ModeOnce || t.mode == ModeRealm && mayFrame(job.HTML)
	if !framed && !mayRasterize(job.HTML) {
		return nil, nil
	}

	if err := t.emulatePrint(ctx); err != nil {
		return nil, err
	}
	var found []rasterized
	if err := t.eval(ctx, rasterScript, maxUntagged, &found); err != nil {
		return nil, ignoreStale(ctx, err)
	}

	if framed {
		err = eachFrame(ctx, t, rasterScript, maxUntagged, func(name func() string, seen []rasterized) {
			for _, f := range seen {
				f.Element += " in " + name()
				found = append(found, f)
			}
		})
		if err != nil {
			return nil, err
		}
	}

	for _, f := range found[:min(len(found), maxUntagged)] {
		problem := "The browser turns the text into an image because of " + f.Cause + "."
		warn(t, Warning{Code: textRasterized, Message: cut(f.Element, maxNameText) + ": " + cut(f.Cause, maxNameText) +
			" turns its text into an image, which cannot be searched, copied or redacted. " + f.Remedy})
		lost = append(lost, Untagged{Element: f.Element, Text: f.Text, Problem: problem, Remedy: f.Remedy + "."})
	}
	return lost, nil
}
