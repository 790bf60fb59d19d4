package engine

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// hangTime is the time after which a program hangs that uses no processor time.
	hangTime = 10 * time.Second
	// hangPeriod is the interval at which that is checked. Checks are counted rather than time, because the service can
	// be stopped as a whole, such as with its container.
	hangPeriod = time.Second
	// minTicks is the processor time, in hundredths of a second, that shows that a program works: more than that of
	// LibreOffice when it waits for work.
	minTicks = 2
)

// programTime is the use of the processor by some programs.
type programTime struct {
	confinement *confinement
	programs    []int
	used        int64 // when it last grew
	idle        int   // checks since then
}

// check returns ErrHung when no program has used processor time for hangTime.
func (p *programTime) check() error {
	family, err := p.confinement.recentFamily()
	if err != nil {
		return nil //nolint:nilerr // without a list of processes, nothing is known
	}

	var used int64
	waits := true
	for _, r := range family {
		if !slices.Contains(p.programs, r.program) && !slices.Contains(p.programs, r.session) {
			continue
		}
		used += processorTime(r.listed)
		// Running or waiting for a disk.
		waits = waits && r.code != 'R' && r.code != 'D'
	}

	if !waits || used-p.used >= minTicks || used < p.used {
		p.used = used
		p.idle = 0
		return nil
	}
	if p.idle++; p.idle >= int(hangTime/hangPeriod) {
		return ErrHung
	}
	return nil
}

// processorTime returns the processor time of a process and of its children that have ended, in hundredths of a
// second, or zero if the process has ended.
func processorTime(pid int) (ticks int64) {
	const first, last = 11, 14 // of utime, stime, cutime and cstime
	fields, err := processFields(pid)
	if err != nil || len(fields) <= last {
		return 0
	}

	for _, field := range fields[first : last+1] {
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return ticks
}

// processFields returns what the system knows about a process, from its state on.
func processFields(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", proc, pid))
	if err != nil {
		return nil, err
	}
	_, fields, _ := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), " ")
	return strings.Fields(fields), nil
}

// watchHang cancels the job with ErrHung when the programs hang. The returned function ends the watch.
func (w *Work) watchHang(programs ...int) (stop func()) {
	if w.child.list == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	ended := make(chan struct{})
	p := &programTime{confinement: w.child.confinement, programs: programs}

	go func() {
		defer close(ended)
		watch(stopped, hangPeriod, p.check, w.cancel)
	}()

	return func() {
		close(stopped)
		<-ended
	}
}

// Watch cancels the context of the job with ErrHung when the daemons hang, until stop is called. It is called while the
// handler waits for them.
func (w *Work) Watch(daemons ...*Daemon) (stop func()) {
	var programs []int
	for _, k := range daemons {
		programs = append(programs, k.cmd.Process.Pid)
	}
	return w.watchHang(programs...)
}

// watchStopped kills the child when a signal has stopped it for hangTime. The returned function ends the watch and
// returns ErrHung if that happened.
func (c *child) watchStopped() func() error {
	idle := 0
	return c.killIf(hangPeriod, func() error {
		const stopped = "T"
		fields, err := processFields(c.cmd.Process.Pid)
		waits := err == nil && len(fields) > 0 && fields[0] == stopped
		if !waits {
			idle = 0
			return nil
		}

		if idle++; idle >= int(hangTime/hangPeriod) {
			return ErrHung
		}
		return nil
	})
}
