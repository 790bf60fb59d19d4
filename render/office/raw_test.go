package office

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// rawWorker is LibreOffice without any protection: it makes the files of the tests, is what the benchmark compares
// with, and shows that hostile documents are hostile. Load and store properties come with each job.
const rawWorker = `
import json, sys, time, uno
from com.sun.star.beans import PropertyValue, NamedValue
from com.sun.star.connection import NoConnectException

def value(v):
    if isinstance(v, dict):
        return uno.Any("[]com.sun.star.beans.NamedValue", tuple(NamedValue(n, x) for n, x in v.items()))
    if isinstance(v, int) and not isinstance(v, bool):
        return uno.Any("short", v)
    return v

def properties(values):
    return tuple(PropertyValue(Name=n, Value=value(v)) for n, v in (values or {}).items())

local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
while True:
    try:
        context = resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % sys.argv[1])
        break
    except NoConnectException:
        time.sleep(0.02)
desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
print("{}", flush=True)
for line in sys.stdin:
    job = json.loads(line)
    try:
        document = desktop.loadComponentFromURL("file://" + job["Input"], "_blank", 0, properties(dict(job["Load"] or {}, Hidden=True)))
        if job["Update"] and hasattr(document, "updateLinks"):
            document.updateLinks()
        document.storeToURL("file://" + job["Output"], properties(job["Store"]))
        macros = document.AllowMacroExecution
        document.close(True)
        print(json.dumps({"Macros": macros}), flush=True)
    except Exception as e:
        print(json.dumps({"Error": repr(e)}), flush=True)
`

// raw is a running rawWorker.
type raw struct {
	dir     string
	orders  *json.Encoder
	answers *bufio.Scanner
	stop    func()
}

// rawJob is one conversion.
type rawJob struct {
	Input, Output string
	Load, Store   map[string]any
	// Update asks for what the links of a text document lead to.
	Update bool
}

// rawAnswer is the result.
type rawAnswer struct {
	Error string
	// Macros reports whether the document's macros may run.
	Macros bool
}

// startRaw starts a LibreOffice process that ends with the test. settings go into its profile.
func startRaw(t testing.TB, settings string) *raw {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an office")
	}
	dir := t.TempDir()
	user := filepath.Join(dir, "profile", "user")
	if err := os.MkdirAll(user, 0o700); err != nil {
		t.Fatal(err)
	}
	if settings != "" {
		if err := os.WriteFile(filepath.Join(user, "registrymodifications.xcu"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pipe := filepath.Base(filepath.Dir(dir)) + filepath.Base(dir)
	env := []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=" + dir}
	office := exec.Command(officeProgram, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
		"--accept=pipe,name="+pipe+";urp;", "--headless", "--norestore", "--nodefault", "--nolockcheck", "--nofirststartwizard")
	worker := exec.Command(workerProgram, "-I", "-c", rawWorker, pipe)
	in, inErr := worker.StdinPipe()
	out, outErr := worker.StdoutPipe()
	office.Env, worker.Env, worker.Stderr = env, env, os.Stderr
	office.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	for _, cmd := range []*exec.Cmd{office, worker} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	r := &raw{dir: dir, orders: json.NewEncoder(in), answers: bufio.NewScanner(out), stop: sync.OnceFunc(func() {
		_ = in.Close()
		_ = syscall.Kill(-office.Process.Pid, syscall.SIGKILL) // with what it has started
		_, _ = office.Wait(), worker.Wait()
	})}
	t.Cleanup(r.stop)
	if !r.answers.Scan() {
		t.Fatal("the raw office did not start")
	}
	return r
}

// do carries a job out.
func (r *raw) do(job rawJob) (a rawAnswer, err error) {
	if err := r.orders.Encode(job); err != nil {
		return a, err
	}
	if !r.answers.Scan() {
		return a, fmt.Errorf("the raw office has gone: %w", r.answers.Err())
	}
	if err := json.Unmarshal(r.answers.Bytes(), &a); err != nil || a.Error != "" {
		return a, fmt.Errorf("raw office: %s %w", a.Error, err)
	}
	return a, nil
}

// make converts content, whose name has the extension of what it is.
func (r *raw) make(t testing.TB, content []byte, name string, job rawJob) []byte {
	t.Helper()
	in, out := filepath.Join(r.dir, name), filepath.Join(r.dir, "made")
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	job.Input, job.Output = in, out
	if _, err := r.do(job); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// canary is a web server that counts connections and requests.
type canary struct {
	*httptest.Server

	hits atomic.Int64
}

func newCanary(t testing.TB) *canary {
	t.Helper()
	c := new(canary)
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.hits.Add(1)
		http.NotFound(w, r)
	}))
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.hits.Add(1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}
