package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Bucket writes objects to a bucket that is not the store's own, such as a customer's. Each request is made once.
type Bucket struct {
	core *minio.Core
	name string
}

// BucketConfig selects a bucket, its credentials, and the way to it.
type BucketConfig struct {
	// Endpoint is the URL of the server without a path; empty means Amazon S3 in the region.
	Endpoint             string
	Region               string // empty: DefaultRegion
	Bucket               string
	AccessKey, SecretKey string
	// PathStyle names the bucket in the path of URLs instead of their host.
	PathStyle bool
	// Transport makes the requests. Redirects are not followed.
	Transport http.RoundTripper
}

// OpenBucket returns a bucket, which is not asked anything yet.
func OpenBucket(cfg BucketConfig) (*Bucket, error) {
	lookup := minio.BucketLookupDNS
	if cfg.PathStyle {
		lookup = minio.BucketLookupPath
	}

	region := cmp.Or(cfg.Region, DefaultRegion)
	server := Config{Endpoint: strings.TrimSuffix(cfg.Endpoint, "/"), Region: region}
	core, err := openCore(server.Address(), minio.Options{
		Creds:        credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, ""),
		Region:       region,
		BucketLookup: lookup,
		Transport:    cfg.Transport,
		MaxRetries:   1,
	})
	if err != nil {
		return nil, fmt.Errorf("open the bucket: %w", err)
	}

	return &Bucket{core: core, name: cfg.Bucket}, nil
}

// Host returns the name of the server.
func (b *Bucket) Host() string { return b.core.EndpointURL().Hostname() }

// Put writes an object, or replaces it as a whole. It opens the content twice: S3 gets the hash before the bytes.
func (b *Bucket) Put(ctx context.Context, object, contentType string, size int64, open func() io.ReadSeeker) error {
	hash, err := hashOf(ctx, open())
	if err != nil {
		return err
	}

	// A reader that cannot be rewound is not sent twice.
	_, err = b.core.PutObject(ctx, b.name, object, struct{ io.Reader }{open()}, size, "", hash, minio.PutObjectOptions{
		ContentType:          contentType,
		DisableContentSha256: true,
	})
	return err
}

// Delete removes an object.
func (b *Bucket) Delete(ctx context.Context, object string) error {
	return b.core.RemoveObject(ctx, b.name, object, minio.RemoveObjectOptions{})
}

// Refusal returns the status and S3's code of the response of a server that refused a request. The status is 0 without
// such a response.
func Refusal(err error) (status int, code string) {
	var refusal minio.ErrorResponse
	if errors.As(err, &refusal) {
		return refusal.StatusCode, refusal.Code
	}
	return 0, ""
}

// ValidBucket reports whether a text can be the name of a bucket.
func ValidBucket(name string) bool { return s3utils.CheckValidBucketNameStrict(name) == nil }

// ValidRegion reports whether a text can be the name of a region.
func ValidRegion(name string) bool { return regionName.MatchString(name) }
