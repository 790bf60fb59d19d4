package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// newFilesCommand works with stored files: a client works on the account's files, the operator on any.
func newFilesCommand() *cobra.Command {
	return console.NewGroup("files", "List, upload, download and delete files",
		newFilesList(), newFilesUpload(), newFilesGet(), newFilesDelete())
}

func newFilesUpload() *cobra.Command {
	cmd := &cobra.Command{
		Use: "upload FILE|-", Short: "Upload a file for 24 hours and print its ID", Args: cobra.ExactArgs(1),
		Long: "Upload a file for use in operations, with --file-id. Only this account can use the file. It expires " +
			"after 24 hours.",
	}
	asJSON := cmd.Flags().Bool("json", false, "print the file as a JSON object")
	name := cmd.Flags().String("filename", "", "name of the upload (default the name of the file)")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := upload(cmd, args[0], *name)
		if err != nil {
			return err
		}

		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), file)
		}
		return console.PrintLine(cmd, file.ID)
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// upload sends a file, or standard input.
func upload(cmd *cobra.Command, path, name string) (wire.Upload, error) {
	client, err := connect(cmd, 0)
	if err != nil {
		return wire.Upload{}, err
	}

	content, err := openUpload(cmd.InOrStdin(), path)
	if err != nil {
		return wire.Upload{}, console.UsageError{Err: err}
	}
	defer content.Close()

	if name == "" && path != "-" {
		name = filepath.Base(path)
	}

	ctx, cancel := context.WithTimeout(cmd.Context(), callTime)
	defer cancel()
	file, err := client.Files().Upload(ctx, name, content)
	return file, unreached(client.BaseURL, err)
}

// uploadSource is the content of an upload.
type uploadSource interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// openUpload opens a file. Standard input is read whole, since its size has to be known.
func openUpload(stdin io.Reader, path string) (uploadSource, error) {
	if path == "-" {
		content, err := io.ReadAll(stdin)
		return uploadText{bytes.NewReader(content)}, err
	}

	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file; pipe its content to relaypdf files upload -", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// uploadText is an upload in memory.
type uploadText struct{ *bytes.Reader }

// Close does nothing.
func (uploadText) Close() error { return nil }

func newFilesGet() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use: "get ID", Short: "Download a result", Args: cobra.ExactArgs(1), ValidArgsFunction: completeFiles,
	}
	flags := cmd.Flags()
	flags.StringVarP(&to.name, "output", "o", "",
		"file or folder for the result; - for standard output. Default: the name of the result, in the current folder")
	flags.BoolVarP(&to.force, "force", "f", false, "overwrite the output file")
	asJSON := flags.Bool("json", false, "print the path and size of the file as a JSON object")

	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if *asJSON && to.name == "-" {
			return console.Usagef("--json and --output - both want standard output; choose one")
		}

		if err := to.open(cmd.OutOrStdout(), []string{"application/octet-stream"}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.discard()) }()

		got, err := askService(cmd, func(ctx context.Context, client *client.Client) (download, error) {
			return fetchFile(ctx, cmd, client, args[0], &to)
		})
		switch {
		case err != nil:
			return err
		case *asJSON:
			return console.PrintJSON(cmd.OutOrStdout(), got)
		case console.IsTerminal(cmd.ErrOrStderr()):
			fmt.Fprintln(cmd.ErrOrStderr(), got.Path+"  "+setting.SizeText(got.SizeBytes))
		}
		return nil
	}

	setting.AddClientFlags(flags)
	return cmd
}

func newFilesDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID...", Short: "Delete uploads or results of this account", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFiles,
	}
	asJSON := cmd.Flags().Bool("json", false, "print the IDs of the deleted files as a JSON object")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := onService(cmd, func(ctx context.Context, client *client.Client) error {
			for _, id := range args {
				if err := client.Files().Delete(ctx, id); err != nil {
					return err
				}
			}
			return nil
		})

		if err != nil || !*asJSON {
			return err
		}
		return console.PrintJSON(cmd.OutOrStdout(), map[string]any{"deleted": args})
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}
