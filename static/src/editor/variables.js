// The variables that the template uses.

import { $, codeElement, element } from "./core/page.js";
import { paths } from "./core/paths.js";

const pane = $('[data-pane="paths"]');

// showVariables lists the variables of a check. A template with an error has no list of its own: the last one stays.
// line is that of the error.
export const showVariables = ({ errors = [], missing = [], variables = [] }, line) => {
  $("p", pane)?.remove();

  if (errors.length && !variables.length) {
    const since = line ? `since the error in line ${line}` : "since the error";
    const reason = $("ul", pane) ? `Not updated ${since}.` : "Variables appear when the template has no errors.";
    pane.prepend(element("p", { className: "muted", role: "status", textContent: reason }));
    return;
  }
  if (!variables.length) {
    pane.replaceChildren(element("p", { className: "muted", textContent: "The template uses no variables." }));
    return;
  }

  const typeOf = (name) => {
    if (missing.includes(name)) return "missing";
    return paths.find(({ path }) => path === name)?.type ?? "in the data";
  };
  const item = (name) => element("li", {}, codeElement(name), element("span", { textContent: typeOf(name) }));
  pane.replaceChildren(element("ul", { className: "leaders" }, ...variables.map(item)));
};
