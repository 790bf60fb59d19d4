package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/relaypdf/relaypdf/api/wire"
)

// URIs of resources: the guides, the account's templates with their sample data, and images of its results.
const (
	documentURI = "relaypdf://docs/"
	templateURI = "relaypdf://templates/"
	sampleURI   = "/sample-data"
	fileURI     = "relaypdf://files/"
	pictureURI  = "/preview"
)

// Routes that describe templates.
const (
	templatesRoute = "/v1/templates"
	templateRoute  = "/v1/templates/{id}"
)

func (s *service) addResources(server *sdk.Server, documents []Guide) {
	for _, d := range documents {
		server.AddResource(&sdk.Resource{
			URI: documentURI + d.Name, Name: d.Name, Title: d.Title, Description: d.Description,
			MIMEType: "text/markdown", Size: int64(len(d.Text)),
		}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return text(documentURI+d.Name, "text/markdown", d.Text), nil
		})
	}

	server.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: templateURI + "{id}", Name: "template", Title: "Template",
		Description: "A template of the account with its source, by id or slug.", MIMEType: "application/json",
	}, s.readTemplate)
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: templateURI + "{id}" + sampleURI, Name: "sample-data", Title: "Sample data",
		Description: "The data that a template is shown with, which has the shape of what pdf_create takes as templateData.",
		MIMEType:    "application/json",
	}, s.readTemplate)
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: pictureOf("{id}"), Name: "preview", Title: "Picture of a result",
		Description: "Page 1 of a PDF that was made, or an image, by the id of the result: small, and at no charge.",
		MIMEType:    pictureType,
	}, s.readPicture)

	server.AddReceivingMiddleware(s.listTemplates)
}

// text is a resource that was read.
func text(uri, media, content string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: media, Text: content}}}
}

// listTemplates adds the account's templates to the list of resources, which is
// otherwise the same for all.
func (s *service) listTemplates(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, q)
		list, ok := result.(*sdk.ListResourcesResult)
		if err != nil || !ok || !maySee(ctx, wire.ScopeTemplates) {
			return result, err
		}

		var page struct {
			Templates []struct{ Slug, Name, Description string }
		}
		if err := s.get(ctx, templatesRoute, "", &page); err != nil {
			return nil, err
		}

		for _, t := range page.Templates {
			list.Resources = append(list.Resources,
				&sdk.Resource{
					URI: templateURI + t.Slug, Name: t.Slug, Title: t.Name, Description: t.Description,
					MIMEType: "application/json",
				},
				&sdk.Resource{
					URI: templateURI + t.Slug + sampleURI, Name: t.Slug + " (sample data)",
					Title: t.Name + ": sample data", MIMEType: "application/json",
				},
			)
		}
		return list, nil
	}
}

// maySee reports whether the caller has a scope. Without the scope, a list leaves items out instead of failing.
func maySee(ctx context.Context, scope string) bool {
	x, ok := ctx.Value(exchangeKey{}).(interface{ has(scope string) bool })
	return !ok || x.has(scope)
}

// exchangeKey is the key of the request that a message came with, in its context.
type exchangeKey struct{}

// readTemplate reads a template, or its sample data.
func (s *service) readTemplate(ctx context.Context, q *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	rest, sample := strings.CutSuffix(strings.TrimPrefix(q.Params.URI, templateURI), sampleURI)
	id, err := url.PathUnescape(rest)
	if err != nil || id == "" {
		return nil, sdk.ResourceNotFoundError(q.Params.URI)
	}

	var template struct {
		SampleData json.RawMessage `json:"sampleData"`
		Name       string          `json:"name"`
		Slug       string          `json:"slug"`
		HTML       string          `json:"html"`
		Options    json.RawMessage `json:"options"`
	}
	if err := s.get(ctx, templateRoute, id, &template); err != nil {
		if errors.Is(err, errMissing) {
			return nil, sdk.ResourceNotFoundError(q.Params.URI)
		}
		return nil, err
	}

	content := template.SampleData
	if !sample {
		if content, err = json.Marshal(template); err != nil {
			return nil, err
		}
	}
	return text(q.Params.URI, "application/json", string(content)), nil
}

// errMissing means that the account has no such thing.
var errMissing = errors.New("the resource does not exist")

// get requests JSON from a route. Its error is safe to show to users.
func (s *service) get(ctx context.Context, pattern, id string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(pattern, "{id}", url.PathEscape(id), 1),
		http.NoBody)
	if err != nil {
		return err
	}

	r.SetPathValue("id", id)
	answer, err := s.carry(ctx, pattern, r)
	switch {
	case err != nil:
		return err
	case answer.Status == http.StatusNotFound:
		return errMissing
	case answer.Status != http.StatusOK:
		return fmt.Errorf("the service returned status %d", answer.Status)
	}
	return json.Unmarshal(answer.Body, v)
}
