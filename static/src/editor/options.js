// The options: a form of the common ones, their JSON, and the header and the footer.

import { getText, readObject, readOnlyFields, setText, views } from "./core/fields.js";
import { $, $$ } from "./core/page.js";
import { paperText } from "./core/paper.js";

const controls = $$("[data-option]");

export const startOptions = () => {
  for (const control of controls) {
    const event = control.matches("input[type=text]") ? "input" : "change";
    control.disabled = readOnlyFields.options;
    control.addEventListener(event, () => applyControl(control));
  }
};

const optionValue = (object, name) => name.split(".").reduce((inner, part) => inner?.[part], object);

// withValue returns an object with another value of an option. Without a value, the option and empty parents go.
const withValue = (object, name, value) => {
  const [first, ...rest] = name.split(".");
  const copy = { ...object };
  if (rest.length) {
    copy[first] = withValue(copy[first] ?? {}, rest.join("."), value);
    if (!Object.keys(copy[first]).length) delete copy[first];
  } else if (value === undefined) {
    delete copy[first];
  } else {
    copy[first] = value;
  }
  return copy;
};

const setOption = (name, value) => {
  const options = readObject("options");
  if (options) setText("options", JSON.stringify(withValue(options, name, value), null, 2));
};

const applyControl = (control) => {
  const { option, kind } = control.dataset;
  if (control.type === "checkbox") {
    const isDefault = control.checked === (control.dataset.default === "true");
    return setOption(option, isDefault ? undefined : control.checked);
  }

  const value = control.value.trim();
  const isNumber = (kind === "number" || kind === "length") && !Number.isNaN(Number(value));
  if (!value) setOption(option, undefined);
  else setOption(option, isNumber ? Number(value) : value);
};

// applyMarginTemplate sets the option of the header or the footer to its typed text.
export const applyMarginTemplate = (name) => {
  if (views[name].hasFocus) setOption(name, getText(name) || undefined);
};

// showOptions shows the JSON in the form and in the editors of the header and the footer, except where the user types.
export const showOptions = () => {
  const options = readObject("options");
  if (!options) return;

  for (const control of controls) {
    if (control === document.activeElement) continue;
    const value = optionValue(options, control.dataset.option);
    if (control.type === "checkbox") control.checked = value ?? control.dataset.default === "true";
    else control.value = value ?? "";
  }
  for (const name of ["headerTemplate", "footerTemplate"]) {
    if (!views[name].hasFocus) setText(name, options[name] ?? "");
  }
  showPaper();
};

export const showPaper = () => {
  const options = readObject("options");
  if (options) $("[data-paper]").textContent = paperText(options, getText("html"));
};
