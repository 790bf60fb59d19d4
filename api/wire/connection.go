package wire

import "time"

// Connection is a bucket or a file server to which results can be sent. Its secret is never shown.
type Connection struct {
	ID        string          `json:"id" jsonschema:"required" jsonschema_description:"ID of the connection, for deliverTo."`
	Name      string          `json:"name" jsonschema:"required" jsonschema_description:"Name of the connection."`
	Kind      string          `json:"kind" jsonschema:"required,enum=s3,enum=sftp" jsonschema_description:"Kind of connection, and the field with its settings."`
	S3        *S3Connection   `json:"s3,omitempty" jsonschema_description:"Settings of an S3 connection."`
	SFTP      *SFTPConnection `json:"sftp,omitempty" jsonschema_description:"Settings of an SFTP connection."`
	CreatedAt time.Time       `json:"createdAt" jsonschema:"required" jsonschema_description:"Creation time."`
}

// S3Connection is a bucket of S3 or of a compatible service, without its secret key.
type S3Connection struct {
	Endpoint    string `json:"endpoint,omitempty" jsonschema:"format=uri,maxLength=2048" jsonschema_description:"Public https URL of the service, without a path. Default: Amazon S3 in the region."`
	Region      string `json:"region,omitempty" jsonschema:"maxLength=40,default=us-east-1" jsonschema_description:"Region of the bucket."`
	Bucket      string `json:"bucket" jsonschema:"required,maxLength=63" jsonschema_description:"Name of the bucket."`
	AccessKeyID string `json:"accessKeyId" jsonschema:"required,minLength=1,maxLength=256" jsonschema_description:"ID of the access key."`
	PathStyle   bool   `json:"pathStyle,omitempty" jsonschema:"default=false" jsonschema_description:"If true, URLs have the bucket in their path; if false, in their host name. Many compatible services need true."`
	Prefix      string `json:"prefix,omitempty" jsonschema:"maxLength=1024" jsonschema_description:"Text before the key of every object, such as invoices/."`
}

// SFTPConnection is a folder on an SFTP server, without the password and the private key.
type SFTPConnection struct {
	Host     string `json:"host" jsonschema:"required,minLength=1,maxLength=253" jsonschema_description:"Public host name or IP address of the server."`
	Port     int    `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535,default=22" jsonschema_description:"Port of the server."`
	Username string `json:"username" jsonschema:"required,minLength=1,maxLength=256" jsonschema_description:"User name on the server."`
	HostKey  string `json:"hostKey,omitempty" jsonschema:"maxLength=100" jsonschema_description:"SHA-256 fingerprint of the server's host key, SHA256:…, as ssh-keygen -l prints it. relaypdf sends files only to a server with this key. If absent, the first successful test stores it."`
	Folder   string `json:"folder,omitempty" jsonschema:"maxLength=1024" jsonschema_description:"Folder that contains all files. Default: the folder in which a session starts."`
}

// ConnectionList is the response of GET /v1/connections.
type ConnectionList struct {
	Connections []Connection `json:"connections" jsonschema:"required" jsonschema_description:"Connections of the account, oldest first."`
}

// ConnectionTest is the result of a test: a small file was written and deleted, or a step failed.
type ConnectionTest struct {
	OK         bool   `json:"ok" jsonschema:"required" jsonschema_description:"If true, a file was written and deleted."`
	FailedStep string `json:"failedStep,omitempty" jsonschema:"enum=connect,enum=hostKey,enum=authenticate,enum=write,enum=delete" jsonschema_description:"Step that failed. connect: the server could not be reached. hostKey: its host key is not the stored one. authenticate: it rejected the credentials. write, delete: it refused to write or delete the test file."`
	Message    string `json:"message,omitempty" jsonschema_description:"Reason of the failure."`
	HostKey    string `json:"hostKey,omitempty" jsonschema_description:"Fingerprint of the host key that the SFTP server presented. The first successful test of a connection without a hostKey stores it."`
}
