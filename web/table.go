package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/static"
)

// access is the role that a page requires.
type access string

const (
	everyone access = "everyone" // the same page for all users
	anybody  access = "anybody"
	linked   access = "linked"    // any user of a link to the editor
	signedIn access = "logged in" // a member of the account in any role
	manages  access = "manages"   // owner or developer
	pays     access = "pays"      // owner or billing
	owns     access = "owns"      // owner
	operates access = "operates"  // an operator of the installation
)

// page is one line of the pages.
type page struct {
	method, pattern string
	need            access
	handle          func(*pageRequest) error
}

// pages lists all pages and the handlers of their forms.
func (w *Web) pages() []page {
	return slices.Concat(
		w.publicPages(), w.memberPages(), w.devicePages(), w.consentPages(), w.appPages(), w.templatePages(),
		w.partialPages(), w.editorPages(), w.embedPages(), w.playgroundPages(), w.providerPages(),
		w.factorPages(), w.secretPages(), w.settingsPages(), w.walletPages(), w.operatorPages(),
	)
}

// publicPages are the pages without a login.
func (w *Web) publicPages() []page {
	return append([]page{
		{"GET", "/", everyone, w.showHome},
		{"POST", "/", everyone, w.tryLive},
		{"GET", galleryPath, everyone, w.showGallery},
		{"GET", galleryPath + "/{category}", everyone, w.showGallery},
		{"GET", galleryPath + "/{category}/{id}", everyone, w.showLayout},
		{"GET", pricingPath, everyone, w.showPricing},
		{"GET", statusPath, everyone, w.showStatus},
		{"GET", changelogPath, everyone, w.showChangelog},
		{"GET", feedPath, everyone, w.showFeed},
		{"GET", docsPath, everyone, w.showDocs},
		{"GET", docsPath + "/search.json", everyone, w.showSearchIndex},
		{"GET", docsPath + "/{guide}", everyone, w.showGuide},
		{"GET", referencePath, everyone, w.showReference},
		{"GET", referencePath + "/{operation}", everyone, w.showOperation},
		{"GET", "/llms.txt", everyone, w.showLLMs},
		{"GET", "/llms-full.txt", everyone, w.showLLMsFull},
		{"GET", publicImagePath + "{name}", everyone, w.showPublicImage},
		{"GET", "/robots.txt", everyone, w.showRobots},
		{"GET", "/sitemap.xml", everyone, w.showSitemap},
	}, w.customPages()...)
}

// operatorPages returns the pages of the installation.
func (w *Web) operatorPages() []page {
	return []page{
		{"GET", "/admin", operates, w.showAccounts},
		{"GET", "/admin/accounts/{id}", operates, w.showAccount},
		{"POST", "/admin/accounts/{id}/suspend", operates, w.setSuspended(true)},
		{"POST", "/admin/accounts/{id}/resume", operates, w.setSuspended(false)},
		{"POST", "/admin/accounts/{id}/money", operates, w.postMoney},
		{"GET", "/admin/engine", operates, w.showEngine},
		{"GET", "/admin/jobs", operates, w.showJobs},
		{"GET", "/admin/deliveries", operates, w.showAllDeliveries},
		{"GET", "/admin/edge", operates, w.showEdge},
		{"GET", "/admin/settings", operates, w.showSettingsInForce},
		{"GET", "/admin/audit", operates, w.showAudit},
	}
}

// providerPages returns the pages that redirect to an outside identity provider and back.
func (w *Web) providerPages() []page {
	return []page{
		{"POST", "/login/oidc", anybody, w.signInWithProvider},
		{"GET", OIDCPath, anybody, w.providerCallback},
		{"POST", identityPath, signedIn, w.link},
		{"POST", identityPath + "/end", signedIn, w.unlink},
		{"POST", confirmPath + "/provider", signedIn, w.confirmWithProvider},
	}
}

// devicePages returns the pages of command lines that request a key (RFC 8628).
func (w *Web) devicePages() []page {
	return []page{
		{"GET", devicePath, manages, w.showDeviceCode},
		{"POST", devicePath, manages, w.typeCode},
		{"POST", devicePath + "/decision", manages, w.decideDevice},
	}
}

// consentPages returns the consent pages.
func (w *Web) consentPages() []page {
	return []page{
		{"GET", oauth.AuthorizePath, manages, w.askConsent},
		{"POST", oauth.AuthorizePath, manages, w.decideConsent},
	}
}

// appPages returns the pages of authorized apps.
func (w *Web) appPages() []page {
	return []page{
		{"GET", appsPath, signedIn, w.showApps},
		{"GET", appsPath + "/{id}", manages, w.showApp},
		{"POST", appsPath + "/{id}", manages, w.limitApp},
		{"POST", appsPath + "/{id}/revoke", manages, w.revokeApp},
	}
}

