package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/service/operation"
)

// deployed is the output of .ci/deploy.
type deployed struct {
	Processes []deployedProcess
	Reach     []struct {
		Where, CIDR string
		Except      []string
	}
}

type deployedProcess struct {
	Where   string
	Args    []string
	Env     map[string]string
	Secrets []string
	Ports   []int
	Probes  []struct {
		Port int
		Path string
	}
	Grace  float64
	Writes []string
	Rolls  bool
	Inside []int
	Room   map[string]int64
}

// elsewhereSet are values of secret settings, which are not in the files.
var elsewhereSet = map[string]string{
	"RELAYPDF_SECRET_KEY": strings.Repeat("k", 44), "RELAYPDF_DATABASE_URL": "postgres://relaypdf:p@pgbouncer.example.com:6432/relaypdf", "RELAYPDF_DATABASE_SESSION_URL": "postgres://relaypdf:p@db.example.com:5432/relaypdf", "RELAYPDF_REDIS_URL": "redis://:p@redis.example.com:6379/0",
	"RELAYPDF_S3_ACCESS_KEY": "a", "RELAYPDF_S3_SECRET_KEY": "s",
}

// TestDeploymentsFitTheProgram decodes the files of deploy with the code of Kubernetes, Helm and Compose, and compares
// them with the program: its settings, its commands and flags, its ports and their responses, and its stop time.
func TestDeploymentsFitTheProgram(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-modfile=.ci/deploy.mod", "./.ci/deploy",
		"deploy/compose.yaml", "deploy/compose.cluster.yaml", "fly.toml", "deploy/fly.one.toml",
		"deploy/kubernetes/overlays/one", "deploy/kubernetes/overlays/cluster", "deploy/kubernetes/seccomp",
		"deploy/helm/relaypdf/ci/one-values.yaml", "deploy/helm/relaypdf/ci/cluster-values.yaml")
	cmd.Dir = root
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	var all deployed
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	image := imageOf(t, root)
	roles := map[string]int{}
	for _, p := range all.Processes {
		t.Run(strings.ReplaceAll(p.Where, "/", "_"), func(t *testing.T) {
			config := deployedConfig(t, p, image)
			roles[strings.Join(config.Roles, ",")]++
			checkPorts(t, p, config)
			if need := (config.DrainDelay + config.ShutdownTimeout).Seconds(); p.Grace <= need {
				t.Errorf("it is killed after %v s, and may take %v to stop", p.Grace, need)
			}
			longest := max(engine.OCRTime, engine.CompareTime)
			if p.Rolls && config.ShutdownTimeout <= longest {
				t.Errorf("it cuts work off after %v, although another one is there, and a call may take %v", config.ShutdownTimeout, longest)
			}
			for _, path := range []string{config.DataDir, "/tmp"} {
				if !slices.ContainsFunc(p.Writes, func(at string) bool { return at == path || at == "/" }) {
					t.Errorf("%s cannot be written: %v can", path, p.Writes)
				}
			}
		})
	}
	if want := map[string]int{"api,web,worker": 4, "api,web": 5, "worker": 4}; !maps.Equal(roles, want) {
		t.Errorf("there are processes of the roles %v, want %v", roles, want)
	}
	if len(all.Reach) != 12 {
		t.Errorf("%d blocks of addresses may be reached, want two in each of six policies", len(all.Reach))
	}
	for _, block := range all.Reach {
		t.Run(strings.ReplaceAll(block.Where+" "+block.CIDR, "/", "_"), func(t *testing.T) { checkReach(t, block.CIDR, block.Except) })
	}
}

// imageOf returns the variables of the image, and holds its check of health to the
// ports of processes that are left as they are.
func imageOf(t *testing.T, root string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": "/var/lib/relaypdf", "container": "oci"}
	for _, match := range regexp.MustCompile(`(?m)^(?:ENV)?\s+(RELAYPDF_\w+)=(\S+)`).FindAllStringSubmatch(string(text), -1) {
		env[match[1]] = match[2]
	}
	probes := regexp.MustCompile(`http://127\.0\.0\.1:(\d+)(/[a-z/]+)`).FindAllStringSubmatch(string(text), -1)
	if len(env) != 4 || len(probes) != 2 {
		t.Fatalf("the Dockerfile sets %v and asks for %v", env, probes)
	}
	for i, role := range []string{"api", "worker"} {
		p := deployedProcess{Args: []string{"serve"}, Env: map[string]string{"RELAYPDF_ROLES": role, "RELAYPDF_BASE_URL": "http://localhost:8787"}}
		port, _ := strconv.Atoi(probes[i][1]) // digits
		if open := openPorts(t, deployedConfig(t, p, env)); !slices.Contains(open, port) {
			t.Errorf("the image's check of health asks for port %d of a process with the role %s, which opens %v", port, role, open)
		}
		checkAnswer(t, port, 8787, probes[i][2])
	}
	return env
}

