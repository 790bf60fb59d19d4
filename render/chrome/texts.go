package chrome

import (
	"context"
	"encoding/json"
)

// textsScript returns the texts of the document and the values of its fields, in order, or null if there are too many.
// Texts count as visible only if nothing can cut off, hide or replace a part of them, and rasterScript has not told
// their element.
const textsScript = `most => {
  const found = [];
  let size = 0;
` + nameScript + `
  // Other characters than those of ASCII have six bytes in a message of the browser.
  const add = (e, content, visible, repeats) => {
    const text = content.replace(/\s+/g, ' ').trim(), element = visible ? name(e) : '';
    size += 80 + element.length * 6 + text.length * (/[^ -~]/.test(text) ? 6 : 2);
    found.push({element, text, visible, repeats});
  };
  const clear = color => /^transparent$|^rgba\(.*, 0\)$|\/ 0\)$/.test(color);

  // What all texts of an element have in common.
  const seen = new Map();
  const about = e => {
    if (!e || e.nodeType !== 1) return {visible: true, repeats: false, clips: []};
    if (seen.has(e)) return seen.get(e);
    const up = about(e.assignedSlot || e.parentElement || e.getRootNode().host), s = getComputedStyle(e);
    const cuts = e !== document.documentElement && e !== document.body
        && /hidden|clip|scroll|auto/.test(s.overflow)
        || /paint|strict|content/.test(s.contain);
    const whole =
        !e.matches('svg, math, canvas, video, audio, object, iframe, textarea, select, option,' +
          'noscript, template, head, [aria-hidden=true]') &&
      s.clipPath === 'none' && s.clip === 'auto' && s.maskImage === 'none' && s.direction === 'ltr' && s.unicodeBidi !== 'bidi-override' &&
      !e.told && s.webkitTextSecurity === 'none' && parseFloat(s.opacity) > 0
          && parseFloat(s.fontSize) > 0 && /^(none|normal)$/.test(s.content);
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
    const inside = (r, c) =>
        r.left >= c.left - 1 && r.right <= c.right + 1
        && r.top >= c.top - 1 && r.bottom <= c.bottom + 1;
    return rects.length > 0 && rects.every(r =>
        r.left >= -scrollX - 1 && r.top >= -scrollY - 1
        && r.right <= innerWidth + 1 && clips.every(c => inside(r, c)));
  };

  const look = root => {
    for (const node of root.childNodes) {
      if (size > most) return;
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
  return size > most ? null : found;
}`

// maxTexts is the maximum size of the texts of a document, in bytes of the message that holds them.
const maxTexts = maxMessage - 1<<20

// texts returns the texts of the document as it is printed.
func (t *tab) texts(ctx context.Context) ([]byte, error) {
	if err := t.emulatePrint(ctx); err != nil {
		return nil, err
	}

	var found json.RawMessage
	err := t.eval(ctx, textsScript, maxTexts, &found)
	return found, ignoreStale(ctx, err)
}
