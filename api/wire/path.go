package wire

import "strings"

// OperationPath returns the path of an operation: "pdf.merge" is
// "/v1/pdf/merge", and a final "create" is left out, so that "pdf.create" is
// "/v1/pdf".
func OperationPath(name string) string {
	return "/v1/" + strings.ReplaceAll(strings.TrimSuffix(name, ".create"), ".", "/")
}

// FilePattern is the route that a stored result is fetched from.
const FilePattern = "/v1/files/{id}"

// AgentPath is the path of the Model Context Protocol endpoint.
const AgentPath = "/mcp"
