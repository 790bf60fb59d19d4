package engine

import "time"

// Time limits of work on files, by kind and from the moment a job gets a slot. Each is a few times what the largest
// valid files need. Jobs that take longer are hostile or should be split.
const (
	// ReadTime is for jobs that describe a file, such as its information or its form fields.
	ReadTime = 10 * time.Second
	// TextTime is for reading the text of a file.
	TextTime = 20 * time.Second
	// ChangeTime is for jobs that rearrange a file or add to it: pages, bookmarks, passwords, stamps, filled forms.
	ChangeTime = 30 * time.Second
	// MakeTime is for jobs that render, compress, join or convert.
	MakeTime = time.Minute
	// OCRTime is for OCR of scans. Fifty pages take a few seconds each, two at a time.
	OCRTime = 4 * time.Minute
	// CompareTime is for rendering all pages of two files, and again those that differ.
	CompareTime = 4 * time.Minute
)
