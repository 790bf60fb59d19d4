// Package s3 stores blobs in a bucket of S3 or of a compatible service.
//
// An object holds the unchanged bytes of a blob; its metadata holds the sums of its chunks. Each chunk is verified
// before any byte of it is returned. A write is visible as a whole or not at all, which S3 guarantees.
package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/store/blob"
)

const (
	// partSize is the size of a single upload; larger blobs are sent in parts of this size.
	partSize = 16 << 20
	// attempts is the maximum number of attempts of a request, with pauses of up to a second.
	attempts = 3
	// dialTimeout, headerTimeout and stallTimeout bound how long nothing happens: who
	// waits for a document would rather hear that there is none.
	dialTimeout   = 5 * time.Second
	headerTimeout = 20 * time.Second
	stallTimeout  = 20 * time.Second
	// idleTimeout is less than stallTimeout, which closes idle connections too.
	idleTimeout = 10 * time.Second
	// abandoned is the age at which an unfinished multipart upload counts as abandoned.
	abandoned = 24 * time.Hour
)

// Store keeps blobs in a bucket. It is safe for concurrent use.
type Store struct {
	core   *minio.Core
	public *minio.Client // makes links
	bucket string
	prefix string // of the names of objects
	tmp    string
	now    func() time.Time

	requests *prometheus.HistogramVec
}

var _ blob.Store = (*Store)(nil)

// New returns the blobs of a bucket, which is not asked anything yet.
func New(cfg Config) (*Store, error) {
	keys := credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, "")
	if cfg.AccessKey == "" {
		// The order of Amazon's own programs. IAM asks the machine's own address.
		keys = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: dialTimeout}},
		})
	}

	requests := newMetrics()
	open := func(endpoint string) (*minio.Core, error) {
		return openCore(endpoint, minio.Options{
			Creds:      keys,
			Region:     cfg.Region,
			Transport:  measured{transport(cfg.RootCAs), requests},
			MaxRetries: attempts,
		})
	}

	s := &Store{bucket: cfg.Bucket, tmp: cfg.TempDir, now: cfg.Now, requests: requests}
	if cfg.Prefix != "" {
		s.prefix = cfg.Prefix + "/"
	}
	if s.now == nil {
		s.now = time.Now
	}

	var err error
	if s.core, err = open(cfg.Address()); err != nil {
		return nil, fmt.Errorf("open the bucket: %w", err)
	}

	s.public = s.core.Client
	if cfg.Public != "" {
		public, err := open(cfg.Public)
		if err != nil {
			return nil, fmt.Errorf("open the bucket: %w", err)
		}
		s.public = public.Client
	}

	return s, nil
}

// openCore returns the client of a server, which is not asked anything yet.
func openCore(endpoint string, options minio.Options) (*minio.Core, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	options.Secure = u.Scheme == "https"
	return minio.NewCore(u.Host, &options)
}

func transport(roots *x509.CertPool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &watchedConn{conn}, nil
		},
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConnsPerHost:   64,
		DisableCompression:    true,
	}
}

// watchedConn is given up when nothing moves on it, in either direction.
type watchedConn struct{ net.Conn }

func (c *watchedConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(stallTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *watchedConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(stallTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// object is the name of a blob's object.
func (s *Store) object(key string) (string, error) {
	if !blob.ValidKey(key) {
		return "", fmt.Errorf("%w: %q is not a valid key", blob.ErrMissing, key)
	}
	return s.prefix + key, nil
}

// Delete removes the blob, if there is one.
func (s *Store) Delete(ctx context.Context, key string) error {
	object, err := s.object(key)
	if err != nil {
		return err
	}
	err = s.core.RemoveObject(ctx, s.bucket, object, minio.RemoveObjectOptions{})
	if err != nil && code(err) != minio.NoSuchKey {
		return fmt.Errorf("delete blob: %w", err)
	}
	return ctx.Err()
}

// List calls yield for every blob after a key, by their names.
func (s *Store) List(ctx context.Context, after string, yield func(blob.Entry) error) error {
	options := minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true}
	if after != "" {
		options.StartAfter = s.prefix + after
	}

	for object := range s.core.ListObjectsIter(ctx, s.bucket, options) {
		if object.Err != nil {
			return fmt.Errorf("list blobs: %w", object.Err)
		}
		key := strings.TrimPrefix(object.Key, s.prefix)
		if !blob.ValidKey(key) {
			continue
		}
		if err := yield(blob.Entry{Key: key, Size: object.Size, ModTime: object.LastModified, Cursor: key}); err != nil {
			return err
		}
	}

	return ctx.Err()
}

// Sweep aborts abandoned multipart uploads: their parts cost money, although they are invisible.
func (s *Store) Sweep(ctx context.Context) error {
	var key, upload string
	for {
		page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.prefix, key, upload, "", 1000)
		if err != nil {
			return fmt.Errorf("sweep uploads: %w", err)
		}

		for _, u := range page.Uploads {
			if !blob.ValidKey(strings.TrimPrefix(u.Key, s.prefix)) || s.now().Sub(u.Initiated) < abandoned {
				continue
			}
			if err := s.abort(ctx, u.Key, u.UploadID); err != nil {
				return fmt.Errorf("sweep uploads: %w", err)
			}
		}

		if !page.IsTruncated {
			return nil
		}

		key = page.NextKeyMarker
		upload = page.NextUploadIDMarker
	}
}

func (s *Store) abort(ctx context.Context, object, upload string) error {
	err := s.core.AbortMultipartUpload(ctx, s.bucket, object, upload)
	if err != nil && code(err) == minio.NoSuchUpload {
		return nil
	}
	return err
}

// Check reports whether the bucket answers, and lets us in.
func (s *Store) Check(ctx context.Context) error {
	found, err := s.core.BucketExists(ctx, s.bucket)
	if err == nil && !found {
		err = fmt.Errorf("the bucket %s does not exist", s.bucket)
	}
	return err
}

// Versioned reports whether the bucket retains deleted objects.
func (s *Store) Versioned(ctx context.Context) (bool, error) {
	versioning, err := s.core.GetBucketVersioning(ctx, s.bucket)
	return err == nil && versioning.Enabled(), err
}

// Link returns a URL from which anyone can download a blob until it expires, with the given response headers. It
// returns ErrMissing if the blob does not exist.
func (s *Store) Link(ctx context.Context, key string, lifetime time.Duration, header http.Header) (string, error) {
	object, err := s.object(key)
	if err != nil {
		return "", err
	}

	if _, err := s.core.StatObject(ctx, s.bucket, object, minio.StatObjectOptions{}); err != nil {
		return "", fmt.Errorf("link blob: %w", missing(err))
	}

	params := url.Values{}
	for name, values := range header {
		params.Set("response-"+strings.ToLower(name), values[0])
	}

	u, err := s.public.PresignedGetObject(ctx, s.bucket, object, lifetime, params)
	if err != nil {
		return "", fmt.Errorf("link blob: %w", err)
	}
	return u.String(), nil
}

// code returns S3's code of an error.
func code(err error) string {
	var told minio.ErrorResponse
	if errors.As(err, &told) {
		return told.Code
	}
	return ""
}

// missing turns the absence of an object into ErrMissing.
func missing(err error) error {
	if code(err) == minio.NoSuchKey {
		return blob.ErrMissing
	}
	return err
}
