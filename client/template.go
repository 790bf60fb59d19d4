package client

// TemplateState is a template as it was read or changed.
type TemplateState struct {
	Template

	// ETag names this state, for a change that is to be refused once there is another.
	ETag string `json:"-"`
}
