package engine

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharedTemp is the folder in which LibreOffice creates its pipes, regardless of TMPDIR.
const sharedTemp = "/tmp"

// removePipes removes the pipes of LibreOffice processes of this user without their own file system: they may
// create sockets there, and remove nothing.
func removePipes(uid int) {
	if uid == 0 {
		uid = os.Getuid()
	}

	left, err := filepath.Glob(filepath.Join(sharedTemp, "OSL_PIPE_*"))
	if err != nil {
		return // only a malformed pattern fails
	}

	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Type() != fs.ModeSocket {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != uid {
			continue
		}

		conn, err := new(net.Dialer).DialContext(context.Background(), "unix", path)
		switch {
		case err == nil:
			_ = conn.Close() // of a living LibreOffice process, which sees a client that left
		case errors.Is(err, unix.ECONNREFUSED):
			_ = os.Remove(path) // another process may have been first
		}
	}
}
