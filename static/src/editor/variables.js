// The variables that the template uses.

import { $, code, element } from "./core/page.js";
import { paths } from "./core/paths.js";

const used = $('[data-pane="paths"]');

// showVariables lists the variables of a check. A template with an error has no list of its own: the last one stays.
// line is that of the error.
export const showVariables = ({ errors = [], missing = [], variables = [] }, line) => {
  $("p", used)?.remove();

  if (errors.length && !variables.length) {
    const since = line ? `since the error in line ${line}` : "since the error";
    const reason = $("ul", used) ? `Not updated ${since}.` : "Variables appear when the template has no errors.";
    used.prepend(element("p", { className: "muted", role: "status", textContent: reason }));
    return;
  }
  if (!variables.length) {
    used.replaceChildren(element("p", { className: "muted", textContent: "The template uses no variables." }));
    return;
  }

  const typeOf = (name) => {
    if (missing.includes(name)) return "missing";
    return paths.find(({ path }) => path === name)?.type ?? "in the data";
  };
  const item = (name) => element("li", {}, code(name), element("span", { textContent: typeOf(name) }));
  used.replaceChildren(element("ul", { className: "leaders" }, ...variables.map(item)));
};
