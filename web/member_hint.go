package web

import "net/http"

// hintCookie tells the script of public pages, static/src/app.js, that the visitor is logged in. Those pages are the
// same for all visitors; the script shows the link to the dashboard. The cookie holds no secret and permits nothing.
const hintCookie = "relaypdf_member"

// rememberedKey is the key with which scs.RememberMe notes that the session's cookie outlives the browser.
const rememberedKey = "__rememberMe"

// hint sets the cookie for a user, and removes it for a visitor who is not logged in.
func (w *Web) hint(v *pageRequest) {
	_, err := v.r.Cookie(hintCookie)
	if known := err == nil; known == (v.person != nil) {
		return
	}

	cookie := &http.Cookie{
		Name: hintCookie, Value: "1", Path: "/", Secure: w.secure, SameSite: http.SameSiteLaxMode,
	}
	switch {
	case v.person == nil:
		cookie.MaxAge = -1
	case w.scs.GetBool(v.ctx(), rememberedKey):
		cookie.MaxAge = int(sessionLife.Seconds())
	}

	http.SetCookie(v.w, cookie)
}
