package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// freezeLong freezes each kind of part for 5 s and more, those that do not depend on each
// other at once, where the run is long enough for that.
func (f *fleet) freezeLong(run time.Duration) {
	f.t.Helper()
	if run < longRun {
		return
	}
	named := map[string]fleetFault{}
	for _, fault := range f.faults() {
		named[fault.what] = fault
	}
	receiver := fleetFault{"freeze the receiver", "", -1, func() error { f.receiver.freeze(true); return nil }, func() error { f.receiver.freeze(false); return nil }}
	worker, api := named["freeze "+f.workers[0].name], named["freeze "+f.apis[0].name]
	office := f.frozenChildren(f.workers[1], "LibreOffice", "soffice")
	groups := [][]fleetFault{
		{f.unready(named["freeze PostgreSQL"], func(status int, body string) bool {
			return status == http.StatusServiceUnavailable && strings.Contains(body, `"database":"failed"`)
		})},
		{named["freeze S3"], receiver, api},
		// Each process counts for itself meanwhile, and remains ready.
		{f.unready(named["freeze Redis"], func(status int, body string) bool {
			return status == http.StatusOK && strings.Contains(body, `"limits":"alone"`)
		}), worker},
		{office, f.frozenChildren(f.apis[1], "the browser", "chrome")},
	}
	random := rand.New(rand.NewPCG(*chaosSeed, 6000))
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for _, group := range groups {
		span := longFreeze(run, random)
		if group[0].what == office.what {
			span = min(span, browserFreeze)
		}
		var all sync.WaitGroup
		for _, fault := range group {
			all.Go(func() { f.hurtFor(fault, span) })
		}
		all.Wait()
	}
}

// unready is a fault while which every process for requests responds to /health/ready
// within the freeze, as accept wants it, and to /health as ever.
func (f *fleet) unready(fault fleetFault, accept func(status int, body string) bool) fleetFault {
	begin, heal := fault.begin, fault.heal
	var end func()
	fault.begin = func() error {
		err := begin()
		ctx, cancel := context.WithCancel(f.t.Context())
		var asking sync.WaitGroup
		for _, s := range f.apis {
			asking.Go(func() { f.awaitUnready(ctx, fault.what, s, accept) })
		}
		end = func() { cancel(); asking.Wait() }
		return err
	}
	fault.heal = func() error {
		end()
		return heal()
	}
	return fault
}

// awaitUnready waits until a process responds as accept wants it. The end of ctx is too late.
func (f *fleet) awaitUnready(ctx context.Context, what string, s *fleetServer, accept func(status int, body string) bool) {
	last := "nothing"
	for ctx.Err() == nil {
		if answer, err := getHealth(ctx, s, "/health"); ctx.Err() == nil && (err != nil || answer.status != http.StatusOK) {
			f.t.Errorf("%s: /health of %s: %d %s, %v", what, s.name, answer.status, answer.body, err)
			return
		}
		if answer, err := getHealth(ctx, s, "/health/ready"); err == nil {
			if accept(answer.status, string(answer.body)) {
				return
			}
			last = fmt.Sprint(answer.status, " ", string(answer.body))
		}
	}
	f.t.Errorf("%s: /health/ready of %s said %s until the end", what, s.name, last)
}

func getHealth(ctx context.Context, s *fleetServer, path string) (chaosAnswer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.name+path, nil)
	if err != nil {
		return chaosAnswer{}, err
	}
	response, err := chaosHTTP.Do(request)
	if err != nil {
		return chaosAnswer{}, err
	}
	return readChaos(response)
}

// frozenChildren freezes the children of a process whose commands contain a word.
func (f *fleet) frozenChildren(s *fleetServer, what, word string) fleetFault {
	var frozen []int
	return fleetFault{"freeze " + what + " of " + s.name, s.name, s.region, func() error {
		if frozen = stopChildren(s.pid(), word); len(frozen) == 0 {
			return fmt.Errorf("%s has no process of %s", s.name, what)
		}
		return nil
	}, func() error {
		for _, pid := range frozen {
			_ = syscall.Kill(pid, syscall.SIGCONT) // It may have been ended meanwhile.
		}
		return nil
	}}
}

// descendants lists the children of a process, their children, and so on.
func descendants(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}
