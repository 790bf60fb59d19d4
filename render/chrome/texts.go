package chrome

import "context"

// Text is a text of a document.
type Text struct {
	Element string `json:"element"` // a selector of its element
	Text    string `json:"text"`
	Visible bool   `json:"visible"` // readers see all of it
	Repeats bool   `json:"repeats"` // it may be on several pages
}

// textsScript returns the texts of the document and the values of its fields, in order, or none if there are too many.
// Texts count as visible only if nothing can cut off, hide or replace a part of them, and rasterScript
// has not told their element.
const textsScript = `most => {
  const found = [];
  let length = 0;
  const name = e => e.localName + (e.id ? '#' + e.id : [...e.classList].slice(0, 2).map(c => '.' + c).join(''));
  const add = (e, text, visible, repeats) => {
    length += text.length;
    found.push({element: visible ? name(e) : '', text, visible, repeats});
  };
  const clear = color => /^transparent$|^rgba\(.*, 0\)$|\/ 0\)$/.test(color);

  // What all texts of an element have in common.
  const seen = new Map();
  const about = e => {
    if (!e || e.nodeType !== 1) return {visible: true, repeats: false, clips: []};
    if (seen.has(e)) return seen.get(e);
    const up = about(e.assignedSlot || e.parentElement || e.getRootNode().host), s = getComputedStyle(e);
    const cuts = e !== document.documentElement && e !== document.body && /hidden|clip|scroll|auto/.test(s.overflow) || /paint|strict|content/.test(s.contain);
    const whole = !e.matches('svg, math, canvas, video, audio, object, iframe, textarea, select, option, noscript, template, head, [aria-hidden=true]') &&
      s.clipPath === 'none' && s.clip === 'auto' && s.maskImage === 'none' && s.direction === 'ltr' && s.unicodeBidi !== 'bidi-override' &&
      !e.told && s.webkitTextSecurity === 'none' && parseFloat(s.opacity) > 0 && parseFloat(s.fontSize) > 0 && /^(none|normal)$/.test(s.content);
    const here = {
      visible: up.visible && whole,
      repeats: up.repeats || s.position === 'fixed' || /^table-(header|footer)-group$/.test(s.display),
      clips: cuts ? [...up.clips, e.getBoundingClientRect()] : up.clips,
      shown: e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !clear(s.webkitTextFillColor),
    };
    seen.set(e, here);
    return here;
  };
  const range = document.createRange();
  const whole = (node, clips) => {
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter(r => r.width > 0 && r.height > 0);
    const inside = (r, c) => r.left >= c.left - 1 && r.right <= c.right + 1 && r.top >= c.top - 1 && r.bottom <= c.bottom + 1;
    return rects.length > 0 && rects.every(r => r.left >= -scrollX - 1 && r.top >= -scrollY - 1 && r.right <= innerWidth + 1 && clips.every(c => inside(r, c)));
  };

  const look = root => {
    for (const node of root.childNodes) {
      if (length > most) return;
      if (node.nodeType === 3 && /[\p{L}\p{N}]/u.test(node.data)) {
        const e = node.parentElement || root.host, {visible, repeats, clips, shown} = about(e);
        add(e, node.data, visible && shown && whole(node, clips), repeats);
      }
      if (node.nodeType !== 1 || node.matches('script, style')) continue;
      if (node.shadowRoot) look(node.shadowRoot);
      if (node.matches('input, select') && node.value) add(node, node.value, false, false);
      look(node);
    }
  };
  look(document.documentElement);
  return length > most ? [] : found;
}`

// maxTexts is the maximum number of characters of the texts of a document.
const maxTexts = 1 << 20

// texts returns the texts of the document as it is printed.
func (p *page) texts(ctx context.Context) (found []Text, err error) {
	if err := p.emulatePrint(ctx); err != nil {
		return nil, err
	}
	err = p.eval(ctx, textsScript, maxTexts, &found)
	return found, ignoreStale(ctx, err)
}
