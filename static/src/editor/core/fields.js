// The fields of the template: HTML, sample data and options, and the header and footer that the options hold. The page
// has a textarea for each of the first three, which becomes a CodeMirror editor.

import { EditorState, StateEffect } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { indentWithTab, invertedEffects, isolateHistory, undo } from "@codemirror/commands";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { html } from "@codemirror/lang-html";
import { json } from "@codemirror/lang-json";
import { codeField, expressionMarks } from "../../code.js";
import { $, embedded, nonce, selectTab } from "./page.js";

const textareaOf = (name) => $(`textarea[name="${name}"]`);

export const fieldNames = ["html", "sampleData", "options"];
export const readOnlyFields = Object.fromEntries(fieldNames.map((name) => [name, textareaOf(name).readOnly]));

// requestFields are sent to the server: all, or in a frame those that may be changed there.
export const requestFields = fieldNames.filter((name) => !embedded || !readOnlyFields[name]);

// revision of the fields: one more with each change.
export let revision = 1;

export const views = {};
export const getText = (name) => views[name].state.doc.toString();
export const setText = (name, value) => {
  if (getText(name) === value) return;
  views[name].dispatch({ changes: { from: 0, to: views[name].state.doc.length, insert: value } });
};

// readObject returns the object in a field, or null if the field holds another value.
export const readObject = (name) => {
  try {
    const value = JSON.parse(getText(name));
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
};

// bodyWith returns fields as the body of a request. JSON is sent as it was typed: numbers keep every digit.
export const bodyWith = (names) => {
  const member = (name) => `"${name}":${name === "html" ? JSON.stringify(getText(name)) : getText(name)}`;
  return `{${names.map(member).join(",")}}`;
};
export const draftBody = () => bodyWith(requestFields);

// A change that replaces several fields is one step of the HTML's history, which undoes and redoes the others, too.
const replacedTexts = StateEffect.define();
const sharedHistory = [
  invertedEffects.of((transaction) => {
    const effects = transaction.effects.filter((effect) => effect.is(replacedTexts));
    return effects.map(({ value }) => replacedTexts.of({ from: value.to, to: value.from }));
  }),
  EditorView.updateListener.of(({ transactions }) => {
    for (const transaction of transactions) {
      if (!transaction.isUserEvent("undo") && !transaction.isUserEvent("redo")) continue;
      for (const effect of transaction.effects) {
        if (effect.is(replacedTexts)) setTexts(effect.value.to);
      }
    }
  }),
];
const setTexts = (texts) => {
  for (const [name, value] of Object.entries(texts)) setText(name, value);
};

// replaceFields replaces the HTML and other fields as one step.
export const replaceFields = ({ html: source, ...to }) => {
  const from = Object.fromEntries(Object.keys(to).map((name) => [name, getText(name)]));
  views.html.dispatch({
    changes: { from: 0, to: views.html.state.doc.length, insert: source },
    effects: replacedTexts.of({ from, to }),
    selection: { anchor: 0 },
    annotations: isolateHistory.of("full"),
  });
  setTexts(to);
};
export const undoHTML = () => undo(views.html);

// showFile shows the HTML, the header or the footer.
export const showFile = (name) => {
  selectTab("file", name);
  for (const key of ["html", "headerTemplate", "footerTemplate"]) views[key].dom.hidden = key !== name;
};

// showSource moves the cursor to an offset in the HTML.
export const showSource = (from) => {
  showFile("html");
  views.html.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  views.html.focus();
};

// lineOf returns the number of the line of an offset in the HTML, cursorLine that of the cursor.
export const lineOf = (from) => views.html.state.doc.lineAt(from).number;
export const cursorLine = () => lineOf(views.html.state.selection.main.head);

const fullHeight = EditorView.theme({ "&": { height: "100%" } });

// openFields makes the editors. keys are bindings of all of them, htmlExtension extends that of the HTML, and onChange
// gets the name of a field whose text has changed.
export const openFields = ({ keys, htmlExtension, onChange }) => {
  const commonExtensions = (name, label, isReadOnly) => [
    codeField({ nonce, attributes: () => ({ "aria-label": label, tabindex: "0" }), keys }),
    fullHeight,
    foldGutter({ openText: "▾", closedText: "▸" }),
    lintGutter(),
    EditorState.readOnly.of(isReadOnly),
    keymap.of([...foldKeymap, { key: "Escape", run: blurEditor }, indentWithTab]),
    EditorView.updateListener.of((change) => {
      if (!change.docChanged) return;
      if (fieldNames.includes(name)) revision++;
      onChange(name);
    }),
  ];

  const replaceTextarea = (name, extensions) => {
    const textarea = textareaOf(name);
    const label = textarea.getAttribute("aria-label");
    const state = EditorState.create({
      doc: textarea.value,
      extensions: [commonExtensions(name, label, readOnlyFields[name]), extensions],
    });
    views[name] = new EditorView({ parent: textarea.parentElement, state });
    textarea.hidden = true;
  };
  const addEditor = (name, label) => {
    const state = EditorState.create({
      doc: "",
      extensions: [commonExtensions(name, label, readOnlyFields.options), html()],
    });
    views[name] = new EditorView({ parent: textareaOf("html").parentElement, state });
  };

  replaceTextarea("html", [html({ autoCloseTags: true }), expressionMarks, sharedHistory, htmlExtension]);
  addEditor("headerTemplate", "Header, HTML");
  addEditor("footerTemplate", "Footer, HTML");
  replaceTextarea("sampleData", json());
  replaceTextarea("options", json());
};

const blurEditor = (view) => {
  view.contentDOM.blur();
  return true;
};
