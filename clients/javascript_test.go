package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"github.com/relaypdf/relaypdf/client/webhook"
)

// moduleKinds are the ways in which users' compilers find the package.
var moduleKinds = []string{"node16", "bundler"}

// project returns a folder of a user of the npm package, with sources that are compiled in the strictest way.
func project(t *testing.T, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	installJavaScript(t, filepath.Join(dir, "node_modules", "relaypdf"))
	write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	declarations, err := os.ReadFile(filepath.Join("js", "test", "node.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "node.d.ts"), string(declarations))
	for name, text := range sources {
		write(t, filepath.Join(dir, name), text)
	}

	for _, kind := range moduleKinds {
		module := map[string]string{"node16": "node16", "bundler": "es2022"}[kind]
		write(t, filepath.Join(dir, "tsconfig.json"), fmt.Sprintf(`{"compilerOptions":{"strict":true,"exactOptionalPropertyTypes":true,
			"noUncheckedIndexedAccess":true,"noImplicitOverride":true,
			"target":"es2022","module":%q,"moduleResolution":%q,"lib":["es2022","dom","dom.iterable","dom.asynciterable"],
			"types":[],"outDir":"dist"},"include":["*.ts"]}`, module, kind))
		run(t, dir, os.Environ(), tool(t, "tsc"), "-p", ".")
	}

	return dir
}

// installJavaScript builds the npm package in a folder of node_modules.
func installJavaScript(t *testing.T, dir string) {
	t.Helper()
	build := t.TempDir()
	if err := os.CopyFS(build, os.DirFS("js")); err != nil {
		t.Fatal(err)
	}
	run(t, build, os.Environ(), tool(t, "tsc"), "-p", ".")

	if err := os.CopyFS(filepath.Join(dir, "dist"), os.DirFS(filepath.Join(build, "dist"))); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join("js", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "package.json"), string(manifest))
}

func TestClientsJavaScript(t *testing.T) {
	t.Parallel()
	s := serve(t)
	program, err := os.ReadFile(filepath.Join("js", "test", "client.ts"))
	if err != nil {
		t.Fatal(err)
	}
	dir := project(t, map[string]string{"client.ts": string(program)})

	env := append(rollSecret(t, s.environment(t)), "VERSION="+javaScriptVersion(t))
	if got := run(t, dir, env, "node", filepath.Join("dist", "client.js")); got != "ok" {
		t.Errorf("the client printed %q", got)
	}

	// Bundlers for browsers do not meet a module of Node.
	bundled := esbuild.Build(esbuild.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, "node_modules", "relaypdf", "dist", "index.js")}, Bundle: true,
		Platform: esbuild.PlatformBrowser, Format: esbuild.FormatESModule, Target: esbuild.ES2022,
	})
	if len(bundled.Errors) > 0 || len(bundled.Warnings) > 0 {
		t.Errorf("a bundle for browsers: %v, %v", bundled.Errors, bundled.Warnings)
	}
}

// rollSecret adds a new secret, and the headers of Standard Webhooks that sign the event with both secrets.
func rollSecret(t *testing.T, env []string) []string {
	t.Helper()
	const id = "evt_1"
	at := time.Now()
	secret := webhook.NewSecret()

	var signatures []string
	for _, key := range []string{value(env, "SECRET"), secret} {
		signature, err := webhook.SignStandard(key, id, at, []byte(value(env, "EVENT")))
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, signature)
	}

	return append(env, "NEW_SECRET="+secret, "WEBHOOK_ID="+id, "WEBHOOK_TIME="+strconv.FormatInt(at.Unix(), 10),
		"WEBHOOK_SIGNATURE="+strings.Join(signatures, " "))
}

// value returns the value of an environment variable.
func value(env []string, name string) string {
	for _, pair := range env {
		if text, found := strings.CutPrefix(pair, name+"="); found {
			return text
		}
	}

	return ""
}

// javaScriptVersion returns the version in package.json.
func javaScriptVersion(t *testing.T) string {
	t.Helper()
	var manifest struct{ Version string }
	readJSON(t, filepath.Join("js", "package.json"), &manifest)

	return manifest.Version
}

// TestJavaScriptCallsEverything calls each operation by its method, with its documented example. The examples are
// compiled, so they have the types of the inputs.
func TestJavaScriptCallsEverything(t *testing.T) {
	t.Parallel()
	s, calls := serveEverything(t)
	description := s.description(t)
	methods := javaScriptMethods(t, description)

	var program strings.Builder
	program.WriteString(everyHead)
	for _, c := range calls {
		method, found := methods[c.Operation]
		if !found {
			continue // The MCP endpoint has clients of its own.
		}
		types, err := json.Marshal(c.Types)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&program, "await check(%q, %d, %s, %s);\n", c.Operation, c.Status, types, javaScriptCall(t, c, method))
	}
	program.WriteString("console.log(\"ok\");\n")

	dir := project(t, map[string]string{"every.ts": program.String()})
	if got := run(t, dir, s.environment(t), "node", filepath.Join("dist", "every.js")); got != "ok" {
		t.Errorf("the client printed %q", got)
	}
}

