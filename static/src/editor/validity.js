// The validity of the JSON in the sample data and the options.

import { jsonParseLinter } from "@codemirror/lang-json";
import { setDiagnostics } from "@codemirror/lint";
import { readObject, views } from "./core/fields.js";
import { $, element } from "./core/page.js";

const labels = { sampleData: "Data", options: "Options" };
const parse = jsonParseLinter();
const statusMark = $("[data-valid]");

const showValidity = (is, text) => {
  const mark = element("span", { className: "status", textContent: text });
  mark.dataset.is = is;
  statusMark.replaceChildren(mark);
};

const marksIn = (name) => {
  const view = views[name];
  const marks = parse(view);
  if (marks.length || readObject(name)) return marks;
  return [{ from: 0, to: view.state.doc.length, severity: "error", message: "must be a JSON object" }];
};

// checkJSON marks errors, shows the first one, and reports whether there is none.
export const checkJSON = () => {
  let firstError = "";
  for (const [name, label] of Object.entries(labels)) {
    const { state } = views[name];
    const marks = marksIn(name);
    views[name].dispatch(setDiagnostics(state, marks));
    if (marks.length) firstError ||= `${label}, line ${state.doc.lineAt(marks[0].from).number}`;
  }

  if (firstError) showValidity("bad", firstError);
  else showValidity("ok", "Valid");
  return !firstError;
};
