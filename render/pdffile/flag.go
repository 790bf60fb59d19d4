package pdffile

// TestMark is the entry of the annotations that draw the test mark.
const TestMark = "/RelaypdfTest"

// The flags of annotations.
const (
	FlagInvisible    = 1 << 0
	FlagHidden       = 1 << 1
	FlagPrint        = 1 << 2
	FlagNoView       = 1 << 5
	FlagReadOnly     = 1 << 6
	FlagToggleNoView = 1 << 8
)
