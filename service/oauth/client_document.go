package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

const (
	// maxDocument bounds a client ID metadata document in bytes, as its draft recommends.
	maxDocument = 5 << 10
	// documentLife is the cache lifetime of a document, maxDocuments the maximum number of cached documents, and
	// documentTimeout the time limit of a fetch.
	documentLife    = 5 * time.Minute
	maxDocuments    = 256
	documentTimeout = 5 * time.Second
	// documentsPerUser bounds the documents that are fetched for a user in limitWindow.
	documentsPerUser = 20
)

// documentCache caches the clients of metadata documents. The zero value is an empty cache.
type documentCache struct {
	mu      sync.Mutex
	clients map[string]cachedClient // by client ID
}

type cachedClient struct {
	Client
	until time.Time
}

func (c *documentCache) get(id string, now time.Time) (Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.clients[id]
	return found.Client, ok && found.until.After(now)
}

func (c *documentCache) put(client Client, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.clients) >= maxDocuments || c.clients == nil {
		c.clients = map[string]cachedClient{}
	}
	c.clients[client.ID] = cachedClient{client, until}
}

// documentedClient returns a client by the document that its ID is the URL of.
func (s *Server) documentedClient(ctx context.Context, id, userID string) (Client, error) {
	u, err := url.Parse(id)
	if err != nil || len(id) > maxClientID || u.Hostname() == "" || u.User != nil || strings.ContainsAny(id, "#\\ ") ||
		u.Path == "" || u.Path == "/" ||
		slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return Client{}, &ClientError{"The app's client_id must be an https URL with a path."}
	}

	if cached, ok := s.documents.get(id, s.now()); ok {
		return cached, nil
	}
	if wait, ok := s.take(ctx, "document:"+userID, documentsPerUser, limitWindow); !ok {
		return Client{}, &ClientError{"Too many app lookups. Retry in " + wait.Round(time.Second).String() + "."}
	}

	metadata, err := s.fetchDocument(ctx, id)
	if err != nil {
		return Client{}, &ClientError{"The client metadata document of " + u.Host + " is invalid: " + err.Error() + "."}
	}

	client := Client{store.OAuthClient{ID: id, Name: displayName(metadata.Name), Redirects: metadata.Redirects}, u.Host}
	s.documents.put(client, s.now().Add(documentLife))
	return client, nil
}

// Errors of fetchDocument, for the user.
var (
	errDocumentGone    = errors.New("its URL does not respond or is not allowed")
	errDocumentType    = errors.New("it must be JSON of at most 5 KiB")
	errDocumentID      = errors.New("its client_id does not match its URL")
	errDocumentInvalid = errors.New("it has a client secret, or unsupported redirect URIs, grant types or response types")
)

// fetchDocument fetches the metadata document of a client, from public addresses only. It follows no redirect: the
// owner of the URL decides on the content.
func (s *Server) fetchDocument(ctx context.Context, id string) (clientMetadata, error) {
	var metadata clientMetadata
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return metadata, errDocumentGone
	}
	r.Header.Set("Accept", "application/json")

	response, err := s.cfg.Documents.Do(r)
	if err != nil {
		return metadata, errDocumentGone
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return metadata, errDocumentGone
	}

	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	media, _, mediaErr := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || mediaErr != nil || len(text) > maxDocument ||
		media != "application/json" && !strings.HasSuffix(media, "+json") || json.Unmarshal(text, &metadata) != nil {
		return metadata, errDocumentType
	}

	if metadata.ClientID != id {
		return metadata, errDocumentID
	}
	if metadata.ClientSecret != "" || metadata.Method != "" && metadata.Method != "none" || metadata.validate() != nil {
		return metadata, errDocumentInvalid
	}
	return metadata, nil
}
