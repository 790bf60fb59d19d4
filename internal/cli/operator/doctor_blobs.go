package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/blob/s3"
)

// checkBlobs writes a file to the file storage, reads it, and deletes it.
func checkBlobs(ctx context.Context, config app.Config) []Finding {
	const remedy = "check the setting, that the bucket is there, and that the key may list, read, write and " +
		"delete in it"
	if config.Blobs.Dir != "" && console.IsAbsent(config.Blobs.Dir) {
		return okay("%s does not exist yet; the server creates it", config.Blobs)
	}

	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	b, err := app.OpenBlobs(config)
	if err == nil {
		err = tryBlobs(ctx, b)
	}
	if err != nil {
		return broken(remedy, "%s: %v", config.Blobs, err)
	}

	if bucket, ok := b.(*s3.Store); ok {
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
		err = errors.Join(err, errors.New("the written file is missing in the list"))
	}

	return errors.Join(err, b.Delete(ctx, key))
}

// errStop ends a list.
var errStop = errors.New("found")
