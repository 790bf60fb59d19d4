package clients

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
)

// patience bounds one program: a generator or a client.
const patience = 15 * time.Minute

// service is the whole API, whose operations work except those that need a renderer, unless there is one. A proxy
// in front of it answers the first call of each operation with a server error.
type service struct {
	*apitest.Server
	door string
}

func serve(t *testing.T, changes ...func(*apitest.Settings)) service {
	t.Helper()
	if testing.Short() {
		t.Skip("starts compilers")
	}
	s := apitest.New(t, apitest.Options{Operations: operation.Rows, Change: func(cfg *apitest.Settings) {
		cfg.NoRateLimits = true
		for _, change := range changes {
			change(cfg)
		}
	}})
	s.Work(t)
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	var mu sync.Mutex
	failed := map[string]bool{}
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		first := r.Method == http.MethodPost && r.URL.Path == "/v1/barcodes" && !failed[r.URL.Path]
		failed[r.URL.Path] = failed[r.URL.Path] || first
		mu.Unlock()
		if first {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	return service{s, door.URL}
}

// environment returns the environment variables of a client program: the URL of the service, and a signed event.
func (s service) environment(t *testing.T) []string {
	t.Helper()
	secret := webhook.NewSecret()
	const event = `{"id":"evt_1","type":"job.completed","createdAt":"2026-11-21T20:00:00Z","data":{"id":"file_1","status":"completed"}}`
	signature := webhook.Sign(secret, time.Now(), []byte(event))
	return append(os.Environ(), "BASE_URL="+s.door, "KEY="+s.Secret, "SECRET="+secret, "EVENT="+event, "SIGNATURE="+signature)
}

// run runs a program in a folder.
func run(t *testing.T, dir string, env []string, program ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", program, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tool is a Node program of .ci/node.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".ci", "node", "node_modules", ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make setup`, which installs it", err)
	}
	return path
}

// linkModules gives a folder the Node packages of a folder of .ci.
func linkModules(t *testing.T, dir, tools string) {
	t.Helper()
	modules := filepath.Join(repository(t), ".ci", tools, "node_modules")
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

// description returns the OpenAPI document of the service.
func (s service) description(t *testing.T) []byte {
	t.Helper()
	description, err := s.API.Description()
	if err != nil {
		t.Fatal(err)
	}

	return description
}

// workshop is a folder for programs in TypeScript, with the description of the API.
func workshop(t *testing.T, s service) string {
	t.Helper()
	dir := t.TempDir()
	linkModules(t, dir, "node")
	write(t, filepath.Join(dir, "openapi.json"), string(s.description(t)))
	write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// strict is the strictest configuration for the generated code.
const strict = `{"compilerOptions":{"strict":true,"target":"ES2022","module":"ES2022","moduleResolution":"Bundler","lib":["ES2022","DOM","DOM.Iterable"],"types":[],"outDir":"dist"},"include":["*.ts"]}`

// TestGeneratedTypeScript generates clients with two programs, compiles them, and
// calls every operation. Nothing that has a default has to be given.
func TestGeneratedTypeScript(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for name, generated := range map[string]struct {
		command []string
		program string
		every   string // how its calls begin
		call    func(c call, body, path string) string
	}{
		"openapi-fetch": {[]string{tool(t, "openapi-typescript"), "openapi.json", "-o", "schema.d.ts"}, `import createClient from "openapi-fetch";
import { every } from "./every.js";
import type { components, paths } from "./schema.js";
declare const process: { env: Record<string, string> };
const client = createClient<paths>({ baseUrl: process.env.BASE_URL, headers: { Authorization: "Bearer " + process.env.KEY } });
const options: components["schemas"]["PdfOptions"] = { margin: { top: "20mm" } };
const body: components["schemas"]["PdfCreateInput"] = { html: "<p>", options };
const filled: components["schemas"]["PdfCreateInput"] = { templateId: "letter", templateData: { name: "Ada", lines: [{ price: 1 }] } };
const form: components["schemas"]["PdfFormFillInput"] = { fileId: "file_1", fields: { name: "Ada", agrees: true } };
void body, filled, form;
await client.POST("/v1/barcodes", { body: { type: "qr", text: "hello" }, parseAs: "blob" });
const made = await client.POST("/v1/barcodes", { body: { type: "qr", text: "hello" }, parseAs: "blob" });
const account = await client.GET("/v1/account");
const files = await client.GET("/v1/files", { params: { query: { limit: 5 } } });
const refused = await client.POST("/v1/pdf", { body: {} });
const event: components["schemas"]["JobCompletedEvent"]["data"]["url"] = undefined;
await every();
console.log((made.data as unknown as Blob).type, account.data?.wallet.autoReloadEnabled, files.data?.nextCursor, refused.error?.error.code, event);
`, `import createClient from "openapi-fetch";
import type { paths } from "./schema.js";
declare const process: { env: Record<string, string> };
const client = createClient<paths>({ baseUrl: process.env.BASE_URL, headers: { Authorization: "Bearer " + process.env.KEY } });
`, fetchCall},
		"hey-api": {[]string{tool(t, "openapi-ts"), "-i", "openapi.json", "-o", "hey"}, `import { accountGet, barcodesCreate, filesList, pdfCreate } from "./hey/index.js";
import { every } from "./every.js";
import { client } from "./hey/client.gen.js";
import type { PdfCreateInput } from "./hey/index.js";
declare const process: { env: Record<string, string> };
client.setConfig({ baseUrl: process.env.BASE_URL, auth: process.env.KEY });
const body: PdfCreateInput = { html: "<p>", options: { margin: { top: "20mm" } } };
const filled: PdfCreateInput = { templateId: "letter", templateData: { name: "Ada", lines: [{ price: 1 }] } };
void body, filled;
await barcodesCreate({ body: { type: "qr", text: "hello" }, parseAs: "blob" });
const made = await barcodesCreate({ body: { type: "qr", text: "hello" }, parseAs: "blob" });
const account = await accountGet();
const files = await filesList({ query: { limit: 5 } });
const refused = await pdfCreate({ body: {} });
await every();
console.log((made.data as unknown as Blob).type, account.data?.wallet.autoReloadEnabled, files.data?.nextCursor, (refused.error as any).error.code, undefined);
`, `import * as sdk from "./hey/index.js";
`, heyCall},
	} {
		s, calls := serveEverything(t)
		dir := workshop(t, s)
		write(t, filepath.Join(dir, "tsconfig.json"), strict)
		run(t, dir, os.Environ(), generated.command...)
		write(t, filepath.Join(dir, "main.ts"), generated.program)
		write(t, filepath.Join(dir, "every.ts"), typescript(calls, generated.every, generated.call))
		run(t, dir, os.Environ(), tool(t, "tsc"), "-p", ".")
		// One of them writes for bundlers.
		bundled := esbuild.Build(esbuild.BuildOptions{
			EntryPoints: []string{filepath.Join(dir, "dist", "main.js")}, Outfile: filepath.Join(dir, "bundle.mjs"), Bundle: true, Write: true,
			Platform: esbuild.PlatformNode, Format: esbuild.FormatESModule, Target: esbuild.ES2022, NodePaths: []string{filepath.Join(dir, "node_modules")},
		})
		if len(bundled.Errors) > 0 {
			t.Fatalf("%s: %v", name, bundled.Errors)
		}
		if got, want := run(t, dir, s.environment(t), "node", "bundle.mjs"), "image/png false null invalid_request undefined"; got != want {
			t.Errorf("%s: the client printed %q, want %q", name, got, want)
		}
	}
}
