package render_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// reportScript shows an object as lines "key=value", and marks the document as
// done.
const reportScript = `
const show = found => {
  document.body.innerHTML = "<pre>" + Object.entries(found).map(([key, value]) => key + "=" + value).join("\n") + "</pre>";
  document.body.append(Object.assign(document.createElement("i"), {id: "done"}));
};
const attempt = async work => { try { return await work() } catch (e) { return e.name } };
`

// plantScript leaves a mark in everything that a page of an origin can keep.
const plantScript = `
const plant = async () => {
  const planted = {};
  const put = async (key, work) => { planted[key] = await attempt(async () => { await work(); return "put" }) };
  await put("cookie", () => { document.cookie = "planted=script; max-age=999" });
  await put("serverCookie", () => fetch("/set-cookie"));
  await put("local", () => localStorage.setItem("planted", "yes"));
  await put("session", () => sessionStorage.setItem("planted", "yes"));
  await put("database", () => new Promise((done, fail) => {
    const open = indexedDB.open("planted");
    open.onsuccess = () => { open.result.close(); done() };
    open.onerror = fail;
  }));
  await put("cache", async () => (await caches.open("planted")).put("/planted", new Response("x")));
  await put("files", async () => (await navigator.storage.getDirectory()).getFileHandle("planted", {create: true}));
  await put("worker", async () => {
    await navigator.serviceWorker.register("/service.js", {scope: "/"});
    await navigator.serviceWorker.ready;
  });
  await put("login", () => new Promise((done, fail) => {
    const x = new XMLHttpRequest();
    x.onload = () => x.status === 200 ? done() : fail(new Error("login failed"));
    x.onerror = fail;
    x.open("GET", "/login", true, "user", "password");
    x.send();
  }));
  await put("http", async () => { planted.cached = await (await fetch("/cached")).text() });
  await put("preflight", () => fetch("/cached-preflight", {method: "PUT"}));
  await put("blob", () => fetch("/note-blob", {method: "POST", body: URL.createObjectURL(new Blob(["x"]))}));
  await put("name", () => { window.name = "planted" });
  await put("global", () => { window.planted = "yes"; Object.prototype.plantedByPrototype = "yes" });
  await put("font", () => document.fonts.add(new FontFace("Planted", "local('Liberation Sans')")));
  await put("history", () => { history.pushState({planted: "yes"}, "", "#planted") });
  await put("timer", () => { setInterval(() => { document.title = "planted" }, 1) });
  return planted;
};
`

// readScript looks for those marks. "none" means that there is none.
const readScript = `
const read = async () => {
  const found = {};
  const look = async (key, work) => { found[key] = await attempt(async () => (await work()) || "none") };
  await look("cookie", () => document.cookie);
  await look("serverCookie", async () => (await fetch("/show-cookie")).text());
  await look("local", () => localStorage.getItem("planted"));
  await look("session", () => sessionStorage.getItem("planted"));
  await look("database", async () => (await indexedDB.databases()).map(d => d.name).join());
  await look("cache", async () => (await caches.keys()).join());
  await look("files", async () => { try { await (await navigator.storage.getDirectory()).getFileHandle("planted"); return "yes" } catch { return "" } });
  await look("worker", async () => (await navigator.serviceWorker.getRegistrations()).map(r => r.scope).join());
  await look("served", async () => (await fetch("/served-by")).text());
  await look("login", async () => (await fetch("/login")).status === 200 ? "yes" : "");
  await look("cached", async () => (await fetch("/cached")).text());
  await look("blob", async () => { const url = await (await fetch("/note-blob")).text(); if (url) try { await fetch(url); return "yes" } catch { } });
  await look("name", () => window.name);
  await look("global", () => window.planted);
  await look("prototype", () => ({}).plantedByPrototype);
  await look("font", () => [...document.fonts].map(f => f.family).join());
  await look("history", () => history.state && history.state.planted);
  await look("timer", async () => { await new Promise(done => setTimeout(done, 50)); return document.title });
  await look("referrer", () => document.referrer);
  return found;
};
`

