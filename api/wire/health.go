package wire

// Health is the response of GET /health.
type Health struct {
	OK        bool   `json:"ok" jsonschema:"required" jsonschema_description:"Always true."`
	Service   string `json:"service" jsonschema:"required" jsonschema_description:"Name of the service."`
	Version   string `json:"version,omitempty" jsonschema_description:"Version of the server."`
	RequestID string `json:"requestId" jsonschema_description:"ID of this request."`
}

// Readiness is the response of GET /health/ready, with status 503 when not ok.
type Readiness struct {
	OK     bool              `json:"ok" jsonschema:"required" jsonschema_description:"If true, the server accepts work."`
	Checks map[string]string `json:"checks" jsonschema:"required" jsonschema_description:"Result of each check. ok: works. failed: does not work; no work is accepted. stopping: shutting down. full: the queue is full; no work is accepted. alone: Redis is unreachable, so this server counts rate limits by itself. off: the server runs without this engine. unavailable: file storage is unreachable or full; only work that needs it fails."`
	// Sandbox is the level of isolation of the engines.
	Sandbox string     `json:"sandbox,omitempty" jsonschema_description:"Isolation of browsers and engines. full: complete. reduced, none: the machine or the container does not allow namespaces."`
	Queue   QueueState `json:"queue" jsonschema:"required" jsonschema_description:"Load of the browser."`
	// Queues holds the state of all pools' queues.
	Queues map[string]QueueState `json:"queues" jsonschema:"required" jsonschema_description:"Load of each pool: browser, files (PDFs and images), texts (Markdown) and office (LibreOffice)."`
}

// QueueState describes how busy a pool is.
type QueueState struct {
	Slots  int `json:"slots" jsonschema:"required" jsonschema_description:"Number of jobs that can run at once. A new account can get one more."`
	Busy   int `json:"busy" jsonschema:"required" jsonschema_description:"Number of running jobs."`
	Queued int `json:"queued" jsonschema:"required" jsonschema_description:"Number of waiting jobs."`
}
