package main

import (
	"fmt"
	"math/rand/v2"
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
	groups := [][]fleetFault{
		{named["freeze PostgreSQL"]},
		{named["freeze S3"], receiver},
		{named["freeze Redis"], worker, api},
		{f.frozenChildren(f.apis[1], "the browser", "chrome"), f.frozenChildren(f.workers[1], "LibreOffice", "soffice")},
	}
	random := rand.New(rand.NewPCG(*chaosSeed, 6000))
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for _, group := range groups {
		span := longFreeze(run, random)
		var all sync.WaitGroup
		for _, fault := range group {
			all.Go(func() { f.hurtFor(fault, span) })
		}
		all.Wait()
	}
}

// frozenChildren freezes the children of a process whose commands contain a word.
func (f *fleet) frozenChildren(s *fleetServer, what, word string) fleetFault {
	var frozen []int
	return fleetFault{"freeze " + what + " of " + s.name, s.name, s.region, func() error {
		for _, pid := range descendants(s.process.Process.Pid) {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.Contains(string(command), word) && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				frozen = append(frozen, pid)
			}
		}
		if len(frozen) == 0 {
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
