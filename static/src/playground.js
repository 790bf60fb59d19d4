// The playground without loading its page again. All of it works without this file: the server renders the form and its
// result in both cases.

const find = (selector, scope = document) => scope.querySelector(selector);
const findAll = (selector, scope = document) => [...scope.querySelectorAll(selector)];

// Texts longer than this are not sent while they are typed.
const maxTypedLength = 256 << 10;
const updateDelay = 350;
const fragmentPrefix = "#input=";

const showError = (text) => {
  const form = find("[data-play]");
  let errorLine = find("[data-said]", form);
  if (!errorLine && !text) return;
  if (!errorLine) {
    errorLine = document.createElement("p");
    errorLine.className = "error-sum";
    errorLine.dataset.said = "";
    errorLine.setAttribute("role", "alert");
    form.prepend(errorLine);
  }

  errorLine.textContent = text;
  errorLine.hidden = !text;
};

// Parts that are open and choices of the user stay on the page that comes.
const getChoices = () => ({
  open: findAll("details[data-keep][open]").map((part) => part.dataset.keep),
  chosen: findAll("input[type=radio]:not([name=source]):checked").map((radio) => radio.id),
});
const restoreChoices = ({ open, chosen }, scope) => {
  for (const part of findAll("details[data-keep]", scope)) part.open ||= open.includes(part.dataset.keep);
  for (const id of chosen) {
    const radio = id && scope.querySelector(`#${CSS.escape(id)}`);
    if (radio) radio.checked = true;
  }
};

const showScriptControls = (scope) => {
  for (const part of findAll("[data-needs-script]", scope)) part.hidden = false;
  for (const button of findAll("[data-link]", scope)) button.hidden = !navigator.clipboard;
};

// replaceMain shows the main part of another page, as app.js does.
const replaceMain = (page) => {
  const choices = getChoices();
  const active = document.activeElement;
  const name = active?.name ?? active?.closest("[data-field]")?.dataset.field;

  const main = find("#main", page);
  find("#main").replaceWith(main);
  restoreChoices(choices, main);
  showScriptControls(main);
  main.dispatchEvent(new CustomEvent("replaced", { bubbles: true }));

  if (name) find(`[name="${CSS.escape(name)}"]`, main)?.focus({ preventScroll: true });
};

// replacePart shows a part of another page.
const replacePart = (selector, page) => {
  const choices = getChoices();
  const part = find(selector, page);
  find(selector).replaceWith(part);
  restoreChoices(choices, part);
  showScriptControls(part);
  part.dispatchEvent(new CustomEvent("replaced", { bubbles: true }));
};

const fetchPage = async (url, body, signal) => {
  const response = await fetch(url, { method: "POST", body, signal });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (response.redirected) {
    throw new Error("You are logged out. Open another tab, log in there, then try again. Your input is not lost.");
  }
  if (!find("[data-play]", page)) {
    throw new Error(find("main h1", page)?.textContent ?? `The server returned status ${response.status}.`);
  }
  return page;
};

let lastRequest = 0;
let updateTimer;
let pendingUpdate;

const typedValues = (form) => JSON.stringify([...new FormData(form)].filter(([, value]) => !(value instanceof File)));

// send sends the form, or other data, and shows the page that comes. The form is inert meanwhile, except while a call
// runs, which has a signal to cancel it: what is typed then stays, and only the result is replaced.
const send = async (url, body, button, signal) => {
  const requestID = ++lastRequest;
  const form = find("[data-play]");
  const typedBefore = typedValues(form);
  clearTimeout(updateTimer);
  pendingUpdate?.abort();

  button?.setAttribute("aria-busy", "true");
  form.setAttribute("aria-busy", "true");
  form.inert = !signal;
  showError("");

  try {
    const page = await fetchPage(url, body, signal);
    if (requestID !== lastRequest) return false;
    if (typedValues(form) === typedBefore) {
      replaceMain(page);
    } else {
      for (const part of ["[data-result]", "[data-history]", "[data-balance]"]) replacePart(part, page);
    }
    return true;
  } catch (error) {
    if (requestID === lastRequest && error.name !== "AbortError") showError(error.message);
    return false;
  } finally {
    button?.removeAttribute("aria-busy");
    form.removeAttribute("aria-busy");
    form.inert = false;
    if (form.isConnected && requestID === lastRequest) scheduleUpdate(form);
  }
};

