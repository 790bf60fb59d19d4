// Publishing the draft, and leaving the editor in a frame of another site.

import { acceptPublished, handleSessionEnd, hasChanges, save, showDraftStatus } from "./core/draft.js";
import { $, $$, embedded, main, pagePath, postToHost } from "./core/page.js";
import { SessionEndedError, errorOf, request } from "./core/server.js";

const dialog = $("#publish");

export const startPublish = () => {
  $("[data-publish]")?.addEventListener("click", openPublish);
  $("[data-done]")?.addEventListener("click", leave);
};

// openPublish shows the form of the page that publishes as a dialog.
const openPublish = async (event) => {
  event.preventDefault();
  if (hasChanges && !(await save())) return;

  const form = await publishForm(await request("/publish", { method: "GET" }));
  if (!form) return embedded ? showDraftStatus("Not published: try again") : location.assign(`${pagePath}/publish`);

  if (embedded) {
    form.addEventListener("submit", publishInFrame);
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

const publishForm = async (response) => {
  if (!response.ok) return null;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return $("[data-publish-form] form", page);
};

// publishInFrame publishes without leaving the page: in a frame nothing is kept for the next.
const publishInFrame = async (event) => {
  event.preventDefault();
  const { comment, etag } = Object.fromEntries(new FormData(event.currentTarget));
  try {
    const response = await request("/publish", { body: JSON.stringify({ comment }), headers: { "If-Match": etag } });
    dialog.close();
    if (!response.ok) return showDraftStatus(`Not published: ${(await errorOf(response)).message}`);

    const { publishedVersion: version } = await response.json();
    acceptPublished(response.headers.get("ETag"));
    showDraftStatus(`Version ${version} published`);
    postToHost("published", { version });
  } catch (error) {
    dialog.close();
    if (error instanceof SessionEndedError) handleSessionEnd();
    else showDraftStatus("Not published: no connection");
  }
};

// leave leaves the frame, once what was typed is saved.
const leave = async () => {
  if (hasChanges && !(await save())) return;
  postToHost("closed");

  // A page that is left at once would not hear it.
  if (main.dataset.return) setTimeout(() => open(main.dataset.return, "_top"), 200);
};
