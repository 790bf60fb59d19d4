// Lists of errors and warnings.

import { EditorView } from "@codemirror/view";
import { views } from "./fields.js";
import { $, element } from "./page.js";

const maxShown = 6;
const problemList = $("[data-problems]");

// problem is an item of a list: an "error" or a "warning". action, if any, is the action of its link.
export const problemItem = ({ kind, parts, line, linkText = `Line ${line}`, action }) => {
  const name = element("span", { className: "vh", textContent: kind === "warning" ? "Warning" : "Error" });
  const mark = element("span", { className: "status" }, name);
  mark.dataset.is = kind === "warning" ? "warn" : "bad";
  const item = element("li", {}, mark, element("span", {}, ...parts));

  if (action) {
    const link = element("a", { href: "#html", textContent: linkText });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      action();
    });
    item.append(link);
  }
  return item;
};

const isCursorVisible = (view) => {
  const cursor = view.coordsAtPos(view.state.selection.main.head);
  const viewport = view.scrollDOM.getBoundingClientRect();
  return cursor && cursor.top >= viewport.top && cursor.bottom <= viewport.bottom;
};

// showProblems fills the list below the code. It takes its room from the text: the cursor stays in sight.
export const showProblems = (list) => {
  const activeView = Object.values(views).find((view) => view.hasFocus && isCursorVisible(view));

  problemList.replaceChildren(...list.slice(0, maxShown).map(problemItem));
  if (list.length > maxShown) {
    const more = `and ${list.length - maxShown} more`;
    problemList.append(element("li", { className: "faint", textContent: more }));
  }

  if (activeView && !isCursorVisible(activeView)) {
    activeView.dispatch({ effects: EditorView.scrollIntoView(activeView.state.selection.main.head) });
  }
};