const everyHead = `import { Job, Relay, Result } from "relaypdf";

let last = new Response();
const relay = new Relay({
  key: process.env.KEY,
  baseUrl: process.env.BASE_URL,
  fetch: async (...given) => (last = await fetch(...given)),
});

const ids: Record<string, string> = {};
async function check(operation: string, status: number, types: string[], made: PromiseLike<unknown>) {
  const value = await made;
  const type = last.headers.get("content-type")?.split(";")[0] ?? "none";
  if (last.status !== status || (!types.includes(type) && !types.includes("application/octet-stream"))) {
    throw new Error(operation + ": " + last.status + " " + type + ", want " + status + " " + types);
  }
  if ((status === 202) !== value instanceof Job) throw new Error(operation + ": a job, or none");
  if (value instanceof Result && (await value.bytes()).length === 0) throw new Error(operation + ": no bytes");
  if (typeof value !== "object" || value === null) throw new Error(operation + ": no value");
  ids[operation] = "id" in value && typeof value.id === "string" ? value.id : "";
}

`

// javaScriptMethods returns the methods of the operations, such as pdf.formFill of pdf_form_fill.
func javaScriptMethods(t *testing.T, description []byte) map[string]string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Tags        []string
		}
	}
	if err := json.Unmarshal(description, &document); err != nil {
		t.Fatal(err)
	}

	methods := map[string]string{}
	for _, operations := range document.Paths {
		for _, operation := range operations {
			if operation.OperationID == "mcp_send" {
				continue
			}
			group := strings.ReplaceAll(operation.Tags[0], "-", "_")
			name := strings.TrimPrefix(operation.OperationID, group+"_")
			if group == "service" {
				name = strings.TrimSuffix(name, "_get")
			}
			methods[operation.OperationID] = camel(group) + "." + camel(name)
		}
	}

	return methods
}

func camel(name string) string {
	first, others, _ := strings.Cut(name, "_")
	for word := range strings.SplitSeq(others, "_") {
		if word != "" {
			first += strings.ToUpper(word[:1]) + word[1:]
		}
	}

	return first
}

// javaScriptCall returns a call in TypeScript. The form of its response is that of its method.
func javaScriptCall(t *testing.T, c call, method string) string {
	t.Helper()
	var arguments []string
	for _, value := range c.Arguments {
		arguments = append(arguments, argument(value))
	}
	if c.Upload != "" {
		arguments = append(arguments, fmt.Sprintf("new TextEncoder().encode(%q)", c.Upload))
	}

	form := ""
	if c.Body != nil {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(c.Body, &body); err != nil {
			t.Fatal(err)
		}
		switch string(body["response"]) {
		case `"async"`:
			form = ".start()"
		case `"url"`:
			form = ".url()"
		}
		delete(body, "response")
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, string(text))
	}

	return fmt.Sprintf("relay.%s(%s)%s", method, strings.Join(arguments, ", "), form)
}

// TestJavaScriptReadme compiles and runs each example of the README.
func TestJavaScriptReadme(t *testing.T) {
	t.Parallel()
	s, _ := serveEverything(t)
	readme, err := os.ReadFile(filepath.Join("js", "README.md"))
	if err != nil {
		t.Fatal(err)
	}

	sources := map[string]string{}
	for i, block := range regexp.MustCompile("(?s)```ts\n(.*?)```").FindAllSubmatch(readme, -1) {
		sources[fmt.Sprintf("example%02d.ts", i)] = readmeProgram(string(block[1]), s.door)
	}
	if len(sources) < 10 {
		t.Fatalf("the README has %d examples", len(sources))
	}
	examples := len(sources)
	sources["relay.ts"] = `import { Relay } from "relaypdf";

export const relay = new Relay({ key: process.env.KEY, baseUrl: process.env.BASE_URL });
`
	dir := project(t, sources)

	env := append(s.environment(t), "RELAYPDF_API_KEY="+s.Secret)
	env = append(env, "WEBHOOK_SECRET="+value(env, "SECRET"))
	for i := range examples {
		run(t, dir, env, "node", filepath.Join("dist", fmt.Sprintf("example%02d.js", i)))
	}

	if got, err := os.ReadFile(filepath.Join(dir, "letters.zip")); err != nil || !strings.HasPrefix(string(got), "PK") {
		t.Errorf("letters.zip is not a ZIP archive: %v", err)
	}
	for _, name := range []string{"invoice.pdf", "rotated.pdf", "report.pdf", "letter.pdf", "small.pdf", "payslip.pdf"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasPrefix(string(got), "%PDF-") {
			t.Errorf("%s is not a PDF: %v", name, err)
		}
	}
}

// readmeProgram completes an example with what the first one of the README defines, and calls its function.
func readmeProgram(block, url string) string {
	if strings.Contains(block, "new Relay(") && !strings.Contains(block, "import { Relay") {
		block = "import { Relay } from \"relaypdf\";\n" + block
	}
	if !strings.Contains(block, "const relay =") {
		block = "import { relay } from \"./relay.js\";\n" + block
	}
	if strings.Contains(block, "function receive(") {
		block += receiveEvent
	}

	return strings.ReplaceAll(block, exampleURL, url)
}

const exampleURL = "http://localhost:8787"

const receiveEvent = `
for (const [signature, status] of [[process.env.SIGNATURE ?? "", 204], ["t=1,v1=00", 400]] as const) {
  const headers = { "service-signature": signature };
  const init = { method: "POST", headers, body: process.env.EVENT ?? "" };
  const response = await receive(new Request("http://localhost", init));
  if (response.status !== status) throw new Error("a delivery got " + response.status);
}
`
