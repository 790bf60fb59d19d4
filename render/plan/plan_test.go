package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlan(t *testing.T) {
	tests := []struct {
		memory, cores int
		want          string // renders, browsers and pages; engines, markup, LibreOffice processes; bounds in MiB
	}{
		{1, 1, "1 1 2 | 1 1 1 | 512 256 256 768 64"},
		{1, 2, "2 1 2 | 2 1 1 | 512 256 256 768 64"},
		{2, 2, "2 2 5 | 2 1 1 | 512 512 512 1024 128"},
		{4, 2, "2 4 10 | 2 1 2 | 1024 1024 1024 1536 256"},
		{8, 2, "2 4 16 | 2 1 2 | 2048 2048 1024 1536 512"},
		{8, 8, "8 8 20 | 4 4 4 | 512 2048 1024 1536 512"},
		{24, 8, "8 10 61 | 8 4 8 | 1536 2048 1024 1536 1024"},
		{24, 2, "2 4 16 | 2 1 2 | 6144 2048 1024 1536 1024"},
		{2, 64, "4 2 5 | 2 4 1 | 512 512 512 1024 128"},
	}
	for _, tt := range tests {
		p := For(Machine{Memory: int64(tt.memory) * gib, Cores: tt.cores})
		got := fmt.Sprintf("%d %d %d | %d %d %d | %d %d %d %d %d", p.RenderSlots, p.Browsers, p.WarmPages,
			p.EngineSlots, p.MarkupSlots, p.OfficeSlots,
			p.BrowserMemory/mib, p.RendererMemory/mib, p.EngineMemory/mib, p.OfficeMemory/mib, p.Decoding/mib)
		if got != tt.want {
			t.Errorf("%d GiB and %d cores: planned %s, want %s", tt.memory, tt.cores, got, tt.want)
		}
	}
}

// TestPlanFits adds up what is there when nothing is to be done but pages and LibreOffice processes are warm, on
// every size of machine.
func TestPlanFits(t *testing.T) {
	const server, browser, engine = 100 * mib, 150 * mib, 20 * mib
	for memory := int64(1); memory <= 256; memory *= 2 {
		for cores := 1; cores <= 64; cores *= 2 {
			p := For(Machine{Memory: memory * gib, Cores: cores})
			idle := server + int64(p.Browsers)*browser + int64(p.WarmPages)*pageMemory +
				int64(p.EngineSlots+p.MarkupSlots+2)*engine + int64(p.OfficeSlots)*officeIdle
			if idle > memory*gib*9/10 {
				t.Errorf("%d GiB and %d cores: at rest %d MiB are held: %+v", memory, cores, idle/mib, p)
			}
		}
	}
}

// TestMaxCells: a table of 8,000 cells took 117 MiB, and 3,500 rows of 8 cells are within the least plan of 2 GiB.
func TestMaxCells(t *testing.T) {
	for memory, want := range map[int64]int{1: 14_000, 2: 31_000, 8: 129_000, 64: 129_000} {
		if got := For(Machine{Memory: memory * gib, Cores: 2}).MaxCells(); got != want {
			t.Errorf("%d GiB: %d cells, want %d", memory, got, want)
		}
	}
}

func TestPlanOfThisMachine(t *testing.T) {
	p := For(Machine{})
	if p.Machine.Memory < 128*mib || p.Machine.Cores < 1 || p.RenderSlots < 1 {
		t.Errorf("planned for %+v", p.Machine)
	}
}

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:       8388608 kB\nMemFree:         123 kB\n"
	tests := map[string]struct {
		files map[string]string
		want  int64
		from  string
	}{
		"nothing":     {nil, 2 * gib, "guess"},
		"no group":    {map[string]string{"proc/meminfo": meminfo}, 8 * gib, "machine"},
		"unlimited":   {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 8 * gib, "machine"},
		"limited":     {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2147483648\n"}, 2 * gib, "group"},
		"by parent":   {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1073741824\n", "sys/fs/cgroup/a/b/memory.max": "2147483648\n"}, gib, "group"},
		"container":   {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/1\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, gib, "group"},
		"version 1":   {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, gib, "group"},
		"v1 no limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8 * gib, "machine"},
		"another":     {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpuset:/\nrubbish\n", "sys/fs/cgroup/memory.max": "1\n"}, 8 * gib, "machine"},
	}
	for name, tt := range tests {
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
		if got, from := memoryBelow(root); got != tt.want || !strings.Contains(from, tt.from) {
			t.Errorf("%s: %d bytes, from %s; want %d from the %s", name, got, from, tt.want, tt.from)
		}
	}
}
