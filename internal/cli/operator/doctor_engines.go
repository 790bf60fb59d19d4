package operator

import (
	"context"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/render"
)

// checkEngines reports the protection of the system from the processes that read customers' documents.
func checkEngines(ctx context.Context, r *render.Renderer, config app.Config) []Finding {
	const name = "engines"
	level, lacks := r.Sandbox()
	found := []Finding{{Check: name, Verdict: good, Message: fmt.Sprintf("the sandbox is %q", level)}}
	if lacks != nil {
		found[0].Verdict = warn
		found[0].Remedy = app.SandboxRemedy(level, config.Container)
		found[0].Message += ": " + strings.ReplaceAll(lacks.Error(), "\n", "; ")
	}

	protections, err := r.Protections(ctx)
	if err != nil {
		return []Finding{{name, fail, err.Error(), "fix the failed checks above first"}}
	}

	on := 0
	for _, p := range protections {
		if p.On {
			on++
			continue
		}
		found = append(found, Finding{
			name, warn, fmt.Sprintf("protection off: %s (%s)", p.Name, p.Why),
			protectionRemedy(p.Name, level, config.Container),
		})
	}

	found[0].Message += fmt.Sprintf("; %d of %d protections of engines and browsers are on", on, len(protections))
	return found
}

// protectionRemedy explains how to get one protection.
func protectionRemedy(name string, level render.Sandbox, container bool) string {
	switch {
	case name == "unprivileged user" && container:
		return "nothing has to be done: the others hold; --user root gives the engines a user of their own, where " +
			"the data folder is root's"
	case name == "unprivileged user":
		return "nothing has to be done: the others hold; a service that is started as root, with a data folder of " +
			"root's, gives the engines a user of their own"
	case name == render.BrowserMemory:
		return "nothing has to be done: each process is looked at every quarter of a second; with the program " +
			"prlimit of the package util-linux the kernel keeps the bound too"
	case name == "own list of processes" && container && level == render.SandboxFull:
		return "nothing has to be done: Landlock keeps the other processes closed; --security-opt " +
			"systempaths=unconfined gives the engines their own"
	case name == "Landlock":
		return "use a kernel with Landlock (5.13 or newer) that is on: /sys/kernel/security/lsm names it"
	}

	return app.SandboxRemedy(level, container)
}
