// The draft: saved while it is typed, with a copy in this browser until the server has it.

import { draftBody, fieldNames, getText, readOnlyFields, setText } from "./fields.js";
import { $, element, embedded, loadSetting, main, pagePath, postToHost, readOnly, saveSetting } from "./page.js";
import { SessionEndedError, errorOf, request } from "./server.js";

const savePause = 1500;
const copyPause = 200;
const retryPause = 5000;

const statusLine = $("[data-saved]");
const copyKey = `draft:${main.dataset.embedded ?? main.dataset.template}`;

// hasChanges means that the fields differ from what the server has.
export let hasChanges = false;
let etag = main.dataset.etag;
let saveTime = null;
let pendingSave = null;
let hasConflict = false;
let saveTimer = 0;
let copyTimer = 0;
let isValid;
let onConflict;

// startDraft begins to save. isValid reports whether the fields can be saved; onConflict asks the user which text to
// keep when another tab has saved.
export const startDraft = (handlers) => {
  ({ isValid, onConflict } = handlers);
  setInterval(showSaveAge, 1000);

  addEventListener("beforeunload", (event) => {
    if (!hasChanges || readOnly) return;
    saveCopy();
    if (hasConflict) event.preventDefault();
  });
};

// showDraftStatus replaces the line about the draft's state.
export const showDraftStatus = (...parts) => statusLine.replaceChildren(...parts);

const showSaveAge = () => {
  if (!saveTime || hasChanges) return;
  const seconds = Math.round((Date.now() - saveTime) / 1000);
  if (seconds < 1) showDraftStatus("Saved");
  else showDraftStatus(seconds < 60 ? `Saved ${seconds} s ago` : `Saved ${Math.round(seconds / 60)} min ago`);
};

export const fieldTexts = () => ({
  html: getText("html"),
  sampleData: getText("sampleData"),
  options: getText("options"),
});
const saveCopy = () => saveSetting(copyKey, { etag, ...fieldTexts(), at: Date.now() });

// restoreCopy returns text that was typed and never saved to the fields, on top of the version that it was typed on.
export const restoreCopy = () => {
  const copy = loadSetting(copyKey);
  const isSame = !copy || fieldNames.every((name) => copy[name] === getText(name));
  if (isSame || readOnly) return saveSetting(copyKey, null);

  etag = copy.etag;
  for (const name of fieldNames) if (!readOnlyFields[name]) setText(name, copy[name]);
};

// markChanged plans a save after a pause in typing.
export const markChanged = () => {
  hasChanges = true;
  if (!hasConflict) showDraftStatus("Not saved yet");

  clearTimeout(copyTimer);
  copyTimer = setTimeout(saveCopy, copyPause);
  clearTimeout(saveTimer);
  if (!readOnly) saveTimer = setTimeout(save, savePause);
};

// save reports whether the server has the text of the fields.
export const save = async () => {
  clearTimeout(saveTimer);
  if (readOnly || hasConflict) return false;
  if (pendingSave) {
    await pendingSave;
    return hasChanges ? save() : true;
  }
  if (!hasChanges) return true;
  if (!getText("html")) {
    showDraftStatus("Not saved: the HTML is empty");
    return false;
  }
  if (!isValid()) {
    showDraftStatus("Not saved: the JSON is not valid");
    return false;
  }

  pendingSave = sendDraft();
  const isSaved = await pendingSave;
  pendingSave = null;

  // What was typed meanwhile follows.
  if (isSaved && hasChanges) saveTimer = setTimeout(save, savePause);
  return isSaved;
};

const sendDraft = async () => {
  const body = draftBody();
  showDraftStatus("Saving…");
  try {
    const response = await request("/draft", { body, headers: { "If-Match": etag } });
    if (response.status === 412) {
      hasConflict = true;
      await onConflict();
      return false;
    }
    if (!response.ok) {
      showDraftStatus(`Not saved: ${(await errorOf(response)).message}`);
      return false;
    }

    etag = response.headers.get("ETag");
    saveTime = Date.now();
    hasChanges = draftBody() !== body;
    $("[data-draft]").hidden = false;
    postToHost("saved");
    if (!hasChanges) {
      saveSetting(copyKey, null);
      showSaveAge();
    }
    return true;
  } catch (error) {
    if (error instanceof SessionEndedError) {
      handleSessionEnd();
    } else {
      showDraftStatus("Not saved: no connection. Retrying…");
      saveTimer = setTimeout(save, retryPause);
    }
    return false;
  }
};

// overwriteStored saves the fields instead of what another tab has saved as the given state.
export const overwriteStored = (newETag) => {
  etag = newETag;
  hasConflict = false;
  hasChanges = true;
  save();
};

// acceptStored notes that the fields are what the server has, as the given state.
export const acceptStored = (newETag, time) => {
  etag = newETag;
  hasConflict = false;
  hasChanges = false;
  saveTime = time;
  saveSetting(copyKey, null);
  showSaveAge();
};

// acceptPublished notes that the draft was published, as the given state.
export const acceptPublished = (newETag) => {
  etag = newETag;
  saveTime = null;
  $("[data-draft]").hidden = true;
};

// handleSessionEnd stores the fields in this browser, and offers to log in.
export const handleSessionEnd = () => {
  saveCopy();
  if (embedded) {
    return showDraftStatus("This editor session has ended. Changes are no longer saved. Open the editor again.");
  }
  const link = element("a", { href: `/login?next=${encodeURIComponent(pagePath)}`, textContent: "log in" });
  showDraftStatus("You are logged out. Your changes are stored in this browser. To continue, ", link, ".");
};
