// The template editor. The page works without it: three fields and buttons. With it the fields become editors, the
// draft is saved and rendered while it is typed, by the engine that calls use.
//
// The modules in editor/ are one a pane, and import only those in editor/core/. This module connects them.

import { isAccessibilityOpen, isAccessibilityOutdated, showAccessibility } from "./editor/accessibility.js";
import { checkTemplate, showRefusal } from "./editor/check.js";
import { completion } from "./editor/completion.js";
import { showConflict, startConflict } from "./editor/conflict.js";
import { hasChanges, markChanged, restoreCopy, save, startDraft } from "./editor/core/draft.js";
import { fieldNames, getText, openFields, revision } from "./editor/core/fields.js";
import { $, canPreview } from "./editor/core/page.js";
import { readPaths } from "./editor/core/paths.js";
import { startDescribe } from "./editor/describe.js";
import { formatHTML } from "./editor/formatting.js";
import { startLayout } from "./editor/layout.js";
import { showOnPage, startLocate } from "./editor/locate.js";
import { applyMarginTemplate, showOptions, showPaper, startOptions } from "./editor/options.js";
import { hideProgress, render, startPreview, updateHTML } from "./editor/preview.js";
import { startPublish } from "./editor/publish.js";
import { checkJSON } from "./editor/validity.js";
import { showVariables } from "./editor/variables.js";

const previewPause = 300;
let previewTimer = 0;

const preview = () => {
  clearTimeout(previewTimer);
  showPaper();
  if (!checkJSON() || !getText("html")) {
    showAccessibility(null, revision);
    hideProgress();
    return;
  }

  checkTemplate(getText("html"), showVariables);
  if (!canPreview) return;
  render({
    accessible: isAccessibilityOpen(),
    onWarnings: showAccessibility,
    onRefusal: (error, renderRevision) => {
      showAccessibility(null, renderRevision);
      showRefusal(error);
    },
  });
};

// onChange saves and renders what is typed. The header and the footer are options.
const onChange = (name) => {
  if (!fieldNames.includes(name)) return applyMarginTemplate(name);
  if (name === "sampleData") readPaths();
  if (name === "options") showOptions();

  markChanged();
  updateHTML();
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
  command("Alt-Enter", showOnPage),
  command("Shift-Alt-f", formatHTML),
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
    if (!hasChanges) return;
    event.preventDefault();
    if (await save()) form.submit();
  });
};

const start = () => {
  openFields({ keys, htmlExtension: completion, onChange });
  startDraft({ isValid: checkJSON, onConflict: showConflict });
  startConflict(preview);
  startDescribe();
  startKeys();
  startLayout((pane) => {
    if (pane === "accessible" && isAccessibilityOutdated()) preview();
  });
  startLocate();
  startOptions();
  startPDF();
  startPreview();
  startPublish();
  $("[data-find]")?.addEventListener("click", showOnPage);
  $("[data-formats]")?.addEventListener("click", formatHTML);

  readPaths();
  restoreCopy();
  showOptions();
  preview();
  document.documentElement.dataset.editorReady = "";
};
start();
