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
	sameForAll    access = "everyone" // the same page for all users
	noLogin       access = "anybody"
	editorLink    access = "linked"    // any user of a link to the editor
	signedIn      access = "logged in" // a member of the account in any role
	developerRole access = "manages"   // owner or developer
	billingRole   access = "pays"      // owner or billing
	ownerRole     access = "owns"      // owner
	operatorOnly  access = "operates"  // an operator of the installation
)

// pageRoute is one line of the pages.
type pageRoute struct {
	method, pattern string
	need            access
	handle          func(*pageRequest) error
}

// pages lists all pages and the handlers of their forms.
func (w *Web) pages() []pageRoute {
	return slices.Concat(
		w.publicPages(), w.memberPages(), w.devicePages(), w.consentPages(), w.appPages(), w.templatePages(),
		w.partialPages(), w.editorPages(), w.embedPages(), w.playgroundPages(), w.providerPages(),
		w.factorPages(), w.secretPages(), w.settingsPages(), w.walletPages(), w.operatorPages(),
	)
}

// publicPages are the pages without a login.
func (w *Web) publicPages() []pageRoute {
	return append([]pageRoute{
		{"GET", "/", sameForAll, w.showHome},
		{"POST", "/", sameForAll, w.tryLive},
		{"GET", galleryPath, sameForAll, w.showGallery},
		{"GET", galleryPath + "/{category}", sameForAll, w.showGallery},
		{"GET", galleryPath + "/{category}/{id}", sameForAll, w.showLayout},
		{"GET", pricingPath, sameForAll, w.showPricing},
		{"GET", statusPath, sameForAll, w.showStatus},
		{"GET", changelogPath, sameForAll, w.showChangelog},
		{"GET", feedPath, sameForAll, w.showFeed},
		{"GET", docsPath, sameForAll, w.showDocs},
		{"GET", docsPath + "/search.json", sameForAll, w.showSearchIndex},
		{"GET", docsPath + "/{guide}", sameForAll, w.showGuide},
		{"GET", referencePath, sameForAll, w.showReference},
		{"GET", referencePath + "/{operation}", sameForAll, w.showOperation},
		{"GET", "/llms.txt", sameForAll, w.showLLMs},
		{"GET", "/llms-full.txt", sameForAll, w.showLLMsFull},
		{"GET", publicImagePath + "{name}", sameForAll, w.showPublicImage},
		{"GET", "/robots.txt", sameForAll, w.showRobots},
		{"GET", "/sitemap.xml", sameForAll, w.showSitemap},
	}, w.customPages()...)
}

// operatorPages returns the pages of the installation.
func (w *Web) operatorPages() []pageRoute {
	return []pageRoute{
		{"GET", "/admin", operatorOnly, w.showAccounts},
		{"GET", "/admin/accounts/{id}", operatorOnly, w.showAccount},
		{"POST", "/admin/accounts/{id}/suspend", operatorOnly, w.setSuspended(true)},
		{"POST", "/admin/accounts/{id}/resume", operatorOnly, w.setSuspended(false)},
		{"POST", "/admin/accounts/{id}/money", operatorOnly, w.postMoney},
		{"GET", "/admin/engine", operatorOnly, w.showEngine},
		{"GET", "/admin/jobs", operatorOnly, w.showJobs},
		{"GET", "/admin/deliveries", operatorOnly, w.showAllDeliveries},
		{"GET", "/admin/edge", operatorOnly, w.showEdge},
		{"GET", "/admin/settings", operatorOnly, w.showSettingsInForce},
		{"GET", "/admin/audit", operatorOnly, w.showAudit},
	}
}

// providerPages returns the pages that redirect to an outside identity provider and back.
func (w *Web) providerPages() []pageRoute {
	return []pageRoute{
		{"POST", "/login/oidc", noLogin, w.signInWithProvider},
		{"GET", OIDCPath, noLogin, w.providerCallback},
		{"POST", identityPath, signedIn, w.link},
		{"POST", identityPath + "/end", signedIn, w.unlink},
		{"POST", confirmPath + "/provider", signedIn, w.confirmWithProvider},
	}
}

// devicePages returns the pages of command lines that request a key (RFC 8628).
func (w *Web) devicePages() []pageRoute {
	return []pageRoute{
		{"GET", devicePath, developerRole, w.showDeviceCode},
		{"POST", devicePath, developerRole, w.typeCode},
		{"POST", devicePath + "/decision", developerRole, w.decideDevice},
	}
}

// consentPages returns the consent pages.
func (w *Web) consentPages() []pageRoute {
	return []pageRoute{
		{"GET", oauth.AuthorizePath, developerRole, w.askConsent},
		{"POST", oauth.AuthorizePath, developerRole, w.decideConsent},
	}
}

