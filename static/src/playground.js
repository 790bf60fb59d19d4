// The playground without loading its page again. All of it works without this file: the server renders the form and its
// result in both cases.

const one = (selector, scope = document) => scope.querySelector(selector);
const all = (selector, scope = document) => [...scope.querySelectorAll(selector)];

// Texts longer than this are not sent while they are typed.
const mostTyped = 256 << 10;
const pause = 350;
const prefix = "#input=";

const say = (text) => {
  const form = one("[data-play]");
  let note = one("[data-said]", form);
  if (!note && !text) return;
  if (!note) {
    note = document.createElement("p");
    note.className = "error-sum";
    note.dataset.said = "";
    note.setAttribute("role", "alert");
    form.prepend(note);
  }

  note.textContent = text;
  note.hidden = !text;
};

// What the user has opened and chosen stays so on the page that comes.
const kept = () => ({
  open: all("details[data-keep][open]").map((part) => part.dataset.keep),
  chosen: all("input[type=radio]:not([name=source]):checked").map((radio) => radio.id),
});
const keep = ({ open, chosen }, scope) => {
  for (const part of all("details[data-keep]", scope)) part.open ||= open.includes(part.dataset.keep);
  for (const id of chosen) {
    const radio = id && scope.querySelector(`#${CSS.escape(id)}`);
    if (radio) radio.checked = true;
  }
};

const dressed = (scope) => {
  for (const part of all("[data-needs-script]", scope)) part.hidden = false;
  for (const button of all("[data-link]", scope)) button.hidden = !navigator.clipboard;
};

// put shows the main part of another page, as app.js does.
const put = (page) => {
  const state = kept();
  const at = document.activeElement;
  const name = at?.name ?? at?.closest("[data-field]")?.dataset.field;

  const main = one("#main", page);
  one("#main").replaceWith(main);
  keep(state, main);
  dressed(main);
  main.dispatchEvent(new CustomEvent("put", { bubbles: true }));

  if (name) one(`[name="${CSS.escape(name)}"]`, main)?.focus({ preventScroll: true });
};

// replace takes over a part of another page.
const replace = (selector, page) => {
  const state = kept();
  const part = one(selector, page);
  one(selector).replaceWith(part);
  keep(state, part);
  dressed(part);
  part.dispatchEvent(new CustomEvent("put", { bubbles: true }));
};

const ask = async (address, body, signal) => {
  const answer = await fetch(address, { method: "POST", body, signal });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (answer.redirected) {
    throw new Error("You are logged out. Open another tab, log in there, then try again. Your input is not lost.");
  }
  if (!one("[data-play]", page)) {
    throw new Error(one("main h1", page)?.textContent ?? `The server returned status ${answer.status}.`);
  }
  return page;
};

let asked = 0;
let waiting;
let under;

const typed = (form) => JSON.stringify([...new FormData(form)].filter(([, value]) => !(value instanceof File)));

// send sends the form, or other data, and shows the page that comes. The form is inert meanwhile, except while a call
// runs, which has a signal to cancel it: what is typed then stays, and only the result is replaced.
const send = async (address, body, button, signal) => {
  const mine = ++asked;
  const form = one("[data-play]");
  const before = typed(form);
  clearTimeout(waiting);
  under?.abort();

  button?.setAttribute("aria-busy", "true");
  form.setAttribute("aria-busy", "true");
  form.inert = !signal;
  say("");

  try {
    const page = await ask(address, body, signal);
    if (mine !== asked) return false;
    if (typed(form) === before) {
      put(page);
    } else {
      for (const part of ["[data-result]", "[data-history]", "[data-balance]"]) replace(part, page);
    }
    return true;
  } catch (error) {
    if (mine === asked && error.name !== "AbortError") say(error.message);
    return false;
  } finally {
    button?.removeAttribute("aria-busy");
    form.removeAttribute("aria-busy");
    form.inert = false;
    if (form.isConnected && mine === asked) follow(form);
  }
};

const withoutFiles = (form, button) => {
  const data = new FormData(form, button);
  for (const [name, value] of [...data]) {
    if (value instanceof File && !value.size) data.delete(name);
  }
  return data;
};

// The call next to the form follows what is typed.
const follow = (form) => {
  clearTimeout(waiting);
  if (form.ariaBusy === "true") return; // It follows when the response is there.
  waiting = setTimeout(() => updateCall(form), pause);
};

const updateCall = async (form) => {
  const mine = ++asked;
  const data = new FormData(form);
  let size = 0;
  for (const [name, value] of [...data]) {
    if (value instanceof File) data.delete(name);
    else size += value.length;
  }
  if (size > mostTyped) return;

  data.set("do", "show");
  under?.abort();
  under = new AbortController();
  try {
    const page = await ask(form.getAttribute("action"), data, under.signal);
    if (mine !== asked) return;
    for (const part of ["[data-call]", "[data-price]"]) {
      if (one(part)) replace(part, page);
    }
  } catch {
    /* the next change sends it again */
  }
};

