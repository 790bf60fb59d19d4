// Completion in the HTML: paths of the data, helpers and partials inside Handlebars, tags elsewhere.

import { autocompletion } from "@codemirror/autocomplete";
import { htmlCompletionSource } from "@codemirror/lang-html";
import { main, splitWords } from "./core/page.js";
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

const completeExpression = (context) => {
  const preceding = context.state.sliceDoc(Math.max(0, context.pos - maxLookBehind), context.pos);
  const start = preceding.lastIndexOf("{{");
  if (start < 0 || preceding.indexOf("}}", start) >= 0) return null;

  const expression = preceding.slice(start);
  const prefix = /[\w.@/[\]-]*$/.exec(expression)[0];
  if (!prefix && !context.explicit && !/[{#/^>(]$|\s$/.test(expression)) return null;

  const from = context.pos - prefix.length;
  if (/\{\{\s*>\s*[\w-]*$/.test(expression)) {
    return { from, options: splitWords(main.dataset.partials).map((label) => ({ label, detail: "partial" })) };
  }

  const helpers = splitWords(main.dataset.helpers).map((label) => ({ label, detail: "helper", boost: -1 }));
  const options = new Map();
  for (const option of [...paths.map(pathOption), ...helpers]) {
    if (!options.has(option.label)) options.set(option.label, option);
  }
  return { from, options: [...options.values()], validFor: /^[\w.@/[\]-]*$/ };
};

export const completion = autocompletion({ override: [completeExpression, htmlCompletionSource], icons: false });
