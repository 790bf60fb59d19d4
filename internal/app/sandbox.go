package app

import (
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render"
)

// SandboxRemedy explains how to get the missing protection, and how to run without it.
func SandboxRemedy(got render.Sandbox, container bool) string {
	how := "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) " +
		"or kernel.unprivileged_userns_clone=1 (Debian), and user.max_user_namespaces above 0"
	if container {
		how = "run the container with --security-opt seccomp=deploy/seccomp.json " +
			"(Kubernetes: a Localhost seccompProfile), on a machine that allows user namespaces"
	}
	if got == render.SandboxNone {
		how += "; or use a kernel with Landlock (5.13 or newer), which is enough for RELAYPDF_SANDBOX=reduced"
	}
	return how + "; or set RELAYPDF_SANDBOX=" + string(got) + " to start with less, see docs/operations/hardening.md"
}

// WithRemedy adds the remedy to the error of a start with too little protection.
func WithRemedy(err error, config Config) error {
	var weak *render.SandboxError
	if errors.As(err, &weak) {
		return fmt.Errorf("RELAYPDF_SANDBOX: %w; %s", err, SandboxRemedy(weak.Got, config.Container))
	}
	return err
}
