// Formatting of templates, fetched by who asks for it. Only space is changed, and
// none of that inside Handlebars; where a line stands in blocks shows.

import beautify from "js-beautify/js/src/html/index.js";

const mustaches = (text) => text.match(/\{\{\{\{[\s\S]*?\}\}\}\}|\{\{~?!--[\s\S]*?--~?\}\}|\{\{\{[\s\S]*?\}\}\}|\{\{[\s\S]*?\}\}/g) ?? [];
const bare = (text) => text.replace(/\s+/g, "");

// What stands in these is not only space where it looks like it.
const verbatim = /<(pre|textarea|script|style)\b[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->/gi;

// blocks moves the lines in Handlebars' blocks to the right, where the block's
// ends have lines of their own.
const blocks = (text) => {
  const inside = new Set();
  for (const found of text.matchAll(verbatim)) {
    const first = text.slice(0, found.index).split("\n").length;
    for (let line = first + 1; line < first + found[0].split("\n").length; line++) inside.add(line);
  }
  const lines = text.split("\n"), open = [];
  return lines.map((line, i) => {
    if (inside.has(i + 1)) return line;
    const only = line.trim();
    if (/^\{\{~?\/([\w.-]+)[^{}]*\}\}$/.exec(only)?.[1] === open.at(-1)) open.pop();
    const deep = open.length - (/^\{\{~?(else\b[^{}]*|\^)~?\}\}$/.test(only) ? 1 : 0);
    const moved = only ? "  ".repeat(Math.max(0, deep)) + line : "";
    const opened = /^\{\{~?[#^]\s*([\w.-]+)[^{}]*\}\}$/.exec(only)?.[1];
    if (opened) open.push(opened);
    return moved;
  }).join("\n");
};

// formatTemplate returns the formatted source, or null where that would say
// something else.
globalThis.formatTemplate = (source) => {
  const plain = beautify(source, {
    indent_size: 2, wrap_line_length: 0, preserve_newlines: true, max_preserve_newlines: 1, end_with_newline: source.endsWith("\n"), indent_inner_html: true, extra_liners: [],
    indent_handlebars: false, templating: ["handlebars"], indent_scripts: "keep", unformatted_content_delimiter: "", content_unformatted: ["pre", "textarea", "script", "style"], wrap_attributes: "auto",
  });
  const made = blocks(plain);
  const [before, after] = [mustaches(source), mustaches(made)];
  const same = bare(made) === bare(source) && before.length === after.length && before.every((tag, i) => tag === after[i]);
  return same ? made : null;
};
