package chrome

import "context"

// Untagged is a text of a document that Chromium leaves out of the structure for screen readers.
type Untagged struct {
	Element string `json:"element"` // a selector
	Text    string `json:"text"`    // empty if it is not known, or the content is not text
	Frame   bool   `json:"frame"`   // the content of a frame; otherwise a style sheet generates the text
	Problem string `json:"problem"` // another cause, and its remedy; empty for the ones above
	Remedy  string `json:"remedy"`
}

// nameScript defines the function that names an element for users, by a selector, whose length is bounded.
const nameScript = `  const name = e =>
    (e.localName + (e.id ? '#' + e.id : [...e.classList].slice(0, 2).map(c => '.' + c).join(''))).slice(0, 200);`

// untaggedScript returns the frames that show something, the alternative texts of images that did not load, drawn
// canvases without a name, and the texts with letters or digits that style sheets generate. Counters and texts with an
// alternative (content: "New" / "") are left out, and everything that is hidden from screen readers.
const untaggedScript = `(most) => {
  const found = [];
` + nameScript + `
  const add = (e, part, text, about) =>
      found.push({element: name(e) + part,
      text: text.trim().replace(/\s+/g, ' ').slice(0, 200), ...about});
  const named = e => ['aria-label', 'aria-labelledby', 'title'].some(name => e.getAttribute(name)?.trim());
  const drawn = e => {
    try {
      const c = e.getContext('2d');
      return e.width > 0 && e.height > 0
          && (!c || e.width * e.height > 1e7 || c.getImageData(0, 0, e.width, e.height).data.some(v => v));
    } catch {
      return true;
    }
  };
  const silent = e => e.closest('[aria-hidden=true]') || !e.checkVisibility({visibilityProperty: true});
  const generates = rules => [...rules].some(r =>
      /:(before|after)\b/i.test(r.selectorText) && r.style.content
      || r.cssRules && generates(r.cssRules));
  const look = root => {
    const sheets = [...root.styleSheets, ...root.adoptedStyleSheets];
    const generated = sheets.some(s => { try { return generates(s.cssRules); } catch { return true; } });
    for (const e of root.querySelectorAll('*')) {
      if (found.length >= most) return;
      if (e.shadowRoot) look(e.shadowRoot);
      if (e.matches('iframe, frame, object, embed')) {
        let content;
        try { content = e.contentDocument || e.getSVGDocument?.(); } catch {}
        const text = content && (content.body?.innerText ?? content.documentElement?.textContent ?? '');
        const shows = content ? text.trim() || content.querySelector('img, svg, canvas, video, :root:not(html)')
            : e.matches('iframe, frame');
        if (shows && e.getClientRects().length && !silent(e)) add(e, '', text || '', {frame: true});
      }
      if (e.localName === 'img' && e.complete && !e.naturalWidth && e.alt.trim()
          && e.getClientRects().length && !silent(e)) {
        add(e, '', e.alt, {
            problem: 'Screen readers cannot read the alternative text of an image that the browser cannot show.',
            remedy: 'Correct the source of the image.'});
      }
      if (e.localName === 'canvas' && !named(e) && !/^(none|presentation)$/.test(e.role)
          && e.getClientRects().length && !silent(e) && drawn(e)) {
        add(e, '', '', {
            problem: 'Screen readers cannot read a canvas.',
            remedy: 'Describe it in aria-label, or mark decoration with aria-hidden="true".'});
      }
      for (const part of generated ? ['::before', '::after'] : []) {
        let content = getComputedStyle(e, part).content;
        // Page numbers are like counters.
        for (const name of e.style || [])
          if (name.startsWith('--relay-t'))
            content = content.replace(e.style.getPropertyValue(name).trim(), '');
        if (!/^(none|normal)$/.test(content) && !/[")] \/ "/.test(content)) {
          const text = [...content.replace(/[\w-]+\((?:"(?:[^"\\]|\\.)*"|[^()"])*\)/g, '')
              .matchAll(/"((?:[^"\\]|\\.)*)"/g)]
              .map(m => m[1].replace(/\\(.)/g, '$1')).join('');
          if (/[\p{L}\p{N}]/u.test(text) && !silent(e) && getComputedStyle(e, part).display !== 'none')
              add(e, part, text);
        }
      }
    }
  };
  look(document);
  return found;
}`

// maxUntagged is the maximum number of texts that are listed.
const maxUntagged = 50

// mayLoseText reports whether a document without network can have text that is not tagged.
func mayLoseText(html string) bool {
	return mayFrame(html) || containsAny(html, "content", "<img", "\\")
}

// untagged returns the texts of the document that are not tagged, as it is printed.
func (t *tab) untagged(ctx context.Context, job Job) (found []Untagged, err error) {
	if t.mode == ModeInline && !mayLoseText(job.HTML) {
		return nil, nil
	}
	if err := t.emulatePrint(ctx); err != nil {
		return nil, err
	}
	err = t.eval(ctx, untaggedScript, maxUntagged, &found)
	return found, ignoreStale(ctx, err)
}
