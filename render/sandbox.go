package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"relaypdf/render/chrome"
	"relaypdf/render/engine"
)

// Sandbox is how well the system and other accounts are protected from what a
// document may make of a browser or an engine. See docs/security.md.
type Sandbox string

// The best comes first.
const (
	// SandboxFull gives the browser's processes and each engine namespaces.
	SandboxFull Sandbox = "full"
	// SandboxReduced has no namespaces, but Landlock, which keeps files closed.
	SandboxReduced Sandbox = "reduced"
	// SandboxNone has neither.
	SandboxNone Sandbox = "none"
)

var sandboxes = []Sandbox{SandboxFull, SandboxReduced, SandboxNone}

// Below tells whether s protects less than other.
func (s Sandbox) Below(other Sandbox) bool {
	return slices.Index(sandboxes, s) > slices.Index(sandboxes, other)
}

// SandboxError is a start that was refused for want of protection.
type SandboxError struct {
	// Wanted is the least that was asked for, and Got what there is.
	Wanted, Got Sandbox
	// Missing says what is missing.
	Missing error
}

func (e *SandboxError) Error() string {
	return fmt.Sprintf("the sandbox would be %q, and %q is wanted: %v", e.Got, e.Wanted, e.Missing)
}

func (e *SandboxError) Unwrap() error { return e.Missing }

// CheckLandlock says why there is no Landlock here, if there is none.
func CheckLandlock() error { return engine.CheckLandlock() }

// Sandboxes are all levels, the best first.
func Sandboxes() []Sandbox { return slices.Clone(sandboxes) }

// Sandbox returns the level that is in force, and what keeps it from being
// SandboxFull, if it is not.
func (r *Renderer) Sandbox() (level Sandbox, lacks error) { return r.sandbox, r.lacks }

// checkBrowser finds out, before the browser starts, why it can have no sandbox
// of its own, and whether it may go without.
func (c Config) checkBrowser(ctx context.Context) (bare, err error) {
	if bare = chrome.CheckSandbox(ctx, c.User); bare == nil {
		return nil, nil
	}
	got, missing := SandboxReduced, fmt.Errorf("browser: %w", bare)
	if lockErr := engine.CheckLandlock(); lockErr != nil {
		got, missing = SandboxNone, errors.Join(missing, lockErr)
	}
	return bare, c.refuse(got, missing)
}

// refuse returns the error of a level that is less than what is wanted.
func (c Config) refuse(got Sandbox, missing error) error {
	if wanted := cmp.Or(c.Sandbox, SandboxFull); got.Below(wanted) {
		return &SandboxError{Wanted: wanted, Got: got, Missing: missing}
	}
	return nil
}

// judge says which level has come of what the browser and the engines could do.
func (r *Renderer) judge(ctx context.Context, cfg Config) error {
	all, err := r.engines.Protections(ctx)
	if err != nil {
		return err
	}
	why := map[string]error{}
	var off []string
	for _, p := range all {
		if !p.On {
			off = append(off, p.Name)
			why[p.Name] = fmt.Errorf("engines: %s: %s", p.Name, p.Why)
		}
	}
	root, landlock := why[engine.OwnFileSystem], why[engine.Landlock]
	r.sandbox = SandboxFull
	switch {
	case (cfg.bare != nil || root != nil) && landlock != nil:
		r.sandbox = SandboxNone
	case cfg.bare != nil || root != nil:
		r.sandbox = SandboxReduced
	}
	if r.sandbox == SandboxFull {
		cfg.Logger.Info("sandbox", "level", string(r.sandbox), "enginesLack", off)
		return nil
	}
	r.lacks = errors.Join(cfg.bare, root)
	if r.sandbox == SandboxNone {
		r.lacks = errors.Join(r.lacks, landlock)
	}
	if err := cfg.refuse(r.sandbox, r.lacks); err != nil {
		return err
	}
	cfg.Logger.Warn("the sandbox is less than full", "level", string(r.sandbox), "why", strings.ReplaceAll(r.lacks.Error(), "\n", "; "), "enginesLack", off)
	return nil
}

// confine locks in a browser that cannot do so itself.
func (c Config) confine(proxy string) func(*syscall.Credential, int64, ...string) ([]string, error) {
	if c.bare == nil {
		return nil
	}
	return func(user *syscall.Credential, memory int64, folders ...string) ([]string, error) {
		address, err := url.Parse(proxy)
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(address.Port(), 10, 16)
		if err != nil {
			return nil, err
		}
		b := engine.Browser{Folders: folders, Reads: []string{c.fonts.File}, Port: uint16(port), Memory: memory, Open: c.Sandbox == SandboxNone}
		if c.fonts.Folder != "" {
			b.Reads = append(b.Reads, c.fonts.Folder)
		}
		if user != nil {
			b.UID, b.GID = int(user.Uid), int(user.Gid)
		}
		args, err := b.Args()
		return slices.Concat(engine.Command(c.Engine), args), err
	}
}
