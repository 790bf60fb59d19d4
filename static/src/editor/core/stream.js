// The response of a model, which streams lines of JSON while it writes.

// partialHTML returns the HTML in the output of a model that is still writing.
const partialHTML = (output) => {
  const start = /"html"\s*:\s*"/.exec(output);
  if (!start) return "";

  const tail = output.slice(start.index + start[0].length);
  const escaped = /^(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*/.exec(tail)[0];
  try {
    return JSON.parse(`"${escaped.replace(/[\u0000-\u001f]/g, " ")}"`);
  } catch {
    return "";
  }
};

// finalResponse calls onHTML while a model writes, and returns the response that the stream ends with. A response
// without a stream is returned unchanged.
export const finalResponse = async (response, onHTML) => {
  if (!response.headers.get("Content-Type")?.startsWith("application/x-ndjson")) return response;

  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = "";
  let status = 0;
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;

    buffered += value;
    while (!status && buffered.includes("\n")) {
      const end = buffered.indexOf("\n");
      const line = JSON.parse(buffered.slice(0, end));
      buffered = buffered.slice(end + 1);
      if (line.status) {
        status = line.status;
        break;
      }
      text = line.first ? line.text : text + line.text;
      onHTML(partialHTML(text));
    }
  }

  if (!status) throw new TypeError("the stream ended without a status");
  return new Response(buffered, { status });
};
