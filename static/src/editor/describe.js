// "Generate with AI": a model writes the template. The price is shown before the model is called, and the
// result is one step that can be undone.

import { handleSessionEnd } from "./core/draft.js";
import { getText, replaceFields, showFile, undoHTML, views } from "./core/fields.js";
import { indent, members } from "./core/json.js";
import { $, element } from "./core/page.js";
import { SessionEndedError, errorOf, request } from "./core/server.js";
import { finalResponse } from "./core/stream.js";

const maxPromptLength = 20_000; // characters

// Options of the appearance of pages. The model does not get others, such as cookies.
const pageOptions = [
  "format",
  "width",
  "height",
  "landscape",
  "margin",
  "scale",
  "printBackground",
  "preferCSSPageSize",
  "headerTemplate",
  "footerTemplate",
  "locale",
  "timeZone",
];

const dialog = $("#describe");
const form = dialog && $("form", dialog);
const dialogPart = (name) => dialog && $(`[data-describe-${name}]`, dialog);
const submitButton = dialogPart("go");
const stopButton = dialogPart("stop");
const priceLine = dialogPart("price");
const errorLine = dialogPart("error");
const progress = dialogPart("progress");
const progressText = dialogPart("said");
const output = dialogPart("written");

let quote = null; // the request with its price, once that is shown
let controller = null;
let ticker = 0;

// startDescribe makes the dialog work, where there is one.
export const startDescribe = () => {
  if (!dialog) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!controller) (quote ? generate : showPrice)();
  });
  form.addEventListener("input", clearQuote);
  stopButton.addEventListener("click", () => (controller ? controller.abort() : dialog.close()));
  dialog.addEventListener("cancel", (event) => {
    if (controller) event.preventDefault();
  });

  // Another description has another price.
  dialog.addEventListener("close", clearQuote);
  addEventListener("beforeunload", (event) => {
    if (controller && quote) event.preventDefault();
  });
};

// ——— The state of the dialog.

// setProgress shows that a request runs, with a message for its seconds; null shows that it has ended.
const setProgress = (progressMessage) => {
  clearInterval(ticker);
  progress.hidden = !progressMessage;
  output.hidden = true;
  output.textContent = "";
  stopButton.textContent = progressMessage ? "Stop" : "Cancel";
  submitButton.disabled = Boolean(progressMessage);
  for (const field of form.querySelectorAll("textarea, input")) field.disabled = Boolean(progressMessage);
  if (!progressMessage) {
    controller = null;
    return;
  }

  errorLine.hidden = true;
  controller = new AbortController();
  const startTime = Date.now();
  const tick = () => {
    progressText.textContent = progressMessage(secondsSince(startTime));
  };
  tick();
  ticker = setInterval(tick, 1000);
};
const secondsSince = (time) => Math.round((Date.now() - time) / 1000);

// showOutput shows the HTML while it is written, and scrolls to its end unless the user has scrolled up.
const showOutput = (html) => {
  const isAtEnd = output.hidden || output.scrollTop + output.clientHeight > output.scrollHeight - 24;
  output.hidden = !html;
  output.textContent = html;
  if (isAtEnd) output.scrollTop = output.scrollHeight;
};

const showError = (message) => {
  errorLine.textContent = message;
  errorLine.hidden = false;
};

const clearQuote = () => {
  quote = null;
  priceLine.hidden = true;
  submitButton.textContent = "Show price";
};

const dollars = (micro) => `$${(micro / 1e6).toFixed(6).replace(/0{1,4}$/, "")}`;

// ——— Requests.

const objectText = (texts) => {
  const member = ([name, value]) => `${JSON.stringify(name)}:${value}`;
  return `{${Object.entries(texts).map(member).join(",")}}`;
};

