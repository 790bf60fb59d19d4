// An agent that knows nothing but an address: it finds out who lets it in, registers,
// sends a person to the page that asks them, makes documents and waits for them until its cap stops it,
// asks for more, renews its tokens, and sees what becomes of a token that was stolen. All of it with
// the protocol's own client. What it saw goes to standard output, a line of JSON each.
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { UnauthorizedError, refreshAuthorization, discoverAuthorizationServerMetadata } = require("@modelcontextprotocol/sdk/client/auth.js");
const http = require("node:http");

const say = (what) => console.log(JSON.stringify(what));

async function main() {
  const address = new URL(process.argv[2]);
  let arrive;
  const listener = http.createServer((q, a) => {
    const url = new URL(q.url, "http://127.0.0.1");
    a.setHeader("Content-Type", "text/html");
    a.end("<!doctype html><link rel=icon href=data:,><p>The agent has its answer.");
    if (url.pathname === "/callback") arrive(url.searchParams);
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const redirect = `http://127.0.0.1:${listener.address().port}/callback`;
  const kept = {};
  const provider = {
    redirectUrl: redirect,
    clientMetadata: { client_name: "Draftsman", redirect_uris: [redirect], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" },
    state: () => "state-of-the-agent",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => (kept.verifier = verifier),
    redirectToAuthorization: (url) => say({ open: String(url), back: listener.address().port }),
  };
  const connect = async (transport = new StreamableHTTPClientTransport(address, { authProvider: provider })) => {
    const client = new Client({ name: "draftsman", version: "1" });
    await client.connect(transport);
    return client;
  };
  // letIn connects without a token, and waits for the person.
  const letIn = async () => {
    const answer = new Promise((resolve) => (arrive = resolve));
    const transport = new StreamableHTTPClientTransport(address, { authProvider: provider });
    const refused = await connect(transport).then(() => null, (error) => error);
    if (!(refused instanceof UnauthorizedError)) throw refused ?? new Error("connected without a token");
    const params = await answer;
    say({ answer: Object.fromEntries(params) });
    if (params.get("error")) return null;
    await transport.finishAuth(params.get("code"));
    return connect();
  };

  if ((await letIn()) !== null) throw new Error("let in although the person denied it");
  const client = await letIn();
  const tools = (await client.listTools()).tools;
  const tool = tools.find((t) => /QR code/.test(t.description)).name;
  const make = () => client.callTool({ name: tool, arguments: { type: "qr", text: "made by an agent", async: true } });
  const begun = await make();
  let made = begun;
  while (made.structuredContent.status === "processing") {
    made = await client.callTool({ name: "jobs_wait", arguments: { id: begun.structuredContent.id } });
  }
  const file = await fetch(made.structuredContent.url);
  const account = await client.callTool({ name: "account_get", arguments: {} });
  say({ tools: tools.length, tool, type: Buffer.from(await file.arrayBuffer()).toString("latin1", 1, 4), account: account.structuredContent, begun: begun.structuredContent.status, beyond: await make() });

  // What its scopes do not open it asks the person for. The client tries what it may
  // renew by itself first, which opens no more than before.
  const hooks = { name: "webhooks_list", arguments: {} };
  const withheld = await client.callTool(hooks).then(() => null, (error) => error);
  kept.tokens = { ...kept.tokens, refresh_token: undefined };
  const wider = new Promise((resolve) => (arrive = resolve));
  const transport = new StreamableHTTPClientTransport(address, { authProvider: provider });
  const asking = await connect(transport);
  const sent = await asking.callTool(hooks).then(() => null, (error) => error);
  if (!(sent instanceof UnauthorizedError)) throw sent ?? new Error("a tool was opened without its scope");
  const allowed = await wider;
  say({ answer: Object.fromEntries(allowed) });
  await transport.finishAuth(allowed.get("code"));
  const opened = await (await connect()).callTool(hooks);
  say({ withheld: withheld?.code, scope: kept.tokens.scope, hooks: opened.structuredContent.webhooks.length });

  const stolen = kept.tokens.refresh_token;
  kept.tokens = { ...kept.tokens, access_token: "pdf_oat_" + "x".repeat(40) };
  const again = await connect();
  await again.ping();
  const metadata = await discoverAuthorizationServerMetadata(new URL(address.origin));
  const thief = await refreshAuthorization(address.origin, { metadata, clientInformation: kept.client, refreshToken: stolen, resource: address }).then(() => "let in", (error) => error.constructor.name);
  const after = await fetch(address, { method: "POST", headers: { Authorization: "Bearer " + kept.tokens.access_token, "Content-Type": "application/json" }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  say({ renewed: kept.tokens.refresh_token !== stolen, thief, after: after.status, challenge: after.headers.get("www-authenticate") });

  kept.tokens = undefined;
  const last = await letIn();
  const revoked = await fetch(metadata.revocation_endpoint, { method: "POST", body: new URLSearchParams({ client_id: kept.client.client_id, token: kept.tokens.refresh_token }) });
  const gone = await fetch(address, { method: "POST", headers: { Authorization: "Bearer " + kept.tokens.access_token, "Content-Type": "application/json" }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  await last.close();
  say({ revoked: revoked.status, gone: gone.status });
  listener.close();
  listener.closeAllConnections();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
