package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// fleetTime is the duration for which TestFleet disturbs parts. `make fleet` sets it.
var fleetTime = flag.Duration("fleet", 12*time.Second, "how long TestFleet hurts the parts of a fleet")

const (
	// fleetMeasured is the minimum duration of a run whose p95 is compared with the time before: shorter ones have
	// too few calls, on machines that do other work, too.
	fleetMeasured  = 5 * time.Minute
	fleetCustomers = 4
	// fleetDistance is the round trip between the second region and the database.
	fleetDistance = 20 * time.Millisecond
)

// TestFleet runs three processes for requests and three for jobs in two regions, with PostgreSQL, Redis and S3
// servers, behind nginx. It kills, freezes, cuts off and slows each part in turn, including nginx, under mixed
// load.
//
// Only a disturbed part responds with 5xx, or a process whose database or bucket is unavailable. Only a disturbed
// part leaves a request without a response, or an unavailable nginx. The windows of each region are exact while its
// processes count together. The checker of TestChaos finds nothing lost, and nothing billed twice.
func TestFleet(t *testing.T) {
	t.Parallel()
	if *chaosSeed == 0 {
		*chaosSeed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *chaosSeed)
	f := newFleet(t)
	f.run(*fleetTime)
}

// fleet is the setup of TestChaos in two regions.
type fleet struct {
	*chaos

	cluster *storetest.Cluster
	bucket  *fakes3.Server
	redis   *fleetRedis
	nginx   *fleetNginx
	apis    []*fleetServer
	workers []*fleetServer
	doors   []string // of each region
	// toDatabase and toRedis are the ways of each region, toNginx those of its clients.
	toDatabase, toRedis, toNginx []*storetest.Link

	mu      sync.Mutex
	answers []fleetAnswer
	hurt    []fleetSpan // the disturbances, with their times
	alone   []fleetSpan // which process counted for itself, and when
	errors  []fleetError
}

// fleetAnswer is one response as a client saw it.
type fleetAnswer struct {
	asked, answered time.Time
	status          int    // 0: none came, or not all of it
	by              string // the last process that nginx asked
	region          int
	counted         bool // by the customer whose windows are looked at
	paid            bool // at once, not as a job
}

// fleetError is a line that a process logged as an error.
type fleetError struct {
	by, line string
	at       time.Time
}

// took reports whether the response is that of a call that the limits allowed.
func (a fleetAnswer) took() bool { return a.status > 0 && a.status < 300 }

// fleetSpan is a time that belongs to a process, or to a part of many.
type fleetSpan struct {
	of         string
	region     int
	begin, end time.Time // a zero end is not over
}

func (s fleetSpan) overlaps(begin, end time.Time) bool {
	return s.begin.Before(end) && (s.end.IsZero() || s.end.After(begin))
}

// fleetServer is a process of the fleet.
type fleetServer struct {
	*chaosServer

	name   string // host:port, as nginx knows it, or a name
	region int
}

