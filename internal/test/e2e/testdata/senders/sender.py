"""Sends SIZE bytes of HTML to each URL with both of Python's clients, and prints the statuses."""
import http.client
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

size, *targets = sys.argv[1:]
body = json.dumps({"html": "a" * int(size)}).encode()
for target in targets:
    key, url = target.split("@", 1)
    headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=300)
    connection.request("POST", parts.path, body, headers)
    answer = connection.getresponse()
    print(answer.status, json.loads(answer.read())["error"]["code"])
    connection.close()
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=300)
    except urllib.error.HTTPError as refusal:
        print(refusal.code, json.loads(refusal.read())["error"]["code"])