// While a call runs, its time is shown instead of the result, and it can be cancelled.
const moment = 250; // milliseconds, after which a call is a long one
const watch = () => {
  const began = performance.now();
  const cancel = new AbortController();
  const before = [...one("[data-result]").childNodes];
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;

  let ticks;
  const show = setTimeout(() => {
    one("[data-result]").replaceChildren(document.importNode(one("#running").content, true));
    const elapsed = one("[data-elapsed]");
    const tick = () => {
      elapsed.textContent = seconds();
    };
    tick();
    ticks = setInterval(tick, 100);
    one("[data-cancel]").addEventListener("click", () => cancel.abort());
  }, moment);

  const ends = (done) => {
    clearTimeout(show);
    clearInterval(ticks);
    if (done) return;
    if (!cancel.signal.aborted) return one("[data-result]").replaceChildren(...before);

    const note = document.createElement("p");
    const charge = "If the call had already finished, it is charged and listed under Documents.";
    note.className = "play-empty";
    note.role = "status";
    note.textContent = `Cancelled after ${seconds()}. ${charge}`;
    one("[data-result]").replaceChildren(note);
  };

  return { signal: cancel.signal, ends };
};

const run = async (form, button) => {
  const watched = watch();
  const done = await send(button.getAttribute("formaction"), withoutFiles(form, button), button, watched.signal);
  watched.ends(done);
  if (!done) return;

  const wrong = one("[data-play] [aria-invalid=true]");
  if (wrong) return wrong.focus();

  // A user who has run the call from a field continues to write there.
  const result = one("[data-result]");
  if (!one("[data-play]").contains(document.activeElement)) result.focus({ preventScroll: true });
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
    if (button.hasAttribute("formaction")) run(form, button);
    else send(form.getAttribute("action"), withoutFiles(form, button), button);
  }
});

document.addEventListener("input", (event) => {
  const form = event.target.closest("[data-play]");
  if (form && event.target.type !== "file") follow(form);
});

// A file is uploaded when it is chosen.
const tooLarge = (form, files) => files.find((file) => file.size > Number(form.dataset.most));
const uploads = (field) => {
  const form = field.closest("[data-play]");
  const large = tooLarge(form, [...field.files]);
  if (large) {
    const size = (large.size / 1e6).toFixed(1);
    const limit = form.dataset.most / 2 ** 20;
    field.value = "";
    return say(`${large.name} is too large: ${size} MB. The maximum is ${limit} MiB.`);
  }
  if (!field.files.length) return;

  field.closest("[data-drop]").setAttribute("aria-busy", "true");
  const data = withoutFiles(form);
  data.set("do", "show");
  send(form.getAttribute("action"), data);
};
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-play] input[type=file]")) uploads(event.target);
  else if (event.target.matches("[data-template]")) fillSample(event.target);
});

// The data of a template that is chosen is its sample data, unless other data was typed.
let sample = "";

const fillSample = async ({ form }) => {
  const button = one("[data-sample]", form);
  const data = () => document.getElementById(button.dataset.sample).value;
  if (!button || (data().trim() && data() !== sample)) return;
  if (await send(form.getAttribute("action"), withoutFiles(form, button), button)) sample = data();
};

for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    // A page with one place for files takes them anywhere.
    const places = all("[data-play] [data-drop]").filter((place) => place.offsetParent);
    const box = event.target.closest?.("[data-drop]") ?? (places.length === 1 ? places[0] : null);
    if (!box || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    box.classList.toggle("over", kind === "dragover");
    if (kind !== "drop") return;

    const field = one("input[type=file]", box);
    const dropped = [...event.dataTransfer.files];
    const transfer = new DataTransfer();
    for (const file of field.multiple ? dropped : dropped.slice(0, 1)) transfer.items.add(file);
    field.files = transfer.files;
    uploads(field);
  });
}

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("[data-play]");
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    const button = one("[formaction]", form);
    if (button && form.getAttribute("aria-busy") !== "true") form.requestSubmit(button);
  }
});

// The input of a link is in its fragment, which no server sees.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-link]");
  if (!button) return;

  const words = button.lastChild;
  const before = words.textContent;
  try {
    const fragment = prefix + encodeURIComponent(button.dataset.link);
    await navigator.clipboard.writeText(location.origin + location.pathname + fragment);
    words.textContent = "Copied";
  } catch {
    words.textContent = "Not copied: the browser blocked clipboard access";
  }
  setTimeout(() => {
    words.textContent = before;
  }, 2500);
});

const fillFromLink = () => {
  const form = one("[data-play]");
  if (!form || !location.hash.startsWith(prefix)) return;
  let input;
  try {
    input = decodeURIComponent(location.hash.slice(prefix.length));
  } catch {
    return say("The link is damaged: it contains invalid characters.");
  }

  const data = new FormData();
  data.set("do", "fill");
  data.set("input", input);
  send(form.getAttribute("action"), data);
};
addEventListener("hashchange", fillFromLink);

// The editors of texts are large, and only where there is room to write.
const { nonce } = document.currentScript;
if (matchMedia("(min-width: 48rem)").matches && one("[data-code]")) {
  const script = document.createElement("script");
  Object.assign(script, { src: one("[data-fields-script]").dataset.fieldsScript, nonce });
  document.head.append(script);
}

dressed(document);
fillFromLink();
