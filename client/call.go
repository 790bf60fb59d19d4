package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Call is a call of a paid operation that is not sent yet. Each method except With sends it. A call has one
// Idempotency-Key, so that retries and repeats are safe: a repeat returns the result that the service has stored for
// 24 hours, and costs nothing. A call that was sent for a file, a URL or a job cannot be sent for another of them.
//
// With store false, by the input or by [Client.NoStore], the service stores nothing and refuses a repeat: a result that
// does not arrive is lost, and charged. Such a call has no URL, and Start needs DeliverTo.
type Call struct {
	client    *Client
	operation string
	input     any
	options   CallOptions
	sent      *sentCall
}

// sentCall is what the copies of a call have in common.
type sentCall struct {
	key      string
	response atomic.Pointer[string] // that the call was first sent for
}

func newCall(client *Client, operation string, input any) Call {
	return Call{client: client, operation: operation, input: input, sent: &sentCall{key: rand.Text()}}
}

// With returns the call with options. With another IdempotencyKey, it is another call.
func (c Call) With(options CallOptions) Call {
	if options.IdempotencyKey != "" {
		c.sent = &sentCall{key: options.IdempotencyKey}
	}
	c.options = options
	return c
}

// Do returns the result as a stream, whose Body the caller closes. The result of a bulk operation has Job instead.
func (c Call) Do(ctx context.Context) (*Result, error) { return c.send(ctx, "") }

// Bytes returns the file.
func (c Call) Bytes(ctx context.Context) ([]byte, error) {
	result, err := c.file(ctx)
	if err != nil {
		return nil, err
	}
	return result.Bytes()
}

// Save writes the file to a path, and returns its properties.
func (c Call) Save(ctx context.Context, path string) (*Result, error) {
	result, err := c.file(ctx)
	if err != nil {
		return nil, err
	}
	err = result.Save(path)
	return result, err
}

// URL returns the public URL of the file, which the service stores.
func (c Call) URL(ctx context.Context) (FileURL, error) {
	result, err := c.send(ctx, "url")
	if err != nil {
		return FileURL{}, err
	}
	if result.File == nil {
		return FileURL{}, errors.Join(errors.New("the response is not the URL of a file"), result.close())
	}
	return *result.File, nil
}

// Start starts a job, which runs without a connection. A call with Quote starts none.
func (c Call) Start(ctx context.Context) (Job, error) {
	result, err := c.send(ctx, "async")
	if err != nil {
		return Job{}, err
	}
	if result.Job == nil {
		return Job{}, errors.Join(errors.New("the response is not a job"), result.close())
	}
	return c.client.Job(result.Job.ID), nil
}

// file returns the file, for which it waits if the operation is always a job.
func (c Call) file(ctx context.Context) (*Result, error) {
	result, err := c.Do(ctx)
	if err != nil {
		return nil, err
	}
	if result.Job != nil {
		return c.client.Job(result.Job.ID).download(ctx)
	}
	return result, nil
}

// send sends the call. An empty response is the operation's own: binary, except for a bulk operation.
func (c Call) send(ctx context.Context, response string) (*Result, error) {
	body, marks, err := c.client.prepare(c.input, response)
	if err != nil {
		return nil, err
	}
	if response == "async" && marks.Quote {
		return nil, errors.New("a call with Quote returns a price and starts no job: ask it for JSON")
	}
	if err := c.sent.as(response); err != nil {
		return nil, err
	}

	options := c.options
	options.IdempotencyKey = c.sent.key
	return c.client.call(ctx, c.operation, body, marks, options)
}

// as returns an error if the call was sent for another response.
func (s *sentCall) as(response string) error {
	if s.response.CompareAndSwap(nil, &response) {
		return nil
	}
	first := *s.response.Load()
	if first == response {
		return nil
	}
	names := map[string]string{"": "a file", "url": "a URL", "async": "a job"}
	return fmt.Errorf("this call was sent for %s: make another call for %s, which is charged, too",
		names[first], names[response])
}

// JSONCall is a [Call] whose result is JSON. If an input asks the operation for a file, use the methods of Call.
type JSONCall[T any] struct{ Call }

// With returns the call with options.
func (c JSONCall[T]) With(options CallOptions) JSONCall[T] { return JSONCall[T]{c.Call.With(options)} }

// JSON returns the result.
func (c JSONCall[T]) JSON(ctx context.Context) (T, error) {
	var value T
	text, err := c.Bytes(ctx)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, fmt.Errorf("the result of %s is not the JSON that was expected: %w", c.operation, err)
	}
	return value, nil
}

// Bytes reads and closes the body.
func (r *Result) Bytes() ([]byte, error) {
	content, err := io.ReadAll(r.Body)
	return content, errors.Join(err, r.Body.Close())
}

// Save writes the body to a path and closes it. A file is written under a temporary name in the same folder and
// renamed when it is complete, so that a failure leaves nothing, and no change of an existing file. A symbolic link and
// the mode of an existing file stay. A device or a pipe is written to directly.
func (r *Result) Save(path string) error {
	file, target, err := createPart(path)
	if err != nil {
		return errors.Join(err, r.Body.Close())
	}

	_, err = io.Copy(file, r.Body)
	err = errors.Join(err, file.Close(), r.Body.Close())
	if target == "" {
		return err
	}
	if err == nil {
		err = os.Rename(file.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// createPart creates the file that becomes the target, or opens what is written to directly, without a target.
func createPart(path string) (file *os.File, target string, err error) {
	info, err := os.Stat(path)
	exists := err == nil
	switch {
	case exists && !info.Mode().IsRegular():
		file, err = os.OpenFile(path, os.O_WRONLY, 0)
		return file, "", err
	case exists:
		target, err = filepath.EvalSymlinks(path)
	case errors.Is(err, os.ErrNotExist):
		target, err = path, nil
	}
	if err != nil {
		return nil, "", err
	}

	name := filepath.Join(filepath.Dir(target), ".relaypdf-"+rand.Text()+".part")
	file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666) //nolint:gosec // As the umask of the user says.
	if err != nil || !exists {
		return file, target, err
	}
	if err := file.Chmod(info.Mode().Perm()); err != nil {
		return nil, "", errors.Join(err, file.Close(), os.Remove(name))
	}
	return file, target, nil
}

func (r *Result) close() error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}
