// The texts of the playground's form become editors. What is typed in them is copied to their fields, so other scripts
// work as without editors. It is loaded on screens that are wide enough.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { html } from "@codemirror/lang-html";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { linter } from "@codemirror/lint";
import { codeField, expressionMarks } from "./code.js";

const nonce = document.currentScript?.nonce ?? "";
const lintJSON = jsonParseLinter();
const languages = {
  html: [html({ autoCloseTags: true }), expressionMarks],
  json: [json(), linter((view) => (view.state.doc.length ? lintJSON(view) : []))],
  text: [EditorView.lineWrapping],
};
const frameTheme = EditorView.theme({
  "&": { border: "1px solid var(--edge)", borderRadius: "var(--r2)", maxHeight: "19rem", overflow: "hidden" },
  "&.cm-focused": { outline: "2px solid var(--blue)", outlineOffset: "-1px" },
  "&.wrong": { borderColor: "var(--bad)", boxShadow: "inset 0 0 0 1px var(--bad)" },
  ".cm-content, .cm-gutter": { minHeight: "5.5rem" },
});

// One editor for each field, by its name: it stays, with its history, when its page comes again with the same text.
const editors = new Map();

const createEditor = (textarea) => {
  const editor = { textarea };
  const attributes = () => {
    const values = {
      tabindex: "0",
      "aria-label": editor.textarea.name,
      "aria-describedby": editor.textarea.getAttribute("aria-describedby"),
    };
    if (editor.textarea.ariaInvalid) values["aria-invalid"] = editor.textarea.ariaInvalid;
    return values;
  };

  // The page runs the call.
  const keys = [{ key: "Mod-Enter", run: () => true }];
  const inputListener = EditorView.updateListener.of((change) => {
    if (!change.docChanged) return;
    editor.textarea.value = change.state.doc.toString();
    editor.textarea.dispatchEvent(new Event("input", { bubbles: true }));
  });

  editor.view = new EditorView({
    state: EditorState.create({
      doc: textarea.value,
      extensions: [codeField({ nonce, attributes, keys }), languages[textarea.dataset.code], frameTheme, inputListener],
    }),
  });
  editor.view.dom.dataset.field = textarea.name;

  return editor;
};

const showEditor = (textarea) => {
  let editor = editors.get(textarea.name);
  if (editor?.view.state.doc.toString() !== textarea.value) editor = createEditor(textarea);
  editors.set(textarea.name, editor);

  editor.textarea = textarea;
  editor.view.dispatch({});
  editor.view.dom.classList.toggle("wrong", textarea.ariaInvalid === "true");

  textarea.hidden = true;
  textarea.after(editor.view.dom);
  textarea.focus = () => editor.view.focus();
  textarea.labels.forEach((label) => label.addEventListener("click", textarea.focus));
};

const showEditors = (scope) => scope.querySelectorAll("[data-play] textarea[data-code]").forEach(showEditor);
document.addEventListener("replaced", (event) => showEditors(event.target));
showEditors(document);
