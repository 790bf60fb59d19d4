package job

// Input is one file of a job and the password that opens it; empty is none.
type Input struct {
	Name     string
	Password string
}

// Changed describes, in sentences, the changes in a result in addition to the requested
// ones.
type Changed struct {
	Changes []string
}

// The limits of a result. A document above them could hardly be opened by its
// reader.
const (
	MaxBytes = 200 << 20
	MaxPages = 2000
)