// deployedConfig runs the process's command line up to where it would begin: its
// flags and variables are read, and nothing may be unknown or doubtful.
func deployedConfig(t *testing.T, p deployedProcess, image map[string]string) app.Config {
	t.Helper()
	env := maps.Clone(image)
	maps.Copy(env, p.Env)
	for _, name := range p.Secrets {
		if env[name] = elsewhereSet[name]; env[name] == "" {
			t.Errorf("%s is from a Secret and not known here", name)
		}
	}
	if strings.HasPrefix(env["RELAYPDF_BLOBS"], "s3:") && env["RELAYPDF_DATABASE_URL"] == "" { // Fly's secrets are not in its file
		maps.Copy(env, elsewhereSet)
	}
	program, err := newProgram(operation.Rows).root()
	if err != nil {
		t.Fatal(err)
	}
	cmd, args, err := program.Find(p.Args)
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("%q is the command %q, %v; want serve", p.Args, cmd.Name(), err)
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatalf("%q: %v", p.Args, err)
	}
	if rest := cmd.Flags().Args(); len(rest) > 0 {
		t.Errorf("%q has arguments that serve does not take: %q", p.Args, rest)
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	config, err := app.LoadConfig(cmd.Flags(), environ)
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range config.Warnings {
		t.Error(warning)
	}
	for _, name := range p.Secrets {
		if to, err := url.Parse(env[name]); err == nil && to.Port() != "" {
			if port, _ := strconv.Atoi(to.Port()); !slices.Contains(p.Inside, port) {
				t.Errorf("%s leads to port %d, and the network lets it through to %v", name, port, p.Inside)
			}
		}
	}
	return config
}

// openPorts are the ports that a process opens to others, and its private one.
func openPorts(t *testing.T, config app.Config) (ports []int) {
	t.Helper()
	add := func(address string) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(port) // parseAddress has looked
		ports = append(ports, n)
	}
	if slices.Contains(config.Roles, app.RoleAPI) || slices.Contains(config.Roles, app.RoleWeb) {
		add(config.Listen)
	}
	if config.MetricsListen != "" {
		add(config.MetricsListen)
	}
	return ports
}

// checkPorts compares the declared and probed ports with the open ones.
func checkPorts(t *testing.T, p deployedProcess, config app.Config) {
	t.Helper()
	open := openPorts(t, config)
	for _, port := range p.Ports {
		if !slices.Contains(open, port) {
			t.Errorf("port %d is declared, and %v are open", port, open)
		}
	}
	_, public, _ := net.SplitHostPort(config.Listen)
	own, _ := strconv.Atoi(public)
	for _, probe := range p.Probes {
		if !slices.Contains(open, probe.Port) {
			t.Errorf("port %d is asked for %s, and %v are open", probe.Port, probe.Path, open)
		}
		address := config.MetricsListen
		if probe.Port == own {
			address = config.Listen
		}
		if middleware.IsLoopback("http://" + address) {
			t.Errorf("%s is asked for from outside, and %s is open inside only", probe.Path, address)
		}
		checkAnswer(t, probe.Port, own, probe.Path)
	}
}

