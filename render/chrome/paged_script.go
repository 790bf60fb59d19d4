package chrome

// The scripts of this file run in the isolated world of relaypdf. They share its global object, and none of it with the
// document's own scripts.

// collectScript finds the elements that the rewritten style sheets concern, and gives names of destinations to those
// whose page must be known. A name is the element's ID; invisible links make the browser write the destinations into
// the PDF. Its argument is pagedcss.Features with limits; its result is collected.
const collectScript = `({targets, leaders, sets, labels, strings, restarts, bookmarks, headings, most,
    longest, prefix, marks, base}) => {
  const doc = document, root = doc.documentElement, here = doc.URL.split('#')[0];
  const own = globalThis.relay = {refs: [], sheets: [new CSSStyleSheet(), new CSSStyleSheet()], added: []};
  const out = {refs: [], strings: [], restarts: [], bookmarks: [],
      missing: [], repeated: [], alone: 0, cut: 0, more: false};
  for (const name of ['string-set', 'bookmark-level', 'bookmark-label', 'bookmark-state', 'page']) {
    try { CSS.registerProperty({name: '--relay-' + name, syntax: '*', inherits: false}); } catch {}
  }
  own.sheets[0].replaceSync(base);
  doc.adoptedStyleSheets = [...doc.adoptedStyleSheets, ...own.sheets];
  const clean = text => {
    const plain = text.slice(0, 100 * longest).replace(/\s+/g, ' ').trim();
    if (plain.length > longest) out.cut++;
    return plain.slice(0, longest);
  };
  const quote = text => '"' + text.replace(/["\\]/g, '\\$&')
      .replace(/[\x00-\x1f\x7f]/g, c => '\\' + c.charCodeAt(0).toString(16) + ' ') + '"';
  const generated = (e, part) => [...getComputedStyle(e, part).content.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
      .map(m => m[1].replace(/\\(.)/g, '$1')).join('');
  const texts = new Map();
  const contentOf = e => {
    if (!texts.has(e)) texts.set(e, clean(e.textContent));
    return texts.get(e);
  };
  const textOf = (e, part) => {
    switch (part) {
      case 'before': case 'after': return clean(generated(e, '::' + part));
      case 'first-letter': return (e.textContent.trimStart().slice(0, longest).match(/^\p{P}*./u) || [''])[0];
    }
    return contentOf(e);
  };
  const valueOf = (e, parts) => clean(parts.map(p =>
      p.attribute ? e.getAttribute(p.attribute) || '' : p.content ? textOf(e, p.content) : p.constant || '').join(''));
  const names = new Map(), links = doc.createElement('div');
  links.hidden = true;
  const nameOf = e => {
    if (!e) return '';
    if (!names.has(e)) {
      if (names.size >= most) { out.more = true; return ''; }
      if (!e.id) { e.id = prefix + names.size; own.added.push(e); }
      const link = doc.createElement('a');
      link.href = doc.baseURI.split('#')[0] + '#' + encodeURIComponent(e.id);
      // A second element with the same ID has no destination of its own.
      names.set(e, doc.getElementById(e.id) === e ? link.hash.slice(1) : '');
      if (!names.get(e) && out.repeated.length < 20 && !out.repeated.includes(e.id)) out.repeated.push(e.id);
      if (names.get(e)) links.append(link);
    }
    return names.get(e);
  };
  let anchors = null; // by name
  const byFragment = text => {
    let plain = text;
    try { plain = decodeURIComponent(text); } catch {}
    if (doc.getElementById(text)) return doc.getElementById(text);
    if (!anchors) {
      anchors = new Map();
      for (const a of doc.querySelectorAll('a[name]')) if (!anchors.has(a.name)) anchors.set(a.name, a);
    }
    return doc.getElementById(plain) || anchors.get(plain) || null;
  };
  const targetOf = (e, t) => {
    if (t.fragment) return byFragment(t.fragment);
    const link = (e.getAttribute(t.attribute) || '').trim();
    if (link.startsWith('#')) return byFragment(link.slice(1));
    try {
      const url = new URL(link, doc.baseURI);
      return url.hash && url.href.split('#')[0] === here ? byFragment(url.hash.slice(1)) : null;
    } catch { return null; }
  };

  const inline = e => /^(inline|contents|ruby)/.test(getComputedStyle(e).display);
  const apart = e => {
    const s = getComputedStyle(e);
    return s.display === 'none' || s.float !== 'none' || /absolute|fixed/.test(s.position);
  };
  const generates = (e, part) => !/^(none|normal)$/.test(getComputedStyle(e, part).content);
  // alone reports whether nothing else is on the lines of an element.
  const alone = e => {
    if (!/^(inline|block|flex)$/.test(getComputedStyle(e).display)) return false;
    for (let at = e; inline(at); at = at.parentElement) {
      const above = at.parentElement;
      if (!above || above.childNodes.length > 1000 || generates(above, '::before') ||
          generates(above, '::after')) return false;
      for (const n of above.childNodes) {
        if (n === at) continue;
        if (n.nodeType === 3 && n.data.trim() ||
            n.nodeType === 1 && n.localName !== 'br' && !apart(n) && inline(n)) return false;
      }
    }
    return true;
  };
  const lead = e => {
    const all = [...e.childNodes].filter(n => n.nodeType === 1 || n.nodeType === 3 && n.data.trim());
    if (all.length > 1) {
      const box = doc.createElement('span');
      box.append(...e.childNodes);
      e.append(box);
    }
    e.setAttribute('data-relay-leader', getComputedStyle(e).direction);
  };

  const pattern = new RegExp(marks[0] + '([txl])(\\d+)' + marks[1], 'gu');
  const everywhere = targets.some(t => !t.attribute) || leaders.length > 0;
  const found = [];
  if (targets.length + leaders.length > 0) {
    const candidates = everywhere ? '*' : targets.map(t => '[' + CSS.escape(t.attribute) + ']').join();
    for (const e of doc.querySelectorAll(candidates)) {
      for (const part of ['::before', '::after']) {
        const content = getComputedStyle(e, part).content;
        if (!content.includes(marks[0])) continue;
        for (const [, kind, number] of content.matchAll(pattern)) found.push({e, part, kind, number: +number});
      }
      if (found.length > 2 * most) { out.more = true; break; }
    }
  }
  const spaced = new Map(); // leaders by element
  for (const {e, part, kind, number} of found) {
    if (kind === 'l') {
      const leader = leaders[number];
      if (!leader) continue;
      spaced.set(e, leader);
      const fits = part === '::after' && alone(e);
      if (!fits) {
        out.alone++;
        e.style.setProperty('--relay-l' + number, '""');
        e.style.setProperty('--relay-b' + number, quote(leader.pattern.repeat(3)));
      } else {
        const rtl = getComputedStyle(e).direction === 'rtl';
        lead(e);
        if (leader.mixed) e.style.setProperty('--relay-b' + number, rtl ? '"\\2067"' : '"\\2066"');
      }
      continue;
    }
    const t = targets[number];
    if (!t) continue;
    const target = targetOf(e, t), property = '--relay-' + kind + number;
    if (!target && out.missing.length < 20)
        out.missing.push(t.fragment ? '#' + t.fragment : e.getAttribute(t.attribute) || '');
    if (kind === 'x') {
      e.style.setProperty(property, quote(target ? textOf(target, t.text) : ''));
    } else if (own.refs.length < most) {
      own.refs.push({e, property, part});
      out.refs.push({target: number, name: nameOf(target)});
    } else {
      out.more = true;
    }
  }
  for (const [e, leader] of spaced) e.style.setProperty('--relay-w', (leader.length || 0) + 'ch');
  // Elements that were not found, such as those in shadow trees, show nothing.
  targets.forEach((t, i) => root.style.setProperty((t.style ? '--relay-t' : '--relay-x') + i, '""'));
  leaders.forEach((l, i) =>
      root.style.setProperty('--relay-l' + i, quote((l.mixed ? '\u2069' : '') + ' ' +
      (l.pattern.trim() ? l.pattern.repeat(Math.ceil(600 / l.pattern.length)) : ''))));
  for (const e of sets.length + labels.length > 0 || restarts || bookmarks ? doc.querySelectorAll('*') : []) {
    const style = getComputedStyle(e), get = name => style.getPropertyValue('--relay-' + name).trim();
    const set = sets.length ? get('string-set') : '';
    for (const s of set && sets[set] || []) {
      if (out.strings.length < most) out.strings.push({string: s.name, value: valueOf(e, s.parts), name: nameOf(e)});
      else out.more = true;
    }
    const page = restarts ? get('page') : '';
    if (out.restarts.length >= most) out.more = true;
    else if (/^\d+$/.test(page)) out.restarts.push({page: +page, name: nameOf(e)});
    if (!bookmarks) continue;
    let level = get('bookmark-level');
    if (!level && headings && /^h[1-6]$/.test(e.localName)) level = e.localName.slice(1);
    if (!/^[1-9]\d?$/.test(level) || style.display === 'none') continue;
    if (out.bookmarks.length >= most) { out.more = true; continue; }
    const label = get('bookmark-label');
    out.bookmarks.push({level: +level,
        label: label && labels[label] ? valueOf(e, labels[label]) : contentOf(e),
        closed: get('bookmark-state') === 'closed', name: nameOf(e)});
  }
  if (links.firstChild) { (doc.head || root).append(links); own.links = links; }
  return out;
}`

