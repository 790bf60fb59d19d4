package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
)

// previewMember asks for a small image of page 1 along with a result.
const previewMember = "preview"

const pictureType = "image/png"

// thumbnailFunc renders page 1 of a result of the caller as a small PNG, or returns the reason why there is none.
type thumbnailFunc func(ctx context.Context, id string) (picture []byte, why string)

// draws reports whether results of the tool can be rendered.
func (t *tool) draws() bool {
	return t.Operation != nil && slices.ContainsFunc(t.Operation.Produces, schema.HasThumbnail)
}

// previewInput returns the schema of the member that requests a preview.
func previewInput() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Description: "Add a small image of page 1"}
}

// takePreview removes the member that requests a preview from the arguments.
func takePreview(arguments json.RawMessage) (wanted bool, rest json.RawMessage, err error) {
	if !bytes.Contains(arguments, []byte(previewMember)) {
		return false, arguments, nil // which may be long
	}
	given, err := membersOf(arguments)
	if err != nil {
		return false, nil, err
	}

	kept := given[:0:0]
	for _, m := range given {
		if m.name != previewMember {
			kept = append(kept, m)
			continue
		}
		switch string(m.value) {
		case "true":
			wanted = true
		case "false", "null":
		default:
			return false, nil, schema.FieldErrors{{Field: previewMember, Message: "must be true or false"}}
		}
	}

	rest, err = objectOf(kept)
	return wanted, rest, err
}

// preview returns an image of a result, or the reason why there is none: a paid call does not fail without a preview.
func (s *service) preview(ctx context.Context, id string) sdk.Content {
	picture, why := s.draw(ctx, id)
	if why != "" {
		return &sdk.TextContent{Text: "No preview. " + why}
	}
	return &sdk.ImageContent{Data: picture, MIMEType: pictureType}
}

// pictureOf returns the URI of the image of a result.
func pictureOf(id string) string { return fileURI + id + pictureURI }

// readPicture reads an image of a result. Its error states why there is none.
func (s *service) readPicture(ctx context.Context, q *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if !maySee(ctx, wire.ScopeDocuments) {
		return nil, sdk.ResourceNotFoundError(q.Params.URI)
	}

	picture, why := s.draw(ctx, strings.TrimSuffix(strings.TrimPrefix(q.Params.URI, fileURI), pictureURI))
	if why != "" {
		return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: why}
	}
	return &sdk.ReadResourceResult{
		Contents: []*sdk.ResourceContents{{URI: q.Params.URI, MIMEType: pictureType, Blob: picture}},
	}, nil
}
