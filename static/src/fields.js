// The texts of the playground's form become editors. What is typed in them is copied to their fields, so other scripts
// work as without editors. It is loaded on screens that are wide enough.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { html } from "@codemirror/lang-html";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { linter } from "@codemirror/lint";
import { codeField, mustaches } from "./code.js";

const nonce = document.currentScript?.nonce ?? "";
const parse = jsonParseLinter();
const languages = {
  html: [html({ autoCloseTags: true }), mustaches],
  json: [json(), linter((view) => (view.state.doc.length ? parse(view) : []))],
  text: [EditorView.lineWrapping],
};
const frame = EditorView.theme({
  "&": { border: "1px solid var(--edge)", borderRadius: "var(--r2)", maxHeight: "19rem", overflow: "hidden" },
  "&.cm-focused": { outline: "2px solid var(--blue)", outlineOffset: "-1px" },
  "&.wrong": { borderColor: "var(--bad)", boxShadow: "inset 0 0 0 1px var(--bad)" },
  ".cm-content, .cm-gutter": { minHeight: "5.5rem" },
});

// One editor for each field, by its name: it stays, with its history, when its page comes again with the same text.
const editors = new Map();

const editorOf = (area) => {
  const made = { area };
  const attributes = () => {
    const given = {
      tabindex: "0",
      "aria-label": made.area.name,
      "aria-describedby": made.area.getAttribute("aria-describedby"),
    };
    if (made.area.ariaInvalid) given["aria-invalid"] = made.area.ariaInvalid;
    return given;
  };

  // The page runs the call.
  const keys = [{ key: "Mod-Enter", run: () => true }];
  const typed = EditorView.updateListener.of((change) => {
    if (!change.docChanged) return;
    made.area.value = change.state.doc.toString();
    made.area.dispatchEvent(new Event("input", { bubbles: true }));
  });

  made.view = new EditorView({
    state: EditorState.create({
      doc: area.value,
      extensions: [codeField({ nonce, attributes, keys }), languages[area.dataset.code], frame, typed],
    }),
  });
  made.view.dom.dataset.field = area.name;

  return made;
};

const edits = (area) => {
  let made = editors.get(area.name);
  if (made?.view.state.doc.toString() !== area.value) made = editorOf(area);
  editors.set(area.name, made);

  made.area = area;
  made.view.dispatch({});
  made.view.dom.classList.toggle("wrong", area.ariaInvalid === "true");

  area.hidden = true;
  area.after(made.view.dom);
  area.focus = () => made.view.focus();
  area.labels.forEach((label) => label.addEventListener("click", area.focus));
};

const dress = (scope) => scope.querySelectorAll("[data-play] textarea[data-code]").forEach(edits);
document.addEventListener("put", (event) => dress(event.target));
dress(document);