const withoutFiles = (form, button) => {
  const data = new FormData(form, button);
  for (const [name, value] of [...data]) {
    if (value instanceof File && !value.size) data.delete(name);
  }
  return data;
};

// The call next to the form is updated while the user types.
const scheduleUpdate = (form) => {
  clearTimeout(updateTimer);
  if (form.ariaBusy === "true") return; // updated when the response is there
  updateTimer = setTimeout(() => updateCall(form), updateDelay);
};

const updateCall = async (form) => {
  const requestID = ++lastRequest;
  const data = new FormData(form);
  let size = 0;
  for (const [name, value] of [...data]) {
    if (value instanceof File) data.delete(name);
    else size += value.length;
  }
  if (size > maxTypedLength) return;

  data.set("do", "show");
  pendingUpdate?.abort();
  pendingUpdate = new AbortController();
  try {
    const page = await fetchPage(form.getAttribute("action"), data, pendingUpdate.signal);
    if (requestID !== lastRequest) return;
    for (const part of ["[data-call]", "[data-price]"]) {
      if (find(part)) replacePart(part, page);
    }
  } catch {
    /* the next change sends it again */
  }
};

// While a call runs, its time is shown instead of the result, and it can be cancelled.
const progressDelay = 250; // milliseconds, after which a call is a long one
const showRunning = () => {
  const startTime = performance.now();
  const cancel = new AbortController();
  const previousResult = [...find("[data-result]").childNodes];
  const seconds = () => `${((performance.now() - startTime) / 1000).toFixed(1)} s`;

  let ticker;
  const progressTimer = setTimeout(() => {
    find("[data-result]").replaceChildren(document.importNode(find("#running").content, true));
    const elapsed = find("[data-elapsed]");
    const tick = () => {
      elapsed.textContent = seconds();
    };
    tick();
    ticker = setInterval(tick, 100);
    find("[data-cancel]").addEventListener("click", () => cancel.abort());
  }, progressDelay);

  const finish = (isDone) => {
    clearTimeout(progressTimer);
    clearInterval(ticker);
    if (isDone) return;
    if (!cancel.signal.aborted) return find("[data-result]").replaceChildren(...previousResult);

    const note = document.createElement("p");
    const charge = "If the call had already finished, it is charged and listed under Documents.";
    note.className = "play-empty";
    note.role = "status";
    note.textContent = `Cancelled after ${seconds()}. ${charge}`;
    find("[data-result]").replaceChildren(note);
  };

  return { signal: cancel.signal, ends: finish };
};

const runCall = async (form, button) => {
  const progress = showRunning();
  const isDone = await send(button.getAttribute("formaction"), withoutFiles(form, button), button, progress.signal);
  progress.ends(isDone);
  if (!isDone) return;

  const invalidField = find("[data-play] [aria-invalid=true]");
  if (invalidField) return invalidField.focus();

  // A user who has run the call from a field continues to write there.
  const result = find("[data-result]");
  if (!find("[data-play]").contains(document.activeElement)) result.focus({ preventScroll: true });
  result.scrollIntoView({ block: "nearest" });
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  const button = event.submitter;
  if (form.matches("[data-play-json]")) {
    event.preventDefault();
    const data = new FormData(form);
    data.set("do", "fill");
    send(form.getAttribute("action"), data, button);
  } else if (form.matches("[data-play]") && button) {
    event.preventDefault();
    if (button.hasAttribute("formaction")) runCall(form, button);
    else send(form.getAttribute("action"), withoutFiles(form, button), button);
  }
});

