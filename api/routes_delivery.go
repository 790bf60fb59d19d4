package api

import (
	"context"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
)

func showDelivery(d store.Delivery) wire.Delivery {
	shown := wire.Delivery{
		ID: d.ID, EndpointID: wire.OrNull(d.EndpointID), URL: d.URL,
		Event: wire.DeliveryEvent{ID: d.EventID, Type: d.EventType}, Status: d.Status,
		Attempts: d.Attempts, LastStatusCode: wire.OrNull(d.LastStatusCode), LastError: wire.OrNull(d.LastError),
		LastResponse:  wire.OrNull(strings.ToValidUTF8(string(d.LastResponse), "\uFFFD")),
		NextAttemptAt: shownTime(d.NextAttemptAt),
		CreatedAt:     d.CreatedAt.Truncate(time.Millisecond), DeliveredAt: shownTime(d.DeliveredAt),
	}

	if d.LastDuration != nil {
		shown.LastDurationMS = new(d.LastDuration.Milliseconds())
	}
	return shown
}

func (a *API) listDeliveries(ctx context.Context, caller call.Caller, in deliveryQuery) (wire.DeliveryList, error) {
	page, err := a.Store.Deliveries(ctx, in.filter(caller.Account.ID))
	if err == nil && in.EndpointID != "" && len(page.Items) == 0 {
		err = a.checkEndpoint(ctx, caller.Account.ID, in.EndpointID)
	}

	answer := wire.DeliveryList{Deliveries: make([]wire.Delivery, len(page.Items)), NextCursor: nextCursor(page.Next)}
	for i, delivery := range page.Items {
		answer.Deliveries[i] = showDelivery(delivery)
	}
	return answer, err
}

// checkEndpoint refuses the ID of an endpoint that the account never had: no delivery has it.
func (a *API) checkEndpoint(ctx context.Context, accountID, id string) error {
	had, err := a.Store.HadWebhook(ctx, accountID, id)
	if err == nil && !had {
		err = wire.Invalid("endpointId",
			"must be the ID of a webhook endpoint of this account. GET /v1/webhooks lists them")
	}
	return err
}

func (a *API) getDelivery(ctx context.Context, caller call.Caller, in byID) (wire.DeliveryContent, error) {
	delivery, body, err := a.Store.DeliveryBody(ctx, caller.Account.ID, in.ID)
	return wire.DeliveryContent{Delivery: showDelivery(delivery), Body: string(body)}, err
}

func (a *API) replay(ctx context.Context, caller call.Caller, in byID) (wire.Delivery, error) {
	delivery, err := a.endpoints().Replay(ctx, caller.Author, in.ID)
	if err != nil {
		return wire.Delivery{}, err
	}
	return showDelivery(delivery), nil
}
