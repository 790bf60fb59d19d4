package priority

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAsideOfMainThread steps aside while the program's first thread, which is any
// goroutine's, does so already: the processors of who steps aside do not become fewer.
func TestAsideOfMainThread(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &all); err != nil {
		t.Fatal(err)
	}
	want := reservedCores()
	if want == nil {
		t.Skip("there is one processor")
	}
	if err := unix.SchedSetaffinity(os.Getpid(), want); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(os.Getpid(), &all); err != nil {
			t.Error(err)
		}
	}()
	got := make(chan unix.CPUSet)
	go func() {
		runtime.LockOSThread() // It ends with the thread.
		var set unix.CPUSet
		MoveThreadToBackground()
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			t.Error(err)
		}
		got <- set
	}()
	if set := <-got; set != *want {
		t.Errorf("may use %d processors, want %d", set.Count(), want.Count())
	}
}