// setScript sets the values of the references and the counter styles of the margin boxes. The values of wide are the
// ones whose width the references must have at least.
const setScript = `({values, wide, counters}) => {
  const own = globalThis.relay, canvas = new OffscreenCanvas(1, 1).getContext('2d');
  own.sheets[1].replaceSync(counters);
  const quote = text => '"' + text.replace(/["\\]/g, '\\$&') + '"';
  own.refs.forEach(({e, property, part}, i) => {
    let text = values[i];
    if (wide && wide[i] !== text) {
      canvas.font = getComputedStyle(e, part).font;
      const enough = canvas.measureText(wide[i]).width;
      for (let n = 0; n < 500 && canvas.measureText(text).width < enough; n++) text = '\u200a' + text;
    }
    e.style.setProperty(property, quote(text));
    if (e.hasAttribute('data-relay-leader')) e.style.setProperty('--relay-n', text.length + 'ch');
  });
}`

// restoreScript removes from the document what outlives it on its page.
const restoreScript = `() => {
  const own = globalThis.relay;
  if (own) document.adoptedStyleSheets = document.adoptedStyleSheets.filter(s => !own.sheets.includes(s));
  delete globalThis.relay;
}`

// leaderStyle is the style of leaders. The box of ::after takes the rest of the line. Its text runs from the line's end
// to its start, and breaks anywhere: only its first line is visible.
const leaderStyle = `[data-relay-leader]{display:flex!important;align-items:flex-end!important;
	flex-flow:row!important;white-space-collapse:collapse}
[data-relay-leader]::before{white-space:pre!important}
[data-relay-leader]::after{flex:1 1 0!important;min-width:calc(var(--relay-n,3ch) + var(--relay-w,0ch) + 2em)!important;
	display:block!important;overflow:clip!important;height:1lh!important;
	margin-inline-start:.3em!important;text-align:start!important;white-space:normal!important;
	line-break:anywhere!important;unicode-bidi:isolate!important;text-indent:0!important;
	direction:rtl!important}
[data-relay-leader=rtl]::after{direction:ltr!important}
`
