// What pages do beyond links and forms. Every page works without this file.

const root = document.documentElement;
root.classList.add("js");

// A cookie without a secret tells public pages, which are the same for all visitors, who is logged in.
root.classList.toggle("member", /(^|; )relaypdf_member=1/.test(document.cookie));

const loadTheme = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
};
const saveTheme = (theme) => {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    /* storage is off */
  }
};

const applyTheme = (theme) => {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
};
applyTheme(loadTheme());

const initThemeSwitch = (field) => {
  field.hidden = false;
  for (const radio of field.querySelectorAll("input")) {
    radio.checked = radio.value === (root.dataset.theme ?? "auto");
    radio.addEventListener("change", () => {
      saveTheme(radio.value);
      applyTheme(radio.value);
    });
  }
};

const showToast = (text) => {
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

const initCopyButton = (button) => {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      showToast("Copied");
    } catch {
      showToast("Not copied: the browser blocked clipboard access");
    }
  });
};

// A password is shown on request, and hidden again before its form is sent.
const initPasswordToggle = (button) => {
  const field = button.parentElement.querySelector("input");
  const show = (isVisible) => {
    field.type = isVisible ? "text" : "password";
    button.firstChild.data = isVisible ? "Hide" : "Show";
  };

  button.hidden = false;
  button.addEventListener("click", () => show(field.type === "password"));
  field.form.addEventListener("submit", () => show(false));
};

// A link to a form's own page opens it as a dialog of this one.
const initDialogLink = (link) =>
  link.addEventListener("click", (event) => {
    const dialog = document.getElementById(link.dataset.dialog);
    if (!dialog?.showModal || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    dialog.showModal();
  });

const initCloseLink = (link) =>
  link.addEventListener("click", (event) => {
    const dialog = link.closest("dialog");
    if (!dialog) return;
    event.preventDefault();
    dialog.close();
  });

// A field for another amount is shown when "Other" is chosen.
const initOtherField = (field) => {
  const form = field.closest("form");
  const show = () => {
    const other = new FormData(form).get(field.dataset.other) === "other";
    field.hidden = !other;
  };
  form.addEventListener("change", show);
  show();
};

// The button that pays shows the amount.
const initPayLabel = (label) => {
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

// fetchPage returns a page, or null if its main part cannot replace that of this page.
const fetchPage = async (url) => {
  try {
    const response = await fetch(url, { headers: { "X-Refresh": "1" } });
    const isHTML = response.headers.get("Content-Type")?.startsWith("text/html");
    if (!response.ok || response.redirected || !isHTML) return null;

    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return page.querySelector("#main") ? page : null;
  } catch {
    return null;
  }
};

// replaceMain shows the main part of a page, and its balance. The focused field keeps the focus.
const replaceMain = (page) => {
  const active = document.activeElement;
  const name = active?.closest("#main") ? active.name : "";

  const main = page.querySelector("#main");
  document.querySelector("#main").replaceWith(main);
  document.querySelector(".side .chip")?.replaceWith(page.querySelector(".side .chip") ?? "");
  document.title = page.title;

  initControls(main);
  if (name) main.querySelector(`[name="${CSS.escape(name)}"]`)?.focus();
};

// Filters and the pages of a list come without the rest of their page. A page that cannot be fetched so is opened as a
// link is.
const currentURL = () => location.pathname + location.search;
let shownURL = currentURL();
let lastNavigation = 0;

const navigate = async (url, isRestored) => {
  const navigation = ++lastNavigation;
  document.querySelector("#main").setAttribute("aria-busy", "true");
  const page = await fetchPage(url);
  if (navigation !== lastNavigation) return; // the user has continued elsewhere

  if (!page) return location.assign(url);
  if (!isRestored) history.pushState(null, "", url);
  shownURL = currentURL();
  replaceMain(page);
};

const initPageLink = (link) =>
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || !link.href) return;
    event.preventDefault();
    navigate(link.href).then(() => document.querySelector("#main h1")?.scrollIntoView({ block: "nearest" }));
  });

const initFilterForm = (form) =>
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const query = new URLSearchParams([...fields].filter(([, value]) => value !== ""));
    navigate(form.action.split("?")[0] + (query.size ? "?" + query : ""));
  });

// A page that waits for a result is fetched again until it has come, but not while a form is filled in. A part with a
// version stays as it is until that changes. A part with a URL of its own is on the page there.
const formInputs = "#main form[method=post] :is(input, select, textarea), #main input[type=search]";
const initRefresh = (part) => {
  const { refresh: seconds, version, from: sourceURL } = part.dataset;
  const delay = 1000 * Number(seconds || 2);

  const refresh = async () => {
    if (document.hidden || document.activeElement?.matches(formInputs)) return setTimeout(refresh, 1000);
    if (!part.isConnected) return;

    const navigation = lastNavigation;
    const page = await fetchPage(sourceURL ?? location.href);
    const isUnchanged = version && page?.querySelector("[data-version]")?.dataset.version === version;
    if (page && !isUnchanged && part.isConnected && navigation === lastNavigation) return replaceMain(page);
    setTimeout(refresh, isUnchanged ? delay : 5000);
  };

  setTimeout(refresh, delay);
};

