package chrome

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// FontSet reports which fonts the browsers find.
type FontSet interface {
	// Named reports whether there is a font of that name, or a substitute for it.
	Named(family string) bool
	// Draws reports whether any of them has the character.
	Draws(r rune) bool
}

// maxShrink is the maximum factor by which the browser shrinks content that is wider than its page. Wider content
// is cut.
const maxShrink = 1.5

// fontScript returns the parts of a document's preview that are only known once it is rendered: the font lists of its
// text, its unusual characters, and relative links without a base URL. It samples a thousand texts.
const fontScript = `({loose}) => {
  const out = {lists: [], characters: '', links: [], broken: []};
  if (!document.body) return out;
  if (loose && document.baseURI.startsWith('about:')) {
    const links = new Set();
    const add = link => {
      if (link && !/^\s*([a-z][a-z0-9+.-]*:|#|$)/i.test(link) && links.size < 100) links.add(link.trim());
    };
    for (const e of document.querySelectorAll(
        'img, script, source, video, audio, track, iframe, embed, input[type=image]'))
        add(e.getAttribute('src'));
    for (const e of document.querySelectorAll('link[rel~=stylesheet i], image, use, feImage'))
        add(e.getAttribute('href') || e.getAttribute('xlink:href'));
    for (const e of document.querySelectorAll('object')) add(e.getAttribute('data'));
    for (const e of document.querySelectorAll('[srcset]'))
        for (const part of e.srcset.split(/,\s+/)) add(part.trim().split(/\s/)[0]);
    const css = [...document.querySelectorAll('style')].map(e => e.textContent)
        .concat([...document.querySelectorAll('[style]')].map(e => e.getAttribute('style')));
    for (const text of css)
      for (const m of text.replace(/\/\*[^]*?\*\//g, '')
          .matchAll(/(?:url\(\s*|@import\s+)(?:"([^"]*)"|'([^']*)'|([^\s"')]*)\s*\))/g))
        add(m[1] || m[2] || m[3]);
    out.links = [...links];
  }
  for (const i of document.images) {
    if (i.complete && !i.naturalWidth && /^(https?|data|blob):/i.test(i.currentSrc) &&
        i.getClientRects().length && out.broken.length < 50)
        out.broken.push(i.currentSrc.slice(0, 500));
  }
  const lists = new Set(), characters = new Set(), texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode()) && texts.length < 50000;) {
    if (/\S/.test(n.data) && !/^(script|style|template|noscript|title)$/i.test(n.parentElement.localName))
        texts.push(n);
  }
  const stride = Math.max(1, Math.ceil(texts.length / 1000));
  texts.forEach((n, i) => {
    const unusual = n.data.match(/[^\u0000-\u024f]/gu);
    if (!unusual && i % stride || !n.parentElement.checkVisibility()) return;
    for (const c of unusual || []) if (characters.size < 2000) characters.add(c);
    if (i % stride === 0) lists.add(getComputedStyle(n.parentElement).fontFamily);
  });
  out.lists = [...lists].slice(0, 100);
  out.characters = [...characters].join('');
  return out;
}`

// drawScript draws names and characters to find out which have no font: a missing family
// looks like the next one in the list, and a character without a font looks like one that
// does not exist.
const drawScript = `({lists = [], characters, apart}) => {
  const canvas = new OffscreenCanvas(40, 40), c = canvas.getContext('2d', {willReadFrequently: true});
  const sample = 'mmMwWlliI019&@ Handgloves';
  const width = font => { c.font = '60px ' + font; return c.measureText(sample).width; };
  const there = name => {
    const quoted = '"' + name.replace(/["\\]/g, '\\$&') + '"';
    return ['monospace', 'serif', 'sans-serif'].some(g => width(quoted + ', ' + g) !== width(g));
  };
  const own = apart ? [] : [...new Set([...document.fonts].filter(f => f.status === 'loaded').map(f => f.family))];
  const brought = new Set(apart ? [...document.fonts].map(f => f.family.replace(/["']/g, '').toLowerCase()) : []);
  const missing = lists.map(list => !list.some(name => there(name) && !brought.has(name.toLowerCase())));
  c.font = '24px ' + [...own, apart ? 'sans-serif' : getComputedStyle(document.body).fontFamily].join(', ');
  const picture = text => {
    c.clearRect(0, 0, 40, 40);
    c.fillText(text, 4, 30);
    return c.getImageData(0, 0, 40, 40).data.join();
  };
  const nothing = picture('\u{10fabc}'); // for private use, which nobody uses
  return {lists: missing, characters: [...characters].filter(ch => picture(ch) === nothing).join('')};
}`

