package engine

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden are system calls that no engine needs and that attacks on the
// kernel or on other processes begin with. They fail as if the user were not
// permitted to make them.
var forbidden = []uint32{
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	// Namespaces and mounts.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// Parts of the kernel with a history.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// The machine.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// Offsets in struct seccomp_data. The low half of an argument comes first: both supported processors are
// little-endian.
const (
	offsetCall     = 0
	offsetArch     = 4
	offsetArgument = 16
)

// x32Bit marks calls of a second table of the same processor.
const x32Bit = 0x40000000

// namespaceFlags ask clone for namespaces. With its own user namespace, a process would have capabilities again.
const namespaceFlags = namespaces | unix.CLONE_NEWUSER | unix.CLONE_NEWCGROUP

// filterCalls makes the forbidden calls fail, in all threads and programs.
func filterCalls(c *confinement) error {
	calls := forbidden
	if !c.has(unix.CLONE_NEWPID) {
		// Nothing may leave the process group, by which it is killed.
		calls = append([]uint32{unix.SYS_SETSID, unix.SYS_SETPGID}, calls...)
	}
	return installFilter(calls, unixSockets)
}

// unixSockets permits sockets to programs of the same child only.
var unixSockets = []bpf.Instruction{
	bpf.LoadAbsolute{Off: offsetArgument, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipFalse: 1},
	bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
}

// installFilter makes calls fail, and socket end as in the program for it.
func installFilter(calls []uint32, sockets []bpf.Instruction) error {
	arch, known := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !known {
		return errors.New("not written for " + runtime.GOARCH)
	}

	code, err := bpf.Assemble(callFilter(arch, calls, sockets))
	if err != nil {
		return err
	}

	filter := make([]unix.SockFilter, len(code))
	for i, in := range code {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}

	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))) //nolint:gosec // the kernel wants an address
	if errno != 0 {
		return fmt.Errorf("install: %w", errno)
	}
	return nil
}

// callFilter returns the filter's program.
func callFilter(arch uint32, calls []uint32, sockets []bpf.Instruction) []bpf.Instruction {
	refuse := func(errno uint32) bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | errno} }
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	unless := func(value uint32, next uint8) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: next}
	}

	filter := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		refuse(uint32(unix.ENOSYS)),
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		refuse(uint32(unix.ENOSYS)),
		// The C library falls back to clone, whose flags can be seen.
		unless(unix.SYS_CLONE3, 1), refuse(uint32(unix.ENOSYS)),
		unless(unix.SYS_CLONE, 4),
		bpf.LoadAbsolute{Off: offsetArgument, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: namespaceFlags, SkipTrue: 1},
		refuse(uint32(unix.EPERM)),
		allow,
		unless(unix.SYS_SOCKET, uint8(len(sockets))),
	}

	filter = append(filter, sockets...)
	for _, call := range calls {
		filter = append(filter, unless(call, 1), refuse(uint32(unix.EPERM)))
	}
	return append(filter, allow)
}