// The page of the first run is loaded again when another call has ended.
const initFirstDocument = (part) => {
  const poll = async () => {
    if (!part.isConnected) return;
    try {
      const response = await fetch("/dashboard/first", { headers: { Accept: "application/json" } });
      const isNew = response.ok && (await response.json()).id !== part.dataset.firstDocument;
      if (isNew) return location.assign("/dashboard");
    } catch {
      /* tried again below */
    }
    setTimeout(poll, document.hidden ? 5000 : 1000);
  };

  poll();
};

const nonce = document.currentScript?.nonce;
const loadScript = (url) => {
  const script = document.createElement("script");
  script.src = url;
  script.nonce = nonce;
  document.head.append(script);
  return script;
};

// The palette finds any page by a part of its name. Its script is loaded on first use, and opens it.
const isMac = /Mac|iP/.test(navigator.platform);
let paletteScript;

const openPalette = (button) => {
  if (paletteScript) document.dispatchEvent(new Event("palette"));
  else paletteScript = loadScript(button.dataset.palette);
};
const initPaletteButton = (button) => {
  button.querySelector("kbd").textContent = isMac ? "⌘K" : "Ctrl K";
  button.addEventListener("click", () => openPalette(button));
};

// The editor is large, and only for screens that are wide enough.
const initEditor = (part) => {
  if (!matchMedia("(min-width: 48rem)").matches) {
    each(part, "textarea", (field) => {
      field.readOnly = true;
    });
    if (!location.search) location.replace(`${location.pathname}?preview=1`);
    return;
  }

  loadScript(part.dataset.editor).dataset.editorScript = "";
  each(part, "[data-blank], [data-printing]", (mark) => {
    mark.hidden = false;
  });
};

// An image that is not loaded yet has the size of a sheet.
const initImage = (image) => {
  if (image.complete) return;
  image.classList.add("waits");
  for (const eventName of ["load", "error"]) {
    image.addEventListener(eventName, () => image.classList.remove("waits"), { once: true });
  }
};

// The tab of the page is visible, also if its strip scrolls.
const scrollToTab = (tab) => {
  const strip = tab.parentElement;
  strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - (strip.clientWidth - tab.offsetWidth) / 2;
};

const each = (scope, selector, action) => scope.querySelectorAll(selector).forEach(action);

const initControls = (scope) => {
  each(scope, "[data-theme-switch]", initThemeSwitch);
  each(scope, "[data-copy]", initCopyButton);
  each(scope, "[data-reveal]", initPasswordToggle);
  each(scope, "[data-palette]", initPaletteButton);
  each(scope, "[data-dialog]", initDialogLink);
  each(scope, "[data-close]", initCloseLink);
  each(scope, "[data-submit]", (control) => control.addEventListener("change", () => control.form.requestSubmit()));
  each(scope, "[data-other]", initOtherField);
  each(scope, "[data-pay]", initPayLabel);
  each(scope, "[data-refresh]", initRefresh);
  each(scope, "[data-first-document]", initFirstDocument);
  each(scope, "[data-editor]", initEditor);
  each(scope, ".mat img", initImage);
  each(scope, ".tabs [aria-current]", scrollToTab);
  each(scope, ".pages a[href]", initPageLink);
  each(scope, "form.filters[method=get]", initFilterForm);
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
const textInputs = "input, textarea, select, [contenteditable]";
let goKeyTime = 0;

const isPaletteKey = (event) => {
  const modifier = isMac ? event.metaKey : event.ctrlKey;
  return event.key.toLowerCase() === "k" && modifier && !event.altKey && !event.shiftKey;
};

addEventListener("keydown", (event) => {
  const button = document.querySelector("[data-palette]");
  if (button && isPaletteKey(event)) {
    event.preventDefault();
    return openPalette(button);
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(textInputs)) return;

  if (event.key === "/") {
    const search = document.querySelector('input[type="search"]');
    if (search) {
      event.preventDefault();
      search.focus();
    }
  } else if (event.key === "g") {
    goKeyTime = event.timeStamp;
  } else if (event.timeStamp - goKeyTime < 1500 && document.querySelector(".nav") && sections[event.key]) {
    goKeyTime = 0;
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
  if (currentURL() !== shownURL) navigate(location.href, true);
});
addEventListener("pageshow", () => each(document, "[aria-busy=true]", (button) => button.removeAttribute("aria-busy")));
document.addEventListener("replaced", (event) => initControls(event.target));
addEventListener("DOMContentLoaded", () => initControls(document));
