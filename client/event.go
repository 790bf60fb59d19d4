package client

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is an event that the service sends to a webhook endpoint, such as [JobCompletedEvent].
type Event interface{ event() }

// OtherEvent is an event of a type that this package does not have, such as the test of an endpoint.
type OtherEvent struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CreatedAt time.Time       `json:"createdAt"`
	Data      json.RawMessage `json:"data"`
}

func (OtherEvent) event() {}

// ParseEvent reads the body of a delivery. Verify its signature first, with the package client/webhook. The event has
// one of the types of this package, by value:
//
//	switch event := event.(type) {
//	case client.JobCompletedEvent:
//		fmt.Println(event.Data.URL)
//	}
func ParseEvent(payload []byte) (Event, error) {
	var head struct{ Type string }
	if err := json.Unmarshal(payload, &head); err != nil {
		return nil, fmt.Errorf("the event is not a JSON object: %w", err)
	}
	return eventOf(head.Type, payload)
}

func readEvent[T Event](payload []byte) (Event, error) {
	var event T
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("the event is not the JSON that was expected: %w", err)
	}
	return event, nil
}
