package chrome

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/render/spool"
)

// binaries are tried in this order if Config.Binary is empty. The headless shell comes first: it prints three times
// as fast as full Chromium and contacts no server.
var binaries = [...]string{
	"/usr/lib/chromium/chromium-headless-shell",
	"chromium-headless-shell",
	"chromium",
}

// FindBinary returns the path of the configured browser, or of the first one that is installed if configured is
// empty. Its error names the package to install.
func FindBinary(configured string) (string, error) {
	candidates := binaries[:]
	if configured != "" {
		candidates = []string{configured}
	}

	for _, c := range candidates {
		if path, err := exec.LookPath(c); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("chrome: no browser found (tried %q): install the Debian package chromium-headless-shell",
		candidates)
}

// home holds everything the browsers of one Pool have on disk.
type home struct {
	folder *spool.Folder
	root   string // of the folder; the browser's user must pass through
	user   string // HOME of the browser, with its certificate database
	spool  string // results on their way out; only ours
	fonts  string // Config.Fonts
	cred   *syscall.Credential
}

// newHome makes the folders under cfg.Dir, and imports the extra certificates.
func newHome(ctx context.Context, cfg Config) (h home, err error) {
	if h.cred, err = credential(cfg.User); err != nil {
		return home{}, err
	}

	if cfg.Dir != "" {
		if err := os.MkdirAll(cfg.Dir, 0o711); err != nil { //nolint:gosec // The browser's user must pass through.
			return home{}, fmt.Errorf("chrome: %w", err)
		}
	}

	if h.folder, err = spool.OpenFolder(cfg.Dir, "relaypdf-chrome-"); err != nil {
		return home{}, fmt.Errorf("chrome: %w", err)
	}
	h.root = h.folder.Path
	h.fonts = cfg.Fonts

	defer func() {
		if err != nil {
			err = errors.Join(err, h.remove())
		}
	}()

	h.spool = filepath.Join(h.root, "spool")
	if err := os.Mkdir(h.spool, 0o700); err != nil {
		return h, fmt.Errorf("chrome: %w", err)
	}
	if h.user, err = h.mkdir("home"); err != nil {
		return h, err
	}
	if err := h.reachable(); err != nil {
		return h, err
	}

	if cfg.CAFile != "" {
		return h, h.importCA(ctx, cfg.CAFile)
	}
	return h, nil
}

// credential returns the user that the browser shall run as, or nil when the
// program is not root and the browser therefore runs as the same user.
func credential(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}

	names := []string{name}
	if name == "" {
		names = []string{"relaypdf", "nobody"}
	}

	for _, n := range names {
		u, err := user.Lookup(n)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, fmt.Errorf("chrome: user %s: %w", n, err)
		}
		if uid == 0 {
			return nil, fmt.Errorf("chrome: user %s is root: the browser's sandbox needs an unprivileged user", n)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}, nil
	}

	return nil, fmt.Errorf("chrome: no such user: %q", names)
}

// mkdir makes a folder of this name that belongs to the browser's user.
func (h home) mkdir(name string) (string, error) {
	path := filepath.Join(h.root, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", fmt.Errorf("chrome: %w", err)
	}
	if h.cred != nil {
		if err := os.Chown(path, int(h.cred.Uid), int(h.cred.Gid)); err != nil {
			return "", fmt.Errorf("chrome: %w", err)
		}
	}

	return path, nil
}

// reachable checks that the browser's user can pass through every folder above
// its own: without that Chromium fails with a message that names no cause.
func (h home) reachable() error {
	if h.cred == nil {
		return nil
	}

	dir, err := filepath.Abs(h.root)
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		info, statErr := os.Stat(dir)
		if statErr == nil && info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf(
				"chrome: the browser's user cannot pass through %s: give it mode 0711 or choose another folder", dir)
		}
		err = statErr
	}
	return err
}

func (h home) environment() []string {
	env := []string{"HOME=" + h.user, "TMPDIR=" + h.user, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	if h.fonts != "" {
		env = append(env, "FONTCONFIG_FILE="+h.fonts)
	}
	return env
}

// importCA puts the certificates of a PEM file into the NSS database that
// Chromium reads from its HOME.
func (h home) importCA(ctx context.Context, file string) error {
	rest, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("chrome: extra CA: %w", err)
	}

	db := filepath.Join(h.user, ".pki", "nssdb")
	if err := h.run(ctx, nil, "mkdir", "-p", "-m", "700", db); err != nil {
		return err
	}
	if err := h.run(ctx, nil, "certutil", "-N", "-d", "sql:"+db, "--empty-password"); err != nil {
		return err
	}

	count := 0
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		err := h.run(ctx, pem.EncodeToMemory(block), "certutil", "-A", "-a", "-d", "sql:"+db,
			"-n", "extra-ca-"+strconv.Itoa(count), "-t", "C,,")
		if err != nil {
			return err
		}
	}

	if count == 0 {
		return fmt.Errorf("chrome: extra CA: %s holds no PEM certificate", file)
	}
	return nil
}

// run executes a small program as the browser's user.
func (h home) run(ctx context.Context, stdin []byte, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()

	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = h.environment()
	cmd.Dir = h.user
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.cred}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("chrome: extra CA: %w: install the Debian package libnss3-tools", err)
	}
	if err != nil {
		return fmt.Errorf("chrome: %s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// remove deletes all folders.
func (h home) remove() error {
	if h.folder == nil {
		return nil
	}
	return h.folder.Close()
}
