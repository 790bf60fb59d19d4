package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Call is a call of a paid operation that is not sent yet. Each method except With sends it, with an Idempotency-Key,
// so that retries are safe. The service stores what is sent with such a key for 24 hours; with store false, by the
// input or by [Client.NoStore], it stores nothing, and refuses URL and Start without DeliverTo.
type Call struct {
	client    *Client
	operation string
	input     any
	options   CallOptions
}

func newCall(client *Client, operation string, input any) Call {
	return Call{client: client, operation: operation, input: input}
}

// With returns the call with options.
func (c Call) With(options CallOptions) Call {
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

// Start starts a job, which runs without a connection.
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
	body, err := inputJSON(c.input)
	if err == nil && response != "" {
		body, err = withDefault(body, "response", response)
	}
	if err != nil {
		return nil, err
	}

	options := c.options
	options.IdempotencyKey = cmp.Or(options.IdempotencyKey, rand.Text())
	return c.client.Do(ctx, c.operation, json.RawMessage(body), options)
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

// Save writes the body to a path and closes it. It leaves no incomplete file.
func (r *Result) Save(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return errors.Join(err, r.Body.Close())
	}

	_, err = io.Copy(file, r.Body)
	if err := errors.Join(err, file.Close(), r.Body.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func (r *Result) close() error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// withDefault sets a member of a JSON object that does not have it.
func withDefault(body []byte, name string, value any) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("the input is not a JSON object: %w", err)
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	if _, has := members[name]; has {
		return body, nil
	}

	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	members[name] = text
	return json.Marshal(members)
}
