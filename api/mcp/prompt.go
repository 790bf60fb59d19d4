package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt is something that users ask agents for with this service.
type prompt struct {
	name, title, description string
	arguments                []argument
	// text is the prompt for the agent; %s stands for each argument.
	text string
}

type argument struct {
	name, description string
	optional          bool
}

var prompts = []prompt{
	{
		name: "make_invoice", title: "Make an invoice", description: "An invoice as a PDF, of what you say about it.",
		arguments: []argument{
			{"details", "Who invoices whom for what: names, addresses, items, prices, taxes, dates.", false},
			{"language", "Language of the invoice, such as German; English by default.", true},
		},
		text: `Make an invoice as a PDF of these details:

%s

Language: %s.

Look with templates_list whether the account has a template for invoices, and fill it by pdf_create with templateId and templateData if it does. Otherwise write HTML with its own CSS for A4, with a table of the items that repeats its head on every page, and take pdf_create. Compute totals and taxes yourself, and check them twice. Ask for what is missing and must not be invented, such as the number of the invoice. Give me the address of the PDF.`,
	},
	{
		name: "page_to_pdf", title: "Turn this page into a PDF", description: "A web page as a PDF.",
		arguments: []argument{
			{"url", "Address of the page, which must be public.", false},
			{"format", "Paper format, such as A4 or Letter; A4 by default.", true},
		},
		text: `Turn the page at %s into a PDF of format %s with pdf_create, backgrounds included. If it comes out empty or cut off, try again with options.waitUntil "networkidle0" or a waitForSelector. Give me the address of the PDF.`,
	},
	{
		name: "fill_form", title: "Fill this form", description: "A PDF form, filled in with what you say.",
		arguments: []argument{{"url", "Address of the PDF.", false}, {"data", "What to fill in.", false}},
		text: `Fill the form of the PDF at %s with this:

%s

Read the names, types and choices of its fields with pdf_form_fields first, then fill them with pdf_form_fill, without flatten, so that I can still change it. Tell me which fields you left empty, and give me the address of the PDF.`,
	},
}

// defaults are for arguments that were not given.
var defaults = map[string]string{"language": "English", "format": "A4"}

func addPrompts(server *sdk.Server) {
	for _, p := range prompts {
		described := &sdk.Prompt{Name: p.name, Title: p.title, Description: p.description}
		for _, a := range p.arguments {
			described.Arguments = append(described.Arguments, &sdk.PromptArgument{
				Name: a.name, Description: a.description, Required: !a.optional,
			})
		}
		server.AddPrompt(described, p.get)
	}
}

// get fills the prompt.
func (p prompt) get(_ context.Context, q *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	var values []any
	for _, a := range p.arguments {
		value := strings.TrimSpace(q.Params.Arguments[a.name])
		if value == "" && !a.optional {
			return nil, &jsonrpc.Error{
				Code: codeInvalidParams, Message: fmt.Sprintf("arguments.%s is required: %s", a.name, a.description),
			}
		}
		if value == "" {
			value = defaults[a.name]
		}
		values = append(values, value)
	}

	return &sdk.GetPromptResult{
		Description: p.description,
		Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf(p.text, values...)}},
		},
	}, nil
}
