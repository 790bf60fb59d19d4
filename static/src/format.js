// Formatting of templates, loaded on first use. Only space outside of Handlebars expressions changes: lines in blocks
// are indented.

import beautify from "js-beautify/js/src/html/index.js";

const mustaches = (text) =>
  text.match(/\{\{\{\{[\s\S]*?\}\}\}\}|\{\{~?!--[\s\S]*?--~?\}\}|\{\{\{[\s\S]*?\}\}\}|\{\{[\s\S]*?\}\}/g) ?? [];
const bare = (text) => text.replace(/\s+/g, "");

// Space in these elements is content.
const verbatim = /<(pre|textarea|script|style)\b[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->/gi;

// Lines that contain only a part of a block. The first two have its name.
const opening = /^\{\{~?[#^]\s*([\w.-]+)[^{}]*\}\}$/;
const closing = /^\{\{~?\/([\w.-]+)[^{}]*\}\}$/;
const alternative = /^\{\{~?(else\b[^{}]*|\^)~?\}\}$/;

// verbatimLines returns the numbers of the lines that begin in verbatim elements.
const verbatimLines = (text) => {
  const numbers = new Set();
  for (const found of text.matchAll(verbatim)) {
    const first = text.slice(0, found.index).split("\n").length;
    const end = first + found[0].split("\n").length;
    for (let line = first + 1; line < end; line++) numbers.add(line);
  }
  return numbers;
};

// blocks indents the lines in Handlebars' blocks, if the block's ends have lines of their own.
const blocks = (text) => {
  const inside = verbatimLines(text);
  const open = [];
  const indent = (line, i) => {
    if (inside.has(i + 1)) return line;

    const only = line.trim();
    if (closing.exec(only)?.[1] === open.at(-1)) open.pop();
    const deep = open.length - (alternative.test(only) ? 1 : 0);
    const opened = opening.exec(only)?.[1];
    if (opened) open.push(opened);
    return only ? "  ".repeat(Math.max(0, deep)) + line : "";
  };
  return text.split("\n").map(indent).join("\n");
};

// formatTemplate returns the formatted source, or null if its output would differ.
globalThis.formatTemplate = (source) => {
  const plain = beautify(source, {
    indent_size: 2,
    wrap_line_length: 0,
    preserve_newlines: true,
    max_preserve_newlines: 1,
    end_with_newline: source.endsWith("\n"),
    indent_inner_html: true,
    extra_liners: [],
    indent_handlebars: false,
    templating: ["handlebars"],
    indent_scripts: "keep",
    unformatted_content_delimiter: "",
    content_unformatted: ["pre", "textarea", "script", "style"],
    wrap_attributes: "auto",
  });
  const made = blocks(plain);

  const before = mustaches(source);
  const after = mustaches(made);
  const same = before.length === after.length && before.every((tag, i) => tag === after[i]);
  return same && bare(made) === bare(source) ? made : null;
};