document.addEventListener("input", (event) => {
  const form = event.target.closest("[data-play]");
  if (form && event.target.type !== "file") scheduleUpdate(form);
});

// A file is uploaded when it is chosen.
const findTooLarge = (form, files) => files.find((file) => file.size > Number(form.dataset.most));
const uploadFiles = (field) => {
  const form = field.closest("[data-play]");
  const tooLarge = findTooLarge(form, [...field.files]);
  if (tooLarge) {
    const size = (tooLarge.size / 1e6).toFixed(1);
    const limit = form.dataset.most / 2 ** 20;
    field.value = "";
    return showError(`${tooLarge.name} is too large: ${size} MB. The maximum is ${limit} MiB.`);
  }
  if (!field.files.length) return;

  field.closest("[data-drop]").setAttribute("aria-busy", "true");
  const data = withoutFiles(form);
  data.set("do", "show");
  send(form.getAttribute("action"), data);
};
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-play] input[type=file]")) uploadFiles(event.target);
  else if (event.target.matches("[data-template]")) fillSample(event.target);
});

// The data of a template that is chosen is its sample data, unless other data was typed.
let sampleText = "";

const fillSample = async ({ form }) => {
  const button = find("[data-sample]", form);
  const data = () => document.getElementById(button.dataset.sample).value;
  if (!button || (data().trim() && data() !== sampleText)) return;
  if (await send(form.getAttribute("action"), withoutFiles(form, button), button)) sampleText = data();
};

for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    // A page with one drop zone accepts files anywhere.
    const dropZones = findAll("[data-play] [data-drop]").filter((zone) => zone.offsetParent);
    const dropZone = event.target.closest?.("[data-drop]") ?? (dropZones.length === 1 ? dropZones[0] : null);
    if (!dropZone || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    dropZone.classList.toggle("over", kind === "dragover");
    if (kind !== "drop") return;

    const field = find("input[type=file]", dropZone);
    const dropped = [...event.dataTransfer.files];
    const transfer = new DataTransfer();
    for (const file of field.multiple ? dropped : dropped.slice(0, 1)) transfer.items.add(file);
    field.files = transfer.files;
    uploadFiles(field);
  });
}

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("[data-play]");
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    const button = find("[formaction]", form);
    if (button && form.getAttribute("aria-busy") !== "true") form.requestSubmit(button);
  }
});

// The input of a link is in its fragment, which no server sees.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-link]");
  if (!button) return;

  const label = button.lastChild;
  const labelText = label.textContent;
  try {
    const fragment = fragmentPrefix + encodeURIComponent(button.dataset.link);
    await navigator.clipboard.writeText(location.origin + location.pathname + fragment);
    label.textContent = "Copied";
  } catch {
    label.textContent = "Not copied: the browser blocked clipboard access";
  }
  setTimeout(() => {
    label.textContent = labelText;
  }, 2500);
});

const fillFromLink = () => {
  const form = find("[data-play]");
  if (!form || !location.hash.startsWith(fragmentPrefix)) return;
  let input;
  try {
    input = decodeURIComponent(location.hash.slice(fragmentPrefix.length));
  } catch {
    return showError("The link is damaged: it contains invalid characters.");
  }

  const data = new FormData();
  data.set("do", "fill");
  data.set("input", input);
  send(form.getAttribute("action"), data);
};
addEventListener("hashchange", fillFromLink);

// The editors of texts are large, and only for screens that are wide enough.
const { nonce } = document.currentScript;
if (matchMedia("(min-width: 48rem)").matches && find("[data-code]")) {
  const script = document.createElement("script");
  Object.assign(script, { src: find("[data-fields-script]").dataset.fieldsScript, nonce });
  document.head.append(script);
}

showScriptControls(document);
fillFromLink();