// walletPages returns the pages of an account's wallet.
func (w *Web) walletPages() []page {
	return []page{
		{"GET", "/dashboard/wallet", signedIn, w.showWallet},
		{"POST", "/dashboard/wallet/limits", pays, w.saveLimits},
		{"POST", "/dashboard/wallet/topup", pays, w.topUp},
		{"POST", "/dashboard/wallet/reload", pays, w.saveReload},
		{"POST", "/dashboard/wallet/portal", pays, w.openPortal},
		{"GET", "/dashboard/wallet/card", pays, w.leavePortal},
		{"GET", "/dashboard/wallet/receipts", signedIn, w.showReceipts},
		{"GET", "/dashboard/wallet.csv", signedIn, w.exportLedger},
	}
}

// memberPages are the pages of users and of an account's members, on one screen.
func (w *Web) memberPages() []page {
	return []page{
		{"GET", "/login", anybody, w.showSignIn},
		{"POST", "/login", anybody, w.signIn},
		{"GET", "/login/code", anybody, w.showFactorCode},
		{"POST", "/login/code", anybody, w.checkCode},
		{"GET", "/login/link", anybody, w.showLink},
		{"POST", "/login/link", anybody, w.useLink},
		{"POST", "/logout", anybody, w.signOut},
		{"GET", "/signup", anybody, w.showSignUp},
		{"POST", "/signup", anybody, w.signUp},
		{"GET", "/verify", anybody, w.showVerify},
		{"POST", "/verify", anybody, w.verify},
		{"GET", "/password/reset", anybody, w.showResetRequest},
		{"POST", "/password/reset", anybody, w.requestReset},
		{"GET", "/password/new", anybody, w.showNewPassword},
		{"POST", "/password/new", anybody, w.setNewPassword},
		{"GET", undoPath, anybody, w.showUndo},
		{"POST", undoPath, anybody, w.undo},
		{"GET", "/invite/{token}", anybody, w.showInvite},
		{"POST", "/invite/{token}", anybody, w.acceptInvite},

		{"GET", resumePath, anybody, w.showSavedForm},

		{"GET", "/dashboard", signedIn, w.showOverview},
		{"GET", "/dashboard/first", signedIn, w.awaitFirst},
		{"GET", "/dashboard/find", signedIn, w.searchPalette},

		{"GET", "/dashboard/documents", signedIn, w.showDocuments},
		{"GET", "/dashboard/documents.csv", signedIn, w.exportDocuments},
		{"GET", "/dashboard/documents/{id}", signedIn, w.showDocument},
		{"GET", "/dashboard/documents/{id}/file", signedIn, w.downloadResult},
		{"GET", "/dashboard/documents/{id}/page.png", signedIn, w.showFirstPage},
		{"GET", "/dashboard/documents/{id}/images/{n}", signedIn, w.showImage},
		{"POST", "/dashboard/documents/{id}/again", manages, w.runAgain},
		{"GET", "/dashboard/documents/{id}/cancel", manages, w.showCancelJob},
		{"POST", "/dashboard/documents/{id}/cancel", manages, w.cancelJob},
		{"GET", usagePath, signedIn, w.showUsage},
		{"GET", usagePath + ".csv", signedIn, w.exportUsage},
		{"POST", usagePath + "/alerts", owns, w.saveAlerts},
		{"GET", requestsPath, signedIn, w.showRequests},
		{"GET", requestsPath + "/{id}", signedIn, w.showRequest},

		{"GET", "/dashboard/webhooks", signedIn, w.showWebhooks},
		{"POST", "/dashboard/webhooks", manages, w.makeWebhook},
		{"GET", "/dashboard/webhooks/new", manages, w.showNewWebhook},
		{"GET", "/dashboard/webhooks/{id}", signedIn, w.showWebhook},
		{"POST", "/dashboard/webhooks/{id}", manages, w.changeWebhook},
		{"POST", "/dashboard/webhooks/{id}/test", manages, w.testWebhook},
		{"POST", "/dashboard/webhooks/{id}/pause", manages, w.switchWebhook(false)},
		{"POST", "/dashboard/webhooks/{id}/resume", manages, w.switchWebhook(true)},
		{"POST", "/dashboard/webhooks/{id}/roll", manages, w.rollWebhook},
		{"POST", "/dashboard/webhooks/{id}/activate", manages, w.activateWebhook},
		{"POST", "/dashboard/webhooks/{id}/delete", manages, w.deleteWebhook},
		{"GET", "/dashboard/deliveries", signedIn, w.showDeliveries},
		{"GET", "/dashboard/deliveries/replay", manages, w.showReplayFailed},
		{"POST", "/dashboard/deliveries/replay", manages, w.replayFailed},
		{"POST", "/dashboard/deliveries/{id}/replay", manages, w.replayDelivery},
		{"POST", "/dashboard/deliveries/{id}/try", manages, w.tryDelivery},

		{"GET", "/dashboard/keys", signedIn, w.showKeys},
		{"POST", "/dashboard/keys", manages, w.makeKey},
		{"GET", "/dashboard/keys/new", manages, w.showNewKey},
		{"GET", "/dashboard/keys/{id}/revoke", manages, w.showRevokeKey},
		{"POST", "/dashboard/keys/{id}/revoke", manages, w.revokeKey},
		{"GET", "/dashboard/keys/{id}/roll", manages, w.showRollKey},
		{"POST", "/dashboard/keys/{id}/roll", manages, w.rollKey},
	}
}

