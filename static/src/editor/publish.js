// Publishing the draft, and leaving the editor in a frame of another site.

import { acceptPublished, dirty, save, say, signedOut } from "./core/draft.js";
import { $, $$, embedded, main, path, tell } from "./core/page.js";
import { SignedOut, ask, messageOf } from "./core/server.js";

const dialog = $("#publish");

export const startPublish = () => {
  $("[data-publish]")?.addEventListener("click", publish);
  $("[data-done]")?.addEventListener("click", done);
};

// publish shows the form of the page that publishes as a dialog.
const publish = async (event) => {
  event.preventDefault();
  if (dirty && !(await save())) return;

  const form = await formOf(await ask("/publish", { method: "GET" }));
  if (!form) return embedded ? say("Not published: try again") : location.assign(`${path}/publish`);

  if (embedded) {
    form.addEventListener("submit", publishHere);
    // Browsers refuse that to frames of other sites; the dialog focuses its first field.
    for (const control of $$("[autofocus]", form)) control.removeAttribute("autofocus");
  }
  dialog.replaceChildren(document.adoptNode(form));
  $("[data-close]", dialog)?.addEventListener("click", (close) => {
    close.preventDefault();
    dialog.close();
  });
  dialog.showModal();
};

const formOf = async (answer) => {
  if (!answer.ok) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return $("[data-publish-form] form", page);
};

// publishHere publishes without leaving the page: in a frame nothing is kept for the next.
const publishHere = async (event) => {
  event.preventDefault();
  const { comment, etag } = Object.fromEntries(new FormData(event.currentTarget));
  try {
    const answer = await ask("/publish", { body: JSON.stringify({ comment }), headers: { "If-Match": etag } });
    dialog.close();
    if (!answer.ok) return say(`Not published: ${(await messageOf(answer)).message}`);

    const { publishedVersion: version } = await answer.json();
    acceptPublished(answer.headers.get("ETag"));
    say(`Version ${version} published`);
    tell("published", { version });
  } catch (error) {
    dialog.close();
    if (error instanceof SignedOut) signedOut();
    else say("Not published: no connection");
  }
};

// done leaves the frame, once what was typed is saved.
const done = async () => {
  if (dirty && !(await save())) return;
  tell("closed");

  // A page that is left at once would not hear it.
  if (main.dataset.return) setTimeout(() => open(main.dataset.return, "_top"), 200);
};
