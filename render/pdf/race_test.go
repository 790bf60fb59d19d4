//go:build race

package pdf

// engineMemory is larger than the default: the race detector stores several bytes about
// each byte that a program uses.
const engineMemory = 4 << 30
