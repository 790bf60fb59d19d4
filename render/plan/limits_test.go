package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  Limits
	}{
		"nothing":   {nil, Limits{}},
		"unlimited": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/pids.max": "max\n", "proc/self/uid_map": "0 0 4294967295\n"}, Limits{Users: 4294967295}},
		"limited":   {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/pids.max": "100\n"}, Limits{Processes: 100, ProcessesBy: "pids.max of the control group"}},
		"by parent": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/pids.max": "40\n", "sys/fs/cgroup/a/b/pids.max": "100\n"}, Limits{Processes: 40, ProcessesBy: "pids.max of the control group"}},
		"container": {map[string]string{"proc/self/cgroup": "0::/docker/1\n", "sys/fs/cgroup/pids.max": "60\n"}, Limits{Processes: 60, ProcessesBy: "pids.max of the control group"}},
		"version 1": {map[string]string{"proc/self/cgroup": "9:pids:/a\n5:memory:/a\n", "sys/fs/cgroup/pids/a/pids.max": "80\n"}, Limits{Processes: 80, ProcessesBy: "pids.max of the control group"}},
		"one user":  {map[string]string{"proc/self/uid_map": "         0       1000          1\n"}, Limits{Users: 1}},
		"two maps":  {map[string]string{"proc/self/uid_map": "0 1000 1\n1 100000 65536\n"}, Limits{Users: 65537}},
	} {
		root := t.TempDir()
		for file, text := range tt.files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := limitsBelow(root); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestShortages(t *testing.T) {
	t.Parallel()
	p := For(Machine{Memory: 2 * gib, Cores: 2})
	enough := int64(p.MinProcesses())
	for _, tt := range []struct {
		limits Limits
		want   string
	}{
		{Limits{}, ""},
		{Limits{Files: MinFiles, Processes: enough, Users: 65536}, ""},
		{Limits{Files: 256}, "open files: 256 files may be open; the server needs 1024"},
		{Limits{Files: MinFiles - 1}, "open files: 1023 files"},
		{Limits{Processes: 100, ProcessesBy: "pids.max"}, "processes: 100 processes and threads (pids.max); this plan needs 368"},
		{Limits{Processes: 40}, "processes: 40"},
		{Limits{Processes: enough - 1}, "processes: 367"},
		{Limits{Users: 1}, "users: the user namespace has one user ID"},
		{Limits{Files: 256, Processes: 40, Users: 1}, "open files: 256"},
	} {
		found := p.Shortages(tt.limits)
		got := ""
		if len(found) > 0 {
			got = found[0].Name + ": " + found[0].Message
		}
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v: got %q, want %q", tt.limits, got, tt.want)
		}
		for _, short := range found {
			if short.Remedy == "" {
				t.Errorf("%+v: no remedy of %s", tt.limits, short.Name)
			}
		}
	}
	// A machine of 2 cores and 23 GiB had 327 threads with 9 clients of all engines, and 3 of its 4 browsers.
	if needed := For(Machine{Memory: 23 * gib, Cores: 2}).MinProcesses(); needed < 400 || needed > 600 {
		t.Errorf("a plan for 2 cores needs %d processes", needed)
	}
}
