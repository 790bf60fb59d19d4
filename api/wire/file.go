package wire

import "time"

// FileURL is the answer of a call with response "url".
type FileURL struct {
	ID        string    `json:"id" jsonschema:"required" jsonschema_description:"Id of the result."`
	Status    string    `json:"status" jsonschema:"required,enum=completed" jsonschema_description:"Always completed."`
	URL       string    `json:"url" jsonschema:"required,format=uri" jsonschema_description:"Public address of the file."`
	Filename  string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ExpiresAt time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When the address stops working, 24 hours after the file was made."`
	Warnings  []Warning `json:"warnings,omitempty" jsonschema_description:"What is wrong with the page that the result was made of, or had to change, at most 50."`
}

// Warning is something that is wrong with the page that a result was made of, or that
// is different in a result.
type Warning struct {
	Code    string `json:"code" jsonschema:"required,enum=resource_failed,enum=script_error,enum=font_missing,enum=content_clipped,enum=animation_unfinished,enum=content_changed,enum=content_unread,enum=attachment_embedded,enum=text_recognized,enum=value_not_found,enum=page_empty,enum=pictures_omitted,enum=option_unused,enum=html_filtered" jsonschema_description:"Machine-readable name of what is wrong."`
	Message string `json:"message" jsonschema:"required" jsonschema_description:"What is wrong."`
	URL     string `json:"url,omitempty" jsonschema_description:"Address of what it is about."`
}

// Upload is the answer of POST /v1/files.
type Upload struct {
	ID          string    `json:"id" jsonschema:"required" jsonschema_description:"Id of the file, for fileId. Only this account can use it."`
	Filename    string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes   int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ContentType string    `json:"contentType" jsonschema:"required" jsonschema_description:"What the file was declared to be, or else looks like."`
	ExpiresAt   time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When the file goes, 24 hours after it was sent."`
}

// Acknowledged is the answer to a deletion.
type Acknowledged struct {
	OK bool `json:"ok" jsonschema:"required" jsonschema_description:"Always true."`
}

// FileList is the answer of GET /v1/files.
type FileList struct {
	Files      []FileEntry `json:"files" jsonschema:"required" jsonschema_description:"The account's uploads and results that can still be read, the newest first."`
	NextCursor *string     `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null at the end."`
}

// FileEntry is a stored file.
type FileEntry struct {
	ID          string    `json:"id" jsonschema:"required" jsonschema_description:"Id of the file, for fileId."`
	Kind        string    `json:"kind" jsonschema:"required,enum=upload,enum=result" jsonschema_description:"Where it comes from. A result can be downloaded by its id."`
	Filename    string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes   int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ContentType string    `json:"contentType" jsonschema:"required" jsonschema_description:"What the file is."`
	CreatedAt   time.Time `json:"createdAt" jsonschema:"required" jsonschema_description:"When it was made."`
	ExpiresAt   time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When it goes."`
}