var fleetRegions = []string{"fra", "iad"}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	db, cluster := storetest.OwnPostgres(t)
	f := &fleet{chaos: newChaos(t, db, 0), cluster: cluster, bucket: fakes3.Start(t)}
	f.till.payers = nil // They pay in TestChaos.
	f.customers = f.customers[:0]
	for i := range fleetCustomers {
		f.customers = append(f.customers, f.newCustomer(fmt.Sprintf("fleet%d@example.com", i)))
	}
	f.blobs = filepath.Dir(f.bucket.File("files/x"))
	f.redis = startFleetRedis(t, f.dir)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	f.env = append(f.env, "RELAYPDF_SECRET_KEY="+strings.Repeat("k", 32), "RELAYPDF_RATE_LIMITS=on", "RELAYPDF_BLOBS="+f.bucket.Address(),
		"RELAYPDF_S3_ACCESS_KEY="+fakes3.AccessKey, "RELAYPDF_S3_SECRET_KEY="+fakes3.SecretKey, "RELAYPDF_DATABASE_URL="+db.URL)
	var ports [][]string
	for i, region := range fleetRegions {
		far, err := storetest.NewFar(ctx, db.URL, time.Duration(i)*fleetDistance)
		if err != nil {
			t.Fatal(err)
		}
		link, err := storetest.NewLink(ctx, "unix", f.redis.socket, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.toDatabase, f.toRedis = append(f.toDatabase, far.Link), append(f.toRedis, link)
		env := append(slices.Clone(f.env), "RELAYPDF_REGION="+region, "RELAYPDF_DATABASE_URL="+far.URL, "RELAYPDF_REDIS_URL=redis://"+link.Address+"/0")
		var own []string
		for n := range 2 - i {
			name := "127.0.0.1:" + storetest.FreePort(t)
			own = append(own, name)
			f.apis = append(f.apis, f.newServer(name, i, append(slices.Clone(env), "RELAYPDF_ROLES=api,web", "RELAYPDF_LISTEN="+name)))
			f.workers = append(f.workers, f.newServer(fmt.Sprintf("worker %s %d", region, n), i, append(slices.Clone(env), "RELAYPDF_ROLES=worker")))
		}
		ports = append(ports, own)
	}
	var behind []string
	f.nginx, behind = startFleetNginx(t, f.dir, ports)
	for _, address := range behind {
		link, err := storetest.NewLink(ctx, "tcp", address, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.toNginx = append(f.toNginx, link)
		f.doors = append(f.doors, (&url.URL{Scheme: "http", Host: link.Address}).String())
	}
	f.clientHook = f.told
	return f
}

// newServer is a process that logs when it counts for itself.
func (f *fleet) newServer(name string, region int, env []string) *fleetServer {
	s := &fleetServer{name: name, region: region}
	s.chaosServer = &chaosServer{program: f.program, env: env, cut: true, heard: func(line []byte) {
		var said struct {
			Time  time.Time
			Level slog.Level
			Msg   string
		}
		if json.Unmarshal(line, &said) != nil {
			return
		}
		if said.Level >= slog.LevelError {
			f.mu.Lock()
			f.errors = append(f.errors, fleetError{name, string(line), said.Time})
			f.mu.Unlock()
		}
		switch {
		case strings.HasPrefix(said.Msg, "count rate limits in Redis failed"):
			f.mu.Lock()
			f.alone = append(f.alone, fleetSpan{of: name, region: region, begin: said.Time})
			f.mu.Unlock()
		case strings.HasPrefix(said.Msg, "Redis answers again"):
			f.notAlone(name, said.Time)
		}
	}}
	f.servers = append(f.servers, s.chaosServer)
	return s
}

// notAlone ends the time in which a process counted for itself.
func (f *fleet) notAlone(name string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.alone {
		if f.alone[i].of == name && f.alone[i].end.IsZero() {
			f.alone[i].end = at
		}
	}
}

// It records a response.
func (f *fleet) told(a fleetAnswer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, a)
}

// fleetFault hurts a part, and heals it.
type fleetFault struct {
	what string
	// of is the origin of 5xx responses meanwhile: a process; "database" or "bucket" for all that need these. With
	// "nginx", which then does not respond, no client gets a response; empty is none.
	of          string
	region      int
	begin, heal func() error
}