// documentReport is the result of lookScript.
type documentReport struct {
	Lists      []string `json:"lists"`
	Characters string   `json:"characters"`
	Links      []string `json:"links"`
	Broken     []string `json:"broken"` // images that loaded and cannot be drawn
}

// clips reports whether the document may cut off content that the output should show. An image of the window shows a
// part of the document by design.
func (r *jobRun) clips() bool {
	switch {
	case r.task.paper != nil:
		limit := int(float64(r.task.emulated.viewport.Width) * maxShrink)
		return r.job.RenderMode == ModeOnce || mayClip(r.job.HTML) || mayOverflow(r.job.HTML, limit)
	case r.task.whole || r.task.selector != "":
		return r.job.RenderMode == ModeOnce || mayClip(r.job.HTML)
	}
	return false
}

// checkDocument warns of fonts and characters that are missing, and of content that the page
// cuts. Documents whose text rules all of these out are not queried. Warnings that were
// known before come first.
func (r *jobRun) checkDocument(ctx context.Context, p *tab) error {
	for _, w := range r.job.Warnings {
		warn(p, w)
	}

	faces := r.pool.cfg.FontSet
	if r.job.RenderMode == ModeOnce || mayLack(r.job.HTML, faces) || containsFold(r.job.HTML, "data:image") {
		if err := r.checkFonts(ctx, p); err != nil {
			return err
		}
	}

	if r.clips() {
		if err := r.clipped(ctx, p); err != nil {
			return err
		}
	}

	if faces == nil {
		return nil
	}
	for _, part := range [...]struct{ name, template string }{{"header", r.task.header}, {"footer", r.task.footer}} {
		if err := warnMissing(ctx, p, missingFontsIn(part.template, faces), "the "+part.name+": "); err != nil {
			return ignoreStale(ctx, err)
		}
	}
	return nil
}

// LooseLink is the text of the warning about relative links in a document without assets.
const LooseLink = "could not be loaded: HTML sent as text has no base URL. " +
	"Send the file in assets, or use an absolute URL"

// checkFonts adds warnings about the rendered document.
func (r *jobRun) checkFonts(ctx context.Context, p *tab) error {
	var seen documentReport
	args := struct {
		Loose bool `json:"loose"`
	}{r.job.URL == "" && len(r.job.Assets) == 0 && !r.job.Offline}
	if err := p.eval(ctx, fontScript, args, &seen); err != nil {
		return ignoreStale(ctx, err)
	}

	for _, link := range seen.Links {
		warn(p, Warning{Code: ResourceFailed, URL: link, Message: LooseLink})
	}
	for _, image := range seen.Broken {
		warnBroken(p, image)
	}

	faces := r.pool.cfg.FontSet
	if faces == nil {
		return nil
	}

	want := missingFonts{Characters: missingGlyphs(seen.Characters, faces)}
	for _, list := range seen.Lists {
		if names := missingFamilies(families(list), faces); len(names) > 0 {
			want.Lists = append(want.Lists, names)
		}
	}
	return ignoreStale(ctx, warnMissing(ctx, p, want, ""))
}

// warnBroken warns of an image that the browser cannot draw, unless its request has failed, of which there is a
// warning.
func warnBroken(p *tab, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := Warning{Code: ResourceFailed, Message: "is not an image that the browser can show", URL: url}.Bounded()
	reported := slices.ContainsFunc(p.load.troubles.list, func(other Warning) bool {
		return other.Code == w.Code && other.URL == w.URL
	})
	if !reported {
		p.load.troubles.add(w)
	}
}

// missingGlyphs returns the characters of a text that no font has, each once.
func missingGlyphs(text string, faces FontSet) string {
	var found []rune
	seen := map[rune]bool{}

	for _, r := range text {
		if !seen[r] && len(found) < maxCharacters && !drawn(r, faces) {
			found = append(found, r)
		}
		seen[r] = true
	}
	return string(found)
}

// missingFonts holds fonts and characters that the list of available ones lacks.
type missingFonts struct {
	// Lists are lists of alternative font names.
	Lists      [][]string `json:"lists,omitempty"`
	Characters string     `json:"characters"`
	// Apart is true for text that is rendered outside of the document, without the document's own fonts.
	Apart bool `json:"apart"`
}

