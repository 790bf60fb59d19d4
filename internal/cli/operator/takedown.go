package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/store"
)

// NewTakedownCommand deletes a file of any account.
func NewTakedownCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "takedown ID", Short: "Delete a file of any account immediately (operators)", Args: cobra.ExactArgs(1),
		Long: "Delete an upload or a result of any account. Run the command on the server's machine. The URL of " +
			"the file returns 404 immediately. Jobs that have not read the file yet fail.",
	}
	reason := cmd.Flags().String("reason", "", "reason, for the operator's records")

	return onStore(cmd, func(ctx context.Context, s *store.Store, _ app.Config, args []string) error {
		file, err := s.TakeDownFile(ctx, args[0])
		if errors.Is(err, store.ErrNotFound) {
			return console.Usagef("the file does not exist; it may have expired or been deleted")
		}
		if err != nil {
			return err
		}

		account, err := s.Account(ctx, file.AccountID)
		if err != nil {
			return err
		}

		// IDs of files open documents, so they are not logged: the call identifies the file.
		log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
		log.Info("file taken down", "account", file.AccountID, "call", file.CallID,
			"filename", file.Filename, "bytes", file.Size, "createdAt", file.CreatedAt, "reason", *reason)
		return console.PrintLine(cmd, fmt.Sprintf("Deleted %s of %s", file.Filename, account.Email))
	})
}
