package chrome

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// CheckSandbox returns the reason why the browser of a user, as in Config.User, cannot create its sandbox here. The
// sandbox needs namespaces of users, processes and the network, and the right to use them, which a security module
// may refuse.
func CheckSandbox(ctx context.Context, user string) error {
	cred, err := credential(user)
	if err != nil {
		return err
	}

	const checkTimeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()

	// With a user namespace only, the kernel may still give it no rights in there. The
	// browser needs them to change its root.
	try := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "unshare", args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
		text, err := cmd.CombinedOutput()
		return string(bytes.TrimSpace(text)), err
	}

	if text, err := try("--user", "--pid", "--net", "--fork", "true"); err != nil {
		return fmt.Errorf("user namespaces are refused: %w %s", err, text)
	}
	if text, err := try("--user", "--map-root-user", "--pid", "--net", "--fork", "chroot", "/", "true"); err != nil {
		return fmt.Errorf("user namespaces give no rights: %w %s", err, text)
	}
	return nil
}
