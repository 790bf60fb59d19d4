package call

import (
	"context"
	"errors"
	"time"

	"relaypdf/api/apierror"
	"relaypdf/api/delivery"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/api/wire"
	"relaypdf/store"
)

// destinationField is the field with the URL that a result is sent to.
const destinationField = schema.DeliverField + ".url"

// The time that a delivery has, with its retries: a client waits for the one, and a worker is busy with the other.
const (
	deliverTime    = 60 * time.Second
	jobDeliverTime = 2 * time.Minute
)

// deliver sends the result to the destination that the call names, before the call is charged.
func (c *paidCall) deliver(ctx context.Context) error {
	to := c.call.DeliverTo
	if to.URL == "" {
		return nil
	}
	begin, limit := time.Now(), deliverTime
	if c.job != nil {
		limit = jobDeliverTime
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	receipt, err := delivery.Put{
		Client: c.destinations, URL: to.URL, Headers: to.Headers,
		ContentType: c.outcome.ContentType, Size: c.outcome.Body.Size(), Open: c.outcome.Body.Open,
	}.Deliver(bounded)
	c.part(ctx, "run", "deliver", time.Since(begin))
	if err != nil {
		return deliveryFailure(err)
	}
	c.outcome.Delivered = &wire.Delivered{
		Host: receipt.Host, StatusCode: receipt.StatusCode, Attempts: receipt.Attempts, At: c.now().UTC().Truncate(time.Millisecond),
	}
	c.reached("delivered")
	return nil
}

// deliveryFailure returns the error of a call whose result could not be delivered.
func deliveryFailure(err error) error {
	var failure *delivery.PutError
	switch {
	case !errors.As(err, &failure):
		return err
	case failure.Refused:
		return &operation.URLError{Field: destinationField, Cause: err}
	}
	return &apierror.Error{
		Code: apierror.DeliveryFailed, Message: failure.Reason + " The call was not charged. Check deliverTo: its URL may have expired, or its headers may differ from the signed ones.",
		Details: []apierror.Detail{{Field: destinationField, Message: failure.Reason}}, Cause: err,
	}
}

// keepDelivered stores the delivery of the result, which the job and repeats of the call report.
func (c *paidCall) keepDelivered(ctx context.Context) error {
	d := c.outcome.Delivered
	if d == nil {
		return nil
	}
	return c.store.AddDelivered(ctx, store.Delivered{
		FileID: c.result, AccountID: c.Caller.Account.ID, Host: d.Host, StatusCode: d.StatusCode, Attempts: d.Attempts, At: d.At,
	})
}

// Delivered returns the delivery of a result, or nil if its call named no destination.
func (p *Pipeline) Delivered(ctx context.Context, resultID string) (*wire.Delivered, error) {
	d, err := p.store.Delivered(ctx, resultID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &wire.Delivered{Host: d.Host, StatusCode: d.StatusCode, Attempts: d.Attempts, At: d.At.UTC().Truncate(time.Millisecond)}, nil
}
