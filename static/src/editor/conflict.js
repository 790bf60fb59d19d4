// Two tabs with one template: another tab has saved since this one was opened.

import { acceptStored, contents, overwrite, say } from "./core/draft.js";
import { setText } from "./core/fields.js";
import { indent, members } from "./core/json.js";
import { $, $$, element } from "./core/page.js";
import { ask } from "./core/server.js";

const dialog = $("#conflict");

// startConflict makes the dialog work. onStored is called when the fields have the stored text.
export const startConflict = (onStored) => {
  const settle = { later, mine: () => overwrite(dialog.dataset.etag), theirs: () => theirs(onStored) };
  for (const button of $$("[data-conflict]")) {
    button.addEventListener("click", () => {
      dialog.close();
      settle[button.dataset.conflict]();
    });
  }
  dialog.addEventListener("cancel", later);
};

// showConflict shows the stored text and that of the fields in the dialog.
export const showConflict = async () => {
  say("Not saved: changed in another tab");
  const answer = await ask("/compare", { body: JSON.stringify(contents()) });
  if (!answer.ok) return;

  const diffs = new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes;
  dialog.dataset.etag = answer.headers.get("ETag");
  $("[data-diffs]", dialog).replaceChildren(...diffs);
  if (!dialog.open) dialog.showModal();
};

const later = () => {
  const again = element("button", { className: "btn small", type: "button", textContent: "Resolve conflict" });
  again.addEventListener("click", showConflict);
  say("Not saved: changed in another tab", " ", again);
};

const theirs = async (onStored) => {
  const answer = await ask("/draft", { method: "GET" });
  if (!answer.ok) return;
  const body = await answer.text();
  const stored = JSON.parse(body);

  const own = members(body); // as text: numbers keep every digit
  setText("html", stored.html);
  setText("sampleData", indent(own.sampleData));
  setText("options", indent(own.options));
  acceptStored(answer.headers.get("ETag"), Date.parse(stored.updatedAt));
  onStored();
};
