// The fields of the template: HTML, sample data and options, and the header and footer that the options hold. The page
// has a textarea for each of the first three, which becomes a CodeMirror editor.

import { EditorState, StateEffect } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { indentWithTab, invertedEffects, isolateHistory, undo } from "@codemirror/commands";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { html } from "@codemirror/lang-html";
import { json } from "@codemirror/lang-json";
import { codeField, mustaches } from "../../code.js";
import { $, embedded, markTab, nonce } from "./page.js";

const field = (name) => $(`textarea[name="${name}"]`);

export const fields = ["html", "sampleData", "options"];
export const fixed = Object.fromEntries(fields.map((name) => [name, field(name).readOnly]));

// What is sent: all, or in a frame what may be changed there.
export const sent = fields.filter((name) => !embedded || !fixed[name]);

// revision of the fields: one more with each change.
export let revision = 1;

export const views = {};
export const text = (name) => views[name].state.doc.toString();
export const setText = (name, value) => {
  if (text(name) === value) return;
  views[name].dispatch({ changes: { from: 0, to: views[name].state.doc.length, insert: value } });
};

// readJSON returns the object in a field, or null if the field holds another value.
export const readJSON = (name) => {
  try {
    const value = JSON.parse(text(name));
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
};

// bodyOf returns fields as the body of a request. JSON is sent as it was typed: numbers keep every digit.
export const bodyOf = (names) => {
  const member = (name) => `"${name}":${name === "html" ? JSON.stringify(text(name)) : text(name)}`;
  return `{${names.map(member).join(",")}}`;
};
export const draft = () => bodyOf(sent);

// A change that replaces several fields is one step of the HTML's history, which undoes and redoes the others, too.
const swapped = StateEffect.define();
const together = [
  invertedEffects.of((step) => {
    const effects = step.effects.filter((effect) => effect.is(swapped));
    return effects.map(({ value }) => swapped.of({ from: value.to, to: value.from }));
  }),
  EditorView.updateListener.of(({ transactions }) => {
    for (const step of transactions) {
      if (!step.isUserEvent("undo") && !step.isUserEvent("redo")) continue;
      for (const effect of step.effects) {
        if (effect.is(swapped)) setTexts(effect.value.to);
      }
    }
  }),
];
const setTexts = (texts) => {
  for (const [name, value] of Object.entries(texts)) setText(name, value);
};

// put replaces the HTML and other fields as one step.
export const put = ({ html: source, ...to }) => {
  const from = Object.fromEntries(Object.keys(to).map((name) => [name, text(name)]));
  views.html.dispatch({
    changes: { from: 0, to: views.html.state.doc.length, insert: source },
    effects: swapped.of({ from, to }),
    selection: { anchor: 0 },
    annotations: isolateHistory.of("full"),
  });
  setTexts(to);
};
export const undoHTML = () => undo(views.html);

// showFile shows the HTML, the header or the footer.
export const showFile = (name) => {
  markTab("file", name);
  for (const key of ["html", "headerTemplate", "footerTemplate"]) views[key].dom.hidden = key !== name;
};

// goTo places the cursor at an offset in the HTML.
export const goTo = (from) => {
  showFile("html");
  views.html.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  views.html.focus();
};

// lineOf returns the number of the line of an offset in the HTML, cursorLine that of the cursor.
export const lineOf = (from) => views.html.state.doc.lineAt(from).number;
export const cursorLine = () => lineOf(views.html.state.selection.main.head);

const full = EditorView.theme({ "&": { height: "100%" } });

// openFields makes the editors. keys are bindings of all of them, source extends that of the HTML, and changed gets the
// name of a field whose text has changed.
export const openFields = ({ keys, source, changed }) => {
  const common = (name, label, isFixed) => [
    codeField({ nonce, attributes: () => ({ "aria-label": label, tabindex: "0" }), keys }),
    full,
    foldGutter({ openText: "▾", closedText: "▸" }),
    lintGutter(),
    EditorState.readOnly.of(isFixed),
    keymap.of([...foldKeymap, { key: "Escape", run: leave }, indentWithTab]),
    EditorView.updateListener.of((change) => {
      if (!change.docChanged) return;
      if (fields.includes(name)) revision++;
      changed(name);
    }),
  ];

  const replaceField = (name, extensions) => {
    const area = field(name);
    const label = area.getAttribute("aria-label");
    const state = EditorState.create({ doc: area.value, extensions: [common(name, label, fixed[name]), extensions] });
    views[name] = new EditorView({ parent: area.parentElement, state });
    area.hidden = true;
  };
  const addField = (name, label) => {
    const state = EditorState.create({ doc: "", extensions: [common(name, label, fixed.options), html()] });
    views[name] = new EditorView({ parent: field("html").parentElement, state });
  };

  replaceField("html", [html({ autoCloseTags: true }), mustaches, together, source]);
  addField("headerTemplate", "Header, HTML");
  addField("footerTemplate", "Footer, HTML");
  replaceField("sampleData", json());
  replaceField("options", json());
};

const leave = (view) => {
  view.contentDOM.blur();
  return true;
};