// appPages returns the pages of authorized apps.
func (w *Web) appPages() []pageRoute {
	return []pageRoute{
		{"GET", appsPath, signedIn, w.showApps},
		{"GET", appsPath + "/{id}", developerRole, w.showApp},
		{"POST", appsPath + "/{id}", developerRole, w.limitApp},
		{"POST", appsPath + "/{id}/revoke", developerRole, w.revokeApp},
	}
}

// walletPages returns the pages of an account's wallet.
func (w *Web) walletPages() []pageRoute {
	return []pageRoute{
		{"GET", "/dashboard/wallet", signedIn, w.showWallet},
		{"POST", "/dashboard/wallet/limits", billingRole, w.saveLimits},
		{"POST", "/dashboard/wallet/topup", billingRole, w.topUp},
		{"POST", "/dashboard/wallet/reload", billingRole, w.saveReload},
		{"POST", "/dashboard/wallet/portal", billingRole, w.openPortal},
		{"GET", "/dashboard/wallet/card", billingRole, w.leavePortal},
		{"GET", "/dashboard/wallet/receipts", signedIn, w.showReceipts},
		{"GET", "/dashboard/wallet.csv", signedIn, w.exportLedger},
	}
}

// memberPages are the pages of users and of an account's members, on one screen.
func (w *Web) memberPages() []pageRoute {
	return []pageRoute{
		{"GET", "/login", noLogin, w.showSignIn},
		{"POST", "/login", noLogin, w.signIn},
		{"GET", "/login/code", noLogin, w.showFactorCode},
		{"POST", "/login/code", noLogin, w.checkCode},
		{"GET", "/login/link", noLogin, w.showLink},
		{"POST", "/login/link", noLogin, w.useLink},
		{"POST", "/logout", noLogin, w.signOut},
		{"GET", "/signup", noLogin, w.showSignUp},
		{"POST", "/signup", noLogin, w.signUp},
		{"GET", "/verify", noLogin, w.showVerify},
		{"POST", "/verify", noLogin, w.verify},
		{"GET", "/password/reset", noLogin, w.showResetRequest},
		{"POST", "/password/reset", noLogin, w.requestReset},
		{"GET", "/password/new", noLogin, w.showNewPassword},
		{"POST", "/password/new", noLogin, w.setNewPassword},
		{"GET", undoPath, noLogin, w.showUndo},
		{"POST", undoPath, noLogin, w.undo},
		{"GET", "/invite/{token}", noLogin, w.showInvite},
		{"POST", "/invite/{token}", noLogin, w.acceptInvite},

		{"GET", resumePath, noLogin, w.showSavedForm},

		{"GET", "/dashboard", signedIn, w.showOverview},
		{"GET", "/dashboard/first", signedIn, w.awaitFirst},
		{"GET", "/dashboard/find", signedIn, w.searchPalette},

		{"GET", "/dashboard/documents", signedIn, w.showDocuments},
		{"GET", "/dashboard/documents.csv", signedIn, w.exportDocuments},
		{"GET", "/dashboard/documents/{id}", signedIn, w.showDocument},
		{"GET", "/dashboard/documents/{id}/file", signedIn, w.downloadResult},
		{"GET", "/dashboard/documents/{id}/page.png", signedIn, w.showFirstPage},
		{"GET", "/dashboard/documents/{id}/images/{n}", signedIn, w.showImage},
		{"POST", "/dashboard/documents/{id}/again", developerRole, w.runAgain},
		{"GET", "/dashboard/documents/{id}/cancel", developerRole, w.showCancelJob},
		{"POST", "/dashboard/documents/{id}/cancel", developerRole, w.cancelJob},
		{"GET", usagePath, signedIn, w.showUsage},
		{"GET", usagePath + ".csv", signedIn, w.exportUsage},
		{"POST", usagePath + "/alerts", ownerRole, w.saveAlerts},
		{"GET", requestsPath, signedIn, w.showRequests},
		{"GET", requestsPath + "/{id}", signedIn, w.showRequest},

		{"GET", "/dashboard/webhooks", signedIn, w.showWebhooks},
		{"POST", "/dashboard/webhooks", developerRole, w.makeWebhook},
		{"GET", "/dashboard/webhooks/new", developerRole, w.showNewWebhook},
		{"GET", "/dashboard/webhooks/{id}", signedIn, w.showWebhook},
		{"POST", "/dashboard/webhooks/{id}", developerRole, w.changeWebhook},
		{"POST", "/dashboard/webhooks/{id}/test", developerRole, w.testWebhook},
		{"POST", "/dashboard/webhooks/{id}/pause", developerRole, w.switchWebhook(false)},
		{"POST", "/dashboard/webhooks/{id}/resume", developerRole, w.switchWebhook(true)},
		{"POST", "/dashboard/webhooks/{id}/roll", developerRole, w.rollWebhook},
		{"POST", "/dashboard/webhooks/{id}/activate", developerRole, w.activateWebhook},
		{"POST", "/dashboard/webhooks/{id}/delete", developerRole, w.deleteWebhook},
		{"GET", "/dashboard/deliveries", signedIn, w.showDeliveries},
		{"GET", "/dashboard/deliveries/replay", developerRole, w.showReplayFailed},
		{"POST", "/dashboard/deliveries/replay", developerRole, w.replayFailed},
		{"POST", "/dashboard/deliveries/{id}/replay", developerRole, w.replayDelivery},
		{"POST", "/dashboard/deliveries/{id}/try", developerRole, w.tryDelivery},

		{"GET", "/dashboard/keys", signedIn, w.showKeys},
		{"POST", "/dashboard/keys", developerRole, w.makeKey},
		{"GET", "/dashboard/keys/new", developerRole, w.showNewKey},
		{"GET", "/dashboard/keys/{id}/revoke", developerRole, w.showRevokeKey},
		{"POST", "/dashboard/keys/{id}/revoke", developerRole, w.revokeKey},
		{"GET", "/dashboard/keys/{id}/roll", developerRole, w.showRollKey},
		{"POST", "/dashboard/keys/{id}/roll", developerRole, w.rollKey},
	}
}

