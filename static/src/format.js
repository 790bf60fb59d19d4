// Formatting of templates, loaded on first use. Only space outside of Handlebars expressions changes: lines in blocks
// are indented.

import beautify from "js-beautify/js/src/html/index.js";

const expressions = (text) =>
  text.match(/\{\{\{\{[\s\S]*?\}\}\}\}|\{\{~?!--[\s\S]*?--~?\}\}|\{\{\{[\s\S]*?\}\}\}|\{\{[\s\S]*?\}\}/g) ?? [];
const withoutSpace = (text) => text.replace(/\s+/g, "");

// Space in these elements is content.
const verbatim = /<(pre|textarea|script|style)\b[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->/gi;

// Lines that contain only a part of a block. The first two have its name.
const opening = /^\{\{~?[#^]\s*([\w.-]+)[^{}]*\}\}$/;
const closing = /^\{\{~?\/([\w.-]+)[^{}]*\}\}$/;
const alternative = /^\{\{~?(else\b[^{}]*|\^)~?\}\}$/;

// verbatimLines returns the numbers of the lines that begin in verbatim elements.
const verbatimLines = (text) => {
  const numbers = new Set();
  for (const match of text.matchAll(verbatim)) {
    const first = text.slice(0, match.index).split("\n").length;
    const end = first + match[0].split("\n").length;
    for (let line = first + 1; line < end; line++) numbers.add(line);
  }
  return numbers;
};

// indentBlocks indents the lines in Handlebars' blocks, if the block's ends have lines of their own.
const indentBlocks = (text) => {
  const skippedLines = verbatimLines(text);
  const openBlocks = [];
  const indent = (line, i) => {
    if (skippedLines.has(i + 1)) return line;

    const trimmed = line.trim();
    if (closing.exec(trimmed)?.[1] === openBlocks.at(-1)) openBlocks.pop();
    const depth = openBlocks.length - (alternative.test(trimmed) ? 1 : 0);
    const blockName = opening.exec(trimmed)?.[1];
    if (blockName) openBlocks.push(blockName);
    return trimmed ? "  ".repeat(Math.max(0, depth)) + line : "";
  };
  return text.split("\n").map(indent).join("\n");
};

// formatTemplate returns the formatted source, or null if its output would differ.
globalThis.formatTemplate = (source) => {
  const beautified = beautify(source, {
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
  const formatted = indentBlocks(beautified);

  const before = expressions(source);
  const after = expressions(formatted);
  const isSame = before.length === after.length && before.every((tag, i) => tag === after[i]);
  return isSame && withoutSpace(formatted) === withoutSpace(source) ? formatted : null;
};
