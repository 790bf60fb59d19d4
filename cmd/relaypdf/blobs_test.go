package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"relaypdf/client"
	"relaypdf/internal/fakes3"
	"relaypdf/internal/slow"
	"relaypdf/store/blob"
	"relaypdf/store/blob/blobtest"
)

// fileOf downloads a file of the key's account.
func fileOf(ctx context.Context, c *client.Client, id string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL+"/v1/files/"+id, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Key)
	answer, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("status %d: %s", answer.StatusCode, got))
	}
	return got, errors.Join(err, answer.Body.Close())
}

// TestFilesMoveToABucketWhileTheServiceRuns: files that were written to the folder and
// to the bucket can be read before, while and after they are moved; then the
// folder is empty and the setting is not needed any more.
func TestFilesMoveToABucketWhileTheServiceRuns(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	server := fakes3.Start(t)
	folder := filepath.Join(t.TempDir(), "before")
	app := startOpen(t, "RELAYPDF_BLOBS="+server.Address(), "RELAYPDF_BLOBS_FORMER=file:"+folder,
		"RELAYPDF_S3_ACCESS_KEY="+fakes3.AccessKey, "RELAYPDF_S3_SECRET_KEY="+fakes3.SecretKey)
	former, err := blob.NewDisk(folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c := &client.Client{BaseURL: app.URL, Key: keyOf(t, app), HTTP: patient}

	// Uploads as a process before the change had written them, and one since.
	contents := map[string][]byte{}
	for i := range 8 {
		content := blobtest.Content(300_000 + i)
		file, err := c.Upload(ctx, "a.bin", bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		contents[file.ID] = content
	}
	first, _ := blob.As[interface{ Check(context.Context) error }](app.Store.Blobs())
	bucket := first.(blob.Store)
	back, err := blob.Move(ctx, bucket, former, func(blob.Moved) {})
	if err != nil || back.Blobs != 8 {
		t.Fatalf("got %+v, %v; want all in the folder", back, err)
	}
	late, err := c.Upload(ctx, "b.bin", strings.NewReader("since"), 5)
	if err != nil {
		t.Fatal(err)
	}
	contents[late.ID] = []byte("since")
	if got := blobtest.List(t, bucket); len(got) != 1 {
		t.Errorf("in the bucket: %v, want the last upload", got)
	}

	look := func() {
		for id, want := range contents {
			if got, err := fileOf(ctx, c, id); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, %v; want %d", id, len(got), err, len(want))
			}
		}
	}
	look()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			look()
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	settings := []string{"--data-dir=" + app.config.DataDir, "--blobs=" + server.Address(), "--blobs-former=file:" + folder,
		"--s3-access-key=" + fakes3.AccessKey, "--s3-secret-key=" + fakes3.SecretKey}
	moved := relaypdf(t, append([]string{"blobs", "migrate"}, settings...)...)
	close(stop)
	<-stopped
	look()
	if moved.code != 0 || !strings.Contains(moved.err, "moved 8 files") || !strings.Contains(moved.err, "take RELAYPDF_BLOBS_FORMER out") {
		t.Errorf("got %+v", moved)
	}
	if left := blobtest.List(t, former); len(left) != 0 {
		t.Errorf("left in the folder: %v", left)
	}
	if again := relaypdf(t, append([]string{"blobs", "migrate"}, settings...)...); again.code != 0 || !strings.Contains(again.err, "moved 0 files") {
		t.Errorf("again: %+v", again)
	}
	if none := relaypdf(t, append([]string{"blobs", "migrate"}, settings[0], settings[1], settings[3], settings[4])...); none.code != 2 || !strings.Contains(none.err, "RELAYPDF_BLOBS_FORMER") {
		t.Errorf("without a former place: %+v, want what to set", none)
	}
	server.Break(fakes3.Busy)
	if _, err := former.Put(ctx, "left", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if failed := relaypdf(t, append([]string{"blobs", "migrate"}, settings...)...); failed.code == 0 || !strings.Contains(failed.err, "run the command again") {
		t.Errorf("a bucket that fails: %+v", failed)
	}
	if left := blobtest.List(t, former); len(left) != 1 {
		t.Errorf("what could not be moved is gone: %v", left)
	}
}
