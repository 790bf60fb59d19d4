# Varnish in front of relaypdf, on the same machine: a cache for public pages, and a plain
# proxy for everything else. docs/operations/caching.md explains it. Set in relaypdf:
#
#   RELAYPDF_TRUSTED_IP_HEADER=X-Forwarded-For
vcl 4.1;

import std;

backend relaypdf {
    .host = "127.0.0.1";
    .port = "8787";
    .first_byte_timeout = 180s;
    .between_bytes_timeout = 180s;
}

acl purgers {
    "127.0.0.1";
    "::1";
}

sub vcl_recv {
    unset req.http.X-Kept;

    # The operator sends this request after a release (docs/operations/caching.md).
    if (req.method == "PURGE") {
        if (client.ip !~ purgers) {
            return (synth(403));
        }
        if (req.http.Surrogate-Key !~ "^[a-z]+( [a-z]+)*$") {
            return (synth(400));
        }
        if (!std.ban("obj.http.Surrogate-Key ~ \b(" + regsuball(req.http.Surrogate-Key, " ", "|") + ")\b")) {
            return (synth(500));
        }
        return (synth(200));
    }

    # Private content is neither looked up nor stored.
    if ((req.method != "GET" && req.method != "HEAD") || req.http.Authorization ||
        req.url !~ "^/((static|gallery|drawn|docs|pdf-templates)(/[^?]*)?|pricing|status|changelog(\.atom)?|openapi\.json|llms(-full)?\.txt|robots\.txt|sitemap\.xml|v1/templates/gallery|v1/billing/prices)?(\?|$)") {
        if (req.http.Upgrade) {
            return (pipe);
        }
        return (pass);
    }

    # Public pages. The headers of each response determine whether it is stored. The input of
    # one visitor must not reach the responses of others, and pages without query parameters
    # are requested without a query string.
    set req.http.X-Kept = "may be";
    unset req.http.Cookie;
    unset req.http.X-Request-Id;
    if (req.url !~ "^/(pdf-templates|pricing|v1/)") {
        set req.url = regsub(req.url, "\?.*$", "");
    }
    # While relaypdf is available, old copies are served as long as stale-while-revalidate
    # allows. While it is unavailable, they are served for a day.
    if (req.restarts > 0) {
        set req.grace = 1d;
    } elseif (req.url ~ "^/(v1/|openapi)") {
        set req.grace = 1m;
    } else {
        set req.grace = 1h;
    }
    return (hash);
}

# The responses of relaypdf do not depend on the host name of the request.
sub vcl_hash {
    hash_data(req.url);
    return (lookup);
}

sub vcl_backend_response {
    # Each response states whether it may be stored, and under which keys.
    if (beresp.status != 200 || !beresp.http.Surrogate-Key || beresp.http.Set-Cookie || beresp.http.Cache-Control !~ "\bpublic\b") {
        if (beresp.status >= 500 && bereq.is_bgfetch) {
            return (abandon); # the old copy stays
        }
        set beresp.uncacheable = true;
        set beresp.ttl = 0s;
        set beresp.grace = 0s;
        return (deliver);
    }
    if (beresp.http.Cache-Control ~ "stale-if-error") {
        set beresp.grace = 1d;
    } else {
        set beresp.grace = 0s;
    }
    return (deliver);
}

sub vcl_deliver {
    # While relaypdf is unavailable, serve an old copy.
    if (resp.status >= 500 && req.http.X-Kept && req.restarts == 0) {
        return (restart);
    }
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    unset resp.http.Via;
    unset resp.http.X-Varnish;
    if (req.http.X-Kept) {
        # The stored copy has the ID of another request.
        set resp.http.X-Request-Id = "vcl_" + req.xid;
        if (obj.hits > 0) {
            set resp.http.X-Cache = "HIT";
        } else {
            set resp.http.X-Cache = "MISS";
        }
    }
}
