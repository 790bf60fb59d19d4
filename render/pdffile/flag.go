package pdffile

// The flags of annotations.
const (
	FlagInvisible    = 1 << 0
	FlagHidden       = 1 << 1
	FlagPrint        = 1 << 2
	FlagNoView       = 1 << 5
	FlagToggleNoView = 1 << 8
)