func (f *fleet) faults() []fleetFault {
	signal := func(s *fleetServer, how syscall.Signal) func() error {
		return func() error { return s.process.Process.Signal(how) }
	}
	kill := func(s *fleetServer) func() error {
		return func() error {
			s.end(syscall.SIGKILL)
			f.notAlone(s.name, time.Now())
			return nil
		}
	}
	set := func(do func()) func() error { return func() error { do(); return nil } }
	var all []fleetFault
	for _, s := range slices.Concat(f.apis, f.workers) {
		again := func() error { return s.startAnyhow() }
		all = append(all, fleetFault{"kill " + s.name, s.name, s.region, kill(s), again},
			fleetFault{"freeze " + s.name, "", s.region, signal(s, syscall.SIGSTOP), signal(s, syscall.SIGCONT)})
	}
	for i, region := range fleetRegions {
		database, redis, nginx := f.toDatabase[i], f.toRedis[i], f.toNginx[i]
		all = append(all,
			fleetFault{"cut " + region + " off from PostgreSQL", "database", i, set(func() { database.Cut(true) }), set(func() { database.Cut(false) })},
			fleetFault{"lose what goes between " + region + " and PostgreSQL", "database", i, set(func() { database.Stall(true) }), set(func() { database.Stall(false) })},
			fleetFault{"slow PostgreSQL in " + region, "", i, set(func() { database.Slow(40 * time.Millisecond) }), set(func() { database.Slow(time.Duration(i) * fleetDistance / 2) })},
			fleetFault{"cut " + region + " off from Redis", "", i, set(func() { redis.Cut(true) }), set(func() { redis.Cut(false) })},
			fleetFault{"slow Redis in " + region, "", i, set(func() { redis.Slow(40 * time.Millisecond) }), set(func() { redis.Slow(0) })},
			fleetFault{"cut the clients in " + region + " off from nginx", "nginx", i, set(func() { nginx.Cut(true) }), set(func() { nginx.Cut(false) })},
			fleetFault{"slow nginx for the clients in " + region, "", i, set(func() { nginx.Slow(40 * time.Millisecond) }), set(func() { nginx.Slow(0) })})
	}
	all = append(all,
		fleetFault{"kill PostgreSQL", "database", -1, func() error { return f.cluster.Order("stop") }, func() error { return f.cluster.Order("start") }},
		fleetFault{"freeze PostgreSQL", "database", -1, func() error { return f.cluster.Signal(syscall.SIGSTOP) }, func() error { return f.cluster.Signal(syscall.SIGCONT) }},
		fleetFault{"kill Redis", "", -1, f.redis.kill, f.redis.start},
		fleetFault{"freeze Redis", "", -1, func() error { return f.redis.process.Process.Signal(syscall.SIGSTOP) }, func() error { return f.redis.process.Process.Signal(syscall.SIGCONT) }},
		fleetFault{"kill nginx", "nginx", -1, f.nginx.kill, f.nginx.start},
		fleetFault{"freeze nginx", "", -1, func() error { return f.nginx.signal(syscall.SIGSTOP) }, func() error { return f.nginx.signal(syscall.SIGCONT) }},
		fleetFault{"cut S3 off", "bucket", -1, set(func() { f.bucket.Break(fakes3.Down) }), set(func() { f.bucket.Break(nil) })},
		fleetFault{"overload S3", "bucket", -1, set(func() { f.bucket.Break(fakes3.Busy) }), set(func() { f.bucket.Break(nil) })},
		fleetFault{"slow S3", "", -1, set(func() {
			f.bucket.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				<-time.After(100 * time.Millisecond)
				next.ServeHTTP(w, r)
			})
		}), set(func() { f.bucket.Break(nil) })},
		f.frozenBucket())
	return all
}

// frozenBucket is a bucket that answers when it is healed.
func (f *fleet) frozenBucket() fleetFault {
	var thaw chan struct{}
	return fleetFault{"freeze S3", "bucket", -1, func() error {
		frozen := make(chan struct{})
		thaw = frozen
		f.bucket.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			select {
			case <-frozen:
				next.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})
		return nil
	}, func() error {
		f.bucket.Break(nil)
		close(thaw)
		return nil
	}}
}

