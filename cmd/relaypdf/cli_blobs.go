package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"relaypdf/store/blob"
	"relaypdf/store/blob/s3"
)

// newBlobsCommand looks after where files are kept.
func newBlobsCommand() *cobra.Command {
	return newGroup("blobs", "Move the bytes of files from one place to another", newBlobsMigrate())
}

func newBlobsMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Move the stored files from RELAYPDF_BLOBS_FORMER to RELAYPDF_BLOBS, while the service runs",
		Long: "Move the stored files from one place to another, such as from a folder into a bucket, while the service runs. First set RELAYPDF_BLOBS to the new place and " +
			"RELAYPDF_BLOBS_FORMER to the one before, for every process, and start them anew: what is written goes to the new place, and what is read is found in either. Then run this. Each file is " +
			"read back and compared before it is deleted where it was. It can be cut short and run again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			if config.BlobsFormer.none() {
				return usagef("there is nowhere to move from: set RELAYPDF_BLOBS to the new place and RELAYPDF_BLOBS_FORMER to the one before, in the settings of every process, and start them anew; then run this again")
			}
			if err := actAsOwner(config.DataDir); err != nil {
				return err
			}
			return migrateBlobs(cmd, config)
		},
	}
	addSettings(cmd.Flags(), dataSettings...)
	return cmd
}

// moveNews is how often a move tells how far it is.
const moveNews = 10 * time.Second

func migrateBlobs(cmd *cobra.Command, config Config) error {
	to, err := openPlace(config, config.Blobs)
	if err != nil {
		return fmt.Errorf("RELAYPDF_BLOBS: %w", err)
	}
	from, err := openPlace(config, config.BlobsFormer)
	if err != nil {
		return fmt.Errorf("RELAYPDF_BLOBS_FORMER: %w", err)
	}
	out := cmd.ErrOrStderr()
	said := time.Now()
	done, err := blob.Move(cmd.Context(), from, to, func(m blob.Moved) {
		if time.Since(said) > moveNews {
			said = time.Now()
			fmt.Fprintln(out, movedText(m))
		}
	})
	fmt.Fprintf(out, "%s, from %s to %s\n", movedText(done), config.BlobsFormer, config.Blobs)
	if err != nil {
		return fmt.Errorf("%w; what was not moved is where it was: run the command again", err)
	}
	fmt.Fprintln(out, "nothing is left to move: take RELAYPDF_BLOBS_FORMER out of the settings of every process, and start them anew")
	return nil
}

func movedText(m blob.Moved) string {
	text := fmt.Sprintf("moved %d files (%s)", m.Blobs, sizeText(m.Bytes))
	if m.There > 0 {
		text += fmt.Sprintf(", %d were there already", m.There)
	}
	if m.Gone > 0 {
		text += fmt.Sprintf(", %d were deleted meanwhile", m.Gone)
	}
	return text
}

// checkBlobs puts a file where files are kept, reads it, and deletes it.
func checkBlobs(ctx context.Context, config Config) []finding {
	const remedy = "check the setting, that the bucket is there, and that the key may list, read, write and delete in it"
	if config.Blobs.dir != "" && isAbsent(config.Blobs.dir) {
		return okay("%s does not exist yet; the service makes it", config.Blobs)
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	b, err := openPlace(config, config.Blobs)
	if err == nil {
		err = tryBlobs(ctx, b)
	}
	if err != nil {
		return broken(remedy, "%s: %v", config.Blobs, err)
	}
	if bucket, ok := blob.As[*s3.Store](b); ok {
		if versioned, err := bucket.Versioned(ctx); err == nil && versioned {
			return doubtful("switch the bucket's versioning off, or give it a rule that deletes old versions",
				"%s works, and keeps versions of what is deleted: documents would stay there, and cost", config.Blobs)
		}
	}
	return okay("%s: wrote, read and deleted one", config.Blobs)
}

// tryBlobs does with a blob all that the service does.
func tryBlobs(ctx context.Context, b blob.Store) error {
	text := rand.Text()
	key := "doctor-" + text
	if _, err := b.Put(ctx, key, strings.NewReader(text)); err != nil {
		return err
	}
	content, _, err := b.Open(ctx, key)
	if err == nil {
		var got []byte
		got, err = io.ReadAll(content)
		if err == nil && string(got) != text {
			err = blob.ErrDamaged
		}
		err = errors.Join(err, content.Close())
	}
	found := false
	listErr := b.List(ctx, "", func(e blob.Entry) error {
		if e.Key == key {
			found = true
			return errStop
		}
		return nil
	})
	if listErr != nil && !errors.Is(listErr, errStop) {
		err = errors.Join(err, listErr)
	} else if !found {
		err = errors.Join(err, errors.New("what was written is not in the list"))
	}
	return errors.Join(err, b.Delete(ctx, key))
}

// errStop ends a list.
var errStop = errors.New("found")
