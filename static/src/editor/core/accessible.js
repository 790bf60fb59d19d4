// What prevents PDF/UA-1: where the elements of the API's warnings about a standard are in the source.

const offsets = (source, pattern) => [...source.matchAll(pattern)].map(({ index }) => index);
const escaped = (text) => text.replace(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
const expression = "\u0001"; // instead of an expression of the template
const spaced = (text) => text.replace(/\s+/g, " ").trim();

// writes reports whether markup can become a text, which may be cut. An expression of the template can become anything.
const writes = (markup, content) => {
  const withMarks = markup.replace(/\{\{\{?[^{}]*\}?\}\}/g, expression);
  const written = spaced(new DOMParser().parseFromString(withMarks, "text/html").body.textContent);
  const pattern = written.split(expression).map(escaped).join(".*");
  if (new RegExp(`^${pattern}$`, "su").test(content)) return true;

  return content.endsWith("…") && written.startsWith(content.slice(0, -1));
};

const tags = { Figure: "img|svg|canvas|object", Formula: "math", Link: "a", Table: "table", P: "p", LI: "li" };

// sourcesOf returns the offsets in the source where the element of a warning can be.
export const sourcesOf = ({ page, element = "", text: content, problem }, source) => {
  if (!page && !element) {
    const names = /title/.test(problem) ? ["title", "head", "html"] : ["html"];
    for (const name of names) {
      const found = offsets(source, new RegExp(`<${name}\\b`, "gi"));
      if (found.length) return found.slice(0, 1);
    }
    return [0];
  }

  const type = element.replace(/ .*/, "");
  const level = /^H([1-6])$/.exec(type)?.[1];
  if (type === "Figure") {
    const found = offsets(
      source,
      /<(?:img\b(?![^>]*\balt\s*=)|(?:svg|canvas|object|\w+)\b(?=[^>]*\brole\s*=\s*["']?img)(?![^>]*\baria-label))/gi,
    );
    if (found.length) return found;
  }

  const name = level ? `h${level}` : tags[type];
  const elements = name ? [...source.matchAll(new RegExp(`<(${name})\\b[^>]*>(?:(.*?)</\\1\\s*>)?`, "gis"))] : [];
  const same = content ? elements.filter(([, , inner]) => inner !== undefined && writes(inner, content)) : elements;
  if (same.length) return same.map(({ index }) => index);

  const at = content ? source.indexOf(content.replace(/…$/, "")) : -1;
  if (at >= 0) return [at];
  const selected = /^[a-z][\w-]*/.exec(element)?.[0];
  return selected ? offsets(source, new RegExp(`<${selected}\\b`, "gi")) : [];
};
