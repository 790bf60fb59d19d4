import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/** Sends SIZE bytes of HTML to each URL with both of Java's clients, and prints the statuses. */
class Sender {
	public static void main(String[] arguments) throws Exception {
		byte[] body = ("{\"html\":\"" + "a".repeat(Integer.parseInt(arguments[0])) + "\"}").getBytes(StandardCharsets.UTF_8);
		for (int i = 1; i < arguments.length; i++) {
			String[] target = arguments[i].split("@", 2);
			HttpURLConnection connection = (HttpURLConnection) URI.create(target[1]).toURL().openConnection();
			connection.setRequestMethod("POST");
			connection.setDoOutput(true);
			connection.setRequestProperty("Authorization", "Bearer " + target[0]);
			connection.setRequestProperty("Content-Type", "application/json");
			connection.getOutputStream().write(body);
			int status = connection.getResponseCode();
			System.out.println(status + " " + code(new String(connection.getErrorStream().readAllBytes(), StandardCharsets.UTF_8)));

			HttpRequest request = HttpRequest.newBuilder(URI.create(target[1]))
				.header("Authorization", "Bearer " + target[0]).header("Content-Type", "application/json")
				.version(HttpClient.Version.HTTP_1_1)
				.POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
			HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
			System.out.println(answer.statusCode() + " " + code(answer.body()));
		}
	}

	private static String code(String text) {
		return text.replaceFirst("(?s).*\"code\":\"([a-z_]+)\".*", "$1");
	}
}
