//go:build !race

package pdf

// engineMemory is 0, which means the default of the service.
const engineMemory = 0
