// Two tabs with one template: another tab has saved since this one was opened.

import { acceptStored, fieldTexts, overwriteStored, showDraftStatus } from "./core/draft.js";
import { setText } from "./core/fields.js";
import { indent, members } from "./core/json.js";
import { $, $$, element } from "./core/page.js";
import { request } from "./core/server.js";

const dialog = $("#conflict");

// startConflict makes the dialog work. onReplaced is called when the fields have the stored text.
export const startConflict = (onReplaced) => {
  const actions = {
    later: decideLater,
    mine: () => overwriteStored(dialog.dataset.etag),
    theirs: () => useStored(onReplaced),
  };
  for (const button of $$("[data-conflict]")) {
    button.addEventListener("click", () => {
      dialog.close();
      actions[button.dataset.conflict]();
    });
  }
  dialog.addEventListener("cancel", decideLater);
};

// showConflict shows the stored text and that of the fields in the dialog.
export const showConflict = async () => {
  showDraftStatus("Not saved: changed in another tab");
  const response = await request("/compare", { body: JSON.stringify(fieldTexts()) });
  if (!response.ok) return;

  const diffs = new DOMParser().parseFromString(await response.text(), "text/html").body.childNodes;
  dialog.dataset.etag = response.headers.get("ETag");
  $("[data-diffs]", dialog).replaceChildren(...diffs);
  if (!dialog.open) dialog.showModal();
};

const decideLater = () => {
  const button = element("button", { className: "btn small", type: "button", textContent: "Resolve conflict" });
  button.addEventListener("click", showConflict);
  showDraftStatus("Not saved: changed in another tab", " ", button);
};

const useStored = async (onReplaced) => {
  const response = await request("/draft", { method: "GET" });
  if (!response.ok) return;
  const body = await response.text();
  const stored = JSON.parse(body);

  const storedTexts = members(body); // as text: numbers keep every digit
  setText("html", stored.html);
  setText("sampleData", indent(storedTexts.sampleData));
  setText("options", indent(storedTexts.options));
  acceptStored(response.headers.get("ETag"), Date.parse(stored.updatedAt));
  onReplaced();
};
