// Lists of errors and warnings.

import { EditorView } from "@codemirror/view";
import { views } from "./fields.js";
import { $, element } from "./page.js";

const maxShown = 6;
const problems = $("[data-problems]");

// problem is an item of a list: an error ("e") or a warning ("w"). go, if any, is the action of its link.
export const problem = ({ kind, parts, line, where = `Line ${line}`, go }) => {
  const name = element("span", { className: "vh", textContent: kind === "w" ? "Warning" : "Error" });
  const sign = element("span", { className: "status" }, name);
  sign.dataset.is = kind === "w" ? "warn" : "bad";
  const item = element("li", {}, sign, element("span", {}, ...parts));

  if (go) {
    const link = element("a", { href: "#html", textContent: where });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go();
    });
    item.append(link);
  }
  return item;
};

const cursorShows = (view) => {
  const at = view.coordsAtPos(view.state.selection.main.head);
  const seen = view.scrollDOM.getBoundingClientRect();
  return at && at.top >= seen.top && at.bottom <= seen.bottom;
};

// showProblems fills the list below the code. It takes its room from the text: the cursor stays in sight.
export const showProblems = (list) => {
  const written = Object.values(views).find((view) => view.hasFocus && cursorShows(view));

  problems.replaceChildren(...list.slice(0, maxShown).map(problem));
  if (list.length > maxShown) {
    const rest = `and ${list.length - maxShown} more`;
    problems.append(element("li", { className: "faint", textContent: rest }));
  }

  if (written && !cursorShows(written)) {
    written.dispatch({ effects: EditorView.scrollIntoView(written.state.selection.main.head) });
  }
};
