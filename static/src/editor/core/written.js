// The answers of a model, which come in lines of JSON while it writes.

// writtenIn returns what a model has written of the HTML, in an answer that is not whole yet.
const writtenIn = (answer) => {
  const begun = /"html"\s*:\s*"/.exec(answer);
  if (!begun) return "";

  const rest = answer.slice(begun.index + begun[0].length);
  const inside = /^(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*/.exec(rest)[0];
  try {
    return JSON.parse(`"${inside.replace(/[\u0000-\u001f]/g, " ")}"`);
  } catch {
    return "";
  }
};

// answerOf reads what comes while a model writes, shows it, and returns the answer that it ends in. An answer without
// such lines is returned as it is.
export const answerOf = async (answer, say) => {
  if (!answer.headers.get("Content-Type")?.startsWith("application/x-ndjson")) return answer;

  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let status = 0;
  let written = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;

    rest += value;
    while (!status && rest.includes("\n")) {
      const end = rest.indexOf("\n");
      const line = JSON.parse(rest.slice(0, end));
      rest = rest.slice(end + 1);
      if (line.status) {
        status = line.status;
        break;
      }
      written = line.first ? line.text : written + line.text;
      say(writtenIn(written), line.first);
    }
  }

  if (!status) throw new TypeError("the answer broke off");
  return new Response(rest, { status });
};
