// "Generate with AI": a model writes the template. The price is shown before anything is asked of the model, and what
// comes is one step that can be taken back.

import { signedOut } from "./core/draft.js";
import { put, showFile, text, undoHTML, views } from "./core/fields.js";
import { indent, members } from "./core/json.js";
import { $, element } from "./core/page.js";
import { SignedOut, ask, messageOf } from "./core/server.js";
import { answerOf } from "./core/written.js";

const mostRead = 20_000; // characters that the model is shown of a description

// Options that say how the page looks. Others, such as cookies, are no model's matter.
const ofPage = [
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
const part = (name) => dialog && $(`[data-describe-${name}]`, dialog);
const go = part("go");
const stop = part("stop");
const price = part("price");
const wrong = part("error");
const progress = part("progress");
const said = part("said");
const written = part("written");

let quote = null; // the request with its price, once that is shown
let running = null;
let ticking = 0;

// startDescribe makes the dialog work, where there is one.
export const startDescribe = () => {
  if (!dialog) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!running) (quote ? write : showPrice)();
  });
  form.addEventListener("input", unpriced);
  stop.addEventListener("click", () => (running ? running.abort() : dialog.close()));
  dialog.addEventListener("cancel", (event) => {
    if (running) event.preventDefault();
  });

  // What is described or changed in the meantime has another price.
  dialog.addEventListener("close", unpriced);
  addEventListener("beforeunload", (event) => {
    if (running && quote) event.preventDefault();
  });
};

// ——— The state of the dialog.

// busy shows that a request runs, with words for its seconds; null ends that.
const busy = (words) => {
  clearInterval(ticking);
  progress.hidden = !words;
  written.hidden = true;
  written.textContent = "";
  stop.textContent = words ? "Stop" : "Cancel";
  go.disabled = Boolean(words);
  for (const field of form.querySelectorAll("textarea, input")) field.disabled = Boolean(words);
  if (!words) {
    running = null;
    return;
  }

  wrong.hidden = true;
  running = new AbortController();
  const began = Date.now();
  const tick = () => {
    said.textContent = words(secondsSince(began));
  };
  tick();
  ticking = setInterval(tick, 1000);
};
const secondsSince = (time) => Math.round((Date.now() - time) / 1000);

// What is written is seen as it comes, and followed unless somebody reads further up.
const shows = (html) => {
  const follows = written.hidden || written.scrollTop + written.clientHeight > written.scrollHeight - 24;
  written.hidden = !html;
  written.textContent = html;
  if (follows) written.scrollTop = written.scrollHeight;
};

const fails = (words) => {
  wrong.textContent = words;
  wrong.hidden = false;
};

const unpriced = () => {
  quote = null;
  price.hidden = true;
  go.textContent = "Show price";
};

const dollars = (micro) => `$${(micro / 1e6).toFixed(6).replace(/0{1,4}$/, "")}`;

// ——— Requests.

const objectText = (texts) => {
  const member = ([name, value]) => `${JSON.stringify(name)}:${value}`;
  return `{${Object.entries(texts).map(member).join(",")}}`;
};

// order is what the model is asked, as it is promised a price for and paid.
const order = () => {
  const { prompt, what, keep } = Object.fromEntries(new FormData(form));
  const isChange = what === "change";
  let asked = prompt.trim();
  if (isChange) {
    const rule = "This is a change of the template below: keep what the change does not concern as it is.";
    asked += `\n\n${rule}\n\n${text("html")}`;
  }
  if (asked.length > mostRead) {
    const length = asked.length.toLocaleString("en-US");
    const limit = mostRead.toLocaleString("en-US");
    fails(
      `The template is too long for a change: ${length} characters with the description, limit ${limit}. ` +
        "Replace the template instead.",
    );
    return null;
  }

  const parts = [`"prompt":${JSON.stringify(asked)}`];
  try {
    JSON.parse(text("options"));
    if (keep && JSON.parse(text("sampleData"))) parts.push(`"sampleData":${text("sampleData")}`);
  } catch {
    fails("The sample data and the options must be valid JSON. Fix them first.");
    return null;
  }

  const own = isChange ? members(text("options")) : {};
  const shown = Object.entries(own).filter(([name]) => ofPage.includes(name));
  parts.push(`"options":${objectText(Object.fromEntries(shown))}`);
  return { parts, own, keep: Boolean(keep) };
};

// send returns the text of the response, or null after an error, which is shown.
const send = async (parts, words) => {
  busy(words);
  try {
    const body = `{${parts.join(",")}}`;
    const answer = await answerOf(await ask("/describe", { body, signal: running.signal }), shows);
    if (answer.ok) return await answer.text();

    const error = await messageOf(answer);
    if (error.details?.some(({ field }) => field === "quoteId")) unpriced();
    fails(error.message);
  } catch (error) {
    if (error instanceof SignedOut) {
      signedOut();
      fails("You are logged out. Nothing was charged, and your text is stored in this browser.");
    } else if (error.name !== "AbortError") {
      fails(
        quote
          ? "Connection lost. Try again to get the result; you are charged only once."
          : "The server cannot be reached. Check your connection and try again.",
      );
    }
  } finally {
    busy(null);
  }
  return null;
};

const showPrice = async () => {
  const asked = order();
  const answer = asked && (await send([...asked.parts, '"quote":true'], () => "Calculating the price…"));
  if (!answer) return;

  const { quoteId, amountMicrodollars: amount, expiresAt } = JSON.parse(answer);
  quote = { ...asked, quoteId, amount };

  const exact = element("b", { textContent: dollars(amount), title: `${amount.toLocaleString("en-US")} microdollars` });
  const until = new Date(expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  price.replaceChildren("Price: ", exact, `, not charged on failure. Valid until ${until}.`);
  price.hidden = false;
  go.textContent = `Generate for ${dollars(amount)}`;
  go.focus();
};

const write = async () => {
  const { parts, own, keep, quoteId, amount } = quote;
  const began = Date.now();
  const words = (seconds) =>
    `Writing and rendering the template: ${seconds} s. If you stop or leave this page, nothing is charged.`;
  const answer = await send([...parts, `"quoteId":${JSON.stringify(quoteId)}`], words);
  if (!answer) return;

  const made = members(answer);
  const options = objectText({ ...own, ...members(made.options ?? "{}") });
  const fields = { html: JSON.parse(made.html), options: indent(options) };
  if (!keep && made.sampleData) fields.sampleData = indent(made.sampleData);

  dialog.close();
  replaceFields(fields, `Template generated in ${secondsSince(began)} s for ${dollars(amount)}.`);
};

// ——— The result.

const replaceFields = (fields, words) => {
  const before = Object.fromEntries(Object.keys(fields).map((name) => [name, text(name)]));
  put(fields);
  showFile("html");
  offerUndo(words, before, fields.html);
};

// offerUndo says what has replaced the fields, and takes it back on request.
const offerUndo = (words, before, after) => {
  $("[data-undo]")?.remove();

  const back = element("button", { className: "btn small", type: "button", textContent: "Undo" });
  const stay = element("button", { className: "btn small", type: "button", textContent: "Keep" });
  const toast = element("div", { className: "toast", role: "status" }, words, back, stay);
  const box = element("div", { className: "toasts" }, toast);
  box.dataset.undo = "";

  back.addEventListener("click", () => {
    box.remove();
    if (text("html") === after) undoHTML();
    else put(before);
    views.html.focus();
  });
  stay.addEventListener("click", () => {
    box.remove();
    views.html.focus();
  });

  document.body.append(box);
  back.focus();
};
