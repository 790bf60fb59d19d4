// The check of the template: marks in the HTML, and the list of problems below it.

import { setDiagnostics } from "@codemirror/lint";
import { bodyWith, getText, lineOf, requestFields, showSource, views } from "./core/fields.js";
import { codeElement } from "./core/page.js";
import { suggestPath, usesOf } from "./core/paths.js";
import { showProblems } from "./core/problems.js";
import { request } from "./core/server.js";

let lastCheck = 0;
let errorCount = 0;

// check asks the server about the HTML, and shows its errors and the paths that the data lacks. onChecked gets the
// result, and the line of the first problem.
export const checkTemplate = async (source, onChecked) => {
  const checkID = ++lastCheck;
  try {
    const response = await request("/check", { body: bodyWith(requestFields.filter((name) => name !== "options")) });
    if (response.ok && checkID === lastCheck) {
      const result = await response.json();
      onChecked(result, showResult(result, source));
    }
  } catch {
    /* the preview reports errors of the connection */
  }
};

const showResult = ({ errors, missing }, source) => {
  const entries = [...(errors ?? []).map(errorEntry), ...(missing ?? []).map((path) => missingEntry(path, source))];
  const items = entries.map(({ item }) => item);
  errorCount = errors?.length ?? 0;

  const { state } = views.html;
  if (getText("html") === source) {
    const marks = entries.flatMap((entry) => entry.marks).filter(({ to }) => to <= state.doc.length);
    marks.sort((a, b) => a.from - b.from);
    views.html.dispatch(setDiagnostics(state, marks));
  }

  showProblems(items);
  return items[0]?.line;
};

// errorEntry is an error with its mark in the HTML.
const errorEntry = (error) => {
  const { doc } = views.html.state;
  const line = doc.line(Math.min(Math.max(error.line ?? 1, 1), doc.lines));
  const from = Math.min(line.from + Math.max((error.column ?? 1) - 1, 0), line.to);
  const to = Math.max(from, Math.min(line.to, from + 1));

  const message = error.message + (error.partial ? ` (in the partial ${error.partial})` : "");
  const action = error.line && !error.partial ? () => showSource(from) : null;
  return {
    marks: [{ from, to, severity: "error", message }],
    item: { kind: "error", parts: [message], line: line.number, action },
  };
};

// missingEntry is the warning about a path that the data lacks, with its marks in the HTML.
const missingEntry = (path, source) => {
  const suggestion = suggestPath(path);
  const reason = suggestion === path ? " is not in all of the data." : " is not in the data.";
  const parts = [codeElement(path), reason];
  let message = path + reason;
  if (suggestion && suggestion !== path) {
    parts[1] += " Did you mean ";
    parts.push(codeElement(suggestion), "?");
    message += ` Did you mean ${suggestion}?`;
  }

  const uses = usesOf(path, source);
  const first = uses[0];
  return {
    marks: uses.map((use) => ({ ...use, severity: "warning", message })),
    item: {
      kind: "warning",
      parts,
      line: first ? lineOf(first.from) : 0,
      action: first ? () => showSource(first.from) : null,
    },
  };
};

// showRefusal lists why the pages could not be rendered, unless the check has listed errors.
export const showRefusal = ({ message, details }) => {
  if (errorCount) return;
  const items = details?.length ? details : [{ message }];
  const textOf = (detail) => (detail.field ? `${detail.field} ${detail.message}` : detail.message);
  showProblems(items.map((detail) => ({ kind: "error", parts: [textOf(detail)] })));
};
