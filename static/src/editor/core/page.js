// The page of the editor: its elements, what the server has written in its attributes, and settings of this browser.

export const $ = (selector, scope = document) => scope.querySelector(selector);
export const $$ = (selector, scope = document) => [...scope.querySelectorAll(selector)];

export const main = $("[data-editor]");
export const { path } = main.dataset;
export const nonce = $("script[data-editor-script]")?.nonce ?? "";
export const readOnly = main.hasAttribute("data-readonly");

// In a frame of another site there is no session and no cookie: the path identifies the link and its capabilities.
export const embedded = "embedded" in main.dataset;
export const sees = !("unseen" in main.dataset);

// stage holds the pages, timing describes them.
export const stage = $("[data-stage]");
export const timing = $("[data-timing]");

export const words = (text) => (text ?? "").split(" ").filter(Boolean);

export const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

export const code = (value) => element("code", { textContent: value });

// markTab marks the current one of the tabs of a kind.
export const markTab = (kind, name) => {
  for (const tab of $$(`[data-${kind}]`)) {
    if (tab.dataset[kind] === name) tab.setAttribute("aria-current", "true");
    else tab.removeAttribute("aria-current");
  }
};

export const kept = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
};

export const keep = (key, value) => {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    /* storage is off or full */
  }
};

// tell sends an event to the page around the frame, and to no other.
export const tell = (type, more = {}) => {
  if (!embedded || parent === window) return;
  const event = { source: "relaypdf", type, templateId: main.dataset.template, ...more };
  parent.postMessage(event, main.dataset.origin);
};
