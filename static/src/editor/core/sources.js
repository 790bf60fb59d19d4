// What prevents PDF/UA-1: where the elements of the API's warnings about a standard are in the source.

const matchOffsets = (source, pattern) => [...source.matchAll(pattern)].map(({ index }) => index);
const escapeRegExp = (text) => text.replace(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
const placeholder = "\u0001"; // instead of an expression of the template
const collapseSpace = (text) => text.replace(/\s+/g, " ").trim();

// canProduce reports whether markup can become a text, which may be truncated. An expression of the template can become
// anything.
const canProduce = (markup, content) => {
  const withPlaceholders = markup.replace(/\{\{\{?[^{}]*\}?\}\}/g, placeholder);
  const output = collapseSpace(new DOMParser().parseFromString(withPlaceholders, "text/html").body.textContent);
  const pattern = output.split(placeholder).map(escapeRegExp).join(".*");
  if (new RegExp(`^${pattern}$`, "su").test(content)) return true;

  return content.endsWith("…") && output.startsWith(content.slice(0, -1));
};

const tags = { Figure: "img|svg|canvas|object", Formula: "math", Link: "a", Table: "table", P: "p", LI: "li" };

// sourceOffsets returns the offsets in the source where the element of a warning can be.
export const sourceOffsets = ({ page, element = "", text: content, problem }, source) => {
  if (!page && !element) {
    const names = /title/.test(problem) ? ["title", "head", "html"] : ["html"];
    for (const name of names) {
      const found = matchOffsets(source, new RegExp(`<${name}\\b`, "gi"));
      if (found.length) return found.slice(0, 1);
    }
    return [0];
  }

  const type = element.replace(/ .*/, "");
  const level = /^H([1-6])$/.exec(type)?.[1];
  if (type === "Figure") {
    const found = matchOffsets(
      source,
      /<(?:img\b(?![^>]*\balt\s*=)|(?:svg|canvas|object|\w+)\b(?=[^>]*\brole\s*=\s*["']?img)(?![^>]*\baria-label))/gi,
    );
    if (found.length) return found;
  }

  const name = level ? `h${level}` : tags[type];
  const elements = name ? [...source.matchAll(new RegExp(`<(${name})\\b[^>]*>(?:(.*?)</\\1\\s*>)?`, "gis"))] : [];
  const hasContent = ([, , inner]) => inner !== undefined && canProduce(inner, content);
  const matching = content ? elements.filter(hasContent) : elements;
  if (matching.length) return matching.map(({ index }) => index);

  const offset = content ? source.indexOf(content.replace(/…$/, "")) : -1;
  if (offset >= 0) return [offset];
  const tagName = /^[a-z][\w-]*/.exec(element)?.[0];
  return tagName ? matchOffsets(source, new RegExp(`<${tagName}\\b`, "gi")) : [];
};
