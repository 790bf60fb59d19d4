// Sends SIZE bytes of HTML to each URL with both of Node's clients, and prints the statuses.
import http from "node:http";

const [size, ...targets] = process.argv.slice(2);
const body = JSON.stringify({ html: "a".repeat(Number(size)) });
for (const target of targets) {
	const [key, url] = target.split("@");
	const headers = { Authorization: "Bearer " + key, "Content-Type": "application/json" };
	const answer = await fetch(url, { method: "POST", headers, body });
	console.log(answer.status, (await answer.json()).error.code);
	await new Promise((resolve, reject) => {
		const request = http.request(url, { method: "POST", headers: { ...headers, "Content-Length": body.length } }, (response) => {
			let text = "";
			response.on("data", (part) => (text += part));
			response.on("end", () => {
				console.log(response.statusCode, JSON.parse(text).error.code);
				resolve();
			});
		});
		request.on("error", reject);
		request.end(body);
	});
}
