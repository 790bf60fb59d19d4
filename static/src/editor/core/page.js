// The page of the editor: its elements, what the server has written in its attributes, and settings of this browser.

export const $ = (selector, scope = document) => scope.querySelector(selector);
export const $$ = (selector, scope = document) => [...scope.querySelectorAll(selector)];

export const main = $("[data-editor]");
export const { path: pagePath } = main.dataset;
export const nonce = $("script[data-editor-script]")?.nonce ?? "";
export const readOnly = main.hasAttribute("data-readonly");

// In a frame of another site there is no session and no cookie: the path identifies the link and its capabilities.
export const embedded = "embedded" in main.dataset;
export const canPreview = !("unseen" in main.dataset);

// stage holds the pages, previewStatus describes them.
export const stage = $("[data-stage]");
export const previewStatus = $("[data-timing]");

export const splitWords = (text) => (text ?? "").split(" ").filter(Boolean);

export const element = (name, attributes = {}, ...children) => {
  const node = Object.assign(document.createElement(name), attributes);
  node.append(...children);
  return node;
};

export const codeElement = (value) => element("code", { textContent: value });

// selectTab makes a tab the current one of its kind.
export const selectTab = (kind, name) => {
  for (const tab of $$(`[data-${kind}]`)) {
    if (tab.dataset[kind] === name) tab.setAttribute("aria-current", "true");
    else tab.removeAttribute("aria-current");
  }
};

export const loadSetting = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
};

export const saveSetting = (key, value) => {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    /* storage is off or full */
  }
};

// postToHost sends an event to the page around the frame, and to no other.
export const postToHost = (type, details = {}) => {
  if (!embedded || parent === window) return;
  const event = { source: "relaypdf", type, templateId: main.dataset.template, ...details };
  parent.postMessage(event, main.dataset.origin);
};
