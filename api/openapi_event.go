package api

import (
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// callbackName is the name of the request to a call's callbackUrl.
const callbackName = "ended"

// addEvents describes the requests that the service sends: events, to the subscribed endpoints, and the end of a
// call, to its callback.
func addEvents(doc *openAPIDocument) {
	doc.Webhooks = map[string]map[string]*endpoint{}
	for _, kind := range store.EventKinds() {
		name := componentName(kind.Type, "Event")
		doc.Components.Schemas[name] = eventSchema(kind.Type)

		id := strings.ReplaceAll(kind.Type, ".", "_") + "_event"
		doc.Webhooks[kind.Type] = map[string]*endpoint{"post": notification(id, kind.Summary,
			"Signed request. relaypdf retries until the endpoint accepts it, eight attempts at most.",
			mediaType{Schema: schemaRef(name)})}
	}

	ended := notification("call_ended", "A call ended",
		"Unsigned request, for every value of response. relaypdf retries until your server accepts it, eight "+
			"attempts at most.", answerOf(doc, reflect.TypeFor[wire.JobStatus]()))
	doc.Components.Callbacks = map[string]callbackDoc{callbackName: {"{$request.body#/callbackUrl}": {"post": ended}}}
}

// notification describes a request that the service sends.
func notification(id, summary, description string, body mediaType) *endpoint {
	return &endpoint{
		OperationID: id, Summary: summary, Description: description,
		Tags: []string{"webhooks"}, Security: []map[string][]string{},
		RequestBody: &requestBody{Required: true, Content: map[string]mediaType{"application/json": body}},
		Responses: map[string]responseDoc{
			"2XX": {Description: "The endpoint accepted the event. Redirects are not followed."},
		},
	}
}

// eventSchema describes the body of an event. It panics for a type of event without a case, so that tests fail.
func eventSchema(kind string) *jsonschema.Schema {
	var data reflect.Type
	switch kind {
	case store.EventJobCompleted, store.EventJobFailed:
		data = reflect.TypeFor[wire.JobStatus]()
	case store.EventWalletTopUp, store.EventAutoReload, store.EventAutoReloadFailed, store.EventPaymentRequired:
		data = reflect.TypeFor[store.WalletEvent]()
	case store.EventAccountAlert:
		data = reflect.TypeFor[store.AlertEvent]()
	default:
		panic("eventSchema has no type for the data of " + kind)
	}

	envelope := schema.AnswerSchema(reflect.TypeFor[store.Envelope]())
	named, _ := envelope.Properties.Get("type")
	named.Const = kind
	described := schema.AnswerSchema(data)
	described.Description = "Data of the event."
	envelope.Properties.Set("data", described)
	return envelope
}