// getOrder returns the request as it is priced and paid, or null after an error, which is shown.
const getOrder = () => {
  const { prompt, what, keep: keepData } = Object.fromEntries(new FormData(form));
  const isChange = what === "change";
  let fullPrompt = prompt.trim();
  if (isChange) {
    const instruction = "This is a change of the template below: keep what the change does not concern as it is.";
    fullPrompt += `\n\n${instruction}\n\n${getText("html")}`;
  }
  if (fullPrompt.length > maxPromptLength) {
    const length = fullPrompt.length.toLocaleString("en-US");
    const limit = maxPromptLength.toLocaleString("en-US");
    showError(
      `The template is too long for a change: ${length} characters with the description, limit ${limit}. ` +
        "Replace the template instead.",
    );
    return null;
  }

  const bodyParts = [`"prompt":${JSON.stringify(fullPrompt)}`];
  try {
    JSON.parse(getText("options"));
    if (keepData && JSON.parse(getText("sampleData"))) bodyParts.push(`"sampleData":${getText("sampleData")}`);
  } catch {
    showError("The sample data and the options must be valid JSON. Fix them first.");
    return null;
  }

  const ownOptions = isChange ? members(getText("options")) : {};
  const sentOptions = Object.entries(ownOptions).filter(([name]) => pageOptions.includes(name));
  bodyParts.push(`"options":${objectText(Object.fromEntries(sentOptions))}`);
  return { bodyParts, ownOptions, keepData: Boolean(keepData) };
};

// send returns the text of the response, or null after an error, which is shown.
const send = async (bodyParts, progressMessage) => {
  setProgress(progressMessage);
  try {
    const body = `{${bodyParts.join(",")}}`;
    const response = await finalResponse(await request("/describe", { body, signal: controller.signal }), showOutput);
    if (response.ok) return await response.text();

    const error = await errorOf(response);
    if (error.details?.some(({ field }) => field === "quoteId")) clearQuote();
    showError(error.message);
  } catch (error) {
    if (error instanceof SessionEndedError) {
      handleSessionEnd();
      showError("You are logged out. Nothing was charged, and your text is stored in this browser.");
    } else if (error.name !== "AbortError") {
      showError(
        quote
          ? "Connection lost. Try again to get the result; you are charged only once."
          : "The server cannot be reached. Check your connection and try again.",
      );
    }
  } finally {
    setProgress(null);
  }
  return null;
};

const showPrice = async () => {
  const order = getOrder();
  const priceText = order && (await send([...order.bodyParts, '"quote":true'], () => "Calculating the price…"));
  if (!priceText) return;

  const { quoteId, amountMicrodollars: amount, expiresAt } = JSON.parse(priceText);
  quote = { ...order, quoteId, amount };

  const exact = element("b", { textContent: dollars(amount), title: `${amount.toLocaleString("en-US")} microdollars` });
  const until = new Date(expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  priceLine.replaceChildren("Price: ", exact, `, not charged on failure. Valid until ${until}.`);
  priceLine.hidden = false;
  submitButton.textContent = `Generate for ${dollars(amount)}`;
  submitButton.focus();
};

const generate = async () => {
  const { bodyParts, ownOptions, keepData, quoteId, amount } = quote;
  const startTime = Date.now();
  const progressMessage = (seconds) =>
    `Writing and rendering the template: ${seconds} s. If you stop or leave this page, nothing is charged.`;
  const template = await send([...bodyParts, `"quoteId":${JSON.stringify(quoteId)}`], progressMessage);
  if (!template) return;

  const result = members(template);
  const options = objectText({ ...ownOptions, ...members(result.options ?? "{}") });
  const fields = { html: JSON.parse(result.html), options: indent(options) };
  if (!keepData && result.sampleData) fields.sampleData = indent(result.sampleData);

  dialog.close();
  applyResult(fields, `Template generated in ${secondsSince(startTime)} s for ${dollars(amount)}.`);
};

// ——— The result.

const applyResult = (fields, message) => {
  const before = Object.fromEntries(Object.keys(fields).map((name) => [name, getText(name)]));
  replaceFields(fields);
  showFile("html");
  offerUndo(message, before, fields.html);
};

// offerUndo reports what has replaced the fields, and undoes it on request.
const offerUndo = (message, before, after) => {
  $("[data-undo]")?.remove();

  const undoButton = element("button", { className: "btn small", type: "button", textContent: "Undo" });
  const keepButton = element("button", { className: "btn small", type: "button", textContent: "Keep" });
  const toast = element("div", { className: "toast", role: "status" }, message, undoButton, keepButton);
  const box = element("div", { className: "toasts" }, toast);
  box.dataset.undo = "";

  undoButton.addEventListener("click", () => {
    box.remove();
    if (getText("html") === after) undoHTML();
    else replaceFields(before);
    views.html.focus();
  });
  keepButton.addEventListener("click", () => {
    box.remove();
    views.html.focus();
  });

  document.body.append(box);
  undoButton.focus();
};
