// What pages do beyond links and forms. Every page works without this file.

const root = document.documentElement;
root.classList.add("js");

// A cookie without a secret tells public pages, which are the same for all visitors, who is logged in.
root.classList.toggle("member", /(^|; )relaypdf_member=1/.test(document.cookie));

const remembered = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
};
const remember = (theme) => {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    /* storage is off */
  }
};

const showTheme = (theme) => {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
};
showTheme(remembered());

const switchThemes = (field) => {
  field.hidden = false;
  for (const radio of field.querySelectorAll("input")) {
    radio.checked = radio.value === (root.dataset.theme ?? "auto");
    radio.addEventListener("change", () => {
      remember(radio.value);
      showTheme(radio.value);
    });
  }
};

const announce = (text) => {
  let box = document.querySelector(".toasts");
  if (!box) {
    box = document.createElement("div");
    box.className = "toasts";
    box.setAttribute("role", "status");
    document.body.append(box);
  }

  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  box.append(toast);
  setTimeout(() => toast.remove(), 2500);
};

const copies = (button) => {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      announce("Copied");
    } catch {
      announce("Not copied: the browser blocked clipboard access");
    }
  });
};

// A password is shown on request, and hidden again before its form is sent.
const reveals = (button) => {
  const field = button.parentElement.querySelector("input");
  const show = (shown) => {
    field.type = shown ? "text" : "password";
    button.firstChild.data = shown ? "Hide" : "Show";
  };

  button.hidden = false;
  button.addEventListener("click", () => show(field.type === "password"));
  field.form.addEventListener("submit", () => show(false));
};

// A link to a form's own page opens it as a dialog of this one.
const opensDialog = (link) =>
  link.addEventListener("click", (event) => {
    const dialog = document.getElementById(link.dataset.dialog);
    if (!dialog?.showModal || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    dialog.showModal();
  });

const closesDialog = (link) =>
  link.addEventListener("click", (event) => {
    const dialog = link.closest("dialog");
    if (!dialog) return;
    event.preventDefault();
    dialog.close();
  });

// A field for another amount is shown when "Other" is chosen.
const showsOther = (field) => {
  const form = field.closest("form");
  const show = () => {
    const other = new FormData(form).get(field.dataset.other) === "other";
    field.hidden = !other;
  };
  form.addEventListener("change", show);
  show();
};

// The button that pays says how much.
const saysAmount = (label) => {
  const form = label.closest("form");
  const show = () => {
    const data = new FormData(form);
    const text = data.get("amount") === "other" ? data.get("other") : data.get("amount");
    const amount = Number(String(text ?? "").replace(/[$,\s]/g, ""));
    const price = amount >= 5 && amount <= 1000 ? ` $${amount.toFixed(2)}` : "";
    label.textContent = `Pay${price} with ${label.dataset.pay}`;
  };
  form.addEventListener("input", show);
  show();
};

// fresh returns a page, or null if its main part cannot replace that of this page.
const fresh = async (address) => {
  try {
    const answer = await fetch(address, { headers: { "X-Refresh": "1" } });
    const isHTML = answer.headers.get("Content-Type")?.startsWith("text/html");
    if (!answer.ok || answer.redirected || !isHTML) return null;

    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.querySelector("#main") ? page : null;
  } catch {
    return null;
  }
};

// put takes over the main part of a page, and the balance. What had the focus has it again.
const put = (page) => {
  const active = document.activeElement;
  const name = active?.closest("#main") ? active.name : "";

  const main = page.querySelector("#main");
  document.querySelector("#main").replaceWith(main);
  document.querySelector(".side .chip")?.replaceWith(page.querySelector(".side .chip") ?? "");
  document.title = page.title;

  prepare(main);
  if (name) main.querySelector(`[name="${CSS.escape(name)}"]`)?.focus();
};

// Filters and the pages of a list come without the rest of their page. A page that cannot be fetched so is opened as a
// link is.
const here = () => location.pathname + location.search;
let shown = here();
let turn = 0;

const go = async (address, remembered) => {
  const mine = ++turn;
  document.querySelector("#main").setAttribute("aria-busy", "true");
  const page = await fresh(address);
  if (mine !== turn) return; // something else was asked for since

  if (!page) return location.assign(address);
  if (!remembered) history.pushState(null, "", address);
  shown = here();
  put(page);
};

const leafs = (link) =>
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || !link.href) return;
    event.preventDefault();
    go(link.href).then(() => document.querySelector("#main h1")?.scrollIntoView({ block: "nearest" }));
  });

const narrows = (form) =>
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const chosen = new URLSearchParams([...fields].filter(([, value]) => value !== ""));
    go(form.action.split("?")[0] + (chosen.size ? "?" + chosen : ""));
  });

// A page that waits for a result is fetched again until it has come, but not while a form is filled in. A part with a
// version stays as it is until that changes. A part with a URL of its own is on the page there.
const typing = "#main form[method=post] :is(input, select, textarea), #main input[type=search]";
const refreshes = (part) => {
  const { refresh, version, from } = part.dataset;
  const pause = 1000 * Number(refresh || 2);

  const again = async () => {
    if (document.hidden || document.activeElement?.matches(typing)) return setTimeout(again, 1000);
    if (!part.isConnected) return;

    const before = turn;
    const page = await fresh(from ?? location.href);
    const same = version && page?.querySelector("[data-version]")?.dataset.version === version;
    if (page && !same && part.isConnected && before === turn) return put(page);
    setTimeout(again, same ? pause : 5000);
  };

  setTimeout(again, pause);
};

