// Requests to the server, below the path of the page.

import { embedded, pagePath } from "./page.js";

// SignedOut means that the session of the user, or the editor link, has ended.
export class SessionEndedError extends Error {}

export const request = async (subpath, { method = "POST", body, headers = {}, signal } = {}) => {
  const type = body ? { "Content-Type": "application/json" } : {};
  const response = await fetch(pagePath + subpath, { method, body, headers: { ...type, ...headers }, signal });

  const linkEnded = embedded && [404, 410].includes(response.status);
  if (response.redirected || response.status === 401 || linkEnded) throw new SessionEndedError("signed out");
  return response;
};

export const errorOf = async (response) => {
  try {
    return (await response.json()).error;
  } catch {
    return { message: `The server returned status ${response.status}.`, details: [] };
  }
};
