package pdffile

// The flags of annotations.
const (
	FlagInvisible    = 1 << 0
	FlagHidden       = 1 << 1
	FlagPrint        = 1 << 2
	FlagNoZoom       = 1 << 3
	FlagNoRotate     = 1 << 4
	FlagNoView       = 1 << 5
	FlagToggleNoView = 1 << 8
)