// register gives a site pages that plant and look, numbered answers that may
// be cached, and ways to show which credentials it gets.
func (k *keeper) register(site *website) {
	page := func(path, script string) {
		site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			fmt.Fprintf(w, "<!doctype html><body><script>%s</script>", reportScript+plantScript+readScript+script)
		})
	}
	page("/plant", `plant().then(show)`)
	page("/read", `read().then(show)`)
	page("/both", `(async () => { const planted = await plant(); show({...await read(), before: planted.cached}) })()`)
	page("/talk", talkScript)

	site.HandleFunc("/set-cookie", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "server", Value: "yes", Path: "/", MaxAge: 999, HttpOnly: true, Secure: true, SameSite: http.SameSiteNoneMode})
	})
	site.HandleFunc("/show-cookie", func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("server"); err == nil {
			fmt.Fprint(w, "yes")
		}
	})
	site.HandleFunc("/cached", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=999, immutable")
		fmt.Fprint(w, k.served.Add(1))
	})
	site.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "password" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	site.HandleFunc("/served-by", func(http.ResponseWriter, *http.Request) {})
	site.HandleFunc("/service.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim()); `+
			`onfetch = e => { if (e.request.url.endsWith("/served-by")) e.respondWith(new Response("worker")) }`)
	})
	site.HandleFunc("/shared.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `let count = 0; onconnect = e => e.ports[0].postMessage(++count)`)
	})
	site.HandleFunc("/note-blob", k.noteBlob)
	site.HandleFunc("/meet", k.meet)
}

// keeper is the memory of the site.
type keeper struct {
	served atomic.Int64 // answers of /cached

	mu   sync.Mutex
	blob string
	here map[string]int
	all  map[string]chan struct{} // by place, closed when two have come
}

func (k *keeper) noteBlob(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Method == http.MethodGet {
		fmt.Fprint(w, k.blob)
		return
	}
	body := make([]byte, 200)
	n, _ := r.Body.Read(body)
	k.blob = string(body[:n])
}

// meet answers when two documents have come to a place.
func (k *keeper) meet(_ http.ResponseWriter, r *http.Request) {
	place, _, _ := strings.Cut(r.URL.RawQuery, "&") // Behind it stands who comes: a browser waits with a request that it has under way already.
	k.mu.Lock()
	if k.all == nil {
		k.here, k.all = map[string]int{}, map[string]chan struct{}{}
	}
	if k.all[place] == nil {
		k.all[place] = make(chan struct{})
	}
	together := k.all[place]
	if k.here[place]++; k.here[place] == 2 {
		close(together)
	}
	k.mu.Unlock()
	select {
	case <-together:
	case <-r.Context().Done():
	}
}

// talkScript runs in two documents at once: each calls in every way there is,
// waits until the other has called, and shows what it heard. The first part of
// the fragment is the place where they meet, the second who speaks.
const talkScript = `
(async () => {
  const [place, me] = location.hash.slice(1).split("/");
  const heard = {me, channel: "nothing", storage: "nothing", cookie: "nothing", lock: "free"};
  const channel = new BroadcastChannel("talk");
  const told = new Promise(done => { channel.onmessage = e => { heard.channel = e.data; done() } });
  addEventListener("storage", e => { heard.storage = e.newValue });
  const meet = step => fetch("/meet?" + place + "-" + step + "&" + me);
  await meet("begin");
  channel.postMessage(me);
  localStorage.setItem("talk", me);
  document.cookie = me + "=1";
  const asked = new Promise(done => {
    navigator.locks.request("talk", {ifAvailable: true}, lock => { if (!lock) heard.lock = "taken"; done(); return new Promise(() => {}) });
  });
  const worker = new SharedWorker("/shared.js");
  heard.worker = await new Promise(done => { worker.port.onmessage = e => done(e.data) });
  await asked;
  await meet("said");
  // Messages inside one browser take a millisecond, unless the machine stalls.
  await (place === "control" ? told : new Promise(done => setTimeout(done, 100)));
  heard.cookie = document.cookie;
  heard.local = localStorage.getItem("talk");
  await meet("end");
  show(heard);
})();
`

// parseReport reads the lines that show wrote.
func parseReport(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			found[key] = value
		}
	}
	return found
}