// run hurts each part in turn for the given time, lets everything come to its end,
// and checks it.
func (f *fleet) run(span time.Duration) {
	t := f.t
	var starting sync.WaitGroup
	for _, s := range f.servers {
		starting.Go(func() {
			if err := s.start(); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	defer func() {
		for _, s := range f.servers {
			_ = s.process.Process.Signal(syscall.SIGCONT)
			s.end(syscall.SIGKILL)
		}
	}()
	if t.Failed() {
		return
	}
	f.registerEndpoints()
	f.awaitReady()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load sync.WaitGroup
	for i, customer := range f.customers {
		for region := range fleetRegions {
			random := rand.New(rand.NewPCG(*chaosSeed, uint64(100*i+region)))
			client := &chaosClient{chaos: f.chaos, customer: customer, random: random, door: f.doors[region], region: region, counted: i == 0}
			load.Go(func() { client.run(ctx) })
		}
	}
	faults := f.faults()
	rand.New(rand.NewPCG(*chaosSeed, 5000)).Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	each := span / time.Duration(2*len(faults)+4)
	began := time.Now()
	<-time.After(4 * each)
	calm := time.Now()
	for _, fault := range faults {
		f.hurtFor(fault, each)
		<-time.After(each)
	}
	f.freezeLong(span)
	cancel()
	load.Wait()

	f.receiver.calmDown()
	f.awaitReady()
	f.awaitCalm()
	f.check()
	f.checkAnswers()
	f.checkWindows()
	f.compareCalls(began, calm, span >= fleetMeasured)
	for _, s := range f.servers {
		s.end(syscall.SIGTERM)
	}
	f.stopAll()
	f.checkNothingLeft()
}

// hurtFor hurts a part for a time, and waits until everything is well again.
func (f *fleet) hurtFor(fault fleetFault, span time.Duration) {
	f.t.Helper()
	begin := time.Now()
	f.mu.Lock()
	f.hurt = append(f.hurt, fleetSpan{of: fault.of, region: fault.region, begin: begin})
	n := len(f.hurt) - 1
	f.mu.Unlock()
	if err := fault.begin(); err != nil {
		f.t.Errorf("%s: %v", fault.what, err)
	}
	<-time.After(span)
	if err := fault.heal(); err != nil {
		f.t.Errorf("heal %s: %v", fault.what, err)
	}
	f.awaitReady()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hurt[n].end = time.Now()
	f.t.Logf("%s: well again after %v", fault.what, f.hurt[n].end.Sub(begin).Round(time.Millisecond))
}

// awaitReady waits until every process for requests reports that it is ready, and has its database, its Redis and its
// bucket, and until one of each region reports that to its clients.
func (f *fleet) awaitReady() {
	f.t.Helper()
	addresses := slices.Clone(f.doors)
	for _, s := range f.apis {
		addresses = append(addresses, "http://"+s.name)
	}
	var last string
	for deadline := time.Now().Add(chaosCalm); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		well := 0
		for _, address := range addresses {
			response, err := chaosHTTP.Get(address + "/health/ready")
			if err != nil {
				last = err.Error()
				continue
			}
			answer, err := readChaos(response)
			last = string(answer.body)
			if err == nil && answer.status == http.StatusOK && strings.Contains(last, `"limits":"ok"`) && strings.Contains(last, `"files":"ok"`) {
				well++
			}
		}
		if well == len(addresses) {
			return
		}
	}
	f.t.Fatalf("after %v not every process is ready: %s", chaosCalm, last)
}

// checkAnswers: who was answered with 5xx was with a process that was killed, or needed the database or the bucket
// while it was away; who got no response, or half of one, was with such a process, or asked nginx while that was
// away.
func (f *fleet) checkAnswers() {
	f.t.Helper()
	excused, all := map[string]int{}, map[int]int{}
	for _, a := range f.answers {
		all[a.status]++
		if a.status != 0 && a.status < 500 {
			continue
		}
		away := []string{"database", "bucket"}
		if a.status == 0 {
			away = []string{"nginx"}
		}
		cause := ""
		for _, s := range f.hurt {
			if s.overlaps(a.asked, a.answered) && (s.of != "" && s.of == a.by || slices.Contains(away, s.of) && (s.region < 0 || s.region == a.region)) {
				cause = s.of
			}
		}
		if cause == "" {
			f.t.Errorf("status %d by %s between %v and %v, while nothing that it needs was away; it logged %s", a.status, a.by, a.asked, a.answered, f.errorsOf(a))
		}
		excused[cause]++
	}
	f.t.Logf("answers by status: %v; of 5xx and none (0) by what was away: %v", all, excused)
	if all[http.StatusOK] < 10 || all[http.StatusAccepted] < 10 || all[http.StatusTooManyRequests] == 0 {
		f.t.Errorf("answers by status: %v: too few to tell", all)
	}
}

// errorsOf returns what the process that gave an answer logged as errors during the call.
func (f *fleet) errorsOf(a fleetAnswer) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var during []string
	for _, e := range f.errors {
		if e.by == a.by && e.at.After(a.asked) && e.at.Before(a.answered) {
			during = append(during, e.line)
		}
	}
	return strings.Join(during, "\n")
}

// checkWindows: while all processes of a region count in Redis, no span of ten
// seconds has more calls of a key than five.
func (f *fleet) checkWindows() {
	f.t.Helper()
	const window, maximum = 10 * time.Second, 5
	f.mu.Lock() // the processes still run, and log
	defer f.mu.Unlock()
	for region := range fleetRegions {
		looked, fullest := 0, 0
		for _, first := range f.answers {
			if !first.counted || first.region != region || !first.took() {
				continue
			}
			end := first.asked.Add(window)
			if slices.ContainsFunc(f.alone, func(s fleetSpan) bool { return s.region == region && s.overlaps(first.asked, end) }) {
				continue
			}
			inside := 0
			for _, a := range f.answers {
				if a.counted && a.region == region && a.took() && !a.asked.Before(first.asked) && a.answered.Before(end) {
					inside++
				}
			}
			looked, fullest = looked+1, max(fullest, inside)
			if inside > maximum {
				f.t.Errorf("%s: %d calls of one key within %v, want %d at most", fleetRegions[region], inside, window, maximum)
			}
		}
		f.t.Logf("%s: %d windows with up to %d calls", fleetRegions[region], looked, fullest)
	}
}

// compareCalls compares how long calls took before the first fault, and between
// faults.
func (f *fleet) compareCalls(began, calm time.Time, strict bool) {
	f.t.Helper()
	var before, between []time.Duration
	for _, a := range f.answers {
		took := a.answered.Sub(a.asked)
		switch {
		case a.status != http.StatusOK || !a.paid || a.asked.Before(began):
		case a.answered.Before(calm):
			before = append(before, took)
		case !slices.ContainsFunc(f.hurt, func(s fleetSpan) bool { return s.overlaps(a.asked, a.answered) }):
			between = append(between, took)
		}
	}
	p95 := func(all []time.Duration) time.Duration {
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return all[len(all)*95/100]
	}
	quiet, later := p95(before), p95(between)
	f.t.Logf("p95 %v of %d calls before the first fault, %v of %d between faults", quiet, len(before), later, len(between))
	if strict && later > 2*quiet {
		f.t.Errorf("p95 between faults is %v, want twice %v at most", later, quiet)
	}
}

// fleetRedis is a Redis that is killed and starts again, with nothing in it.
type fleetRedis struct {
	dir, socket string
	process     *exec.Cmd
}

func startFleetRedis(t *testing.T, dir string) *fleetRedis {
	t.Helper()
	r := &fleetRedis{dir: dir, socket: filepath.Join(dir, "redis")}
	if err := r.start(); err != nil {
		t.Fatalf("%v: run `make setup`", err)
	}
	t.Cleanup(func() { _ = r.kill() })
	return r
}

func (r *fleetRedis) start() error {
	r.process = exec.CommandContext(context.Background(), "redis-server", "--port", "0", "--unixsocket", r.socket, "--save", "", "--appendonly", "no", "--dir", r.dir)
	r.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return storetest.Start(r.process)
}

func (r *fleetRedis) kill() error {
	_, _ = r.process.Process.Kill(), r.process.Wait()
	_ = os.Remove(r.socket)
	return nil
}

// fleetNginx is an nginx that is killed and starts again.
type fleetNginx struct {
	path, work, conf string
	output           io.Writer
	process          *exec.Cmd
}

func (n *fleetNginx) start() error {
	n.process = exec.CommandContext(context.Background(), n.path, "-e", "stderr", "-p", n.work, "-c", n.conf)
	n.process.Stderr = n.output
	n.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return storetest.Start(n.process)
}

// signal sends a signal to all of its processes.
func (n *fleetNginx) signal(what syscall.Signal) error {
	return syscall.Kill(-n.process.Process.Pid, what)
}

func (n *fleetNginx) kill() error {
	err := n.signal(syscall.SIGKILL)
	_ = n.process.Wait() // it reports that it was killed
	return err
}

// startFleetNginx starts nginx with an address for each region, before its processes.
func startFleetNginx(t *testing.T, dir string, regions [][]string) (n *fleetNginx, addresses []string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	n = &fleetNginx{path: path, work: filepath.Join(dir, "nginx"), conf: filepath.Join(dir, "nginx", "conf"), output: t.Output()}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the folders of the test are readable only by their owner
	}
	if err := os.Mkdir(n.work, 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `%[1]s daemon off; worker_processes 1; pid %[2]s/pid; error_log stderr crit; events { worker_connections 4096; }
http { access_log off; client_body_temp_path %[2]s/a; proxy_temp_path %[2]s/b; fastcgi_temp_path %[2]s/c; uwsgi_temp_path %[2]s/d; scgi_temp_path %[2]s/e;
proxy_read_timeout 300s; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; add_header X-Upstream $upstream_addr always;
`, user, n.work)
	for i, own := range regions {
		fmt.Fprintf(&text, "upstream region%d { ", i)
		for _, name := range own {
			fmt.Fprintf(&text, "server %s max_fails=0; ", name)
		}
		address := "127.0.0.1:" + storetest.FreePort(t)
		fmt.Fprintf(&text, "}\nserver { listen %s; location / { proxy_pass http://region%d; } }\n", address, i)
		addresses = append(addresses, address)
	}
	text.WriteString("}\n")
	if err := os.WriteFile(n.conf, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.start(); err != nil {
		t.Fatalf("%v: run `make setup`", err)
	}
	t.Cleanup(func() { _ = n.kill() }) // It may be dead already.
	return n, addresses
}
