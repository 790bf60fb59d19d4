package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"relaypdf/api/middleware"
)

// purgeTime bounds what one cache may take to forget.
const purgeTime = time.Minute

// newEdgeCommand speaks to caches in front of the service.
func newEdgeCommand() *cobra.Command {
	purge := &cobra.Command{
		Use:   "purge [KEY...]",
		Short: "Tell the caches in front of the service to forget what they keep, such as after a release or new prices",
		Long: "Tell the caches of RELAYPDF_EDGE_PURGE_URL to forget what they keep under the keys: " + strings.Join(middleware.Keys(), ", ") +
			". Without a key it is `pages`, which is all but the assets: those have their content's hash in their address, and never need it. " +
			"Run it when the last process has the new release or the new prices; what was asked of an older one until then is kept for minutes otherwise.",
		RunE: func(cmd *cobra.Command, keys []string) error {
			config, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			if len(config.EdgePurgeURLs) == 0 {
				return usagef("RELAYPDF_EDGE_PURGE_URL is not set: no cache is known; write http://HOST:PORT/ for Varnish, file:///FOLDER for nginx")
			}
			if len(keys) == 0 {
				keys = []string{"pages"}
			}
			client := &http.Client{Timeout: purgeTime}
			var failed []error
			for _, address := range config.EdgePurgeURLs {
				if err := middleware.Purge(cmd.Context(), client, address, keys); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", address, err))
				}
			}
			return errors.Join(failed...)
		},
	}
	addSettings(purge.Flags(), "edge-purge-url")
	return newGroup("edge", "Speak to caches in front of the service", purge)
}
