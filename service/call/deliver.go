package call

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// destinationField is the field with the URL that a result is sent to.
const destinationField = schema.DeliverField + ".url"

// The time that a delivery has, with its retries: a client waits for the one, and a worker is busy with the other.
const (
	deliverTime    = 60 * time.Second
	jobDeliverTime = 2 * time.Minute
)

// checkDestination refuses a connection that the account does not have, or that has no host key yet.
func (c *paidCall) checkDestination(ctx context.Context) error {
	to := c.call.DeliverTo
	if to == nil || to.Connection() == "" {
		return nil
	}

	err := c.connections.Check(ctx, c.Caller.Account.ID, to.Connection(), to.Kind())
	field := to.Field() + ".connection"
	switch {
	case errors.Is(err, store.ErrNotFound):
		return wire.Invalid(field,
			"must be the ID of a connection of kind "+to.Kind()+" of this account; got "+strconv.Quote(to.Connection()))
	case errors.Is(err, delivery.ErrNoHostKey):
		return wire.Invalid(field, "names a connection without a host key. Test it first, or set its hostKey")
	}

	return err
}

// deliver sends the result to the destination that the call names, before the call is charged.
func (c *paidCall) deliver(ctx context.Context) error {
	if c.call.DeliverTo == nil {
		return nil
	}

	begin := time.Now()
	limit := deliverTime
	if c.job != nil {
		limit = jobDeliverTime
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	delivered, err := c.send(bounded)
	c.part(ctx, "run", "deliver", time.Since(begin))
	if err != nil {
		return deliveryFailure(c.call.DeliverTo, err)
	}
	c.outcome.Delivered = delivered
	c.reached("delivered")
	return nil
}

// send delivers the result.
func (c *paidCall) send(ctx context.Context) (*wire.Delivered, error) {
	named := c.call.DeliverTo
	var to delivery.Destination = delivery.Put{Client: c.destinations, URL: named.URL, Headers: named.Headers}

	var key string
	if named.Connection() != "" {
		pattern, _ := named.Pattern()
		var err error
		if key, err = schema.ExpandPattern(pattern, c.named()); err != nil {
			return nil, err
		}
		to, err = c.connections.Destination(ctx, c.Caller.Account.ID, named.Connection(), named.Kind(), key, c.result)
		if err != nil {
			return nil, err
		}
	}

	receipt, err := delivery.Deliver(ctx, to, delivery.Content{
		ContentType: c.outcome.ContentType, Size: c.outcome.Body.Size(), Open: c.outcome.Body.Open,
	})
	if err != nil {
		return nil, err
	}

	delivered := &wire.Delivered{
		Kind: named.Kind(), Host: receipt.Host, ConnectionID: named.Connection(), Key: key,
		StatusCode: receipt.StatusCode, Attempts: receipt.Attempts, At: c.now().UTC().Truncate(time.Millisecond),
	}
	if c.unstored { // The key may have the name of the result.
		delivered.Key = ""
	}
	return delivered, nil
}

// named is the result for the variables in keys and paths. It stays the same when a job is tried again.
func (c *paidCall) named() schema.PatternValues {
	at := c.now()
	if c.job != nil {
		at = c.job.Call.CreatedAt
	}
	return schema.PatternValues{At: at, ID: c.result, Operation: operationName(c), Filename: c.outcome.Filename}
}

// deliveryFailure returns the error of a call whose result could not be delivered.
func deliveryFailure(to *schema.Destination, err error) error {
	var failure *delivery.Failure
	field := destinationField
	check := "Check deliverTo: its URL may have expired, or its headers may differ from the signed ones."
	if to.Connection() != "" {
		field = to.Field() + ".connection"
		check = "Test the connection " + to.Connection() + "."
	}

	var reason string
	switch {
	case errors.As(err, &failure) && failure.Refused:
		text := operation.NotAllowed
		if to.Connection() != "" {
			text = "must be a connection to a public server. Update the host, port or endpoint of the connection"
		}
		return operation.RefuseURL(field, text, err)
	case failure != nil:
		reason = failure.Reason
	case errors.Is(err, store.ErrNotFound):
		reason = "The connection " + to.Connection() + " was deleted."
		check = "Send the call again with another connection."
	case errors.Is(err, delivery.ErrNoHostKey):
		reason = "The connection " + to.Connection() + " has no host key."
		check = "Test the connection first, or set its hostKey."
	case errors.Is(err, schema.ErrPath):
		_, field = to.Pattern()
		reason = field + " is invalid after its variables are replaced: " + err.Error() + "."
		check = "Change " + field + " or filename."
	default:
		return err
	}

	return &wire.Error{
		Code: wire.DeliveryFailed, Message: reason + " The call was not charged. " + check,
		Details: []wire.Detail{{Field: field, Message: reason}}, Cause: err,
	}
}

// keepDelivered stores the delivery of the result, which the job and repeats of the call report.
func (c *paidCall) keepDelivered(ctx context.Context) error {
	d := c.outcome.Delivered
	if d == nil {
		return nil
	}

	return c.store.AddDelivered(ctx, store.Delivered{
		FileID: c.result, AccountID: c.Caller.Account.ID, Kind: d.Kind, Host: d.Host, ConnectionID: d.ConnectionID,
		Key: d.Key, StatusCode: d.StatusCode, Attempts: d.Attempts, At: d.At,
	})
}

// Delivered returns the delivery of a result, or nil if its call named no destination.
func (r *Runner) Delivered(ctx context.Context, resultID string) (*wire.Delivered, error) {
	d, err := r.store.Delivered(ctx, resultID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	return &wire.Delivered{
		Kind: d.Kind, Host: d.Host, ConnectionID: d.ConnectionID, Key: d.Key, StatusCode: d.StatusCode,
		Attempts: d.Attempts, At: d.At.UTC().Truncate(time.Millisecond),
	}, nil
}
