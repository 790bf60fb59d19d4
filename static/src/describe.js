// "Describe it": a model writes the template. The price is shown before anything
// is asked of the model, and what comes is one step that can be taken back.

import { indent, members } from "./json.js";

const mostRead = 20_000; // characters that the model is shown of a description
// Options that say how the page looks. Others, such as cookies, are no model's matter.
const ofPage = ["format", "width", "height", "landscape", "margin", "scale", "printBackground", "preferCSSPageSize", "headerTemplate", "footerTemplate", "locale", "timeZone"];
const object = (texts) => `{${Object.entries(texts).map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
const dollars = (micro) => `$${(micro / 1e6).toFixed(6).replace(/0{1,4}$/, "")}`;

// writtenIn returns what a model has written of the HTML, in an answer that is not
// whole yet.
export const writtenIn = (answer) => {
  const begun = /"html"\s*:\s*"/.exec(answer);
  if (!begun) return "";
  const inside = /^(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*/.exec(answer.slice(begun.index + begun[0].length))[0];
  try { return JSON.parse(`"${inside.replace(/[\u0000-\u001f]/g, " ")}"`); } catch { return ""; }
};

// hears reads what comes while a model writes, says it, and returns the answer that
// it ends in. An answer without any of it is returned as it is.
const hears = async (answer, say) => {
  if (!answer.headers.get("Content-Type")?.startsWith("application/x-ndjson")) return answer;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", status = 0, written = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    while (!status && rest.includes("\n")) {
      const end = rest.indexOf("\n"), line = JSON.parse(rest.slice(0, end));
      rest = rest.slice(end + 1);
      if (line.status) { status = line.status; break; }
      written = line.first ? line.text : written + line.text;
      say(writtenIn(written), line.first);
    }
  }
  if (!status) throw new TypeError("the answer broke off");
  return new Response(rest, { status });
};

// describes makes the dialog work. text returns what stands in a field, put
// replaces fields as one step, ask asks the server, and lost is told of a session
// that has ended.
export const describes = (dialog, { text, put, ask, messageOf, isLost, lost }) => {
  const $ = (part) => dialog.querySelector(`[data-describe-${part}]`);
  const form = dialog.querySelector("form"), go = $("go"), stop = $("stop"), price = $("price"), wrong = $("error"), progress = $("progress"), said = $("said"), written = $("written");
  let quote = null, running = null, ticking = 0;

  const busy = (words) => {
    clearInterval(ticking);
    progress.hidden = !words;
    written.hidden = true;
    written.textContent = "";
    stop.textContent = words ? "Stop" : "Cancel";
    go.disabled = Boolean(words);
    for (const field of form.querySelectorAll("textarea, input")) field.disabled = Boolean(words);
    if (!words) { running = null; return; }
    wrong.hidden = true;
    running = new AbortController();
    const began = Date.now();
    const tell = () => { said.textContent = words(Math.round((Date.now() - began) / 1000)); };
    tell();
    ticking = setInterval(tell, 1000);
  };
  // What is written is seen as it comes, and followed unless somebody reads further up.
  const shows = (html) => {
    const follows = written.hidden || written.scrollTop + written.clientHeight > written.scrollHeight - 24;
    written.hidden = !html;
    written.textContent = html;
    if (follows) written.scrollTop = written.scrollHeight;
  };
  const fails = (words) => { wrong.textContent = words; wrong.hidden = false; };
  const unpriced = () => { quote = null; price.hidden = true; go.textContent = "Show price"; };

  // order is what the model is asked, as it is promised a price for and paid.
  const order = () => {
    const { prompt, what, keep } = Object.fromEntries(new FormData(form));
    let asked = prompt.trim();
    if (what === "change") asked += `\n\nThis is a change of the template below: keep what the change does not concern as it is.\n\n${text("html")}`;
    if (asked.length > mostRead) {
      fails(`The template is too long for a change: ${asked.length.toLocaleString("en-US")} characters with the description, limit ${mostRead.toLocaleString("en-US")}. Replace the template instead.`);
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
    const own = what === "change" ? members(text("options")) : {};
    parts.push(`"options":${object(Object.fromEntries(Object.entries(own).filter(([name]) => ofPage.includes(name))))}`);
    return { parts, own, keep: Boolean(keep) };
  };
  const send = async (parts, words) => {
    busy(words);
    try {
      const answer = await hears(await ask("/describe", { body: `{${parts.join(",")}}`, signal: running.signal }), shows);
      if (answer.ok) return await answer.text();
      const error = await messageOf(answer);
      if (error.details?.some(({ field }) => field === "quoteId")) unpriced();
      fails(error.message);
    } catch (error) {
      if (isLost(error)) { lost(); fails("You are logged out. Nothing was charged, and your text is stored in this browser."); }
      else if (error.name !== "AbortError") fails(quote ? "Connection lost. Try again to get the result; you are charged only once." : "The server cannot be reached. Check your connection and try again.");
    } finally {
      busy(null);
    }
    return null;
  };

  const showPrice = async () => {
    const asked = order();
    const answer = asked && await send([...asked.parts, '"quote":true'], () => "Calculating the price…");
    if (!answer) return;
    const { quoteId, amountMicrodollars, expiresAt } = JSON.parse(answer);
    quote = { ...asked, quoteId, amount: amountMicrodollars };
    const until = new Date(expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const exact = document.createElement("b");
    exact.textContent = dollars(amountMicrodollars);
    exact.title = `${amountMicrodollars.toLocaleString("en-US")} microdollars`;
    price.replaceChildren("Price: ", exact, `, not charged on failure. Valid until ${until}.`);
    price.hidden = false;
    go.textContent = `Generate for ${dollars(amountMicrodollars)}`;
    go.focus();
  };
  const write = async () => {
    const { parts, own, keep, quoteId, amount } = quote;
    const began = Date.now();
    const answer = await send([...parts, `"quoteId":${JSON.stringify(quoteId)}`], (seconds) => `Writing and rendering the template: ${seconds} s. If you stop or leave this page, nothing is charged.`);
    if (!answer) return;
    const made = members(answer);
    const fields = { html: JSON.parse(made.html), options: indent(object({ ...own, ...members(made.options ?? "{}") })) };
    if (!keep && made.sampleData) fields.sampleData = indent(made.sampleData);
    dialog.close();
    put(fields, `Template generated in ${Math.round((Date.now() - began) / 1000)} s for ${dollars(amount)}.`);
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); if (!running) (quote ? write : showPrice)(); });
  form.addEventListener("input", unpriced);
  stop.addEventListener("click", () => (running ? running.abort() : dialog.close()));
  dialog.addEventListener("cancel", (event) => { if (running) event.preventDefault(); });
  // What is described or changed in the meantime has another price.
  dialog.addEventListener("close", unpriced);
  addEventListener("beforeunload", (event) => { if (running && quote) event.preventDefault(); });
};