// checkAnswer asks the handler of a port for a path.
func checkAnswer(t *testing.T, port, public int, path string) {
	t.Helper()
	healthy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && r.URL.Path != "/health/ready" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	handler := http.Handler(healthy)
	if port != public {
		handler = app.PrivateHandler(middleware.NewRegistry(), healthy)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if answer.Code != http.StatusOK {
		t.Errorf("port %d answers %s with %d", port, path, answer.Code)
	}
}

// checkReach compares a block of addresses that the network allows with the service's own refusals: at the edges of
// all excluded blocks, and at many addresses between.
func checkReach(t *testing.T, cidr string, except []string) {
	t.Helper()
	whole := netip.MustParsePrefix(cidr)
	guard, err := egress.New(egress.Config{Interfaces: func() ([]net.Addr, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]netip.Prefix, len(except))
	var tried []netip.Addr
	for i, text := range except {
		out[i] = netip.MustParsePrefix(text)
		first, last := out[i].Masked().Addr(), lastOf(out[i])
		tried = append(tried, first, last, first.Prev(), last.Next())
	}
	random := rand.New(rand.NewPCG(16, 2026))
	for range 20_000 {
		bytes := whole.Addr().AsSlice()
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		addr, _ := netip.AddrFromSlice(bytes)
		tried = append(tried, addr)
	}
	faults := 0
	for _, addr := range tried {
		if !addr.IsValid() || !whole.Contains(addr) {
			continue
		}
		passes := !slices.ContainsFunc(out, func(p netip.Prefix) bool { return p.Contains(addr) })
		if refused := guard.CheckAddr(addr, ""); passes != (refused == nil) && faults < 10 {
			t.Errorf("%s: the network lets it through: %t; the service says %v", addr, passes, refused)
			faults++
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// seccompProfile is a profile as Docker and Podman read it.
type seccompProfile struct {
	DefaultAction   string
	DefaultErrnoRet int
	ArchMap         []struct {
		Architecture     string
		SubArchitectures []string
	}
	Syscalls []struct {
		Names              []string
		Action             string
		ErrnoRet           *int
		Args               []json.RawMessage
		Includes, Excludes struct{ Arches, Caps []string }
	}
}

// TestSeccompOfKubernetesIsThatOfDocker derives the profile that containerd reads, which supports no conditions,
// from the one that Docker and Podman read: the rules without any capability, for the processors of the images.
func TestSeccompOfKubernetesIsThatOfDocker(t *testing.T) {
	deploy := filepath.Join("..", "..", "deploy")
	text, err := os.ReadFile(filepath.Join(deploy, "seccomp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var from seccompProfile
	if err := json.Unmarshal(text, &from); err != nil {
		t.Fatal(err)
	}
	quoted := func(value any) string {
		line, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(line), `,"`, `, "`)
	}
	var processors []string
	for _, p := range from.ArchMap {
		if p.Architecture == "SCMP_ARCH_X86_64" || p.Architecture == "SCMP_ARCH_AARCH64" {
			processors = append(append(processors, p.Architecture), p.SubArchitectures...)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{\n\t\"defaultAction\": %s,\n\t\"defaultErrnoRet\": %d,\n\t\"architectures\": %s,\n\t\"syscalls\": [", quoted(from.DefaultAction), from.DefaultErrnoRet, quoted(processors))
	separator := "\n"
	for _, rule := range from.Syscalls {
		if len(rule.Includes.Caps) > 0 || len(rule.Excludes.Arches) > 0 {
			continue
		}
		ours := []string{"amd64", "x86", "x32", "arm64", "arm"}
		if arches := rule.Includes.Arches; len(arches) > 0 && !slices.ContainsFunc(arches, func(name string) bool { return slices.Contains(ours, name) }) {
			continue
		}
		fmt.Fprintf(&b, "%s\t\t{\"names\": %s, \"action\": %s", separator, quoted(rule.Names), quoted(rule.Action))
		if rule.ErrnoRet != nil {
			fmt.Fprintf(&b, ", \"errnoRet\": %d", *rule.ErrnoRet)
		}
		if len(rule.Args) > 0 {
			fmt.Fprintf(&b, ", \"args\": %s", quoted(rule.Args))
		}
		b.WriteString("}")
		separator = ",\n"
	}
	b.WriteString("\n\t]\n}\n")
	for _, never := range []string{"includes", "excludes", "archMap", `"bpf", "fanotify_init", "lookup_dcookie", "perf_event_open", "quotactl", "setdomainname", "sethostname", "setns"], "action": "SCMP_ACT_ALLOW"`} {
		if strings.Contains(b.String(), never) {
			t.Errorf("the profile has %s", never)
		}
	}
	apitest.Golden(t, filepath.Join("..", "..", "..", "deploy", "kubernetes", "seccomp", "relaypdf.json"), []byte(b.String()))
}
