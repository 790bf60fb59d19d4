// Requests to the server, below the path of the page.

import { embedded, path } from "./page.js";

// SignedOut means that the session of the user, or the editor link, has ended.
export class SignedOut extends Error {}

export const ask = async (below, { method = "POST", body, headers = {}, signal } = {}) => {
  const type = body ? { "Content-Type": "application/json" } : {};
  const answer = await fetch(path + below, { method, body, headers: { ...type, ...headers }, signal });

  const ended = embedded && [404, 410].includes(answer.status);
  if (answer.redirected || answer.status === 401 || ended) throw new SignedOut("signed out");
  return answer;
};

export const messageOf = async (answer) => {
  try {
    return (await answer.json()).error;
  } catch {
    return { message: `The server returned status ${answer.status}.`, details: [] };
  }
};
