// Completion in the HTML: paths of the data, helpers and partials inside Handlebars, tags elsewhere.

import { autocompletion } from "@codemirror/autocomplete";
import { htmlCompletionSource } from "@codemirror/lang-html";
import { main, words } from "./core/page.js";
import { paths } from "./core/paths.js";

const maxLookBehind = 200;

const pathOption = ({ path, type }) => {
  const isInner = path.includes("[]");
  return {
    label: path.replace(/^.*\[\]\./, ""),
    detail: isInner ? `${type} of ${path.replace(/\[\]\.[^[]*$/, "")}` : type,
    boost: isInner ? 0 : 1,
  };
};

const completeMustache = (context) => {
  const before = context.state.sliceDoc(Math.max(0, context.pos - maxLookBehind), context.pos);
  const open = before.lastIndexOf("{{");
  if (open < 0 || before.indexOf("}}", open) >= 0) return null;

  const inside = before.slice(open);
  const word = /[\w.@/[\]-]*$/.exec(inside)[0];
  if (!word && !context.explicit && !/[{#/^>(]$|\s$/.test(inside)) return null;

  const from = context.pos - word.length;
  if (/\{\{\s*>\s*[\w-]*$/.test(inside)) {
    return { from, options: words(main.dataset.partials).map((label) => ({ label, detail: "partial" })) };
  }

  const helpers = words(main.dataset.helpers).map((label) => ({ label, detail: "helper", boost: -1 }));
  const options = new Map();
  for (const option of [...paths.map(pathOption), ...helpers]) {
    if (!options.has(option.label)) options.set(option.label, option);
  }
  return { from, options: [...options.values()], validFor: /^[\w.@/[\]-]*$/ };
};

export const completion = autocompletion({ override: [completeMustache, htmlCompletionSource], icons: false });
