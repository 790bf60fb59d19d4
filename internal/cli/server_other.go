//go:build !linux

package cli

import (
	_ "embed"
	"os"
)

//go:embed catalog.json
var catalogText []byte

// Main runs the command line of this process and returns its exit code.
func Main() int {
	p := program{catalog: func() (catalog, error) { return decodeCatalog(catalogText) }, server: absentCommands()}
	return p.run(notifyContext(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
