package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// listener forwards this account's deliveries to a program on this machine.
type listener struct {
	target, secret, endpoint string
	every                    time.Duration

	from time.Time
	seen map[string]bool // ids of events
}

const (
	// listenOverlap covers events whose transaction ended after a later one's.
	listenOverlap = 10 * time.Second
	// listenRetries bridges a service that restarts.
	listenRetries = 5
	// forwardTime is the time limit of a receiver, the same as for the service's own deliveries.
	forwardTime = 15 * time.Second
)

func newWebhooksListen() *cobra.Command {
	l := &listener{seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use: "listen PORT|URL", Short: "Forward this account's events to a local server", Args: cobra.ExactArgs(1),
		Long: "Forward the deliveries of the account's endpoints to a URL on this machine while the command runs, " +
			"with the same bodies and signature scheme. " +
			"Each event is forwarded once, even if several endpoints receive it. The response of the local server has no effect.\n\n" +
			"The command forwards the events that an endpoint of the account subscribes to. It signs them with a " +
			"new secret, which it prints first, or with --secret.\n\n" +
			"    relaypdf webhooks listen 3000/hooks",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if l.target, err = localTarget(args[0]); err != nil {
				return err
			}
			return l.run(cmd)
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&l.secret, "secret", "", "signing secret, whsec_… (default a new secret)")
	flags.StringVar(&l.endpoint, "endpoint", "", "ID of the endpoint to forward; others are ignored")
	flags.DurationVar(&l.every, "every", 2*time.Second, "interval between checks for new events")

	setting.AddClientFlags(flags)
	return cmd
}

// localTarget reads a port, a port with a path, or an address.
func localTarget(text string) (string, error) {
	address := text
	if !isAddress(text) {
		address = "http://" + text
		if port, _, _ := strings.Cut(text, "/"); !strings.Contains(port, ":") {
			if _, err := strconv.ParseUint(port, 10, 16); err == nil {
				address = "http://localhost:" + text
			}
		}
	}

	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "", console.Usagef(
			"%q is not a URL; write a port like 3000, a port with a path like 3000/hooks, or a URL like http://localhost:3000/hooks",
			text)
	}
	return parsed.String(), nil
}

func (l *listener) run(cmd *cobra.Command) error {
	service, err := connect(cmd, listenRetries)
	if err != nil {
		return err
	}

	if l.secret == "" {
		l.secret = webhook.NewSecret()
	} else if _, err := webhook.SignStandard(l.secret, "test", time.Now(), nil); err != nil {
		return console.Usagef("--secret: %w", err)
	}
	if l.every < time.Second {
		return console.Usagef("--every: %v is too often; take a second or more", l.every)
	}

	list, err := service.Webhooks().List(cmd.Context())
	if err != nil {
		return unreached(service.BaseURL, err)
	}
	forwarded := func(w client.WebhookEndpoint) bool { return w.Enabled && (l.endpoint == "" || w.ID == l.endpoint) }
	if !slices.ContainsFunc(list.Webhooks, forwarded) {
		return console.Usagef(
			"the account has no enabled endpoint, so there are no events; run relaypdf webhooks create https://… first")
	}

	// Earlier deliveries are skipped by listing them, because the service's clock may differ.
	if err := l.poll(cmd.Context(), service, func(client.Delivery) error { return nil }); err != nil {
		return unreached(service.BaseURL, err)
	}

	fmt.Fprintf(cmd.ErrOrStderr(), "Forwarding events to %s, signed with\n", l.target)
	if err := console.PrintLine(cmd, l.secret); err != nil {
		return err
	}

	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case <-cmd.Context().Done():
			return nil
		case <-tick.C:
		}

		err := l.poll(cmd.Context(), service, func(d client.Delivery) error { return l.forward(cmd, service, d) })
		var refused *client.Error
		switch {
		case err == nil, cmd.Context().Err() != nil:
		case errors.As(err, &refused) && refused.Status() < http.StatusInternalServerError &&
			refused.Code != client.RateLimited:
			return err
		default:
			fmt.Fprintf(cmd.ErrOrStderr(), "relaypdf: %v; retrying\n", unreached(service.BaseURL, err))
		}
	}
}

// poll passes on the deliveries that are new, the oldest first.
func (l *listener) poll(ctx context.Context, service *client.Client, do func(client.Delivery) error) error {
	var found []client.Delivery
	page := client.WebhooksDeliveriesListQuery{Limit: maxPage, After: queryTime(l.from)}
	for {
		list, err := service.Webhooks().DeliveriesList(ctx, page)
		if err != nil {
			return err
		}

		found = append(found, list.Deliveries...)
		// The first round only records the existing deliveries.
		if list.NextCursor == nil || l.from.IsZero() {
			break
		}
		page.Cursor = *list.NextCursor
	}

	slices.Reverse(found)
	before := l.seen
	l.seen = make(map[string]bool, len(found))
	for _, d := range found {
		if before[d.Event.ID] {
			l.seen[d.Event.ID] = true
		}
	}

	for _, d := range found {
		if l.seen[d.Event.ID] || d.EndpointID == nil || l.endpoint != "" && *d.EndpointID != l.endpoint {
			continue
		}
		if err := do(d); err != nil {
			return err
		}
		l.seen[d.Event.ID] = true
	}

	if n := len(found); n > 0 {
		if newest := found[n-1].CreatedAt.Add(-listenOverlap); newest.After(l.from) {
			l.from = newest
		}
	}
	return nil
}

// forward sends one event to the local application, and prints its response.
func (l *listener) forward(cmd *cobra.Command, service *client.Client, d client.Delivery) error {
	content, err := service.Webhooks().DeliveriesGet(cmd.Context(), d.ID)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Code == client.NotFound {
		return nil // deleted with its endpoint
	}
	if err != nil {
		return err
	}

	status, err := l.send(cmd.Context(), content)
	line := time.Now().Format(time.TimeOnly) + "  " + d.Event.Type + "  " + d.Event.ID + "  "
	if err != nil {
		var network *url.Error
		if errors.As(err, &network) {
			err = network.Err
		}
		line += err.Error()
	} else {
		line += status
	}

	fmt.Fprintln(cmd.ErrOrStderr(), line)
	return nil
}

// send is the request that an endpoint gets.
func (l *listener) send(ctx context.Context, content client.DeliveryContent) (status string, err error) {
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()

	body := []byte(content.Body)
	at := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.target, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	standard, err := webhook.SignStandard(l.secret, content.Event.ID, at, body)
	if err != nil {
		return "", err
	}

	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "relaypdf-webhook/1")
	r.Header.Set(webhook.IDHeader, content.Event.ID)
	r.Header.Set(webhook.TimestampHeader, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(webhook.StandardHeader, standard)
	r.Header.Set(webhook.EventHeader, content.Event.Type)
	r.Header.Set(webhook.SignatureHeader, webhook.Sign(l.secret, at, body))

	carrier := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := carrier.Do(r)
	if err != nil {
		return "", err
	}

	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	return response.Status, errors.Join(err, response.Body.Close())
}
