package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// proc is the folder in which the kernel lists processes.
const proc = "/proc"

// mountProc gives the new root at base a list of the child's own processes. The kernel refuses this if a part of
// the system's list is hidden, as in containers. Then the child sees the system's list, because Java and
// LibreOffice do not start without one. This requires Landlock, which blocks access to other processes'
// environment, memory, files and folders, and to the list as such; see restrictFiles.
func (c *confinement) mountProc() error {
	const closed = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	err := mountAt(c.base+proc, "proc", closed, "")
	if err == nil {
		return nil
	}

	c.shared = fmt.Errorf("%w: the container hides parts of %s", err, proc)
	if lockErr := CheckLandlock(); lockErr != nil {
		c.shared = fmt.Errorf("%w, and %w", c.shared, lockErr)
		return nil // without any, most programs work
	}

	c.exposed = true
	return expose(c.base, proc, proc, readOnly|unix.MOUNT_ATTR_NOEXEC)
}

// ownProcessList reports on it.
func ownProcessList(c *confinement) error {
	if !c.private {
		return errNoRoot
	}
	return c.shared
}

var errNoRoot = errors.New("needs a file system of its own")

// openProcesses keeps the list of processes open, which Landlock is going to
// close for everybody else, and so makes it possible to count their memory.
func openProcesses(c *confinement) (err error) {
	if c.list, err = os.Open(proc); err != nil {
		return err
	}
	if _, err := c.family(); err != nil {
		_ = c.list.Close() // nothing was written
		c.list = nil
		return err
	}
	return nil
}

// relative is this process or one that descends from it.
type relative struct {
	// pid and session are numbers as this process sees them; the list may have
	// others.
	pid, session int
	// listed is its number in the list, and program the pid of the child of this process that it descends from, or is.
	listed, program int

	code   byte // 'Z' has ended
	orphan bool // this process is its parent
	pages  int64
}

// entry is a process of the list, with the list's own numbers.
type entry struct {
	parent int
	relative
}

// scanPeriod is the interval at which checks of the memory read the entries of all the system's processes. In between
// they read those of the family, and of processes that are new to the list: where it is the system's, it is long.
const scanPeriod = time.Second

// family returns this process and all its descendants. None of them can leave:
// who loses its parent becomes a child of this process.
func (c *confinement) family() ([]relative, error) {
	c.listing.Lock()
	defer c.listing.Unlock()
	return c.scanProcesses(nil)
}

// recentFamily is family, but that a process whose number belonged to another one within siftPeriod may be missing.
func (c *confinement) recentFamily() ([]relative, error) {
	c.listing.Lock()
	defer c.listing.Unlock()
	if time.Since(c.lastScan) > scanPeriod {
		c.others = nil
		c.lastScan = time.Now()
	}
	return c.scanProcesses(c.others)
}

// scanProcesses returns the family, and notes who else is on the list. It does not read the entries of those who are known not
// to be of the family.
func (c *confinement) scanProcesses(known map[int]bool) ([]relative, error) {
	if _, err := c.list.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}

	names, err := c.list.Readdirnames(-1)
	if err != nil {
		return nil, err
	}

	link, err := os.Readlink(filepath.Join(proc, "self"))
	if err != nil {
		return nil, err
	}
	self, err := strconv.Atoi(link)
	if err != nil {
		return nil, err
	}

	all := map[int]entry{}
	others := map[int]bool{0: true} // 0 is no process, and the parent of the first
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if known[pid] {
			others[pid] = true
		} else if e, err := readEntry(pid); err == nil { // else it has ended by now
			all[pid] = e
		}
	}

	var family []relative
	for pid, e := range all {
		up := pid
		below := pid
		for range len(all) {
			above, listed := all[up]
			if !listed || up == self || others[up] {
				break
			}
			below = up
			up = above.parent
		}

		switch {
		case up == self:
			e.listed = pid
			e.program = all[below].pid
			e.orphan = e.parent == self
			e.pages = ownPages(pid)
			family = append(family, e.relative)
		case others[up]:
			others[pid] = true
		}
	}

	c.others = others
	return family, nil
}

// readEntry reads the entry of a process.
func readEntry(pid int) (e entry, err error) {
	status, err := os.ReadFile(fmt.Sprintf("%s/%d/status", proc, pid))
	if err != nil {
		return e, err
	}

	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}

		switch name {
		case "State":
			e.code = fields[0][0]
		case "PPid":
			e.parent, err = strconv.Atoi(fields[0])
		case "NSpid": // the outermost namespace first
			e.pid, err = strconv.Atoi(fields[len(fields)-1])
		case "NSsid":
			e.session, err = strconv.Atoi(fields[len(fields)-1])
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// ownPages returns how much memory a process has that it shares with no other, or zero if it has ended by now.
func ownPages(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/statm", proc, pid))
	if err != nil {
		return 0
	}

	var size, resident, shared int64
	if _, err := fmt.Sscan(string(text), &size, &resident, &shared); err != nil {
		return 0
	}
	return resident - shared
}

// checkMemory reports whether all processes of the child together hold more than
// limit bytes of memory of their own.
func (c *confinement) checkMemory(limit int64) error {
	family, err := c.recentFamily()
	if err != nil {
		return err
	}

	var pages int64
	for _, r := range family {
		pages += r.pages
	}
	if pages*int64(os.Getpagesize()) > limit {
		return fmt.Errorf("memory of all processes: %w", errOvergrown)
	}
	return nil
}

// strayProcesses returns the living processes of the family, except this one and those in the sessions of daemons. It
// removes ended processes from the process table.
func (c *innerChild) strayProcesses() (pids []int, err error) {
	family, err := c.family()
	for _, r := range family {
		switch {
		case r.pid == os.Getpid():
		case r.code == 'Z':
			if r.orphan && !slices.Contains(c.daemons, r.pid) {
				_, _ = unix.Wait4(r.pid, nil, unix.WNOHANG, nil)
			}
		case !slices.Contains(c.daemons, r.session):
			pids = append(pids, r.pid)
		}
	}
	return pids, err
}
