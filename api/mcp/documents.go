package mcp

import "github.com/relaypdf/relaypdf/web/docs"

// Documents returns the pages for users of the API, which agents read as resources. Links are to the server at address.
func Documents(address string) ([]Guide, error) {
	all, err := docs.Read(address)
	if err != nil {
		return nil, err
	}

	var documents []Guide
	for _, g := range all {
		if g.Internal {
			continue
		}
		documents = append(documents, Guide{
			Name: g.Slug, Title: g.Title, Description: g.Description, Text: g.Source,
		})
	}

	return documents, nil
}