// secretPages are the pages of secrets that calls use.
func (w *Web) secretPages() []page {
	return []page{
		{"GET", connectionsPath, signedIn, w.showConnections},
		{"POST", connectionsPath, manages, w.makeConnection},
		{"GET", connectionsPath + "/new", manages, w.showNewConnection},
		{"GET", connectionsPath + "/{id}", manages, w.showConnection},
		{"POST", connectionsPath + "/{id}", manages, w.changeConnection},
		{"POST", connectionsPath + "/{id}/test", manages, w.testConnection},
		{"GET", connectionsPath + "/{id}/delete", manages, w.showDeleteConnection},
		{"POST", connectionsPath + "/{id}/delete", manages, w.deleteConnection},
		{"GET", signingPath, signedIn, w.showSigning},
		{"POST", signingPath, manages, w.makeSigning},
		{"GET", signingPath + "/new", manages, w.showNewSigning},
		{"GET", signingPath + "/{id}/delete", manages, w.showDeleteSigning},
		{"POST", signingPath + "/{id}/delete", manages, w.deleteSigning},
	}
}

// factorPages are the pages of second factors, and of the confirmation of an identity.
func (w *Web) factorPages() []page {
	return []page{
		{"GET", confirmPath, signedIn, w.showConfirm},
		{"POST", confirmPath, signedIn, w.confirmFactor},
		{"POST", confirmPath + "/email", signedIn, w.emailCode},
		{"GET", "/dashboard/settings/factor", signedIn, w.showFactorSetup},
		{"POST", "/dashboard/settings/factor", signedIn, w.startFactor},
		{"GET", codesPath, signedIn, w.showCodes},
		{"GET", "/dashboard/settings/factor/off", signedIn, w.askFactor(sureOff)},
		{"POST", "/dashboard/settings/factor/off", signedIn, w.requireProof(sureOff, w.stopFactor)},
		{"GET", "/dashboard/settings/factor/recovery", signedIn, w.askFactor(sureCodes)},
		{"POST", "/dashboard/settings/factor/recovery", signedIn, w.requireProof(sureCodes, w.renewCodes)},
	}
}

// embedPages returns the pages behind a link to the editor.
func (w *Web) embedPages() []page {
	return []page{
		{"GET", embedPath, linked, w.showEmbed},
		{"GET", embedPath + "/draft", linked, w.showDraft},
		{"POST", embedPath + "/draft", linked, script(w.saveEmbed)},
		{"POST", embedPath + "/check", linked, script(w.checkEmbed)},
		{"POST", embedPath + "/pages", linked, script(w.drawEmbed)},
		{"GET", embedPath + "/pages/{page}", linked, w.showLastPage},
		{"POST", embedPath + "/filled", linked, w.showFilledEmbed},
		{"POST", embedPath + "/compare", linked, script(w.compareEmbed)},
		{"GET", embedPath + "/publish", linked, w.showPublishEmbed},
		{"POST", embedPath + "/publish", linked, script(w.publishEmbed)},
	}
}

// Handler returns the router of the pages. Unknown paths get an error page.
func (w *Web) Handler() http.Handler {
	r := chi.NewRouter()
	r.Use(routed, w.headers, w.sameOrigin)
	r.Method(http.MethodGet, static.Prefix+"*", w.assets)

	for _, p := range w.pages() {
		handler := w.serve(p)
		if p.need == everyone {
			handler = w.serveAll(p)
		}
		r.Method(p.method, p.pattern, handler)
		if p.method == http.MethodGet {
			r.Method(http.MethodHead, p.pattern, handler)
		}
		if p.method == http.MethodGet && p.need != operates && !strings.Contains(p.pattern, "{") {
			w.paths = append(w.paths, p.pattern)
		}
	}

	w.oauth.Mount(r)
	r.NotFound(w.serve(page{need: anybody, handle: func(*pageRequest) error { return errNotFound }}).ServeHTTP)
	r.MethodNotAllowed(w.serve(page{need: anybody, handle: func(v *pageRequest) error {
		v.w.Header().Set("Allow", middleware.Allowed(r, v.r.URL.Path))
		return errMethod
	}}).ServeHTTP)

	return r
}

// routed passes the page that was requested, which the router knows afterwards, to the log and the metrics.
func routed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if pattern := chi.RouteContext(r.Context()).RoutePattern(); pattern != "" {
				middleware.SetRoute(w, pattern)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
