package chrome

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// Command returns a browser that has not been started, with the flags, user,
// environment and folders that a Pool would give it, and the function that
// removes the folders when it has ended. It is for measurements that speak to a
// browser of their own: descriptors 3 (commands) and 4 (answers) are theirs to
// add. ctx bounds the preparation only.
func Command(ctx context.Context, cfg Config) (cmd *exec.Cmd, remove func() error, err error) {
	if cfg, err = cfg.withDefaults(); err != nil {
		return nil, nil, err
	}

	h, err := newHome(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}

	profile, err := h.mkdir("profile")
	if err != nil {
		return nil, nil, errors.Join(err, h.remove())
	}
	if cmd, err = command(cfg, h, profile); err != nil {
		return nil, nil, errors.Join(err, h.remove())
	}

	return cmd, h.remove, nil
}

// command returns the browser's command without its pipes. Its session is its
// own, and so its process group, by which it can be killed with its helpers. The
// kernel divides processors among sessions first (autogroups, see sched(7)): an
// account's browser has its share of them whatever others' browsers do. In a
// control group it divides among threads alone.
func command(cfg Config, h home, profile string) (*exec.Cmd, error) {
	words := []string{cfg.Binary}
	user := h.cred

	if cfg.Confine != nil {
		lock, err := cfg.Confine(h.cred, cfg.maxMemory(), h.user, profile)
		if err != nil {
			return nil, fmt.Errorf("chrome: confine the browser: %w", err)
		}
		words = append(lock, words...)
		user = nil
	}

	words = append(words, commandLine(cfg, profile)...)
	if limit, err := cfg.limitCommand(); err == nil { // See Bounded.
		words = append(limit, words...)
	}

	cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // It ends with its pipe, not with a job.
	cmd.Env = h.environment()
	cmd.Dir = h.user
	cmd.WaitDelay = leaveTimeout // A helper may hold stderr open after the main process left.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user, Setsid: true}
	return cmd, nil
}