// warnMissing adds warnings about fonts and characters that the browser does not find either; the document may have
// brought them. where is the beginning of the warnings.
func warnMissing(ctx context.Context, p *tab, want missingFonts, where string) error {
	if len(want.Lists) == 0 && want.Characters == "" {
		return nil
	}

	var not struct {
		Lists      []bool `json:"lists"`
		Characters string `json:"characters"`
	}
	if err := p.eval(ctx, drawScript, want, &not); err != nil {
		return err
	}

	bring := "@font-face adds "
	if want.Apart {
		bring = "in headers and footers @font-face does not add "
	}

	for i, missing := range not.Lists {
		if missing && i < len(want.Lists) {
			family := cut(strings.Join(want.Lists[i], " or "), maxMessageText/2)
			warnf(p, FontMissing,
				"%sfont %s is not available, so text uses another font. GET /v1/fonts lists the fonts; %sothers",
				where, family, bring)
		}
	}

	if not.Characters != "" {
		warnf(p, FontMissing, "%sno font contains %s, so boxes are rendered instead; %sother fonts",
			where, characterNames(not.Characters), bring)
	}
	return nil
}

const (
	// maxNameText bounds a name in a warning.
	maxNameText = 100
	// maxLists and maxCharacters limit the questions to the browser, as lookScript does itself.
	maxLists, maxCharacters = 100, 2000
	// maxNamed is the maximum number of characters that a warning names.
	maxNamed = 8
)

// characterNames lists some characters with their numbers.
func characterNames(text string) string {
	var names []string
	list := []rune(text)
	for _, r := range list[:min(len(list), maxNamed)] {
		name := fmt.Sprintf("U+%04X", r)
		if unicode.IsGraphic(r) && !unicode.Is(unicode.Co, r) {
			name = string(r) + " (" + name + ")"
		}
		names = append(names, name)
	}

	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more characters", more))
	}
	return strings.Join(names, ", ")
}

// usual is the last of the characters that every font has.
const usual = '\u024f'

// invisible are the characters that no font needs to draw.
var invisible = []*unicode.RangeTable{
	unicode.Cf, unicode.Cc, unicode.Z, unicode.Mn,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

// drawn reports whether a font has a character, or no font needs to draw it.
func drawn(r rune, faces FontSet) bool {
	return r <= usual || unicode.In(r, invisible...) || faces.Draws(r)
}

// generic are the names for any available font. A list that begins with a hyphen or names "system" accepts any
// font, too.
var generic = []string{
	"serif", "sans-serif", "monospace", "cursive", "fantasy", "math", "emoji", "fangsong",
	"inherit", "initial", "unset", "revert", "revert-layer",
}

// missingFamilies returns the names of a list if none of them is there.
func missingFamilies(names []string, faces FontSet) (list []string) {
	for _, name := range names {
		lower := strings.ToLower(name)
		switch {
		case slices.Contains(generic, lower):
		case strings.HasPrefix(lower, "-"), strings.HasPrefix(lower, "ui-"),
			lower == "blinkmacsystemfont", lower == "system-ui", faces.Named(name):
			return nil
		default:
			list = append(list, name)
		}
	}
	return list
}

// families splits a list of fonts in CSS syntax. It ends where something else begins.
func families(css string) (names []string) {
	const quotes = `"'`
	for {
		css = strings.TrimLeft(css, " \t\r\n")
		if rest, ok := strings.CutPrefix(css, "&quot;"); ok {
			css = `"` + strings.Replace(rest, "&quot;", `"`, 1)
		}

		var name string
		if css != "" && strings.ContainsRune(quotes, rune(css[0])) {
			end := strings.IndexByte(css[1:], css[0])
			if end < 0 {
				return names
			}
			name = css[1 : end+1]
			css = css[end+2:]
		} else {
			end := strings.IndexAny(css, ",;}\"'<>!\n&")
			if end < 0 {
				end = len(css)
			}
			name = strings.TrimSpace(css[:end])
			css = css[end:]
		}

		if name != "" && len(name) <= maxNameText {
			names = append(names, name)
		}

		css = strings.TrimLeft(css, " \t\r\n")
		if !strings.HasPrefix(css, ",") {
			return names
		}
		css = css[1:]
	}
}
