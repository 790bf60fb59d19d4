package api

// toolSpec describes how agents use a route.
type toolSpec struct {
	// name is the tool's.
	name string
	// use describes to a model when to use the tool.
	use string
	// reads marks a POST that changes nothing.
	reads bool
	// visibility is when agents see the tool without choosing its toolset, which is the route's tag.
	visibility visibility
	// hidden are the members of the response that no model may see.
	hidden []string
}

// visibility is when a tool is listed besides in its toolset.
type visibility int

const (
	inToolset visibility = iota
	byDefault            // in the default toolset, too
	always               // other tools refer to it
)

// agentUse lists the routes that agents may use besides the operations, all of which are allowed: by method and
// pattern of the route. Other routes, such as those for the secrets of endpoints and the limits of an account, are
// for users.
var agentUse = map[string]toolSpec{
	"GET /v1/account":        {name: "account_get", visibility: byDefault, use: "Use when you check the balance. Not for spending: use billing_usage."},
	"GET /v1/billing/prices": {name: "prices_list", use: "Use when the user asks for the cost of an operation. Not for past costs: use billing_usage."},
	"GET /v1/billing/usage":  {name: "billing_usage", use: "Use when the user asks for spending. Not for the balance: use account_get."},

	"GET /v1/jobs":         {name: "jobs_list", use: "Use when you look for work started with async: true. Not for one job: use jobs_get."},
	"GET /v1/jobs/{id}":    {name: "jobs_get", visibility: always, use: "Use when you check a job once. Not for waiting: use jobs_wait."},
	"DELETE /v1/jobs/{id}": {name: "jobs_cancel", use: "Use when a job is no longer needed. A bulk job keeps, and is charged for, what it has made."},

	"GET /v1/files": {name: "files_list", use: "Use when you look for stored uploads and results."},
	"POST /v1/files": {
		name: "files_upload", visibility: always,
		use: "Use when several tools need the same file: they accept its ID as fileId for 24 hours.",
	},
	"DELETE /v1/files/{id}": {name: "files_delete", use: "Use when an upload or a result must not stay available until it expires."},

	"GET /v1/webhooks": {name: "webhooks_list", visibility: byDefault, use: "Use when you need the endpoints that receive events."},
	"POST /v1/webhooks": {
		name: "webhooks_create", visibility: byDefault, hidden: []string{"secret"},
		use: "Use when a server must be notified about finished jobs. The signing secret stays hidden: the user " +
			"rotates it in the dashboard. Not for waiting: use jobs_wait.",
	},
	"DELETE /v1/webhooks/{id}": {name: "webhooks_delete", visibility: byDefault, use: "Use when an endpoint must stop receiving events."},

	"GET /v1/connections": {name: "connections_list", use: "Use when deliverTo needs the ID of a stored bucket or " +
		"SFTP server. The user creates connections in the dashboard."},

	"GET /v1/signing-identities": {name: "signing_identities_list", use: "Use when pdf_sign needs the ID of a " +
		"stored key. The user creates signing identities in the dashboard."},

	"GET /v1/templates/gallery": {name: "templates_gallery", use: "Use when you want a ready-made layout; templates_create accepts its id as fromGallery."},
	"GET /v1/templates":         {name: "templates_list", visibility: byDefault, use: "Use when you look for an existing template. Not for ready-made layouts: use templates_gallery."},
	"POST /v1/templates": {
		name: "templates_create", visibility: byDefault,
		use: "Use when a document is created repeatedly with other data. Write HTML with Handlebars. pdf_create accepts it after templates_publish.",
	},
	"POST /v1/templates/validate": {name: "templates_validate", use: "Use when you have written a template, " +
		"before you store it. Not for rendered pages: use templates_preview.", reads: true},
	"GET /v1/templates/{id}":            {name: "templates_get", visibility: byDefault, use: "Use when you need the source of a template, or sample data as a model for yours."},
	"PATCH /v1/templates/{id}":          {name: "templates_update", visibility: byDefault, use: "Use when some fields of a template change. Documents use the change after templates_publish."},
	"DELETE /v1/templates/{id}":         {name: "templates_delete", use: "Use when the user asks for it explicitly."},
	"POST /v1/templates/{id}/publish":   {name: "templates_publish", visibility: byDefault, use: "Use when a draft is ready; pdf_create uses it from then on."},
	"POST /v1/templates/{id}/duplicate": {name: "templates_duplicate", use: "Use when you test a change without modifying the original."},
	"GET /v1/templates/{id}/versions":   {name: "templates_versions", use: "Use when you need the numbers and dates of published versions."},
	"GET /v1/templates/partials":        {name: "templates_partials_list", use: "Use when you need the parts that templates share."},
	"PUT /v1/templates/partials/{name}": {name: "templates_partials_put", use: "Use when several templates share a part, such as a letterhead. They include it with {{> name}}."},
}
