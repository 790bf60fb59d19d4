package wire

import "time"

// FileURL is the response of a call with response "url".
type FileURL struct {
	ID           string     `json:"id" jsonschema:"required" jsonschema_description:"ID of the result."`
	Status       string     `json:"status" jsonschema:"required,enum=completed" jsonschema_description:"Always completed."`
	URL          string     `json:"url" jsonschema:"required,format=uri" jsonschema_description:"Public URL of the file."`
	Filename     string     `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes    int64      `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ExpiresAt    time.Time  `json:"expiresAt" jsonschema:"required" jsonschema_description:"Time at which the URL stops working. Default: 24 hours after creation."`
	MaxDownloads int64      `json:"maxDownloads,omitempty" jsonschema_description:"Maximum number of downloads by the URL, if the call set one."`
	Delivered    *Delivered `json:"delivered,omitempty" jsonschema_description:"Delivery of the result to deliverTo, if the call had one."`
	Warnings     []Warning  `json:"warnings,omitempty" jsonschema_description:"Warnings about the source page and the result, at most 50."`
}

// Delivered is the successful delivery of a result to the destination that its call named.
type Delivered struct {
	Kind         string    `json:"kind" jsonschema:"required,enum=url,enum=s3,enum=sftp" jsonschema_description:"Kind of destination."`
	Host         string    `json:"host" jsonschema:"required" jsonschema_description:"Host of the destination."`
	ConnectionID string    `json:"connectionId,omitempty" jsonschema_description:"ID of the connection; absent for a URL."`
	Key          string    `json:"key,omitempty" jsonschema_description:"Key of the object or path of the file, without the prefix or the folder of the connection. Absent for a URL, and if store is false."`
	StatusCode   int       `json:"statusCode,omitempty" jsonschema_description:"HTTP status that the destination returned, from 200 to 299; absent for sftp."`
	Attempts     int       `json:"attempts" jsonschema:"required" jsonschema_description:"Number of attempts."`
	At           time.Time `json:"deliveredAt" jsonschema:"required" jsonschema_description:"Time of the destination's response."`
}

// Warning is something that is wrong with the page that a result was made of, or that
// is different in a result.
type Warning struct {
	Code    string `json:"code" jsonschema:"required,enum=resource_failed,enum=script_error,enum=font_missing,enum=content_clipped,enum=animation_unfinished,enum=css_unsupported,enum=layout_unstable,enum=content_changed,enum=content_unread,enum=attachment_embedded,enum=text_recognized,enum=value_not_found,enum=page_empty,enum=pictures_omitted,enum=option_unused,enum=value_recalculated,enum=html_filtered,enum=standard_unmet,enum=document_mismatch,enum=signature_broken,enum=text_rasterized,enum=network_busy" jsonschema_description:"Machine-readable name of the warning."`
	Message string `json:"message" jsonschema:"required" jsonschema_description:"The error and its fix."`
	URL     string `json:"url,omitempty" jsonschema_description:"URL of the resource that the warning is about."`

	Page      int      `json:"page,omitempty" jsonschema_description:"Page of the result, from 1. This field and the next ones are parts of the message of standard_unmet."`
	Element   string   `json:"element,omitempty" jsonschema_description:"Structure type such as H3, CSS selector or font that has the error."`
	Text      string   `json:"text,omitempty" jsonschema_description:"Beginning of the element's text."`
	Problem   string   `json:"problem,omitempty" jsonschema_description:"The error, without its position and its fix."`
	Remedy    string   `json:"remedy,omitempty" jsonschema_description:"The fix."`
	Standards []string `json:"standards,omitempty" jsonschema_description:"Requested standards that the file cannot claim because of the error."`
}

// Upload is the response of POST /v1/files.
type Upload struct {
	ID          string    `json:"id" jsonschema:"required" jsonschema_description:"ID of the file, for fileId. Only this account can use it."`
	Filename    string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes   int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ContentType string    `json:"contentType" jsonschema:"required" jsonschema_description:"Declared content type, or else the detected one."`
	ExpiresAt   time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"Expiry time, 24 hours after the upload."`
}

// Acknowledged is the response to a deletion.
type Acknowledged struct {
	OK bool `json:"ok" jsonschema:"required" jsonschema_description:"Always true."`
}

// FileList is the response of GET /v1/files.
type FileList struct {
	Files      []FileEntry `json:"files" jsonschema:"required" jsonschema_description:"Uploads and results of the account that have not expired, newest first."`
	NextCursor *string     `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null on the last page."`
}

// FileEntry is a stored file.
type FileEntry struct {
	ID          string    `json:"id" jsonschema:"required" jsonschema_description:"ID of the file, for fileId."`
	Kind        string    `json:"kind" jsonschema:"required,enum=upload,enum=result" jsonschema_description:"Kind of file: an upload or a result. Anyone with the ID of a result can download it."`
	Filename    string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes   int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ContentType string    `json:"contentType" jsonschema:"required" jsonschema_description:"Content type."`
	CreatedAt   time.Time `json:"createdAt" jsonschema:"required" jsonschema_description:"Creation time."`
	ExpiresAt   time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"Time at which the file expires."`
}
