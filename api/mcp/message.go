package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Error codes of JSON-RPC in the server's own responses.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
)

const (
	methodCall       = "tools/call"
	methodRead       = "resources/read"
	methodInitialize = "initialize"
	// noBatches is the first version of the protocol that has no batches.
	noBatches = "2025-06-18"
	// ownRefusals is the first version whose unknown methods are the protocol's
	// server to refuse.
	ownRefusals = "2026-07-28"
	maxBatch    = 20
)

// message is a JSON-RPC message, with the members that the server needs.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`

	text    []byte
	version string
}

// split reads the messages of a body. If the body as a whole is invalid, wrong is the response to it.
func split(body []byte, version string) (messages []message, batch bool, wrong []byte) {
	body = bytes.TrimSpace(body)
	if !json.Valid(body) {
		return nil, false, problem(nil, codeParse, "the body must be JSON in UTF-8")
	}

	texts := []json.RawMessage{body}
	if batch = body[0] == '['; batch {
		if version >= noBatches {
			return nil, true, problem(nil, codeInvalidRequest,
				fmt.Sprintf("protocol version %s does not support batches: send one message per request", version))
		}
		if err := json.Unmarshal(body, &texts); err != nil || len(texts) == 0 || len(texts) > maxBatch {
			return nil, true, problem(nil, codeInvalidRequest,
				fmt.Sprintf("a batch must have 1 to %d messages", maxBatch))
		}
	}

	for _, text := range texts {
		m := message{text: text, version: version}
		if err := json.Unmarshal(text, &m); err != nil {
			if !batch {
				return nil, false, problem(nil, codeInvalidRequest,
					"a message must be an object with jsonrpc, method and, for requests, id")
			}
			m = message{text: text} // which is refused in its place
		}

		switch {
		case string(m.Params) == "null":
			m.Params = nil
		case emptyArray(m.Params):
			m = m.withoutParams()
		}
		messages = append(messages, m)
	}

	return messages, batch, nil
}

// withoutParams returns the message with an empty object as its parameters.
func (m message) withoutParams() message {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(m.text, &members) // split has read it as an object
	m.Params = json.RawMessage("{}")
	members["params"] = m.Params
	if text, err := json.Marshal(members); err == nil { // It came from JSON.
		m.text = text
	}
	return m
}

// label returns a message's name for the log, without text that clients invent.
func (m message) label() string {
	if slices.Contains(methods, m.Method) || slices.Contains(notices, m.Method) {
		return m.Method
	}
	return "other"
}

// methods lists the methods that an agent may call.
var methods = []string{
	methodInitialize, "ping", "tools/list", methodCall, "resources/list", "resources/templates/list", methodRead,
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover",
}

// needParams are the methods that make no sense without.
var needParams = []string{
	methodInitialize, methodCall, methodRead, "prompts/get", "completion/complete", "logging/setLevel",
}

// refused answers a message that cannot be understood.
func (m message) refused() (Response, bool) {
	status := http.StatusBadRequest
	code := codeInvalidRequest
	var text string

	switch notice := strings.HasPrefix(m.Method, "notifications/"); {
	case m.JSONRPC != "2.0":
		text = "jsonrpc must be 2.0"
	case m.Method == "" && (m.Result != nil || m.Error != nil):
		return Response{Status: http.StatusAccepted}, true // nothing was asked of the client
	case m.Method == "":
		text = "method is required"
	case m.Params != nil && m.Params[0] != '{':
		status = http.StatusOK
		code = codeInvalidParams
		text = "params must be an object"
	case m.ID == nil:
		// A notification never gets a response, not even an unknown one.
		return Response{Status: http.StatusAccepted}, !notice || !slices.Contains(notices, m.Method)
	case notice:
		text = m.Method + " is a notification and must not have an id"
	case !slices.Contains(methods, m.Method) && m.version < ownRefusals:
		status = http.StatusOK
		code = codeNoMethod
		text = fmt.Sprintf("unknown method %q", m.Method)
	case m.Params == nil && slices.Contains(needParams, m.Method):
		status = http.StatusOK
		code = codeInvalidParams
		text = "params are required for " + m.Method
	default:
		return Response{}, false
	}

	return Response{Status: status, Body: problem(m.ID, code, text)}, true
}

// scope returns the scope that a grant needs to send the message, if the server refuses the whole message without it:
// tool calls by tool name, and reads of templates and images.
func (m message) scope(ofTools map[string]string) string {
	var params struct{ Name, URI string }
	if json.Unmarshal(m.Params, &params) != nil {
		return ""
	}

	switch {
	case m.Method == methodCall:
		return ofTools[params.Name]
	case m.Method == methodRead && strings.HasPrefix(params.URI, templateURI):
		return wire.ScopeTemplates
	case m.Method == methodRead && strings.HasPrefix(params.URI, fileURI):
		return wire.ScopeDocuments
	}
	return ""
}

// notices are the notifications that the protocol's server knows.
var notices = []string{
	"notifications/initialized", "notifications/cancelled", "notifications/progress",
	"notifications/roots/list_changed",
}

// plainID reports whether the protocol's server accepts an ID: a string or a whole number.
func plainID(id json.RawMessage) bool {
	var text string
	var number int64
	return json.Unmarshal(id, &text) == nil && id[0] == '"' || json.Unmarshal(id, &number) == nil && id[0] != 'n'
}

// withID returns a message or a response with another id.
func withID(text []byte, id json.RawMessage) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return text
	}

	members["id"] = id
	changed, err := json.Marshal(members)
	if err != nil {
		return text // cannot be: its parts are JSON
	}
	return changed
}

// problem is an error of JSON-RPC.
func problem(id json.RawMessage, code int, text string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}

	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err != nil {
		return nil // cannot be: its parts are JSON
	}
	return body
}
