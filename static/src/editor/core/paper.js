// The paper and the margins of a template's pages: those of its options, and of its @page rules, which win.

const inches = {
  A0: [33.11, 46.81],
  A1: [23.39, 33.11],
  A2: [16.54, 23.39],
  A3: [11.69, 16.54],
  A4: [8.27, 11.69],
  A5: [5.83, 8.27],
  A6: [4.13, 5.83],
  B4: [9.84, 13.9],
  B5: [6.93, 9.84],
  "JIS-B4": [10.12, 14.33],
  "JIS-B5": [7.17, 10.12],
  Letter: [8.5, 11],
  Legal: [8.5, 14],
  Tabloid: [11, 17],
  Ledger: [17, 11],
};
const units = { px: 1, in: 96, cm: 96 / 2.54, mm: 96 / 25.4, pt: 96 / 72, pc: 16 };
const sides = ["top", "right", "bottom", "left"];
const nameOf = (format) =>
  Object.keys(inches).find((name) => name.toLowerCase() === String(format ?? "").toLowerCase());

// parts are the number and the unit of a length: a number of pixels, or a text with a unit.
const parts = (length) => {
  const [, number, unit] = /^\s*([\d.]+)\s*([a-z%]*)\s*$/i.exec(length ?? "") ?? [];
  return number ? [Number(number), (unit || "px").toLowerCase()] : [0, "px"];
};
const pixels = (length) => {
  const [number, unit] = parts(length);
  return number * (units[unit] ?? 0);
};
const words = (length) => {
  const [number, unit] = parts(length);
  return number ? `${number} ${unit}` : "0";
};

// pageRule returns the declarations of the @page rules for all pages, as the browser reads them.
const prints = (media) => !media || /\b(all|print)\b/.test(media);
const pageRule = (source) => {
  const found = {};
  const read = (rules) => {
    for (const rule of rules) {
      if (rule.type === CSSRule.PAGE_RULE && !rule.selectorText) {
        for (const name of ["size", ...sides.map((side) => `margin-${side}`)]) {
          found[name] = rule.style.getPropertyValue(name) || found[name];
        }
      } else if (rule.cssRules && prints(rule.media?.mediaText)) {
        read(rule.cssRules);
      }
    }
  };
  if (!/@page/i.test(source)) return found;

  // A parsed document would obey this page's policy, which permits no styles.
  for (const [, attributes, css] of source.replace(/<!--[^]*?-->/g, "").matchAll(/<style\b([^>]*)>([^]*?)<\/style/gi)) {
    if (!prints(/\bmedia\s*=\s*["']?([^"'>]*)/i.exec(attributes)?.[1])) continue;

    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css.replace(/@import[^;]*;/gi, ""));
    read(sheet.cssRules);
  }
  return found;
};

// sizeOf reads the size of a rule: a name, a length or two, and an orientation.
const sizeOf = (text) => {
  const given = text.split(/\s+/);
  const name = nameOf(given.find(nameOf));
  if (name) return { format: name, landscape: given.includes("landscape") };

  const lengths = given.filter((word) => /^[\d.]/.test(word));
  return lengths.length ? { width: lengths[0], height: lengths[1] ?? lengths[0] } : null;
};

// A size in a rule is that of the page. It is that of the paper, too, if preferCSSPageSize is set; otherwise the
// browser places the page on the paper of the options.
const inForce = (options, source) => {
  const rule = pageRule(source);
  const of = sides.map((side) => rule[`margin-${side}`] || null);
  return {
    size: rule.size ? sizeOf(rule.size) : null,
    margin: sides.map((side, i) => of[i] ?? options.margin?.[side]),
    ruled: of.filter(Boolean).length,
  };
};
const sheet = ({ format, width, height, landscape }) => {
  const named = nameOf(format);
  const size = named
    ? inches[named].map((side) => side * 96)
    : inches.Letter.map((side, i) => pixels([width, height][i]) || side * 96);
  return landscape && size[0] < size[1] ? size.reverse() : size;
};
const sheetText = ({ format, width, height, landscape }) => {
  const own = width && height ? `${words(width)} × ${words(height)}` : "Letter";
  return (nameOf(format) ?? own) + (landscape ? " landscape" : "");
};

// paperOf is the size of a page and of its margins, in pixels.
export const paperOf = (options, source) => {
  const { size, margin } = inForce(options, source);
  const [width, height] = sheet(size ?? options);
  return { width, height, margin: Object.fromEntries(sides.map((side, i) => [side, pixels(margin[i])])) };
};

// originOf is the distance of the first element's place from the left and from the top of the paper, whose sides are 1.
export const originOf = (options, source) => {
  const { width, height, margin } = paperOf(options, source);
  const [across, down] = options.preferCSSPageSize ? [width, height] : sheet(options);

  const isPortrait = width < height;
  const turned = isPortrait !== across < down;
  const paper = turned ? [down, across] : [across, down];
  return [
    (Math.max(0, paper[0] - width) / 2 + margin.left) / paper[0],
    (Math.max(0, paper[1] - height) / 2 + margin.top) / paper[1],
  ];
};

// sameSize compares papers that may be turned.
const sameSize = (a, b) =>
  Math.abs(Math.min(...a) - Math.min(...b)) < 2 && Math.abs(Math.max(...a) - Math.max(...b)) < 2;

// marginText writes margins as CSS does, which leaves out those that are like the opposite ones.
const marginText = (margin) => {
  const [top, right, bottom, left] = margin.map(words);
  let shown = [top];
  if (left !== right) shown = [top, right, bottom, left];
  else if (top !== bottom) shown = [top, right, bottom];
  else if (top !== right) shown = [top, right];

  return shown.join() === "0" ? "no margins" : shown.join(" ");
};

// paperText says the same in words: "A4 · 20 mm 15 mm (from @page)".
export const paperText = (options, source) => {
  const { size, margin, ruled } = inForce(options, source);

  const isPlaced = size && !options.preferCSSPageSize && !sameSize(sheet(size), sheet(options));
  const placed = isPlaced ? ` placed on ${sheetText({ ...options, landscape: false })}` : "";

  let from = "";
  if (ruled === sides.length) from = " (from @page)";
  else if (ruled) from = " (partly from @page)";
  else if (size) from = " (size from @page)";

  return `${sheetText(size ?? options)}${placed} · ${marginText(margin)}${from}`;
};
