package chrome

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// CheckSandbox says what keeps the browser of a user, as in Config.User, from
// making its sandbox here: namespaces of users, processes and the network.
func CheckSandbox(ctx context.Context, user string) error {
	cred, err := credential(user)
	if err != nil {
		return err
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// With a user namespace only, the kernel may still give it no rights in there.
	cmd := exec.CommandContext(ctx, "unshare", "--user", "--pid", "--net", "--fork", "true")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: cred}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("user namespaces are refused: %w %s", err, bytes.TrimSpace(text))
	}
	return nil
}