// The page of the first run is loaded again when another call has ended.
const awaitsFirst = (part) => {
  const look = async () => {
    if (!part.isConnected) return;
    try {
      const answer = await fetch("/dashboard/first", { headers: { Accept: "application/json" } });
      if (answer.ok && (await answer.json()).id !== part.dataset.firstDocument) return location.assign("/dashboard");
    } catch {
      /* tried again below */
    }
    setTimeout(look, document.hidden ? 5000 : 1000);
  };

  look();
};

const nonce = document.currentScript?.nonce;
const load = (address) => {
  const script = document.createElement("script");
  script.src = address;
  script.nonce = nonce;
  document.head.append(script);
  return script;
};

// The palette goes to any page by a part of its name. Its script is loaded on the first use, and opens it.
const onMac = /Mac|iP/.test(navigator.platform);
let palette;

const goTo = (button) => {
  if (palette) document.dispatchEvent(new Event("palette"));
  else palette = load(button.dataset.palette);
};
const opensPalette = (button) => {
  button.querySelector("kbd").textContent = onMac ? "⌘K" : "Ctrl K";
  button.addEventListener("click", () => goTo(button));
};

// The editor is large, and only where there is room to write.
const loadsEditor = (part) => {
  if (!matchMedia("(min-width: 48rem)").matches) {
    each(part, "textarea", (field) => {
      field.readOnly = true;
    });
    if (!location.search) location.replace(`${location.pathname}?preview=1`);
    return;
  }

  load(part.dataset.editor).dataset.editorScript = "";
  each(part, "[data-blank], [data-printing]", (mark) => {
    mark.hidden = false;
  });
};

// An image that is not loaded yet has the size of a sheet.
const awaitsPicture = (picture) => {
  if (picture.complete) return;
  picture.classList.add("waits");
  for (const end of ["load", "error"]) {
    picture.addEventListener(end, () => picture.classList.remove("waits"), { once: true });
  }
};

// The tab of a page is in sight, also where the strip of them scrolls.
const showsTab = (tab) => {
  const strip = tab.parentElement;
  strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - (strip.clientWidth - tab.offsetWidth) / 2;
};

const each = (scope, selector, does) => scope.querySelectorAll(selector).forEach(does);

const prepare = (scope) => {
  each(scope, "[data-theme-switch]", switchThemes);
  each(scope, "[data-copy]", copies);
  each(scope, "[data-reveal]", reveals);
  each(scope, "[data-palette]", opensPalette);
  each(scope, "[data-dialog]", opensDialog);
  each(scope, "[data-close]", closesDialog);
  each(scope, "[data-submit]", (control) => control.addEventListener("change", () => control.form.requestSubmit()));
  each(scope, "[data-other]", showsOther);
  each(scope, "[data-pay]", saysAmount);
  each(scope, "[data-refresh]", refreshes);
  each(scope, "[data-first-document]", awaitsFirst);
  each(scope, "[data-editor]", loadsEditor);
  each(scope, ".mat img", awaitsPicture);
  each(scope, ".tabs [aria-current]", showsTab);
  each(scope, ".pages a[href]", leafs);
  each(scope, "form.filters[method=get]", narrows);
};

// Keys: Ctrl-K opens the palette, / searches, g and a letter goes to a section.
const sections = {
  o: "/dashboard",
  p: "/dashboard/playground",
  t: "/dashboard/templates",
  d: "/dashboard/documents",
  w: "/dashboard/webhooks",
  k: "/dashboard/keys",
  m: "/dashboard/wallet",
  s: "/dashboard/settings",
};
const fields = "input, textarea, select, [contenteditable]";
let going = 0;

const isPaletteKey = (event) => {
  const modifier = onMac ? event.metaKey : event.ctrlKey;
  return event.key.toLowerCase() === "k" && modifier && !event.altKey && !event.shiftKey;
};

addEventListener("keydown", (event) => {
  const button = document.querySelector("[data-palette]");
  if (button && isPaletteKey(event)) {
    event.preventDefault();
    return goTo(button);
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(fields)) return;

  if (event.key === "/") {
    const search = document.querySelector('input[type="search"]');
    if (search) {
      event.preventDefault();
      search.focus();
    }
  } else if (event.key === "g") {
    going = event.timeStamp;
  } else if (event.timeStamp - going < 1500 && document.querySelector(".nav") && sections[event.key]) {
    going = 0;
    location.assign(sections[event.key]);
  }
});

addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || event.target.method !== "post") return;
  queueMicrotask(() => {
    if (!event.defaultPrevented) button.setAttribute("aria-busy", "true");
  });
});
addEventListener("popstate", () => {
  if (here() !== shown) go(location.href, true);
});
addEventListener("pageshow", () => each(document, "[aria-busy=true]", (button) => button.removeAttribute("aria-busy")));
document.addEventListener("put", (event) => prepare(event.target));
addEventListener("DOMContentLoaded", () => prepare(document));
