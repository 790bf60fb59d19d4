package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/relaypdf/relaypdf/api/wire"
)

type (
	// Connection is a bucket or an SFTP server of the account, without its secret.
	Connection = wire.Connection
	// ConnectionTest is the result of the test of a connection.
	ConnectionTest = wire.ConnectionTest
)

// Connections are the buckets and servers to which results are delivered.
type Connections struct{ client *Client }

// Connections returns the account's connections.
func (c *Client) Connections() Connections { return Connections{c} }

// List lists the connections, the oldest first.
func (c Connections) List(ctx context.Context) ([]Connection, error) {
	list, err := get[wire.ConnectionList](ctx, c.client, "/v1/connections")
	return list.Connections, err
}

// Create creates a connection. Its input is the JSON of POST /v1/connections, such as a json.RawMessage.
func (c Connections) Create(ctx context.Context, input any) (Connection, error) {
	return c.send(ctx, http.MethodPost, "/v1/connections", input)
}

// Update changes a connection. Its input is the JSON of PATCH /v1/connections/{id}.
func (c Connections) Update(ctx context.Context, id string, input any) (Connection, error) {
	return c.send(ctx, http.MethodPatch, "/v1/connections/"+url.PathEscape(id), input)
}

func (c Connections) send(ctx context.Context, method, path string, input any) (Connection, error) {
	body, err := inputJSON(input)
	if err != nil {
		return Connection{}, err
	}
	return ask[Connection](ctx, c.client, jsonRequest(method, path, body))
}

// Test writes a small file to the bucket or server, and deletes it.
func (c Connections) Test(ctx context.Context, id string) (ConnectionTest, error) {
	return ask[ConnectionTest](ctx, c.client,
		message{method: http.MethodPost, path: "/v1/connections/" + url.PathEscape(id) + "/test"})
}

// Delete deletes a connection and its secret.
func (c Connections) Delete(ctx context.Context, id string) error {
	_, err := ask[Acknowledged](ctx, c.client,
		message{method: http.MethodDelete, path: "/v1/connections/" + url.PathEscape(id)})
	return err
}
