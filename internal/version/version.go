// Package version has the version of relaypdf.
package version

// Version is the release. A build in a Git checkout sets it.
var Version = "development"