// secretPages are the pages of secrets that calls use.
func (w *Web) secretPages() []pageRoute {
	return []pageRoute{
		{"GET", connectionsPath, signedIn, w.showConnections},
		{"POST", connectionsPath, developerRole, w.makeConnection},
		{"GET", connectionsPath + "/new", developerRole, w.showNewConnection},
		{"GET", connectionsPath + "/{id}", developerRole, w.showConnection},
		{"POST", connectionsPath + "/{id}", developerRole, w.changeConnection},
		{"POST", connectionsPath + "/{id}/test", developerRole, w.testConnection},
		{"GET", connectionsPath + "/{id}/delete", developerRole, w.showDeleteConnection},
		{"POST", connectionsPath + "/{id}/delete", developerRole, w.deleteConnection},
		{"GET", signingPath, signedIn, w.showSigning},
		{"POST", signingPath, developerRole, w.makeSigning},
		{"GET", signingPath + "/new", developerRole, w.showNewSigning},
		{"GET", signingPath + "/{id}/delete", developerRole, w.showDeleteSigning},
		{"POST", signingPath + "/{id}/delete", developerRole, w.deleteSigning},
	}
}

// factorPages are the pages of second factors, and of the confirmation of an identity.
func (w *Web) factorPages() []pageRoute {
	return []pageRoute{
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
func (w *Web) embedPages() []pageRoute {
	return []pageRoute{
		{"GET", embedPath, editorLink, w.showEmbed},
		{"GET", embedPath + "/draft", editorLink, w.showDraft},
		{"POST", embedPath + "/draft", editorLink, script(w.saveEmbed)},
		{"POST", embedPath + "/check", editorLink, script(w.checkEmbed)},
		{"POST", embedPath + "/pages", editorLink, script(w.drawEmbed)},
		{"GET", embedPath + "/pages/{page}", editorLink, w.showLastPage},
		{"POST", embedPath + "/filled", editorLink, w.showFilledEmbed},
		{"POST", embedPath + "/compare", editorLink, script(w.compareEmbed)},
		{"GET", embedPath + "/publish", editorLink, w.showPublishEmbed},
		{"POST", embedPath + "/publish", editorLink, script(w.publishEmbed)},
	}
}

// Handler returns the router of the pages. Unknown paths get an error page.
func (w *Web) Handler() http.Handler {
	r := chi.NewRouter()
	r.Use(routed, w.headers, w.sameOrigin)
	r.Method(http.MethodGet, static.Prefix+"*", w.assets)

	for _, p := range w.pages() {
		handler := w.serve(p)
		if p.need == sameForAll {
			handler = w.serveAll(p)
		}
		r.Method(p.method, p.pattern, handler)
		if p.method == http.MethodGet {
			r.Method(http.MethodHead, p.pattern, handler)
		}
		if p.method == http.MethodGet && p.need != operatorOnly && !strings.Contains(p.pattern, "{") {
			w.paths = append(w.paths, p.pattern)
		}
	}

	w.oauth.Mount(r)
	r.NotFound(w.serve(pageRoute{need: noLogin, handle: func(*pageRequest) error { return errNotFound }}).ServeHTTP)
	r.MethodNotAllowed(w.serve(pageRoute{need: noLogin, handle: func(v *pageRequest) error {
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
