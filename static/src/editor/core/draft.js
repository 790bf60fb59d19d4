// The draft: saved while it is typed, with a copy in this browser until the server has it.

import { draft, fields, fixed, setText, text } from "./fields.js";
import { $, element, embedded, keep, kept, main, path, readOnly, tell } from "./page.js";
import { SignedOut, ask, messageOf } from "./server.js";

const savePause = 1500;
const copyPause = 200;
const retryPause = 5000;

const saved = $("[data-saved]");
const localKey = `draft:${main.dataset.embedded ?? main.dataset.template}`;

// dirty means that the fields differ from what the server has.
export let dirty = false;
let etag = main.dataset.etag;
let savedAt = null;
let saving = null;
let conflict = false;
let saveTimer = 0;
let copyTimer = 0;
let isValid;
let onConflict;

// startDraft begins to save. isValid reports whether the fields can be saved; onConflict asks the user which text to
// keep when another tab has saved.
export const startDraft = (handlers) => {
  ({ isValid, onConflict } = handlers);
  setInterval(ago, 1000);

  addEventListener("beforeunload", (event) => {
    if (!dirty || readOnly) return;
    keepCopy();
    if (conflict) event.preventDefault();
  });
};

// say replaces the line about the draft's state.
export const say = (...parts) => saved.replaceChildren(...parts);

const ago = () => {
  if (!savedAt || dirty) return;
  const seconds = Math.round((Date.now() - savedAt) / 1000);
  if (seconds < 1) say("Saved");
  else say(seconds < 60 ? `Saved ${seconds} s ago` : `Saved ${Math.round(seconds / 60)} min ago`);
};

export const contents = () => ({ html: text("html"), sampleData: text("sampleData"), options: text("options") });
const keepCopy = () => keep(localKey, { etag, ...contents(), at: Date.now() });

// restoreCopy returns text that was typed and never saved to the fields, on top of the version that it was typed on.
export const restoreCopy = () => {
  const left = kept(localKey);
  const same = !left || fields.every((name) => left[name] === text(name));
  if (same || readOnly) return keep(localKey, null);

  etag = left.etag;
  for (const name of fields) if (!fixed[name]) setText(name, left[name]);
};

// noteChange plans a save after a pause in typing.
export const noteChange = () => {
  dirty = true;
  if (!conflict) say("Not saved yet");

  clearTimeout(copyTimer);
  copyTimer = setTimeout(keepCopy, copyPause);
  clearTimeout(saveTimer);
  if (!readOnly) saveTimer = setTimeout(save, savePause);
};

// save reports whether the server has the text of the fields.
export const save = async () => {
  clearTimeout(saveTimer);
  if (readOnly || conflict) return false;
  if (saving) {
    await saving;
    return dirty ? save() : true;
  }
  if (!dirty) return true;
  if (!text("html")) {
    say("Not saved: the HTML is empty");
    return false;
  }
  if (!isValid()) {
    say("Not saved: the JSON is not valid");
    return false;
  }

  saving = send();
  const done = await saving;
  saving = null;

  // What was typed meanwhile follows.
  if (done && dirty) saveTimer = setTimeout(save, savePause);
  return done;
};

const send = async () => {
  const body = draft();
  say("Saving…");
  try {
    const answer = await ask("/draft", { body, headers: { "If-Match": etag } });
    if (answer.status === 412) {
      conflict = true;
      await onConflict();
      return false;
    }
    if (!answer.ok) {
      say(`Not saved: ${(await messageOf(answer)).message}`);
      return false;
    }

    etag = answer.headers.get("ETag");
    savedAt = Date.now();
    dirty = draft() !== body;
    $("[data-draft]").hidden = false;
    tell("saved");
    if (!dirty) {
      keep(localKey, null);
      ago();
    }
    return true;
  } catch (error) {
    if (error instanceof SignedOut) {
      signedOut();
    } else {
      say("Not saved: no connection. Retrying…");
      saveTimer = setTimeout(save, retryPause);
    }
    return false;
  }
};

// overwrite saves the fields instead of what another tab has saved as the given state.
export const overwrite = (state) => {
  etag = state;
  conflict = false;
  dirty = true;
  save();
};

// acceptStored notes that the fields are what the server has, as the given state.
export const acceptStored = (state, at) => {
  etag = state;
  conflict = false;
  dirty = false;
  savedAt = at;
  keep(localKey, null);
  ago();
};

// acceptPublished notes that the draft was published, as the given state.
export const acceptPublished = (state) => {
  etag = state;
  savedAt = null;
  $("[data-draft]").hidden = true;
};

// signedOut stores the fields in this browser, and offers to log in.
export const signedOut = () => {
  keepCopy();
  if (embedded) {
    return say("This editor session has ended. Changes are no longer saved. Open the editor again.");
  }
  const link = element("a", { href: `/login?next=${encodeURIComponent(path)}`, textContent: "log in" });
  say("You are logged out. Your changes are stored in this browser. To continue, ", link, ".");
};
