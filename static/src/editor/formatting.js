// Formatting of the HTML. A source whose output would change is left as it was.

import { isolateHistory } from "@codemirror/commands";
import { cursorLine, getText, readOnlyFields, views } from "./core/fields.js";
import { element, main, nonce, previewStatus } from "./core/page.js";

let formatter = null; // loaded on first use

const loadFormatter = () =>
  (formatter ??= new Promise((resolve, reject) => {
    const script = element("script", { src: main.dataset.format, nonce });
    script.addEventListener("load", () => resolve(globalThis.formatTemplate));
    script.addEventListener("error", () => {
      formatter = null;
      reject(new Error("The formatter could not be loaded"));
    });
    document.head.append(script);
  }));

export const formatHTML = async () => {
  if (readOnlyFields.html) return;
  try {
    const formatTemplate = await loadFormatter();
    const formatted = formatTemplate(getText("html"));
    if (formatted === null) previewStatus.textContent = "Not formatted: formatting would change the output";
    else if (formatted !== getText("html")) replaceHTML(formatted);
  } catch (error) {
    previewStatus.textContent = error.message;
  }
};

// replaceHTML is one step of the history. The cursor stays on its line.
const replaceHTML = (formatted) => {
  const view = views.html;
  const line = cursorLine();
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert: formatted },
    annotations: isolateHistory.of("full"),
  });

  const { doc } = view.state;
  const { from } = doc.line(Math.min(line, doc.lines));
  view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
};
