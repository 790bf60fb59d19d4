package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/store"
)

// dataSettings are the settings that locate the data.
var dataSettings = []string{
	"data-dir", "database-url", "database-session-url", "blobs", "s3-access-key", "s3-secret-key", "extra-ca",
}

// loadSettings reads the settings for a command. Its errors count as usage errors.
func loadSettings(cmd *cobra.Command) (app.Config, error) {
	config, err := app.LoadConfig(cmd.Flags(), os.Environ())
	if err != nil {
		return config, console.UsageError{Err: err}
	}
	return config, nil
}

// withStore opens the data that the settings name, whether a server runs on it or not, and closes it after do has
// returned. As root it first becomes the owner of the data for good, so work that needs root must happen before. A
// missing database is an error, because the folder is probably mistyped.
func withStore(cmd *cobra.Command, do func(context.Context, *store.Store, app.Config) error) error {
	config, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	if path := config.SQLiteFile(); path != "" && console.IsAbsent(path) {
		return console.Usagef("no database at %s; check --data-dir, or run relaypdf accounts create first", path)
	}
	return useStore(cmd, config, do)
}

// onStore makes cmd a command on the data that withStore opens. Its flags are the settings that locate the data, and
// the more ones.
func onStore(
	cmd *cobra.Command, do func(ctx context.Context, s *store.Store, config app.Config, args []string) error,
	more ...string,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withStore(cmd,
			func(ctx context.Context, s *store.Store, config app.Config) error { return do(ctx, s, config, args) })
	}
	addSettings(cmd.Flags(), append(slices.Clone(dataSettings), more...)...)
	return cmd
}

// withNewStore is like withStore, and creates a missing database.
func withNewStore(cmd *cobra.Command, do func(context.Context, *store.Store, app.Config) error) error {
	config, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	return useStore(cmd, config, do)
}

func useStore(
	cmd *cobra.Command, config app.Config, do func(context.Context, *store.Store, app.Config) error,
) (err error) {
	if err := actAsOwner(config.DataDir); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := app.OpenStore(cmd.Context(), config, log, app.Hooks{})
	if err != nil {
		return errors.Join(err, strangerHint(config.DataDir))
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(cmd.Context(), s, config)
}

// actAsOwner makes a root process the user that a folder belongs to, or the
// nearest existing folder above it. A database, its write-ahead log or a lock
// that root creates in another user's data folder would lock that user's
// server out.
func actAsOwner(dir string) error {
	uid, gid, err := ownerOf(dir)
	if err != nil {
		return err
	}

	if os.Geteuid() != 0 || uid == 0 {
		return nil
	}

	if owner, err := osuser.LookupId(strconv.Itoa(uid)); err == nil {
		if primary, err := strconv.Atoi(owner.Gid); err == nil {
			gid = primary
		}
	}

	// The order matters: without root's user id the groups cannot be changed.
	for _, give := range []func() error{
		func() error { return syscall.Setgroups([]int{gid}) },
		func() error { return syscall.Setresgid(gid, gid, gid) },
		func() error { return syscall.Setresuid(uid, uid, uid) },
	} {
		if err := give(); err != nil {
			return fmt.Errorf("act as user %d, whom the data folder %s belongs to: %w", uid, dir, err)
		}
	}

	// After a change of its user, a process may not write to its own files in /proc until it is dumpable again, and
	// so could not give its children user namespaces.
	return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
}

// ownerOf returns the user and the group of a folder, or of the nearest
// existing one above it.
func ownerOf(dir string) (uid, gid int, err error) {
	info, err := os.Stat(existing(dir))
	if err != nil {
		return 0, 0, fmt.Errorf("RELAYPDF_DATA_DIR: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(owner.Uid), int(owner.Gid), nil
	}
	return os.Geteuid(), os.Getegid(), nil
}

// existing returns the path, or the nearest folder above it that exists.
func existing(path string) string {
	for console.IsAbsent(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}

// strangerHint returns an error that names the owner of the data folder if it is another user.
func strangerHint(dir string) error {
	uid, _, err := ownerOf(dir)
	if err != nil || uid == os.Geteuid() || console.IsAbsent(dir) {
		return err
	}
	return fmt.Errorf("the data folder %s belongs to %s: run the command as that user or as root", dir, userName(uid))
}

// userName returns the name of a user, or the number if it has none.
func userName(uid int) string {
	if u, err := osuser.LookupId(strconv.Itoa(uid)); err == nil {
		return "user " + u.Username
	}
	return fmt.Sprintf("user %d", uid)
}
