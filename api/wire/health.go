package wire

// Health is the answer of GET /health.
type Health struct {
	OK        bool   `json:"ok" jsonschema:"required" jsonschema_description:"Always true: the process answers."`
	Service   string `json:"service" jsonschema:"required" jsonschema_description:"Name of the service."`
	Version   string `json:"version,omitempty" jsonschema_description:"Version of the program."`
	RequestID string `json:"requestId" jsonschema_description:"Id of this request."`
}

// Readiness is the answer of GET /health/ready, with status 503 when not ok.
type Readiness struct {
	OK     bool              `json:"ok" jsonschema:"required" jsonschema_description:"Whether work is accepted."`
	Checks map[string]string `json:"checks" jsonschema:"required" jsonschema_description:"The outcome of each check: ok, failed, stopping, full, alone where Redis does not answer and this process counts rate limits for itself, off where the server runs without an engine, or unavailable where the bucket of the files does not answer or their disk is full, which takes away only the work that needs it."`
	// Sandbox is how well the engines are locked in.
	Sandbox string     `json:"sandbox,omitempty" jsonschema_description:"How well browsers and engines are locked in: full, or less where the machine or the container refuses namespaces: reduced, none."`
	Queue   QueueState `json:"queue" jsonschema:"required" jsonschema_description:"How busy the browser is."`
	// Queues are those of all pools.
	Queues map[string]QueueState `json:"queues" jsonschema:"required" jsonschema_description:"How busy each pool is: browser, files (work on PDFs and images), texts (Markdown) and office."`
}

// QueueState tells how busy a pool is.
type QueueState struct {
	Slots  int `json:"slots" jsonschema:"required" jsonschema_description:"Jobs that can run at once; a newcomer may get one more."`
	Busy   int `json:"busy" jsonschema:"required" jsonschema_description:"Jobs that run."`
	Queued int `json:"queued" jsonschema:"required" jsonschema_description:"Jobs that wait."`
}
