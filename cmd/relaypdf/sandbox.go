package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"relaypdf/render"
)

// sandboxRemedy explains how to get the missing protection, and how to run without it.
func sandboxRemedy(got render.Sandbox, container bool) string {
	how := "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) or kernel.unprivileged_userns_clone=1 (Debian), and user.max_user_namespaces above 0"
	if container {
		how = "run the container with --security-opt seccomp=deploy/seccomp.json (Kubernetes: a Localhost seccompProfile), on a machine that allows user namespaces"
	}
	if got == render.SandboxNone {
		how += "; or use a kernel with Landlock (5.13 or newer), which is enough for RELAYPDF_SANDBOX=reduced"
	}
	return how + "; or set RELAYPDF_SANDBOX=" + string(got) + " to start with less, see docs/security.md"
}

// withRemedy completes the error of a start that was refused for want of
// protection.
func withRemedy(err error, config Config) error {
	var weak *render.SandboxError
	if errors.As(err, &weak) {
		return fmt.Errorf("RELAYPDF_SANDBOX: %w; %s", err, sandboxRemedy(weak.Got, config.container))
	}
	return err
}

// checkEngines reports the protection of the system from the processes that read customers' documents.
func checkEngines(ctx context.Context, r *render.Renderer, config Config) []finding {
	const name = "engines"
	level, lacks := r.Sandbox()
	found := []finding{{Check: name, Verdict: good, Message: fmt.Sprintf("the sandbox is %q", level)}}
	if lacks != nil {
		found[0].Verdict, found[0].Remedy = warn, sandboxRemedy(level, config.container)
		found[0].Message += ": " + strings.ReplaceAll(lacks.Error(), "\n", "; ")
	}
	protections, err := r.Protections(ctx)
	if err != nil {
		return []finding{{name, fail, err.Error(), "mend what failed above first"}}
	}
	on := 0
	for _, p := range protections {
		if p.On {
			on++
			continue
		}
		found = append(found, finding{name, warn, fmt.Sprintf("not protected by: %s (%s)", p.Name, p.Why), protectionRemedy(p.Name, level, config.container)})
	}
	found[0].Message += fmt.Sprintf("; %d of %d protections of engines and browsers are on", on, len(protections))
	return found
}

// protectionRemedy explains how to get one protection.
func protectionRemedy(name string, level render.Sandbox, container bool) string {
	switch {
	case name == "unprivileged user" && container:
		return "nothing has to be done: the others hold; --user root gives the engines a user of their own, where the data folder is root's"
	case name == "unprivileged user":
		return "nothing has to be done: the others hold; a service that is started as root, with a data folder of root's, gives the engines a user of their own"
	case name == render.BrowserMemory:
		return "nothing has to be done: each process is looked at every quarter of a second; with the program prlimit of the package util-linux the kernel keeps the bound too"
	case name == "own list of processes" && container && level == render.SandboxFull:
		return "nothing has to be done: Landlock keeps the other processes closed; --security-opt systempaths=unconfined gives the engines their own"
	case name == "Landlock":
		return "use a kernel with Landlock (5.13 or newer) that is on: /sys/kernel/security/lsm names it"
	}
	return sandboxRemedy(level, container)
}
