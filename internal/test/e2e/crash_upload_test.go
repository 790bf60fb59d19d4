package e2e

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestKilledServerLeavesNoUpload kills a real server that has written the bytes
// of an upload and not yet its row: the next start removes them.
func TestKilledServerLeavesNoUpload(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		c := newCrashBench(t, db)
		server := c.start("uploaded")
		ctx, cancel := context.WithTimeout(t.Context(), crashPatience)
		defer cancel()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.url+"/v1/files", strings.NewReader("content"))
			if err != nil {
				t.Errorf("make the request: %v", err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+c.secret)
			if response, err := new(http.Client).Do(r); err == nil {
				t.Errorf("got status %d from a server that was killed", response.StatusCode)
				_ = response.Body.Close()
			}
		}()
		server.await(t, "reached uploaded")
		if n := c.blobs(ctx); n != 1 {
			t.Errorf("%d blobs were written before the kill, want 1", n)
		}
		server.end(syscall.SIGKILL)
		<-answered
		next := c.start("none")
		defer next.end(syscall.SIGTERM)
		for c.blobs(ctx) > 0 { // as soon as the next one has ended the lease of the first
			if _, err := c.store.DeleteOrphanBlobs(ctx, 1); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ctx.Done():
				t.Fatal("the bytes without a row are left")
			case <-time.After(10 * time.Millisecond):
			}
		}
		if files, err := c.store.Files(ctx, store.FileFilter{AccountID: c.account.ID}); err != nil || len(files.Items) != 0 {
			t.Errorf("the account has the files %+v, %v; want none", files, err)
		}
	})
}

// blobs counts the blobs.
func (c *crashBench) blobs(ctx context.Context) int {
	c.t.Helper()
	n := 0
	err := c.store.Blobs().List(ctx, "", func(blob.Entry) error {
		n++
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}
