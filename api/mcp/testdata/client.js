// Speaks to a server as agents do, with the protocol's own client: lists, calls a
// tool, is refused, starts a job and waits for it. What it saw goes to standard
// output as JSON.
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

async function main() {
  const [where, ...args] = process.argv.slice(2);
  const transport = where.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers: { Authorization: "Bearer " + process.env.KEY } } })
    : new StdioClientTransport({ command: where, args, env: process.env, stderr: "inherit" });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const saw = { server: client.getServerVersion(), instructions: client.getInstructions() };
  await client.ping();
  saw.tools = (await client.listTools()).tools.map((tool) => tool.name);
  for (const [name, call] of Object.entries(JSON.parse(process.env.CALLS))) {
    saw[name] = await client.callTool(call).catch((error) => ({ thrown: String(error) }));
  }
  if (process.env.JOB) {
    const job = await client.callTool(JSON.parse(process.env.JOB));
    do {
      saw.job = await client.callTool({ name: "jobs_wait", arguments: { id: job.structuredContent.id } });
    } while (!saw.job.isError && saw.job.structuredContent.status === "processing");
  }
  await client.close();
  console.log(JSON.stringify(saw));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
