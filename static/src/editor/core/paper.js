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
const formatName = (format) =>
  Object.keys(inches).find((name) => name.toLowerCase() === String(format ?? "").toLowerCase());

// parseLength returns the number and the unit of a length: a number of pixels, or a text with a unit.
const parseLength = (length) => {
  const [, number, unit] = /^\s*([\d.]+)\s*([a-z%]*)\s*$/i.exec(length ?? "") ?? [];
  return number ? [Number(number), (unit || "px").toLowerCase()] : [0, "px"];
};
const pixels = (length) => {
  const [number, unit] = parseLength(length);
  return number * (units[unit] ?? 0);
};
const lengthText = (length) => {
  const [number, unit] = parseLength(length);
  return number ? `${number} ${unit}` : "0";
};

const appliesToPrint = (media) => !media || /\b(all|print)\b/.test(media);

// pageDeclarations returns the declarations of the @page rules for all pages, as the browser reads them.
const pageDeclarations = (source) => {
  const declarations = {};
  const collect = (rules) => {
    for (const rule of rules) {
      if (rule.type === CSSRule.PAGE_RULE && !rule.selectorText) {
        for (const name of ["size", ...sides.map((side) => `margin-${side}`)]) {
          declarations[name] = rule.style.getPropertyValue(name) || declarations[name];
        }
      } else if (rule.cssRules && appliesToPrint(rule.media?.mediaText)) {
        collect(rule.cssRules);
      }
    }
  };
  if (!/@page/i.test(source)) return declarations;

  // A parsed document would obey this page's policy, which permits no styles.
  for (const [, attributes, css] of source.replace(/<!--[^]*?-->/g, "").matchAll(/<style\b([^>]*)>([^]*?)<\/style/gi)) {
    if (!appliesToPrint(/\bmedia\s*=\s*["']?([^"'>]*)/i.exec(attributes)?.[1])) continue;

    const styleSheet = new CSSStyleSheet();
    styleSheet.replaceSync(css.replace(/@import[^;]*;/gi, ""));
    collect(styleSheet.cssRules);
  }
  return declarations;
};

// parsePageSize reads the size of a rule: a name, a length or two, and an orientation.
const parsePageSize = (text) => {
  const values = text.split(/\s+/);
  const name = formatName(values.find(formatName));
  if (name) return { format: name, landscape: values.includes("landscape") };

  const lengths = values.filter((word) => /^[\d.]/.test(word));
  return lengths.length ? { width: lengths[0], height: lengths[1] ?? lengths[0] } : null;
};

// A size in a rule is that of the page. It is that of the paper, too, if preferCSSPageSize is set; otherwise the
// browser places the page on the paper of the options.
const effectivePage = (options, source) => {
  const rule = pageDeclarations(source);
  const ruleMargins = sides.map((side) => rule[`margin-${side}`] || null);
  return {
    size: rule.size ? parsePageSize(rule.size) : null,
    margin: sides.map((side, i) => ruleMargins[i] ?? options.margin?.[side]),
    ruleCount: ruleMargins.filter(Boolean).length,
  };
};
const paperSize = ({ format, width, height, landscape }) => {
  const name = formatName(format);
  const size = name
    ? inches[name].map((side) => side * 96)
    : inches.Letter.map((side, i) => pixels([width, height][i]) || side * 96);
  return landscape && size[0] < size[1] ? size.reverse() : size;
};
const sizeText = ({ format, width, height, landscape }) => {
  const customSize = width && height ? `${lengthText(width)} × ${lengthText(height)}` : "Letter";
  return (formatName(format) ?? customSize) + (landscape ? " landscape" : "");
};

// paperOf is the size of a page and of its margins, in pixels.
export const paperOf = (options, source) => {
  const { size, margin } = effectivePage(options, source);
  const [width, height] = paperSize(size ?? options);
  return { width, height, margin: Object.fromEntries(sides.map((side, i) => [side, pixels(margin[i])])) };
};

// originOf is the distance of the first element from the left and from the top of the paper, whose sides are 1.
export const originOf = (options, source) => {
  const { width, height, margin } = paperOf(options, source);
  const [paperWidth, paperHeight] = options.preferCSSPageSize ? [width, height] : paperSize(options);

  const isPortrait = width < height;
  const isRotated = isPortrait !== paperWidth < paperHeight;
  const paper = isRotated ? [paperHeight, paperWidth] : [paperWidth, paperHeight];
  return [
    (Math.max(0, paper[0] - width) / 2 + margin.left) / paper[0],
    (Math.max(0, paper[1] - height) / 2 + margin.top) / paper[1],
  ];
};

// sameSize compares papers that may be rotated.
const sameSize = (a, b) =>
  Math.abs(Math.min(...a) - Math.min(...b)) < 2 && Math.abs(Math.max(...a) - Math.max(...b)) < 2;

// marginText writes margins as CSS does, which leaves out those that are like the opposite ones.
const marginText = (margin) => {
  const [top, right, bottom, left] = margin.map(lengthText);
  let values = [top];
  if (left !== right) values = [top, right, bottom, left];
  else if (top !== bottom) values = [top, right, bottom];
  else if (top !== right) values = [top, right];

  return values.join() === "0" ? "no margins" : values.join(" ");
};

// paperText describes the paper and its margins: "A4 · 20 mm 15 mm (from @page)".
export const paperText = (options, source) => {
  const { size, margin, ruleCount } = effectivePage(options, source);

  const isPlaced = size && !options.preferCSSPageSize && !sameSize(paperSize(size), paperSize(options));
  const paperNote = isPlaced ? ` placed on ${sizeText({ ...options, landscape: false })}` : "";

  let origin = "";
  if (ruleCount === sides.length) origin = " (from @page)";
  else if (ruleCount) origin = " (partly from @page)";
  else if (size) origin = " (size from @page)";

  return `${sizeText(size ?? options)}${paperNote} · ${marginText(margin)}${origin}`;
};
