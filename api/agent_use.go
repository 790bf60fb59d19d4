package api

// agent describes how agents use a route.
type agent struct {
	// name is the tool's.
	name string
	// use describes to a model when to use the tool.
	use string
	// reads marks a POST that changes nothing.
	reads bool
	// hidden are the members of the response that no model may see.
	hidden []string
}

// agentUse lists the routes that agents may use besides the operations, all of which are allowed: by method and
// pattern of the route. Other routes, such as those for the secrets of endpoints and the limits of an account, are
// for users.
var agentUse = map[string]agent{
	"GET /v1/account":        {name: "account_get", use: "Use it to see the balance of the wallet before expensive work."},
	"GET /v1/billing/prices": {name: "prices_list", use: "Use it to say what something would cost."},
	"GET /v1/billing/usage":  {name: "billing_usage", use: "Use it to say what was spent, by operation and by day."},

	"GET /v1/jobs":      {name: "jobs_list", use: "Use it to find work that was started with async: true."},
	"GET /v1/jobs/{id}": {name: "jobs_get", use: "Use it to look at a job once. To wait for it take jobs_wait."},

	"GET /v1/files": {name: "files_list", use: "Use it to find uploads and results of the last 24 hours."},
	"POST /v1/files": {
		name: "files_upload", use: "Use it for a file that several tools shall work on: they take its id as fileId, for 24 hours.",
	},
	"DELETE /v1/files/{id}": {name: "files_delete", use: "Use it when a result or an upload must not stay reachable for its 24 hours."},

	"GET /v1/webhooks": {name: "webhooks_list", use: "Use it to see where events are sent."},
	"POST /v1/webhooks": {
		name: "webhooks_create", hidden: []string{"secret"},
		use: "Use it to have the end of jobs told to a server. The signing secret is not shown to agents: a person gives the endpoint a new one in the dashboard.",
	},
	"DELETE /v1/webhooks/{id}": {name: "webhooks_delete", use: "Use it to stop sending events to an endpoint."},

	"GET /v1/templates/gallery": {name: "templates_gallery", use: "Use it to find a ready layout; templates_create takes its id as fromGallery."},
	"GET /v1/templates":         {name: "templates_list", use: "Use it to find a template before you make a new one."},
	"POST /v1/templates": {
		name: "templates_create", use: "Use it for a document that is made again and again with other data: HTML with {{placeholders}} in Handlebars. Publish it before pdf_create can take it.",
	},
	"POST /v1/templates/validate":       {name: "templates_validate", use: "Use it before you store a template that you wrote.", reads: true},
	"GET /v1/templates/{id}":            {name: "templates_get", use: "Use it to read a template and its sample data, which shows the data that it needs."},
	"PATCH /v1/templates/{id}":          {name: "templates_update", use: "Use it to change some fields; documents stay as they are until you publish."},
	"DELETE /v1/templates/{id}":         {name: "templates_delete", use: "Use it only when somebody asks for it."},
	"POST /v1/templates/{id}/publish":   {name: "templates_publish", use: "Use it when a draft is right: from then on pdf_create takes it."},
	"POST /v1/templates/{id}/duplicate": {name: "templates_duplicate", use: "Use it to try a change without touching the template."},
	"GET /v1/templates/{id}/versions":   {name: "templates_versions", use: "Use it to see what was published, and when."},
	"GET /v1/templates/partials":        {name: "templates_partials_list", use: "Use it to see the pieces that templates share."},
	"PUT /v1/templates/partials/{name}": {name: "templates_partials_put", use: "Use it for a piece that several templates share, such as a letterhead: {{> name}}."},
}
