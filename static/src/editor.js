// The template editor. The page works without it: three fields and buttons. With it the fields become editors, the
// draft is saved and rendered while it is typed, by the engine that calls use.
//
// The modules in editor/ are one a pane, and import only those in editor/core/. This one connects them.

import { awaitAccessibility, isAccessibilityOpen, showAccessibility } from "./editor/accessibility.js";
import { check, showRefusal } from "./editor/check.js";
import { completion } from "./editor/completion.js";
import { showConflict, startConflict } from "./editor/conflict.js";
import { dirty, noteChange, restoreCopy, save, startDraft } from "./editor/core/draft.js";
import { fields, openFields, revision, text } from "./editor/core/fields.js";
import { $, sees } from "./editor/core/page.js";
import { readPaths } from "./editor/core/paths.js";
import { startDescribe } from "./editor/describe.js";
import { format } from "./editor/formatting.js";
import { startLayout } from "./editor/layout.js";
import { findOnPage, startLocate } from "./editor/locate.js";
import { setMargin, showOptions, showPaper, startOptions } from "./editor/options.js";
import { endWork, render, startPreview, updateFrame } from "./editor/preview.js";
import { startPublish } from "./editor/publish.js";
import { checkJSON } from "./editor/validity.js";
import { showVariables } from "./editor/variables.js";

const previewPause = 300;
let previewTimer = 0;

const preview = () => {
  clearTimeout(previewTimer);
  showPaper();
  if (!checkJSON() || !text("html")) {
    showAccessibility(null, revision);
    endWork();
    return;
  }

  check(text("html"), showVariables);
  if (!sees) return;
  render({
    accessible: isAccessibilityOpen(),
    onWarnings: showAccessibility,
    onRefusal: (error, of) => {
      showAccessibility(null, of);
      showRefusal(error);
    },
  });
};

// changed follows what is typed. The header and the footer are options.
const changed = (name) => {
  if (!fields.includes(name)) return setMargin(name);
  if (name === "sampleData") readPaths();
  if (name === "options") showOptions();

  noteChange();
  updateFrame();
  clearTimeout(previewTimer);
  previewTimer = setTimeout(preview, previewPause);
};

// Keys of the page, and of its editors, which prevent CodeMirror's own.
const command = (key, action) => ({
  key,
  preventDefault: true,
  run: () => {
    action();
    return true;
  },
});
const keys = [
  command("Mod-s", save),
  command("Mod-Enter", preview),
  command("Alt-Enter", findOnPage),
  command("Shift-Alt-f", format),
];

const startKeys = () => {
  const actions = { s: save, Enter: preview };
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.defaultPrevented || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
};

// The paid document is of what the fields hold, so that they are saved first.
const startPDF = () => {
  $("[data-pdf]")?.addEventListener("submit", async (event) => {
    const form = event.currentTarget;
    if (!dirty) return;
    event.preventDefault();
    if (await save()) form.submit();
  });
};

const start = () => {
  openFields({ keys, source: completion, changed });
  startDraft({ isValid: checkJSON, onConflict: showConflict });
  startConflict(preview);
  startDescribe();
  startKeys();
  startLayout((pane) => {
    if (pane === "accessible" && awaitAccessibility()) preview();
  });
  startLocate();
  startOptions();
  startPDF();
  startPreview();
  startPublish();
  $("[data-find]")?.addEventListener("click", findOnPage);
  $("[data-formats]")?.addEventListener("click", format);

  readPaths();
  restoreCopy();
  showOptions();
  preview();
  document.documentElement.dataset.editorReady = "";
};
start();
