// The check of the template: marks in the HTML, and the list of problems below it.

import { setDiagnostics } from "@codemirror/lint";
import { bodyOf, goTo, lineOf, sent, text, views } from "./core/fields.js";
import { code } from "./core/page.js";
import { nearest, usesOf } from "./core/paths.js";
import { showProblems } from "./core/problems.js";
import { ask } from "./core/server.js";

let checked = 0;
let faults = 0;

// check asks the server about the HTML, and shows its errors and the paths that the data lacks. onChecked gets the
// result, and the line of the first problem.
export const check = async (source, onChecked) => {
  const turn = ++checked;
  try {
    const answer = await ask("/check", { body: bodyOf(sent.filter((name) => name !== "options")) });
    if (answer.ok && turn === checked) {
      const result = await answer.json();
      onChecked(result, showChecked(result, source));
    }
  } catch {
    /* the preview reports errors of the connection */
  }
};

const showChecked = ({ errors, missing }, source) => {
  const found = [...(errors ?? []).map(faultIn), ...(missing ?? []).map((path) => missingIn(path, source))];
  const list = found.map(({ item }) => item);
  faults = errors?.length ?? 0;

  const { state } = views.html;
  if (text("html") === source) {
    const marks = found.flatMap((one) => one.marks).filter(({ to }) => to <= state.doc.length);
    views.html.dispatch(
      setDiagnostics(
        state,
        marks.sort((a, b) => a.from - b.from),
      ),
    );
  }

  showProblems(list);
  return list[0]?.line;
};

// faultIn is an error with its mark in the HTML.
const faultIn = (fault) => {
  const { doc } = views.html.state;
  const at = doc.line(Math.min(Math.max(fault.line ?? 1, 1), doc.lines));
  const from = Math.min(at.from + Math.max((fault.column ?? 1) - 1, 0), at.to);
  const to = Math.max(from, Math.min(at.to, from + 1));

  const message = fault.message + (fault.partial ? ` (in the partial ${fault.partial})` : "");
  const go = fault.line && !fault.partial ? () => goTo(from) : null;
  return {
    marks: [{ from, to, severity: "error", message }],
    item: { kind: "e", parts: [message], line: at.number, go },
  };
};

// missingIn is the warning about a path that the data lacks, with its marks in the HTML.
const missingIn = (path, source) => {
  const near = nearest(path);
  const fault = near === path ? " is not in all of the data." : " is not in the data.";
  const parts = [code(path), fault];
  let message = path + fault;
  if (near && near !== path) {
    parts[1] += " Did you mean ";
    parts.push(code(near), "?");
    message += ` Did you mean ${near}?`;
  }

  const uses = usesOf(path, source);
  const first = uses[0];
  return {
    marks: uses.map((use) => ({ ...use, severity: "warning", message })),
    item: { kind: "w", parts, line: first ? lineOf(first.from) : 0, go: first ? () => goTo(first.from) : null },
  };
};

// showRefusal lists why the pages could not be rendered, unless the check has listed errors.
export const showRefusal = ({ message, details }) => {
  if (faults) return;
  const list = details?.length ? details : [{ message }];
  const textOf = (detail) => (detail.field ? `${detail.field} ${detail.message}` : detail.message);
  showProblems(list.map((detail) => ({ kind: "e", parts: [textOf(detail)] })));
};
