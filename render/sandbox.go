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

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
)

// Sandbox is the level of protection of the system and of other accounts against a document that takes over a
// browser or an engine. See docs/operations/hardening.md.
type Sandbox string

// The levels, best first.
const (
	// SandboxFull runs the browser's processes and each engine in namespaces.
	SandboxFull Sandbox = "full"
	// SandboxReduced has no namespaces, but Landlock, which restricts access to files.
	SandboxReduced Sandbox = "reduced"
	// SandboxNone has neither.
	SandboxNone Sandbox = "none"
)

var sandboxes = []Sandbox{SandboxFull, SandboxReduced, SandboxNone}

// Below reports whether s protects less than other.
func (s Sandbox) Below(other Sandbox) bool {
	return slices.Index(sandboxes, s) > slices.Index(sandboxes, other)
}

// SandboxError is the error of a start with too little protection.
type SandboxError struct {
	// Wanted is the required minimum, and Got the available level.
	Wanted, Got Sandbox
	// Missing is the reason why the level is not higher.
	Missing error
}

func (e *SandboxError) Error() string {
	return fmt.Sprintf("the sandbox would be %q, and %q is wanted: %v", e.Got, e.Wanted, e.Missing)
}

func (e *SandboxError) Unwrap() error { return e.Missing }

// CheckLandlock returns the reason why Landlock is unavailable, or nil.
func CheckLandlock() error { return engine.CheckLandlock() }

// Sandboxes returns all levels, best first.
func Sandboxes() []Sandbox { return slices.Clone(sandboxes) }

// Sandbox returns the current level, and the reason why it is not SandboxFull, or nil.
func (r *Renderer) Sandbox() (level Sandbox, lacks error) { return r.sandbox, r.lacks }

// checkBrowser finds out before the start why the browser cannot have its own sandbox, and whether it may run
// without one.
func (c Config) checkBrowser(ctx context.Context) (bare, err error) {
	if bare = chrome.CheckSandbox(ctx, c.User); bare == nil {
		return nil, nil
	}
	got := SandboxReduced
	missing := fmt.Errorf("browser: %w", bare)
	if lockErr := engine.CheckLandlock(); lockErr != nil {
		got, missing = SandboxNone, errors.Join(missing, lockErr)
	}
	return bare, c.refuse(got, missing)
}

// refuse returns the error of a level below the required one.
func (c Config) refuse(got Sandbox, missing error) error {
	if wanted := cmp.Or(c.Sandbox, SandboxFull); got.Below(wanted) {
		return &SandboxError{Wanted: wanted, Got: got, Missing: missing}
	}
	return nil
}

// judge determines the level from the protections of the browser and the engines.
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

	root := why[engine.OwnFileSystem]
	landlock := why[engine.Landlock]
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
	cfg.Logger.Warn(
		"the sandbox is less than full", "level", string(r.sandbox),
		"why", strings.ReplaceAll(r.lacks.Error(), "\n", "; "),
		"enginesLack", off,
	)

	return nil
}

// confine confines a browser that cannot do so itself.
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

		b := engine.Browser{
			Folders: folders,
			Reads:   []string{c.fonts.File},
			Port:    uint16(port),
			Memory:  memory,
			Open:    c.Sandbox == SandboxNone,
		}
		if c.fonts.Folder != "" {
			b.Reads = append(b.Reads, c.fonts.Folder)
		}
		if user != nil {
			b.UID = int(user.Uid)
			b.GID = int(user.Gid)
		}

		args, err := b.Args()
		return slices.Concat(engine.Command(c.Engine), args), err
	}
}
