package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/store/blob/s3"
)

// bucket is the bucket of a connection.
type bucket struct {
	*s3.Bucket

	prefix string // of the keys of all objects
}

func newBucket(at *NewS3, transport http.RoundTripper) (*bucket, error) {
	opened, err := s3.OpenBucket(s3.BucketConfig{
		Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket, AccessKey: at.AccessKeyID,
		SecretKey: at.SecretAccessKey, PathStyle: at.PathStyle, Transport: boundedTransport{transport},
	})
	return &bucket{opened, at.Prefix}, err
}

func (b *bucket) object(key, _ string) Destination { return object{b, b.prefix + key} }

// maxResponse is the maximum of bytes that are read of a response, whose end is missing beyond.
const maxResponse = 1 << 20

// boundedTransport reads no more than maxResponse bytes of a response, as they were sent.
type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Encoding", "identity")
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxResponse), response.Body}
	}
	return response, err
}

// object is an object in the bucket of a connection.
type object struct {
	bucket *bucket
	key    string
}

// longKey is the failure of a key that the prefix of its connection makes too long.
var longKey = &Failure{
	Step: stepWrite, Reason: "The object key, with the prefix of the connection, is longer than 1,024 bytes.",
}

func (o object) send(ctx context.Context, content Content) (Receipt, *Failure) {
	if len(o.key) > 1024 {
		return Receipt{}, longKey
	}

	begun := time.Now()
	if err := o.bucket.Put(ctx, o.key, content.ContentType, content.Size, content.Open); err != nil {
		return Receipt{}, bucketFailure(err, stepWrite, timeOf(ctx, begun))
	}
	return Receipt{Host: o.bucket.Host(), StatusCode: http.StatusOK}, nil
}

func (b *bucket) test(ctx context.Context, id string) (string, *Failure) {
	o := object{b, b.prefix + testName(id)}
	if _, failure := o.send(ctx, testBody()); failure != nil {
		return "", failure
	}

	begun := time.Now()
	if err := b.Delete(ctx, o.key); err != nil {
		return "", bucketFailure(err, stepDelete, timeOf(ctx, begun))
	}
	return "", nil
}

var (
	// wrongKeys are the codes of S3 for credentials that are not accepted.
	wrongKeys = []string{
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed", "InvalidToken",
		"ExpiredToken", "RequestTimeTooSkewed",
	}
	plainCode = regexp.MustCompile(`^[A-Za-z0-9.]{1,64}$`)
)

// bucketFailure describes the error of a request to a bucket. The texts of the server are not repeated.
func bucketFailure(err error, step string, within time.Duration) *Failure {
	status, code := s3.Refusal(err)
	switch {
	case errors.Is(err, egress.ErrRefused):
		return notPublic
	case status == 0:
		return &Failure{Step: stepConnect, Reason: sendFailure(err, "bucket's server", within), passing: true}
	}

	failure := &Failure{
		Step: step, passing: s3.Passing(err), Reason: fmt.Sprintf("The bucket's server returned status %d", status),
	}
	if plainCode.MatchString(code) {
		failure.Reason += " (" + code + ")"
	}
	failure.Reason += "."

	if slices.Contains(wrongKeys, code) {
		failure.Step = stepAuthenticate
	}
	if status >= 300 && status < 400 {
		failure.Reason += " Redirects are not followed: check the endpoint and the region."
	}
	return failure
}
