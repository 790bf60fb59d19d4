// The text editors of the template editor and of the playground.

import { EditorState } from "@codemirror/state";
import {
  EditorView,
  keymap,
  lineNumbers,
  highlightActiveLine,
  highlightActiveLineGutter,
  drawSelection,
  Decoration,
  MatchDecorator,
  ViewPlugin,
} from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { search, searchKeymap } from "@codemirror/search";
import { lintKeymap } from "@codemirror/lint";
import { tagHighlighter, tags } from "@lezer/highlight";

const highlighter = tagHighlighter([
  { tag: [tags.tagName, tags.angleBracket, tags.propertyName], class: "x-tag" },
  { tag: tags.attributeName, class: "x-attr" },
  { tag: [tags.attributeValue, tags.string], class: "x-str" },
  { tag: [tags.number, tags.bool, tags.null, tags.unit, tags.color], class: "x-num" },
  { tag: [tags.comment, tags.meta], class: "x-com" },
  { tag: [tags.keyword, tags.className], class: "x-attr" },
]);
const theme = EditorView.theme({
  "&": { fontSize: ".8125rem", background: "var(--sheet)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.62", fontVariantLigatures: "none" },
  ".cm-content": { caretColor: "var(--blue)", padding: ".5rem 0" },
  ".cm-gutters": { background: "var(--sheet)", color: "var(--ink-3)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--blue-wash)" },
  ".cm-cursor": { borderLeftColor: "var(--blue)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in srgb, var(--cyan) 38%, transparent)",
  },
  ".cm-tooltip": {
    background: "var(--sheet)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "4px",
    boxShadow: "var(--lift-3)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: ".8125rem", padding: ".25rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".125rem .5rem", borderRadius: "2px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--blue-wash)",
    color: "var(--blue)",
  },
  ".cm-completionDetail": { color: "var(--ink-3)", fontStyle: "normal", float: "right", marginLeft: "1.5rem" },
  ".cm-panels": { background: "var(--bench)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-textfield": {
    background: "var(--sheet)",
    border: "1px solid var(--edge)",
    borderRadius: "2px",
    fontSize: ".8125rem",
  },
  ".cm-button": {
    background: "var(--sheet)",
    border: "1px solid var(--edge)",
    borderRadius: "2px",
    fontSize: ".8125rem",
  },
  ".cm-searchMatch": { background: "var(--warn-wash)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { background: "color-mix(in srgb, var(--warn) 30%, transparent)" },
  ".cm-foldPlaceholder": { background: "var(--tint)", border: "0", color: "var(--ink-3)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad) 1px",
    textUnderlineOffset: ".25em",
  },
  ".cm-lintRange-warning": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--warn) 1px",
    textUnderlineOffset: ".25em",
  },
  // The shapes of states: a cross, a triangle. The shape alone is enough.
  ".cm-gutter-lint": { width: "1rem", "& .cm-gutterElement": { display: "grid", placeItems: "center", padding: "0" } },
  ".cm-lint-marker": { width: ".5625rem", height: ".5625rem", cursor: "default" },
  ".cm-lint-marker-error": {
    content: "normal",
    background: "var(--bad)",
    clipPath:
      "polygon(20% 0, 50% 30%, 80% 0, 100% 20%, 70% 50%, 100% 80%, 80% 100%, 50% 70%, 20% 100%, 0 80%, 30% 50%, 0 20%)",
  },
  ".cm-lint-marker-warning": {
    content: "normal",
    background: "var(--warn)",
    clipPath: "polygon(50% 4%, 100% 96%, 0 96%)",
  },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--bad)" },
  ".cm-lintPoint-warning:after": { borderBottomColor: "var(--warn)" },
  ".cm-diagnostic": {
    padding: ".375rem .625rem",
    border: "0",
    margin: "0",
    fontFamily: "var(--sans)",
    fontSize: ".8125rem",
  },
  ".cm-diagnostic-error": { boxShadow: "inset 2px 0 var(--bad)" },
  ".cm-diagnostic-warning": { boxShadow: "inset 2px 0 var(--warn)" },
  ".cm-tooltip-lint": { maxWidth: "28rem", padding: "0" },
  "&.cm-focused .cm-matchingBracket, &.cm-focused .cm-nonmatchingBracket": { background: "var(--press)" },
});

const expressionMark = Decoration.mark({ class: "x-var" });
export const expressionMarks = (() => {
  const matcher = new MatchDecorator({ regexp: /\{\{\{?[^{}]*\}?\}\}/g, decoration: expressionMark });
  return ViewPlugin.define(
    (view) => ({
      marks: matcher.createDeco(view),
      update(change) {
        this.marks = matcher.updateDeco(change, this.marks);
      },
    }),
    { decorations: (plugin) => plugin.marks },
  );
})();

// codeField is what all editors have. keys come before the usual ones.
export const codeField = ({ nonce, attributes, keys }) => [
  lineNumbers(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  drawSelection(),
  history(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  search({ top: true }),
  syntaxHighlighting(highlighter),
  theme,
  EditorView.cspNonce.of(nonce),
  EditorState.tabSize.of(2),
  EditorView.contentAttributes.of(attributes),
  keymap.of([
    ...keys,
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...completionKeymap,
    ...lintKeymap,
  ]),
];
