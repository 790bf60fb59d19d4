package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
)

// newBackupCommand saves the data, also while a server runs on it.
func newBackupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the database and the stored files to one archive",
		Long: "Write a consistent copy of the SQLite database and the stored files to one gzipped tar archive. " +
			"The server may keep running. FILE - is standard output.\n\n" +
			"With PostgreSQL, use pg_dump, and copy the folder or bucket of RELAYPDF_BLOBS.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The file is made before withStore gives up root: the owner of the
			// data may not be allowed to write where root is.
			out, err := createArchive(cmd, args[0])
			if err != nil {
				return err
			}

			err = withStore(cmd,
				func(ctx context.Context, s *store.Store, _ app.Config) error { return s.Backup(ctx, out) })
			return finishArchive(out, err)
		},
	}

	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}

// createArchive creates the file of a backup, which must be new.
func createArchive(cmd *cobra.Command, path string) (io.WriteCloser, error) {
	if path == "-" {
		if console.IsTerminal(cmd.OutOrStdout()) {
			return nil, console.Usagef("the archive is binary and standard output is a terminal; redirect it, or name a file")
		}
		return nopCloser{cmd.OutOrStdout()}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, console.Usagef("%s exists already; name a new file", path)
	}
	return f, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// finishArchive brings a whole archive to the disk, and removes a broken one.
func finishArchive(out io.WriteCloser, err error) error {
	f, ok := out.(*os.File)
	if !ok {
		return err
	}

	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}

	if removeErr := os.Remove(f.Name()); removeErr != nil {
		return fmt.Errorf("%w; %s is incomplete and could not be removed", err, f.Name())
	}
	return err
}

// newRestoreCommand unpacks a backup into a new data folder.
func newRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Unpack a backup into an empty data folder and check it",
		Long: "Unpack a backup into the data folder and check it. The folder must be empty or absent. FILE - is " +
			"standard input. If a check fails, the command removes the unpacked files.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := loadSettings(cmd)
			if err != nil {
				return err
			}

			in := io.NopCloser(cmd.InOrStdin())
			if args[0] != "-" {
				// Opened as root, before root is given up.
				if in, err = os.Open(args[0]); err != nil {
					return console.UsageError{Err: err}
				}
			}
			defer in.Close()

			if err := restore(cmd.Context(), config, in); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "restored into", config.DataDir)
			return nil
		},
	}

	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}

// restore unpacks an archive into the data folder of the settings.
func restore(ctx context.Context, config app.Config, archive io.Reader) error {
	switch path := config.SQLiteFile(); {
	case path == "":
		return console.UsageError{Err: store.ErrUseDump}
	case path != filepath.Join(config.DataDir, "relaypdf.db"):
		return console.Usagef(
			"restore puts the database into the data folder, and RELAYPDF_DATABASE_URL is elsewhere; leave it out")
	}

	if err := actAsOwner(config.DataDir); err != nil {
		return err
	}
	if entries, err := os.ReadDir(config.Blobs.Dir); err == nil && len(entries) > 0 {
		return console.Usagef("RELAYPDF_BLOBS: %s holds files already; name an empty folder", config.Blobs.Dir)
	}

	err := store.Restore(ctx, archive, config.DataDir)
	if errors.Is(err, store.ErrNotEmpty) || errors.Is(err, store.ErrBadBackup) {
		return console.UsageError{Err: err}
	}
	if err != nil {
		return err
	}

	unpacked := filepath.Join(config.DataDir, "blobs")
	if unpacked == config.Blobs.Dir {
		return nil // the default places of the settings
	}
	if config.Blobs.Dir == "" {
		return restoreBlobs(ctx, config, unpacked)
	}

	if err := os.Rename(unpacked, config.Blobs.Dir); err != nil {
		return fmt.Errorf("%w; everything else is restored: move the content of %s to %s", err, unpacked,
			config.Blobs.Dir)
	}
	return nil
}

// restoreBlobs moves the files of a backup into the bucket of the settings.
func restoreBlobs(ctx context.Context, config app.Config, unpacked string) error {
	to, err := app.OpenBlobs(config)
	if err != nil {
		return err
	}
	from, err := blob.NewDisk(unpacked)
	if err == nil {
		_, err = blob.Move(ctx, from, to)
	}
	if err != nil {
		return fmt.Errorf("%w; not all files are in %s: empty the data folder and run the command again", err,
			config.Blobs)
	}
	return os.RemoveAll(unpacked)
}
